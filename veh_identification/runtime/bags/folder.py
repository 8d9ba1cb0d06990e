"""Recordings as they lie on the disk: rosbag2 folders, single storage files, ROS 1 bags."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

from veh_identification.atomic import reason
from veh_identification.configuration.faults import ConfigurationError, shown
from veh_identification.configuration.models import Model, entry, validate
from veh_identification.configuration.quantities import Text, Whole
from veh_identification.configuration.reading import read
from veh_identification.errors import BagError
from veh_identification.files import FileError, is_folder, open_plain, shortened
from veh_identification.runtime.bags.mcap.format import MAGIC as MCAP_MAGIC
from veh_identification.runtime.bags.mcap.source import McapSource
from veh_identification.runtime.bags.ros1_source import Ros1Source
from veh_identification.runtime.bags.source import Item, Problems, Source
from veh_identification.runtime.bags.sqlite_source import SqliteSource
from veh_identification.runtime.bags.unpacking import UnpackError, unpack, unpack_file
from veh_identification.runtime.bags.yaml_text import INFORMATION

ZSTD_MAGIC = b'\x28\xb5\x2f\xfd'
NEWEST_VERSION = 9
SOURCES: dict[str, Callable[[Path, Problems, Path], Source]] = {
    'mcap': McapSource,
    'sqlite3': SqliteSource,
    'ros1': Ros1Source,
}
#: Below this version the recorder was Humble or older, and no definitions were stored.
FIRST_VERSION_WITH_DISTRIBUTION = 7


@dataclass
class Recording:
    """An opened recording: its files in order and what metadata.yaml says about all of them."""

    path: Path
    sources: list[Source]
    storage: str
    compression: str = ''
    distribution: str = ''
    custom_data: dict[str, str] = field(default_factory=dict)
    temporary: TemporaryDirectory[str] | None = None

    def close(self) -> None:
        """Close all files and remove temporary ones."""
        for source in self.sources:
            source.close()
        if self.temporary is not None:
            self.temporary.cleanup()


def open_recording(path: Path, problems: Problems) -> Recording:
    """Open a rosbag2 folder, an .mcap or .db3 file, or a ROS 1 bag."""
    try:
        folder = is_folder(path)
    except FileError as error:
        raise BagError(str(error)) from None
    try:
        return _open_folder(path, problems) if folder else _open_one(path, problems)
    except OSError as error:
        raise BagError(f'{path} cannot be read: {reason(error)}.') from error


def _open_one(path: Path, problems: Problems) -> Recording:
    temporary = None
    file = path
    try:
        if _magic(path) == ZSTD_MAGIC:
            temporary = TemporaryDirectory()
            file = _decompress(path, Path(temporary.name))
        kind = _kind(file, path)
        return Recording(path, [_open_file(file, kind, problems, path)], kind, temporary=temporary)
    except BaseException:
        if temporary is not None:
            temporary.cleanup()
        raise


def _magic(path: Path) -> bytes:
    return _head(path, path)[:4]


def _head(path: Path, shown: Path) -> bytes:
    try:
        with open_plain(path) as file:
            return file.read(16)
    except (FileError, OSError) as error:
        why = error.why if isinstance(error, FileError) else f'cannot be read: {reason(error)}'
        raise BagError(f'{shortened(shown)} {why}.') from None


def _kind(path: Path, shown: Path) -> str:
    head = _head(path, shown)
    if not head:
        raise BagError(f'{shown} is empty.')
    if head.startswith(MCAP_MAGIC):
        return 'mcap'
    if head.startswith(b'SQLite format 3'):
        return 'sqlite3'
    if head.startswith(b'#ROSBAG V'):
        return 'ros1'
    raise BagError(
        f'{shown} is not a recording: it is neither an mcap file, nor an sqlite3 file of rosbag2, '
        f'nor a ROS 1 bag.'
    )


def _open_file(path: Path, kind: str, problems: Problems, shown: Path) -> Source:
    return SOURCES[kind](path, problems, shown)


@dataclass(frozen=True)
class Metadata(Model):
    """What is used of metadata.yaml; recorders of all versions write more."""

    __pydantic_config__: ClassVar[dict[str, Any]] = {'extra': 'ignore'}
    version: Whole = entry(description='of the file')
    storage_identifier: Text = entry(description='mcap or sqlite3')
    relative_file_paths: tuple[Text, ...] = entry(description='the storage files in order')
    compression_mode: Text = entry('', 'file or message; none or empty: not compressed')
    compression_format: Text = entry('', 'zstd')
    ros_distro: Text = entry('', 'of the recorder')
    custom_data: Mapping[Text, Text] = entry({}, 'texts of the one who recorded')


def read_metadata(file: Path) -> Metadata:
    """Checked content of metadata.yaml."""
    try:
        document = read(file)
        if document.find((INFORMATION,)) is None:
            raise BagError(f'{file} is damaged: {INFORMATION} is missing.')
        metadata = validate(Metadata, document.below(INFORMATION))
    except ConfigurationError as error:
        raise BagError(f'{error.faults[0]}: the recording is damaged.') from error
    if metadata.version < 1:
        raise BagError(f'{file} has version {metadata.version}, which there never was.')
    if metadata.version > NEWEST_VERSION:
        raise BagError(f'{file} has version {metadata.version}, only versions up to 9 are known.')
    return metadata


def _open_folder(path: Path, problems: Problems) -> Recording:
    if not (path / 'metadata.yaml').is_symlink() and not (path / 'metadata.yaml').exists():
        return _open_without_metadata(path, problems)
    metadata = read_metadata(path / 'metadata.yaml')
    mode = metadata.compression_mode.lower().replace('none', '')
    method = metadata.compression_format
    if mode and (mode not in ('file', 'message') or method != 'zstd'):
        raise BagError(f'{path} is compressed by {mode} with {method}, only zstd is known.')
    storage = metadata.storage_identifier
    if storage not in ('mcap', 'sqlite3'):
        raise BagError(f'{path} has the storage {storage!r}, only mcap and sqlite3 are known.')
    distribution = metadata.ros_distro
    if not distribution and metadata.version < FIRST_VERSION_WITH_DISTRIBUTION:
        distribution = 'humble'
    recording = Recording(path, [], storage, mode, distribution, dict(metadata.custom_data))
    try:
        if mode == 'file':
            recording.temporary = TemporaryDirectory()
        for name in metadata.relative_file_paths:
            file = shown = _find_file(path, name)
            if any(source.path == shown for source in recording.sources):
                raise BagError(f'{path}: metadata.yaml names the file {shown.name} twice.')
            if recording.temporary is not None:
                file = _decompress(file, Path(recording.temporary.name))
            _kind(file, shown)
            source = _open_file(file, storage, problems, shown)
            recording.sources.append(_Decompressing(source) if mode == 'message' else source)
    except BaseException:
        recording.close()
        raise
    return recording


def _open_without_metadata(path: Path, problems: Problems) -> Recording:
    """Folder of a recorder that was cut off before it could write metadata.yaml."""
    files = sorted(p for p in path.iterdir() if p.suffix in ('.mcap', '.db3') and p.is_file())
    if not files:
        raise BagError(f'{path} is not a recording: it holds no metadata.yaml.')
    problems.meet(
        f'{path} holds no metadata.yaml (the recorder was cut off?): give the file '
        f'{files[0].name} in it, run "ros2 bag reindex", or let damaged parts be skipped.'
    )
    kinds = [_kind(file, file) for file in files]
    recording = Recording(path, [], kinds[0])
    try:
        for file, kind in zip(files, kinds, strict=True):
            recording.sources.append(_open_file(file, kind, problems, file))
    except BaseException:
        recording.close()
        raise
    return recording


def _find_file(folder: Path, name: str) -> Path:
    """Storage file of a folder; early versions wrote paths with the folder's name before it."""
    plain = Path(name).name
    # The name alone counts, so that no recording leads out of its own folder.
    if plain in ('', '..') or not plain.isprintable():
        raise BagError(f'{folder}: metadata.yaml names {shown(name)}, which is no file name.')
    for candidate in (folder / plain, folder / f'{plain}.zstd'):
        with suppress(FileError):
            if not is_folder(candidate):
                return candidate
    raise BagError(
        f'{folder}: metadata.yaml names the file {shortened(plain)}, which does not exist.'
    )


