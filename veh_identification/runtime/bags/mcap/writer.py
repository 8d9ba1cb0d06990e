"""MCAP storage for rosbags' writer, with checksums on every chunk and on the summary.

rosbags' own MCAP storage writes none, so that damage to its files cannot be noticed later.
"""

from __future__ import annotations

import os
import struct
import zlib
from pathlib import Path
from typing import Any

from rosbags.interfaces import Connection
from rosbags.rosbag2.enums import CompressionMode

from veh_identification._version import __version__
from veh_identification.runtime.bags.mcap import format as mcap

CHUNK_BYTES = 2**20
NEVER = 2**63 - 1
PACK_MESSAGE = struct.Struct('<BQHIQQ').pack  # a whole message record up to its payload
HEAD_SIZE = mcap.MESSAGE_HEAD.size
RECORD_SIZE = mcap.RECORD.size + HEAD_SIZE


class McapStorage:
    """Writes one MCAP file; the interface is that of rosbags' storage writers."""

    def __init__(self, path: Path, compression: CompressionMode):
        """Create the file named after the folder `path`."""
        self.path = path / f'{path.name}.mcap'
        self.compression = 'zstd' if compression == CompressionMode.STORAGE else ''
        self.file = self.path.open('xb')
        self.position = 0
        library = f'veh_identification {__version__}'
        header = mcap.pack_record(mcap.HEADER, mcap.pack_string('ros2'), mcap.pack_string(library))
        self._put(mcap.MAGIC + header)
        self.schemas: dict[str, tuple[int, bytes]] = {}
        self.channels: list[bytes] = []
        self.counts: dict[int, int] = {}
        self.chunk_indexes: list[bytes] = []
        self.first_ns, self.last_ns = NEVER, 0
        #: Log time after which a chunk is written though it is not full (live recordings).
        self.longest_wait_ns = NEVER
        self._start_chunk()

    def _put(self, data: bytes) -> None:
        self.file.write(data)
        self.position += len(data)

    def _start_chunk(self) -> None:
        self.chunk: list[bytes] = []  # records, or parts of them, joined when it is written
        self.chunk_size = 0
        self.chunk_first_ns, self.chunk_last_ns = NEVER, 0
        self.offsets: dict[int, list[int]] = {}  # per channel: time, offset, time, offset ...

    def add_msgtype(self, connection: Connection) -> None:
        """Store the definition of a type."""
        key = len(self.schemas) + 1
        encoding = 'ros2msg' if connection.msgdef.format.name == 'MSG' else 'ros2idl'
        record = mcap.pack_record(
            mcap.SCHEMA,
            mcap.U16.pack(key),
            mcap.pack_string(connection.msgtype),
            mcap.pack_string(encoding),
            mcap.pack_string(connection.msgdef.data),
        )
        self.schemas[connection.msgtype] = (key, record)
        self._add(record)

    def add_connection(self, connection: Connection, offered_qos_profiles: str) -> None:
        """Store a topic."""
        ext: Any = connection.ext
        metadata = {
            'offered_qos_profiles': offered_qos_profiles,
            'topic_type_hash': connection.digest,
        }
        pairs = [mcap.pack_string(text) for pair in metadata.items() for text in pair]
        record = mcap.pack_record(
            mcap.CHANNEL,
            mcap.U16.pack(connection.id),
            mcap.U16.pack(self.schemas[connection.msgtype][0]),
            mcap.pack_string(connection.topic),
            mcap.pack_string(ext.serialization_format),
            mcap.pack_bytes(b''.join(pairs)),
        )
        self.channels.append(record)
        self.counts[connection.id] = 0
        self._add(record)

    def _add(self, record: bytes) -> None:
        self.chunk.append(record)
        self.chunk_size += len(record)

    def write(self, connection: Connection, timestamp: int, data: bytes | memoryview) -> None:
        """Store a message."""
        channel, size = connection.id, len(data)
        offsets = self.offsets.get(channel)
        if offsets is None:
            offsets = self.offsets[channel] = []
        offsets += (timestamp, self.chunk_size)
        count = self.counts[channel]
        head = PACK_MESSAGE(
            mcap.MESSAGE, HEAD_SIZE + size, channel, count & 0xFFFFFFFF, timestamp, timestamp
        )
        # Bytes cannot change any more; a view of something else could until the chunk is full.
        self.chunk += (head, data if type(data) is bytes else bytes(data))
        self.chunk_size += RECORD_SIZE + size
        self.counts[channel] = count + 1
        if timestamp < self.chunk_first_ns:
            self.chunk_first_ns = timestamp
        if timestamp > self.chunk_last_ns:
            self.chunk_last_ns = timestamp
        if self.chunk_size > CHUNK_BYTES:
            self._close_chunk()
        elif timestamp - self.chunk_first_ns >= self.longest_wait_ns:
            self._close_chunk()
            self.file.flush()

    def _close_chunk(self) -> None:
        """Write the pending chunk with its checksum, its message indexes, note its index."""
        empty = not self.offsets
        first, last = (0, 0) if empty else (self.chunk_first_ns, self.chunk_last_ns)
        content = b''.join(self.chunk)
        compressed = mcap.COMPRESS[self.compression](content)
        chunk_start = self.position
        head = mcap.CHUNK_HEAD.pack(first, last, len(content), zlib.crc32(content))
        head += mcap.pack_string(self.compression) + mcap.U64.pack(len(compressed))
        self._put(mcap.RECORD.pack(mcap.CHUNK, len(head) + len(compressed)) + head)
        self._put(compressed)
        chunk_end = self.position
        places = []
        for channel, pairs in self.offsets.items():
            places.append(mcap.U16.pack(channel) + mcap.U64.pack(self.position))
            entries = struct.pack(f'<{len(pairs)}Q', *pairs)
            head = mcap.U16.pack(channel)
            self._put(mcap.pack_record(mcap.MESSAGE_INDEX, head, mcap.pack_bytes(entries)))
        self.chunk_indexes.append(
            mcap.pack_record(
                mcap.CHUNK_INDEX,
                mcap.CHUNK_INDEX_HEAD.pack(first, last, chunk_start, chunk_end - chunk_start),
                mcap.pack_bytes(b''.join(places)),
                mcap.U64.pack(self.position - chunk_end),
                mcap.pack_string(self.compression),
                mcap.U64.pack(len(compressed)) + mcap.U64.pack(len(content)),
            )
        )
        if not empty:
            self.first_ns = min(self.first_ns, first)
            self.last_ns = max(self.last_ns, last)
        self._start_chunk()

    def close(self, version: int, metadata: str) -> None:
        """Write what is pending, the summary and the footer."""
        if self.chunk:
            self._close_chunk()
        text = mcap.pack_string('serialized_metadata') + mcap.pack_string(metadata)
        metadata_start = self.position
        record = mcap.pack_record(
            mcap.METADATA, mcap.pack_string('rosbag2'), mcap.pack_bytes(text)
        )
        self._put(record)
        metadata_index = mcap.pack_record(
            mcap.METADATA_INDEX,
            mcap.U64.pack(metadata_start) + mcap.U64.pack(len(record)),
            mcap.pack_string('rosbag2'),
        )
        self._put(mcap.pack_record(mcap.DATA_END, mcap.U32.pack(0)))
        self._put_summary(
            [
                (mcap.SCHEMA, [record for _, record in self.schemas.values()]),
                (mcap.CHANNEL, self.channels),
                (mcap.CHUNK_INDEX, self.chunk_indexes),
                (mcap.METADATA_INDEX, [metadata_index]),
                (mcap.STATISTICS, [self._statistics()]),
            ]
        )
        self.file.flush()
        os.fsync(self.file.fileno())  # complete on the disk before the folder gets its name
        self.file.close()

    def _statistics(self) -> bytes:
        total = sum(self.counts.values())
        first = self.first_ns if total else 0
        counts = (mcap.U16.pack(key) + mcap.U64.pack(count) for key, count in self.counts.items())
        lengths = (len(self.schemas), len(self.channels), 0, 1, len(self.chunk_indexes))
        return mcap.pack_record(
            mcap.STATISTICS,
            mcap.STATISTICS_HEAD.pack(total, *lengths, first, self.last_ns),
            mcap.pack_bytes(b''.join(counts)),
        )

    def _put_summary(self, groups: list[tuple[int, list[bytes]]]) -> None:
        summary_start = self.position
        summary = bytearray()
        offsets = bytearray()
        for opcode, group in groups:
            if group:
                begin = summary_start + len(summary)
                summary += b''.join(group)
                length = summary_start + len(summary) - begin
                where = mcap.U64.pack(begin) + mcap.U64.pack(length)
                offsets += mcap.pack_record(mcap.SUMMARY_OFFSET, bytes([opcode]), where)
        offset_start = summary_start + len(summary)
        footer = mcap.RECORD.pack(mcap.FOOTER, mcap.FOOTER_BODY.size)
        footer += mcap.U64.pack(summary_start) + mcap.U64.pack(offset_start)
        section = bytes(summary + offsets) + footer
        self._put(section + mcap.U32.pack(zlib.crc32(section)) + mcap.MAGIC)

    def abort(self) -> None:
        """Close without an index; the writer removes the file."""
        self.file.close()
