"""The MCAP container format (https://mcap.dev/spec): records and their fields.

Our own reading of it, because recordings that were cut off or damaged must still give their
intact part, because checksums are to be written and verified, and because of speed: 175,000
decoded messages a second where the package `mcap` hands out 95,000 to 114,000 undecoded ones.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from lz4.frame import compress as lz4_compress

from veh_identification.runtime.bags.unpacking import UnpackError, unpack, zstd

MAGIC = b'\x89MCAP0\r\n'
HEADER, FOOTER, SCHEMA, CHANNEL, MESSAGE, CHUNK = 0x01, 0x02, 0x03, 0x04, 0x05, 0x06
MESSAGE_INDEX, CHUNK_INDEX, STATISTICS, METADATA = 0x07, 0x08, 0x0B, 0x0C
METADATA_INDEX, SUMMARY_OFFSET, DATA_END = 0x0D, 0x0E, 0x0F

RECORD = struct.Struct('<BQ')  # opcode, length of what follows
MESSAGE_HEAD = struct.Struct('<HIQQ')  # channel, sequence, log time, publish time
CHUNK_HEAD = struct.Struct('<QQQI')  # start, end, uncompressed size, crc
CHUNK_INDEX_HEAD = struct.Struct('<QQQQ')  # start, end, offset and length of the chunk record
STATISTICS_HEAD = struct.Struct('<QHIIIIQQ')
FOOTER_BODY = struct.Struct('<QQI')  # summary start, summary offset start, summary crc
FOOTER_SIZE = RECORD.size + FOOTER_BODY.size
U16, U32, U64 = struct.Struct('<H'), struct.Struct('<I'), struct.Struct('<Q')

COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    '': lambda content: content,
    'lz4': lz4_compress,
    'zstd': zstd.compress,
}


class FormatError(Exception):
    """Bytes that do not follow the format."""


class Record(NamedTuple):
    """One record: its opcode, where its content starts and ends."""

    opcode: int
    start: int
    end: int


@dataclass(frozen=True)
class ChunkEntry:
    """Where a chunk is and what it holds; a run of messages outside chunks is one as well."""

    start_ns: int
    end_ns: int
    offset: int  # of the record; of the first message for a run
    length: int
    bare: bool = False  # a run of records outside chunks


@dataclass(frozen=True)
class Schema:
    """Message definition."""

    name: str
    encoding: str
    text: str


@dataclass(frozen=True)
class Channel:
    """Topic with its type."""

    id: int
    schema_id: int
    topic: str
    encoding: str
    metadata: dict[str, str]


def records(buffer: bytes, start: int = 0, end: int | None = None) -> Iterator[Record]:
    """Records of a buffer one after the other; FormatError where the last one is cut off."""
    end = len(buffer) if end is None else end
    position = start
    while position < end:
        if position + RECORD.size > end:
            raise FormatError('a record header is cut off')
        opcode, length = RECORD.unpack_from(buffer, position)
        position += RECORD.size
        if length > end - position:
            raise FormatError(f'a record of {length} bytes exceeds its container')
        yield Record(opcode, position, position + length)
        position += length


def read_string(buffer: bytes, position: int) -> tuple[str, int]:
    """String with a length before it, and the position after it."""
    data, position = read_bytes(buffer, position)
    return data.decode('utf-8'), position


def read_bytes(buffer: bytes, position: int) -> tuple[bytes, int]:
    """Bytes with a length before them, and the position after them."""
    (length,) = U32.unpack_from(buffer, position)
    position += U32.size
    if position + length > len(buffer):
        raise FormatError('a string exceeds its record')
    return buffer[position : position + length], position + length


def read_schema(body: bytes) -> tuple[int, Schema]:
    """Id and content of a schema record."""
    (key,) = U16.unpack_from(body)
    name, position = read_string(body, 2)
    encoding, position = read_string(body, position)
    text, _ = read_string(body, position)
    return key, Schema(name, encoding, text)


def read_channel(body: bytes) -> Channel:
    """Content of a channel record."""
    key, schema = struct.unpack_from('<HH', body)
    topic, position = read_string(body, 4)
    encoding, position = read_string(body, position)
    pairs, _ = read_bytes(body, position)
    metadata: dict[str, str] = {}
    position = 0
    while position < len(pairs):
        name, position = read_string(pairs, position)
        metadata[name], position = read_string(pairs, position)
    return Channel(key, schema, topic, encoding, metadata)


def read_chunk_index(body: bytes) -> ChunkEntry:
    """Chunk of a chunk index record."""
    return ChunkEntry(*CHUNK_INDEX_HEAD.unpack_from(body))


def read_statistics(body: bytes) -> tuple[int, int, int, dict[int, int]]:
    """Message count, start and end time, and message counts of the channels."""
    head = STATISTICS_HEAD.unpack_from(body)
    pairs, _ = read_bytes(body, STATISTICS_HEAD.size)
    return head[0], head[6], head[7], dict(struct.iter_unpack('<HQ', pairs))


def chunk_times(body: bytes) -> tuple[int, int]:
    """First and last log time that a chunk record states."""
    return CHUNK_HEAD.unpack_from(body)[:2] if len(body) >= CHUNK_HEAD.size else (0, 2**63)


def unpack_chunk(body: bytes) -> bytes:
    """Records inside a chunk, checked against its size and, when it has one, its checksum."""
    _, _, size, crc = CHUNK_HEAD.unpack_from(body)
    compression, position = read_string(body, CHUNK_HEAD.size)
    (length,) = U64.unpack_from(body, position)
    position += U64.size
    if position + length > len(body):
        raise FormatError('the compressed data exceed their chunk')
    if compression not in COMPRESS:
        raise FormatError(f'chunk compression {compression[:40]!r} is not known')
    content = body[position : position + length]
    if compression:
        try:
            content = unpack(compression, content, size)
        except UnpackError as error:
            raise FormatError(str(error)) from error
    elif len(content) != size:
        raise FormatError(f'the chunk holds {len(content)} bytes instead of {size}')
    if crc and zlib.crc32(content) != crc:
        raise FormatError('the checksum does not match')
    return content


def pack_string(text: str) -> bytes:
    """String with its length before it."""
    return pack_bytes(text.encode('utf-8'))


def pack_bytes(data: bytes) -> bytes:
    """Bytes with their length before them."""
    return U32.pack(len(data)) + data


def pack_record(opcode: int, *parts: bytes) -> bytes:
    """A whole record."""
    body = b''.join(parts)
    return RECORD.pack(opcode, len(body)) + body
