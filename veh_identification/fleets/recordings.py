"""Which recordings: by pattern, folder, list file or the address of an object store."""

from __future__ import annotations

import csv
import glob
import io
import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from veh_identification.atomic import RESULT_FILES
from veh_identification.errors import InputError, UsageError, one_line
from veh_identification.files import is_folder, read_plain

#: Files that are recordings by themselves; compressed ones have one more ending.
ENDINGS = ('.mcap', '.db3', '.bag')
COMPRESSED = '.zstd'
LISTS = ('.txt', '.csv')
#: A list of a hundred thousand recordings has some 10 MB.
MOST_LIST = 256 * 2**20
METADATA = 'metadata.yaml'


@dataclass(frozen=True)
class Named:
    """A recording, and what a list says of it; empty: it says nothing."""

    address: str
    machine: str = ''
    config: str = ''


def is_remote(address: str) -> bool:
    """An address that fsspec has to open."""
    return '://' in address


def find_recordings(words: Iterable[str | Path]) -> list[Named]:
    """Every recording that the words name, once, in their order."""
    found: dict[str, Named] = {}
    for word in words:
        for one in _of_word(str(word)):
            found.setdefault(_identity(one.address), one)
    if not found:
        raise UsageError('batch needs recordings: give paths, patterns, folders or a list file')
    return list(found.values())


def _identity(address: str) -> str:
    return address if is_remote(address) else os.path.realpath(address)


def _of_word(word: str) -> list[Named]:
    if is_remote(word):
        return [Named(one) for one in _remote(word)]
    if glob.has_magic(word) and not Path(word).exists():
        matched = sorted(glob.glob(word, recursive=True))  # noqa: PTH207 (absolute patterns)
        if not matched:
            raise UsageError(f'nothing matches {word}')
        return [Named(one) for path in matched for one in _local(Path(path))]
    path = Path(word)
    if path.suffix in LISTS and not is_folder(path):
        return _listed(path)
    found = [Named(one) for one in _local(path)]
    if not found:
        raise UsageError(f'{word} holds no recording (rosbag2 folder, .mcap, .db3 or .bag file)')
    return found


def _local(path: Path) -> list[str]:
    """A recording itself, or all below a folder; results of this program are none."""
    if not is_folder(path) or (path / METADATA).is_file():
        return [str(path)]
    found = []
    for folder, folders, files in os.walk(path):
        folders.sort()
        if METADATA in files:
            found.append(folder)
            folders.clear()
        elif any(name in files for name in RESULT_FILES):
            folders.clear()
        else:
            found += [str(Path(folder, name)) for name in sorted(files) if _is_recording(name)]
    return found


def _is_recording(name: str) -> bool:
    return not name.startswith('.') and name.removesuffix(COMPRESSED).endswith(ENDINGS)


def _listed(path: Path) -> list[Named]:
    """Lines of a text file, or the columns recording, machine and config of a CSV file."""
    try:
        text = read_plain(path, MOST_LIST).decode('utf-8')
    except UnicodeDecodeError as error:
        raise InputError(f'{path} is no list of recordings: {one_line(error)}.') from None
    if path.suffix == '.csv':
        return _of_table(path, text)
    lines = [line.strip() for line in text.splitlines()]
    return [Named(_beside(path, line)) for line in lines if line and not line.startswith('#')]


def _of_table(path: Path, text: str) -> list[Named]:
    table = csv.DictReader(io.StringIO(text))
    if 'recording' not in (table.fieldnames or ()):
        raise InputError(
            f'{path}: expected a column recording (and machine, config where wanted), found '
            f'{", ".join(table.fieldnames or ()) or "nothing"}.'
        )
    try:
        rows = list(table)
    except csv.Error as error:
        raise InputError(f'{path}, line {table.line_num}: {one_line(error)}.') from None
    found = []
    for number, row in enumerate(rows, 2):
        if not (row['recording'] or '').strip():
            raise InputError(f'{path}, row {number}: the column recording is empty.')
        config = (row.get('config') or '').strip()
        found.append(
            Named(
                _beside(path, row['recording'].strip()),
                (row.get('machine') or '').strip(),
                _beside(path, config) if config else '',
            )
        )
    return found


def _beside(listing: Path, word: str) -> str:
    """Relative to the list, so that a list and its recordings may be moved together."""
    return word if is_remote(word) else str(listing.parent / word)


def _fsspec() -> Any:
    try:
        import fsspec
    except ImportError:
        raise UsageError(
            'addresses of object stores need fsspec, which is not installed: '
            "pip install 'veh_identification[batch]'"
        ) from None
    return fsspec


def _remote(word: str) -> list[str]:
    """What a pattern or folder of an object store holds; a recording is a file or bag folder."""
    try:
        files, path = _fsspec().core.url_to_fs(word)
        names = files.glob(path) if glob.has_magic(word) else [path]
        found: list[str] = []
        for name in names:
            if not files.isdir(name):
                found.append(files.unstrip_protocol(name))
                continue
            below = sorted(files.find(name))
            bags = {one.rpartition('/')[0] for one in below if one.endswith(f'/{METADATA}')}
            loose = [
                one
                for one in below
                if _is_recording(one.rpartition('/')[2]) and one.rpartition('/')[0] not in bags
            ]
            found += [files.unstrip_protocol(one) for one in sorted([*bags, *loose])]
    except (OSError, ValueError, ImportError) as error:
        raise InputError(f'{word} cannot be listed: {one_line(error)}.') from None
    if not found:
        raise UsageError(f'nothing matches {word}')
    return found


def remote_state(address: str) -> str:
    """What an object store says of the content (etag, size, time), without reading it."""
    try:
        files, path = _fsspec().core.url_to_fs(address)
        names = sorted(files.find(path)) if files.isdir(path) else [path]
        return '\n'.join(f'{name} {files.ukey(name)}' for name in names)
    except (OSError, ValueError, ImportError, NotImplementedError) as error:
        raise InputError(f'{address} cannot be read: {one_line(error)}.') from None


@contextmanager
def local_copy(address: str) -> Iterator[Path]:
    """The recording itself, or a copy of a remote one that is removed afterwards."""
    if not is_remote(address):
        yield Path(address)
        return
    with tempfile.TemporaryDirectory(prefix='veh-id-batch-') as folder:
        target = Path(folder) / (address.rstrip('/').rpartition('/')[2] or 'recording')
        try:
            files, path = _fsspec().core.url_to_fs(address)
            files.get(path, str(target), recursive=bool(files.isdir(path)))
        except (OSError, ValueError, ImportError) as error:
            raise InputError(f'{address} cannot be fetched: {one_line(error)}.') from None
        yield target
