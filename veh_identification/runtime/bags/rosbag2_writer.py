"""rosbags' writer of rosbag2 folders with our storages and less work for each message and file."""

from __future__ import annotations

import shutil
import sqlite3
from functools import lru_cache
from pathlib import Path
from typing import Any

from rosbags.interfaces import (
    Connection,
    ConnectionExtRosbag2,
    MessageDefinition,
    MessageDefinitionFormat,
)
from rosbags.rosbag2 import CompressionMode, StoragePlugin, Writer, WriterError
from rosbags.rosbag2.metadata import dump_qos_v8
from rosbags.rosbag2.storage_sqlite3 import Sqlite3Writer

from veh_identification.runtime.bags.mcap.writer import McapStorage
from veh_identification.runtime.bags.qos_text import rosbags_qos
from veh_identification.runtime.bags.unpacking import zstd
from veh_identification.runtime.bags.yaml_text import INFORMATION, dump_yaml
from veh_identification.runtime.qos import QoS


class SqliteStorage(Sqlite3Writer):
    """rosbags' storage, opened by its path: rosbags' URI breaks on `#`, `?` and `%` in names."""

    def __init__(self, path: Path, compression: CompressionMode):
        """Create the file named after the folder `path`."""
        self.path = path / f'{path.name}.db3'
        self.conn = sqlite3.connect(self.path)
        self.conn.executescript(self.SQLITE_SCHEMA)
        self.cursor = self.conn.cursor()

    def abort(self) -> None:
        """Close the file without what is not committed; rosbags 0.11.0 cannot."""
        try:
            self.conn.rollback()
        finally:
            self.conn.close()


#: Version 9 of metadata.yaml cannot be read by Humble.
METADATA_VERSION = 8


@lru_cache(maxsize=64)
def _profile_text(qos: QoS) -> str:
    return dump_qos_v8([rosbags_qos(qos)])


class Rosbag2Writer(Writer):
    """Writes version 8; open is that of rosbags."""

    STORAGE_PLUGINS = {  # noqa: RUF012 (declared as an instance variable there)
        StoragePlugin.MCAP: McapStorage,
        StoragePlugin.SQLITE3: SqliteStorage,
    }

    def __init__(self, path: Path, storage_plugin: StoragePlugin) -> None:
        super().__init__(path, version=METADATA_VERSION, storage_plugin=storage_plugin)  # type: ignore[arg-type]
        self._profiles: dict[int, str] = {}

    def abort(self) -> None:
        """Let go of the files as they are; rosbags 0.11.0 keeps them open."""
        storage, self.storage = self.storage, None
        if isinstance(storage, McapStorage | SqliteStorage):
            storage.abort()

    def add_topic(
        self, topic: str, typename: str, *, definition: str, type_hash: str, qos: QoS
    ) -> Connection:
        """Announce a topic of which nothing was announced before."""
        if self.storage is None:
            raise WriterError('Bag was not opened.')
        idl = definition.startswith('=' * 80 + '\nIDL: ')
        form = MessageDefinitionFormat.IDL if idl else MessageDefinitionFormat.MSG
        connection = Connection(
            id=len(self.connections) + 1,
            topic=topic,
            msgtype=typename,
            msgdef=MessageDefinition(form, definition),
            digest=type_hash,
            msgcount=0,
            ext=ConnectionExtRosbag2('cdr', [rosbags_qos(qos)]),
            owner=self,
        )
        self._profiles[connection.id] = _profile_text(qos)
        if typename not in self.added_types:
            self.storage.add_msgtype(connection)
            self.added_types.add(typename)
        self.storage.add_connection(connection, self._profiles[connection.id])
        self.connections.append(connection)
        self.counts[connection.id] = 0
        return connection

    def write(self, connection: Connection, timestamp: int, data: bytes | memoryview) -> None:
        """Write a message of a connection that `add_topic` has returned."""
        if self.compression_mode == CompressionMode.MESSAGE:
            data = zstd.compress(data)
        assert self.storage is not None
        self.storage.write(connection, timestamp, data)
        self.counts[connection.id] += 1
        if timestamp < self.min_timestamp:
            self.min_timestamp = timestamp
        if timestamp > self.max_timestamp:
            self.max_timestamp = timestamp

    def close(self) -> None:
        """Complete the storage file, compress it if wanted, and write metadata.yaml."""
        assert self.storage is not None
        path = self.storage.path
        target = path
        if self.compression_mode == CompressionMode.FILE:
            target = path.with_suffix(f'{path.suffix}.{self.compression_format}')
        information = self._information(target.name)
        self.storage.close(self.version, dump_yaml(information).strip())
        self.storage = None
        if target != path:
            with path.open('rb') as source, zstd.open(target, 'wb') as sink:
                shutil.copyfileobj(source, sink)
            path.unlink()
        self.metapath.write_text(dump_yaml({INFORMATION: information}), 'utf-8')

    def _information(self, file_name: str) -> dict[str, Any]:
        count = sum(self.counts.values())
        outside = self.compression_mode in (CompressionMode.FILE, CompressionMode.MESSAGE)
        span = {
            'starting_time': {'nanoseconds_since_epoch': self.min_timestamp},
            'duration': {'nanoseconds': max(0, self.max_timestamp - self.min_timestamp)},
            'message_count': count,
        }
        return {
            'version': self.version,
            'storage_identifier': self.storage_plugin.name.lower(),
            'relative_file_paths': [file_name],
            **span,
            'topics_with_message_count': [
                {
                    'topic_metadata': {
                        'name': connection.topic,
                        'type': connection.msgtype,
                        'serialization_format': 'cdr',
                        'offered_qos_profiles': self._profiles[connection.id],
                        'type_description_hash': connection.digest,
                    },
                    'message_count': self.counts[connection.id],
                }
                for connection in self.connections
            ],
            'compression_format': self.compression_format if outside else '',
            'compression_mode': self.compression_mode.name.lower() if outside else '',
            # A dictionary of its own: the same object twice would become an anchor.
            'files': [{'path': file_name, **{k: _copy(v) for k, v in span.items()}}],
            'custom_data': self.custom_data or None,
            'ros_distro': 'rosbags',
        }


def _copy(value: Any) -> Any:
    return dict(value) if isinstance(value, dict) else value
