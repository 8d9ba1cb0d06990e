"""Global identifiers of graph entities: the 128-bit XXH3 of the liveliness token.

rmw_zenoh derives the identifier that `ros2 topic info --verbose` prints from the token in this
way, so what a message's attachment says and what the graph says agree. Written here after the
published XXH3 specification (seed 0) because it is needed once per entity, not per message, and
a dependency for that would be too much. Tokens are always longer than 16 bytes, so the
specification's special cases for shorter input are left out.
"""

from __future__ import annotations

import struct

_MASK = (1 << 64) - 1
_P32_1, _P32_2, _P32_3 = 0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D
_P64_1, _P64_2, _P64_3 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9
_P64_4, _P64_5 = 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5
_AVALANCHE = 0x165667919E3779F9
#: The default secret of the specification.
_SECRET = bytes.fromhex(
    'b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671f'
    'cb79e64eccc0e578825ad07dccff7221b8084674f743248ee03590e6813a264c'
    '3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8'
    'a8fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364'
    'eac5ac8334d3ebc3c581a0fffa1363eb170ddd51b7f0da49d316552629d4689e'
    '2b16be587d47a1fc8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e'
)
_STRIPE, _STRIPES_PER_BLOCK = 64, 16
_BLOCK = _STRIPE * _STRIPES_PER_BLOCK
_LENGTH_MEDIUM, _LENGTH_LONG = 128, 240


def _word(data: bytes, offset: int) -> int:
    return int.from_bytes(data[offset : offset + 8], 'little')


def _fold(a: int, b: int) -> int:
    """Both halves of the 128-bit product, exclusive-or'ed."""
    product = a * b
    return (product & _MASK) ^ (product >> 64)


def _avalanche(value: int) -> int:
    value ^= value >> 37
    value = value * _AVALANCHE & _MASK
    return value ^ (value >> 32)


def _mix16(data: bytes, offset: int, secret: int) -> int:
    return _fold(
        _word(data, offset) ^ _word(_SECRET, secret),
        _word(data, offset + 8) ^ _word(_SECRET, secret + 8),
    )


def _mix32(low: int, high: int, data: bytes, one: int, two: int, secret: int) -> tuple[int, int]:
    low = (low + _mix16(data, one, secret)) & _MASK
    low ^= (_word(data, two) + _word(data, two + 8)) & _MASK
    high = (high + _mix16(data, two, secret + 16)) & _MASK
    high ^= (_word(data, one) + _word(data, one + 8)) & _MASK
    return low, high


def _finish(low: int, high: int, length: int) -> tuple[int, int]:
    mixed = (low * _P64_1 + high * _P64_4 + length * _P64_2) & _MASK
    return _avalanche((low + high) & _MASK), -_avalanche(mixed) & _MASK


def _short(data: bytes) -> tuple[int, int]:
    """17 to 128 bytes."""
    length = len(data)
    low, high = length * _P64_1 & _MASK, 0
    for step in range((length - 1) // 32, -1, -1):
        low, high = _mix32(low, high, data, 16 * step, length - 16 * (step + 1), 32 * step)
    return _finish(low, high, length)


def _medium(data: bytes) -> tuple[int, int]:
    """129 to 240 bytes."""
    length = len(data)
    low, high = length * _P64_1 & _MASK, 0
    for start in range(0, 128, 32):
        low, high = _mix32(low, high, data, start, start + 16, start)
    low, high = _avalanche(low), _avalanche(high)
    for start in range(128, length - 31, 32):
        low, high = _mix32(low, high, data, start, start + 16, start - 128 + 3)
    low, high = _mix32(low, high, data, length - 16, length - 32, 136 - 17 - 16)
    return _finish(low, high, length)


def _accumulate(lanes: list[int], data: bytes, offset: int, secret: int) -> None:
    words = struct.unpack_from('<8Q', data, offset)
    keys = struct.unpack_from('<8Q', _SECRET, secret)
    for lane, (word, key) in enumerate(zip(words, keys, strict=True)):
        mixed = word ^ key
        lanes[lane ^ 1] = (lanes[lane ^ 1] + word) & _MASK
        lanes[lane] = (lanes[lane] + (mixed & 0xFFFFFFFF) * (mixed >> 32)) & _MASK


def _scramble(lanes: list[int]) -> None:
    for lane, key in enumerate(struct.unpack_from('<8Q', _SECRET, len(_SECRET) - _STRIPE)):
        value = lanes[lane]
        lanes[lane] = ((value ^ (value >> 47) ^ key) * _P32_1) & _MASK


def _merge(lanes: list[int], secret: int, start: int) -> int:
    for pair in range(4):
        start += _fold(
            lanes[2 * pair] ^ _word(_SECRET, secret + 16 * pair),
            lanes[2 * pair + 1] ^ _word(_SECRET, secret + 16 * pair + 8),
        )
    return _avalanche(start & _MASK)


def _long(data: bytes) -> tuple[int, int]:
    """More than 240 bytes."""
    length = len(data)
    lanes = [_P32_3, _P64_1, _P64_2, _P64_3, _P64_4, _P32_2, _P64_5, _P32_1]
    last_block = (length - 1) // _BLOCK * _BLOCK
    for offset in range(0, (length - 1) // _STRIPE * _STRIPE, _STRIPE):
        stripe = offset % _BLOCK // _STRIPE
        _accumulate(lanes, data, offset, 8 * stripe)
        if stripe == _STRIPES_PER_BLOCK - 1 and offset < last_block:
            _scramble(lanes)
    _accumulate(lanes, data, length - _STRIPE, len(_SECRET) - _STRIPE - 7)
    low = _merge(lanes, 11, length * _P64_1 & _MASK)
    high = _merge(lanes, len(_SECRET) - _STRIPE - 11, ~(length * _P64_2) & _MASK)
    return low, high


def xxh3_128(data: bytes) -> tuple[int, int]:
    """Low and high 64 bits of the XXH3 hash with seed 0 of more than 16 bytes."""
    if len(data) <= 16:
        raise ValueError(f'more than 16 bytes are expected, got {len(data)}')
    if len(data) <= _LENGTH_MEDIUM:
        return _short(data)
    if len(data) <= _LENGTH_LONG:
        return _medium(data)
    return _long(data)


def token_gid(token: str) -> bytes:
    """The 16 bytes that identify the entity of a liveliness token."""
    return struct.pack('<QQ', *xxh3_128(token.encode()))
