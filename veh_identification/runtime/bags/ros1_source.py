"""ROS 1 bags as a source of messages, by rosbags' reader."""

from __future__ import annotations

import os
import struct
from collections.abc import Collection, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from rosbags.rosbag1 import Reader, ReaderError
from rosbags.rosbag1.reader import Chunk, Header, RecordType, read_uint32

from veh_identification.errors import BagError
from veh_identification.runtime.bags.source import Connection, Definition, Item, Problems
from veh_identification.runtime.bags.unpacking import UnpackError, unpack
from veh_identification.runtime.qos import QoS

# rosbags checks parts of the format with assertions and lets decompressors' errors through.
DAMAGE: tuple[type[Exception], ...] = (
    *(ReaderError, AssertionError, ValueError, KeyError, IndexError, OSError, RuntimeError),
    *(OverflowError, MemoryError, EOFError, UnpackError, struct.error),
)


class BoundedReader(Reader):
    """rosbags' reader with chunks that unpack to the size that they state, and no more."""

    def read_chunk(self) -> Chunk:
        """Head of the chunk at the current position."""
        assert self.bio
        header = Header.read(self.bio, RecordType.CHUNK)
        method, stated = header.get_string('compression'), header.get_uint32('size')
        packed = read_uint32(self.bio)
        place = self.bio.tell()
        self.bio.seek(packed, os.SEEK_CUR)
        if method == 'none':
            return Chunk(packed, place, bytes)
        if method not in ('bz2', 'lz4'):
            raise ReaderError(f'chunk compression {method[:40]!r} is not known')
        return Chunk(packed, place, partial(unpack, method, stated=stated))


class Ros1Source:
    """One .bag file."""

    truncated = False

    def __init__(self, path: Path, problems: Problems, shown: Path | None = None):
        """Open the bag and read its index."""
        self.path = shown or path
        try:
            self.reader = BoundedReader(path)
            self.reader.open()
        except DAMAGE as error:
            raise BagError(
                f'{self.path} cannot be read as a ROS 1 bag, it is truncated or damaged: '
                f'{_text(error)} (rosbag reindex may repair it).'
            ) from error
        self.connections = [
            self._connection(connection)
            for connection in sorted(self.reader.connections, key=lambda entry: entry.id)
        ]
        self.message_count = sum(connection.count for connection in self.connections)
        self.start_ns = self.reader.start_time
        self.end_ns = max(self.reader.end_time - 1, 0)

    @staticmethod
    def _connection(connection: Any) -> Connection:
        latched = bool(connection.ext.latching)
        return Connection(
            id=connection.id,
            topic=connection.topic,
            typename=connection.msgtype,
            count=connection.msgcount,
            definition=Definition('msg', connection.msgdef.data),
            qos=QoS(depth=1, transient_local=True) if latched else QoS(),
            serialization='ros1',
        )

    def items(
        self, ids: Collection[int], start_ns: int | None, stop_ns: int | None, problems: Problems
    ) -> Iterator[Item]:
        """Messages of the connections `ids` in the order of log time, ties by connection."""
        wanted = [entry for entry in self.reader.connections if entry.id in ids]
        wanted.sort(key=lambda entry: entry.id)
        if not wanted:
            return
        try:
            for connection, time_ns, data in self.reader.messages(wanted, start_ns, stop_ns):
                yield time_ns, connection.id, data
        except DAMAGE as error:
            problems.meet(f'{self.path} is damaged, reading stopped: {_text(error)}.', error)

    def close(self) -> None:
        """Close the bag."""
        self.reader.close()


def _text(error: BaseException) -> str:
    return str(error).rstrip('.') or type(error).__name__
