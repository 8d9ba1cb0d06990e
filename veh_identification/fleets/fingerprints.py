"""When two reductions are the same: hashes of recording, description, options and version."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from veh_identification._version import __version__
from veh_identification.configuration.reading import read
from veh_identification.errors import InputError, VehIdError
from veh_identification.files import open_plain
from veh_identification.fleets.recordings import is_remote, remote_state

#: Of what is stored; another number makes every recording new.
FORMAT = 1
_BLOCK = 4 * 2**20


def _digest() -> Any:
    return hashlib.blake2b(digest_size=20)


def recording_files(path: Path) -> list[Path]:
    """The files of a recording in a fixed order."""
    return [path] if not path.is_dir() else sorted(one for one in path.rglob('*') if one.is_file())


def state_of(address: str) -> str:
    """Names, sizes and times of the files: while these stay, the content is not read again."""
    if is_remote(address):
        return hashed([remote_state(address)])
    path = Path(address)
    try:
        files = [(str(one.relative_to(path)), one.stat()) for one in recording_files(path)]
    except OSError as error:
        raise InputError(f'{address} cannot be read: {error.strerror}.') from None
    return hashed([f'{name} {about.st_size} {about.st_mtime_ns}' for name, about in files])


def content_of(address: str) -> str:
    """Hash of everything in a recording; of a remote one, of what its store says of it."""
    if is_remote(address):
        return state_of(address)
    path = Path(address)
    digest = _digest()
    files = recording_files(path)
    if not files:
        raise InputError(f'{address} does not exist or is empty.')
    for one in files:
        digest.update(f'{one.relative_to(path)}\0'.encode())
        try:
            with open_plain(one) as file:
                while block := file.read(_BLOCK):
                    digest.update(block)
        except OSError as error:
            raise InputError(f'{one} cannot be read: {error.strerror}.') from None
    return str(digest.hexdigest())


def hashed(texts: Iterable[str]) -> str:
    """Of texts in their order."""
    return hashlib.blake2b(json.dumps(list(texts)).encode(), digest_size=20).hexdigest()


@lru_cache(maxsize=65536)
def _file(path: Path) -> str:
    return content_of(str(path))


@lru_cache(maxsize=65536)
def description_of(path: Path | None) -> str:
    """Hash of a description and of the files that it names (a URDF, a table)."""
    if path is None:
        return ''
    try:
        texts = sorted(_texts(read(path).mapping))
    except VehIdError:  # whoever uses it says what is wrong
        texts = []
    named = [one for one in (path.parent / text for text in texts) if _is_file(one)]
    return hashed([_file(path), *(_file(one) for one in named)])


def _texts(content: Any) -> Iterable[str]:
    if isinstance(content, Mapping):
        content = list(content.values())
    if isinstance(content, str) and 0 < len(content) < 1000 and '\0' not in content:
        yield content
    elif isinstance(content, (list, tuple)):
        for one in content:
            yield from _texts(one)


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:
        return False


def options_hash(options: Sequence[tuple[str, Any]]) -> str:
    """Of options by their values; of those that name files, of these."""
    return hashed(f'{name}={_option(value)}' for name, value in sorted(options))


def _option(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return '|'.join(_option(one) for one in value)
    if isinstance(value, (str, Path)) and _is_file(Path(value)):
        return _file(Path(value))
    return repr(value)


def key_of(content: str, system: str, config: Path | None, options: Sequence[Any]) -> str:
    """The name of a stored reduction."""
    return hashed(
        [
            str(FORMAT),
            __version__,
            system,
            content,
            description_of(config),
            options_hash(options),
        ]
    )
