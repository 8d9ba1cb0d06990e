"""C3D files: analogue channels of the force plates, and the plates' corners.

Written from the public description of the format (www.c3d.org): a header of 512 bytes, groups of
parameters, then frame by frame the markers and the analogue samples. Integers and floats of all
three processors are read (Intel, DEC, MIPS). Markers are passed over: joint angles come from the
laboratory's own inverse kinematics.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veh_identification.errors import InputError
from veh_identification.files import MOST_TABLE, read_plain
from veh_identification.types import Array

BLOCK = 512
MAGIC = 0x50
INTEL, DEC, MIPS = 84, 85, 86
#: Bytes of the types of parameters: texts, bytes, integers, floats.
SIZES = {-1: 1, 1: 1, 2: 2, 4: 4}
ALL_FRAMES = 65535  # the largest number that the header can hold


@dataclass(frozen=True, eq=False)
class C3d:
    """What a file holds of its plates."""

    path: str
    parameters: dict[str, Any]  # by GROUP:NAME; arrays with the first index running fastest
    analog: Array  # (N, channels) in the units of the file
    rate: float  # of the analogue samples
    start: float  # time of the first one in s

    @property
    def time(self) -> Array:
        """Stamps (N,) in seconds."""
        return self.start + np.arange(len(self.analog)) / self.rate

    def parameter(self, name: str) -> Any:
        """One parameter; the error names it."""
        if name not in self.parameters:
            raise InputError(f'{self.path}: there is no parameter {name}, expected one of the C3D')
        return self.parameters[name]


def read_c3d(path: str | Path) -> C3d:
    """Read one file."""
    data = read_plain(path, MOST_TABLE)
    if len(data) < 2 * BLOCK or data[1] != MAGIC:
        raise InputError(f'{path}: no C3D file (its second byte is not 80)')
    try:
        return _read(str(path), data)
    except (ValueError, IndexError, TypeError) as error:
        raise InputError(f'{path}: the C3D file is damaged or cut off ({error})') from None


def _read(path: str, data: bytes) -> C3d:
    first = (data[0] - 1) * BLOCK
    numbers = _Numbers(data, data[first + 3])
    parameters = _parameters(numbers, first + 4)
    points, per_frame = numbers.word(2), numbers.word(4)
    begin, end = numbers.word(6), numbers.word(8)
    scale, start_block = numbers.floats(12, 1)[0], numbers.word(16)
    rate = float(numbers.floats(20, 1)[0])
    samples = max(1, numbers.word(18))
    if per_frame == 0:
        raise InputError(f'{path}: the C3D file holds no analogue channels, so no force plates')
    width = 4 * points + per_frame
    size = 4 if scale < 0.0 else 2
    offset = (start_block - 1) * BLOCK
    there = (len(data) - offset) // (width * size)
    wanted = end - begin + 1 if end < ALL_FRAMES else there
    if there < wanted:
        raise InputError(f'{path}: {wanted} frames are promised, {there} are there')
    read = numbers.floats if scale < 0.0 else numbers.integers
    frames = read(offset, wanted * width).reshape(wanted, width)
    channels = per_frame // samples
    raw = frames[:, 4 * points :].reshape(wanted * samples, channels).astype(float)
    analog = _scaled(raw, parameters)
    return C3d(path, parameters, analog, rate * samples, (begin - 1) / rate)


def _scaled(raw: Array, parameters: dict[str, Any]) -> Array:
    """Analogue samples in physical units."""
    count = raw.shape[1]
    scale = _per_channel(parameters, 'ANALOG:SCALE', count, 1.0)
    zero = _per_channel(parameters, 'ANALOG:OFFSET', count, 0.0)
    # Many files say UNSIGNED and hold signed numbers, unless the zero is in the upper half.
    if (
        _text(parameters.get('ANALOG:FORMAT', '')).upper().startswith('UNSIGNED')
        and zero.min() < 0
    ):
        raw, zero = raw % 65536.0, zero % 65536.0
    common = float(np.ravel(parameters.get('ANALOG:GEN_SCALE', 1.0))[0])
    return (raw - zero) * scale * common


def _per_channel(parameters: dict[str, Any], name: str, count: int, default: float) -> Array:
    """Values of all channels; lists of more than 255 go on under NAME2 and so on."""
    found: list[float] = []
    for suffix in ('', *(str(k) for k in range(2, 10))):
        found += np.ravel(parameters.get(name + suffix, [])).astype(float).tolist()
    return np.array((found + [default] * count)[:count])


def _text(value: Any) -> str:
    return value if isinstance(value, str) else (value[0] if len(value) else '')


class _Numbers:
    """Numbers of one processor."""

    def __init__(self, data: bytes, processor: int) -> None:
        if processor not in (INTEL, DEC, MIPS):
            raise ValueError(f'processor type {processor}, expected 84, 85 or 86')
        self.data, self._processor = data, processor
        self._order = '>' if processor == MIPS else '<'

    def _array(self, kind: str, offset: int, count: int) -> NDArray[Any]:
        return np.frombuffer(self.data, np.dtype(f'{self._order}{kind}'), count, offset)

    def word(self, offset: int) -> int:
        return int(self._array('u2', offset, 1)[0])

    def integers(self, offset: int, count: int) -> NDArray[np.int64]:
        return self._array('i2', offset, count).astype(np.int64)

    def floats(self, offset: int, count: int) -> Array:
        if self._processor != DEC:
            return self._array('f4', offset, count).astype(float)
        # The two words of a number are swapped, and its exponent is larger by two.
        words = self._array('u2', offset, 2 * count).reshape(-1, 2)[:, ::-1]
        return np.ascontiguousarray(words).view('<f4')[:, 0].astype(float) / 4.0


def _parameters(numbers: _Numbers, offset: int) -> dict[str, Any]:
    """All parameters by GROUP:NAME."""
    data, groups, found = numbers.data, {}, []
    while True:
        length, number = abs(_signed(data[offset])), _signed(data[offset + 1])
        if length == 0 or number == 0:
            break
        place = offset + 2 + length
        name = data[offset + 2 : place].decode('latin-1').strip('\0 ').upper()
        step = numbers.word(place)
        if number < 0:
            groups[-number] = name
        else:
            found.append((number, name, _value(numbers, place + 2)))
        if step == 0:
            break
        offset = place + step
    return {f'{groups.get(number, number)}:{name}': value for number, name, value in found}


def _value(numbers: _Numbers, offset: int) -> Any:
    kind = _signed(numbers.data[offset])
    if kind not in SIZES:
        raise ValueError(f'a parameter of type {kind}')
    shape = list(numbers.data[offset + 2 : offset + 2 + numbers.data[offset + 1]])
    count = int(np.prod(shape)) if shape else 1
    begin = offset + 2 + len(shape)
    if kind == -1:
        text = numbers.data[begin : begin + count].decode('latin-1')
        width = shape[0] if shape else 1
        parts = (
            [text[k : k + width].strip('\0 ') for k in range(0, len(text), width)] if width else []
        )
        return parts if len(shape) > 1 else ''.join(parts)
    if kind == 1:
        values: NDArray[Any] = np.frombuffer(numbers.data, np.int8, count, begin)
    else:
        values = (numbers.integers if kind == 2 else numbers.floats)(begin, count)
    return values.reshape(shape[::-1]).T if shape else values


def _signed(byte: int) -> int:
    return byte - 256 if byte > 127 else byte
