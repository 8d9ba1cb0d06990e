"""The one decompressor of all containers, which never unpacks more than it was told to expect.

A few kilobytes can unpack to gigabytes. So three bounds hold while bytes come out, not afterwards:
the size that the container states, a cap, and a ratio beyond which nothing is a recording.
"""

from __future__ import annotations

import bz2
import sys
from collections.abc import Callable
from typing import Any, BinaryIO

from lz4.frame import LZ4FrameDecompressor

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

#: Most bytes of a chunk or message; recorders write chunks of about a megabyte.
MOST_BYTES = 2**30
#: Up to here any ratio is possible (a long run of one value packs to nearly nothing).
FREE_BYTES = 16 * 2**20
MOST_RATIO = 500
#: Bytes of a file handled at a time.
PIECE = 2**20

MAKERS: dict[str, Callable[[], Any]] = {
    'zstd': zstd.ZstdDecompressor,
    'lz4': LZ4FrameDecompressor,
    'bz2': bz2.BZ2Decompressor,
}
#: What the libraries raise on bytes that are none of theirs.
DAMAGE = (RuntimeError, ValueError, EOFError, MemoryError, OSError, zstd.ZstdError)


class UnpackError(Exception):
    """Packed bytes are damaged, or unpack to more than they may."""


def allowed(packed: int, cap: int = MOST_BYTES) -> int:
    """Most bytes that `packed` bytes may unpack to."""
    return min(cap, max(FREE_BYTES, MOST_RATIO * packed))


def unpack(method: str, data: bytes, stated: int | None = None, cap: int = MOST_BYTES) -> bytes:
    """Unpacked bytes; UnpackError unless they are as many as `stated` and within the bounds."""
    if stated is not None and stated > allowed(len(data), cap):
        raise UnpackError(
            f'{len(data)} bytes state to unpack to {stated}, which is more than is believed'
        )
    limit = allowed(len(data), cap) if stated is None else stated
    parts: list[bytes] = []
    size, rest = 0, bytes(data)
    try:
        while rest:
            unpacker = MAKERS[method]()
            while not unpacker.eof:
                # One byte more than allowed tells that there is more.
                part = unpacker.decompress(rest, max_length=limit - size + 1)
                rest = b''
                size += len(part)
                if size > limit:
                    raise UnpackError(f'{len(data)} bytes unpack to more than {limit}')
                parts.append(part)
                if not part and not unpacker.eof and unpacker.needs_input:
                    raise UnpackError('the packed data end too early')
            rest = unpacker.unused_data or b''
    except DAMAGE as error:
        raise UnpackError(f'the {method} data cannot be unpacked ({error})') from error
    content = parts[0] if len(parts) == 1 else b''.join(parts)
    if stated is not None and size != stated:
        raise UnpackError(f'{size} bytes were unpacked instead of {stated}')
    return content


def unpack_file(method: str, source: BinaryIO, target: BinaryIO, cap: int) -> None:
    """Unpack a whole file into another, piece by piece, within the bounds."""
    packed = size = 0
    unpacker: Any = None
    try:
        while piece := source.read(PIECE):
            packed += len(piece)
            while piece:
                if unpacker is None:
                    unpacker = MAKERS[method]()
                while not unpacker.eof:
                    part = unpacker.decompress(piece, max_length=PIECE)
                    piece = b''
                    size += len(part)
                    if size > allowed(packed, cap):
                        raise UnpackError(
                            f'its first {packed} bytes unpack to more than {allowed(packed, cap)}'
                        )
                    target.write(part)
                    if unpacker.needs_input and not unpacker.eof:
                        break
                if unpacker.eof:
                    piece, unpacker = unpacker.unused_data or b'', None
    except OSError:
        raise  # of the files, not of the data
    except DAMAGE as error:
        raise UnpackError(f'the {method} data cannot be unpacked ({error})') from error
    if unpacker is not None or not packed:
        raise UnpackError('the packed data end too early')