def _decompress(path: Path, folder: Path) -> Path:
    """Temporary decompressed copy of a file."""
    target = folder / path.name.removesuffix('.zstd')
    try:
        # Never more than leaves the disk a tenth of its free space.
        cap = shutil.disk_usage(folder).free * 9 // 10
        with open_plain(path) as stream, target.open('wb') as file:
            unpack_file('zstd', stream, file, cap)
    except UnpackError as error:
        raise BagError(f'{path} is truncated or damaged: {error}.') from error
    except FileError as error:
        raise BagError(str(error)) from None
    except OSError as error:
        raise BagError(f'{path} cannot be decompressed: {reason(error)}.') from error
    return target


class _Decompressing:
    """Source whose messages are compressed one by one."""

    def __init__(self, source: Source):
        self.source = source
        self.path = source.path
        self.connections = source.connections
        self.start_ns, self.end_ns = source.start_ns, source.end_ns
        self.message_count = source.message_count
        self.truncated = source.truncated

    def items(
        self, ids: Collection[int], start_ns: int | None, stop_ns: int | None, problems: Problems
    ) -> Iterator[Item]:
        for time_ns, key, data in self.source.items(ids, start_ns, stop_ns, problems):
            try:
                content = unpack('zstd', data)
            except UnpackError as error:
                problems.meet(
                    f'{self.path}: a message at {time_ns} ns is damaged: {error}.', error
                )
                continue
            yield time_ns, key, content

    def close(self) -> None:
        self.source.close()
