"""Writing rosbag2 recordings, whole or not at all."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from types import TracebackType
from typing import Any

from rosbags.interfaces import Connection
from rosbags.rosbag2 import CompressionFormat, CompressionMode, StoragePlugin, WriterError

from veh_identification.atomic import (
    PARTIAL,
    held,
    leftovers,
    partial_name,
    prepare_target,
    publish,
    reason,
    remove,
)
from veh_identification.errors import BagError, MessageError
from veh_identification.runtime import messages
from veh_identification.runtime.bags.catalog import full_topic
from veh_identification.runtime.bags.mcap.writer import McapStorage
from veh_identification.runtime.bags.rosbag2_writer import Rosbag2Writer
from veh_identification.runtime.interface import NANOSECONDS
from veh_identification.runtime.qos import STATIC_TF, QoS

STORAGES = {'mcap': StoragePlugin.MCAP, 'sqlite3': StoragePlugin.SQLITE3}
COMPRESSIONS = {
    'none': CompressionMode.NONE,
    'chunk': CompressionMode.STORAGE,
    'file': CompressionMode.FILE,
    'message': CompressionMode.MESSAGE,
}
LARGEST_TIME = 2**63 - 1
#: Ending of the temporary name of a live recording, which is never thrown away.
RECORDING = 'recording'


class BagWriter:
    """A rosbag2 folder that appears under its name when the block ends without an exception.

    Definitions of all types are embedded, so that any reader understands the recording.
    """

    def __init__(
        self,
        path: Path | str,
        *,
        storage: str = 'mcap',
        compression: str = 'none',
        overwrite: bool = False,
        custom_data: Mapping[str, str] | None = None,
        live: bool = False,
    ):
        """Prepare a recording.

        Args:
            path: The folder to make.
            storage: `mcap` or `sqlite3`.
            compression: `none`, `chunk` (inside an mcap file), `file` or `message` (of rosbag2).
            overwrite: Replace what stands there, but only once the new recording is complete.
            custom_data: Texts kept in metadata.yaml.
            live: The messages come but once. They are on the disk after a second, and what a
                killed recorder left is kept: `recovered` names it after the start.
        """
        self.path = Path(path)
        if storage not in STORAGES:
            raise BagError(f'Unknown storage {storage!r}: expected one of {list(STORAGES)}.')
        if compression not in COMPRESSIONS or (storage, compression) == ('sqlite3', 'chunk'):
            raise BagError(
                f'Storage {storage} cannot be written with compression {compression!r}.'
            )
        self.storage = storage
        self.compression = compression
        self.overwrite = overwrite
        self.custom_data = dict(custom_data or {})
        self.live = live
        self.recovered: list[Path] = []
        self.counts: dict[str, int] = {}
        self._stack = ExitStack()
        self._connections: dict[str, Connection] = {}
        self._writer: Rosbag2Writer | None = None
        self._partial: Path | None = None

    def __enter__(self) -> BagWriter:
        """Start writing under a temporary name beside the target."""
        if self.path.name in ('', '..'):
            self.path = self.path.resolve()
        prepare_target(
            self.path,
            overwrite=self.overwrite,
            error=BagError,
            replaceable=('metadata.yaml',),
        )
        self._partial = partial_name(self.path, RECORDING if self.live else PARTIAL)
        try:
            self._writer = self._opened(self._partial)
        except BaseException as error:  # a signal may come between any two lines
            self._stack.close()
            remove(self._partial)
            if isinstance(error, (OSError, sqlite3.Error, WriterError)):
                raise self._failed(error) from error
            raise
        return self

    def _opened(self, partial: Path) -> Rosbag2Writer:
        """The writer of the files in the folder, which is made."""
        if self.live:
            self.recovered = _recovered(self.path.parent)
        partial.mkdir()
        self._stack.enter_context(held(partial))
        # The storage file carries the folder's name, so the folder has its final name already
        # and stands inside one with the temporary name.
        writer = Rosbag2Writer(partial / self.path.name, STORAGES[self.storage])
        writer.set_compression(COMPRESSIONS[self.compression], CompressionFormat.ZSTD)
        for key, value in self.custom_data.items():
            writer.set_custom_data(key, value)
        writer.open()
        if self.live and isinstance(writer.storage, McapStorage):
            writer.storage.longest_wait_ns = NANOSECONDS
        return writer

    def add_topic(
        self,
        topic: str,
        typename: str,
        *,
        qos: QoS | None = None,
        definition: str | None = None,
        type_hash: str | None = None,
    ) -> None:
        """Announce a topic, which may stay empty; writing to a new topic does it by itself."""
        topic = full_topic(topic)
        known = self._connections.get(topic)
        typename = messages.normalize_type_name(typename)
        if known is not None:
            if known.msgtype != typename:
                raise BagError(
                    f'{self.path}, topic {topic}: it holds {known.msgtype}, {typename} cannot be '
                    f'written to it.'
                )
            return
        if qos is None:
            qos = STATIC_TF if topic.endswith('/tf_static') else QoS()
        if definition is None or type_hash is None:
            backend = messages.rosbags_backend()
            definition, type_hash = backend.definition(typename), backend.type_hash(typename)
        try:
            self._connections[topic] = self._open_writer().add_topic(
                topic, typename, definition=definition, type_hash=type_hash, qos=qos
            )
        except (OSError, sqlite3.Error, WriterError) as error:
            raise self._failed(error) from error
        self.counts[topic] = 0

    def write(
        self, topic: str, typename: str, payload: bytes, time_ns: int, *, qos: QoS | None = None
    ) -> None:
        """Write a serialised message (CDR) with its log time."""
        connection = self._connections.get(topic)
        if connection is None or connection.msgtype != typename:
            self.add_topic(topic, typename, qos=qos)
            connection = self._connections[full_topic(topic)]
            self._connections[topic] = connection  # found at once next time
        if not 0 <= time_ns <= LARGEST_TIME:
            raise BagError(f'{self.path}, topic {topic}: {time_ns} ns is not a possible log time.')
        try:
            self._open_writer().write(connection, time_ns, payload)
        except (OSError, sqlite3.Error) as error:
            raise self._failed(error) from error
        self.counts[connection.topic] += 1

    def stream(
        self, topic: str, typename: str, *, qos: QoS | None = None
    ) -> Callable[[bytes, int], None]:
        """Function that writes serialised messages (with their log times) to one topic: the same
        as `write`, with nothing looked up for each message.
        """
        self.add_topic(topic, typename, qos=qos)
        connection = self._connections[full_topic(topic)]
        write, counts, name = self._open_writer().write, self.counts, connection.topic

        def store(payload: bytes, time_ns: int) -> None:
            if not 0 <= time_ns <= LARGEST_TIME:
                raise BagError(
                    f'{self.path}, topic {topic}: {time_ns} ns is not a possible log time.'
                )
            try:
                write(connection, time_ns, payload)
            except (OSError, sqlite3.Error) as error:
                raise self._failed(error) from error
            counts[name] += 1

        return store

    def write_message(
        self, topic: str, message: Any, time_ns: int | None = None, *, qos: QoS | None = None
    ) -> None:
        """Write a message; without a log time its header stamp is taken."""
        if time_ns is None:
            try:
                time_ns = messages.stamp_ns(message)
            except MessageError as error:
                raise BagError(f'{self.path}, topic {topic}: {error} Give a log time.') from error
        payload = messages.serialize(message)
        self.write(topic, messages.type_name(message), payload, time_ns, qos=qos)

    def add_file(self, name: str, content: str | bytes) -> None:
        """Put a further file (truth.json) into the folder of the recording."""
        if Path(name).name != name or name == 'metadata.yaml':
            raise BagError(f'{name!r} is not a name for a file beside the recording.')
        data = content.encode('utf-8') if isinstance(content, str) else content
        try:
            (self._open_writer().path / name).write_bytes(data)
        except OSError as error:
            raise self._failed(error) from error

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Complete the recording and give it its name, or remove every trace of it."""
        writer, self._writer = self._writer, None
        assert writer is not None and self._partial is not None
        try:
            if kind is None:
                writer.close()
                publish(writer.path, self.path, overwrite=self.overwrite)
        except (OSError, sqlite3.Error, WriterError) as failure:
            raise self._failed(failure) from failure
        finally:
            with suppress(Exception):
                writer.abort()
            self._stack.close()
            remove(self._partial)

    def _open_writer(self) -> Rosbag2Writer:
        if self._writer is None:
            raise BagError(f'{self.path} is not open for writing.')
        return self._writer

    def _failed(self, error: Exception) -> BagError:
        cause = reason(error) if isinstance(error, OSError) else str(error)
        return BagError(f'{self.path} cannot be written: {cause.rstrip(".")}.')


def _recovered(folder: Path) -> list[Path]:
    """Give what killed recorders left in a folder visible names: `NAME.cut_off`, `NAME.cut_off_2`.

    Such a recording has no metadata.yaml; it is read when damaged parts are skipped.
    """
    found = []
    for left in leftovers(folder, RECORDING):
        for inner in left.iterdir():
            number, place = 1, folder / f'{inner.name}.cut_off'
            while place.exists():
                number += 1
                place = folder / f'{inner.name}.cut_off_{number}'
            inner.rename(place)
            found.append(place)
        remove(left)
    return found
