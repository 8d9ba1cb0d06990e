"""Which machine a recording is of: by its path, its metadata or a field of the description."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from veh_identification.configuration.reading import read
from veh_identification.errors import InputError, UsageError, VehIdError
from veh_identification.fleets.recordings import METADATA, Named, is_remote
from veh_identification.runtime.bags.folder import read_metadata
from veh_identification.runtime.graph import find_config
from veh_identification.systems.same import same_recording, sizes_of

FOLDER = 'folder'
RULES = (
    'folder (the one that holds the recording), same:NAME, path:REGEX, description:FIELD or '
    'metadata:KEY'
)
#: Names of machines are names of folders of results, too.
_NAME = re.compile(r'[^\s/\\\0][^/\\\0]{0,99}')


@dataclass(frozen=True)
class Planned:
    """A recording, its machine and its description; `error`: why it cannot be used."""

    address: str
    machine: str
    config: Path | None
    error: str = ''


def once(planned: Iterable[Planned]) -> tuple[tuple[Planned, ...], tuple[str, ...]]:
    """The recordings without copies, and what is said of those.

    A copy counts as much knowledge again, of its own machine or of another one.
    """
    kept: list[Planned] = []
    alike: dict[tuple[int, ...], list[Planned]] = {}
    said = []
    for one in planned:
        sizes = () if is_remote(one.address) or one.error else sizes_of(Path(one.address))
        known = alike.setdefault(sizes, []) if sizes else []
        first = next((x for x in known if same_recording(x.address, one.address)), None)
        if first is None:
            kept.append(one)
            known.append(one)
        else:
            said.append(
                f'{one.address} holds the same as {first.address} and is left out: its noise '
                'would count as twice as much knowledge'
            )
    return tuple(kept), tuple(said)


Rule = Callable[[str, Path | None], str]


def machine_rule(text: str) -> Rule:
    """The rule of `--machine-from`."""
    kind, _, rest = text.partition(':')
    if text == FOLDER:
        return lambda address, _: _parts(address)[0]
    if kind == 'same' and _NAME.fullmatch(rest):
        return lambda *_: rest
    if kind == 'path' and rest:
        return _of_path(rest)
    if kind == 'description' and rest:
        return lambda _, config: _of_description(config, rest)
    if kind == 'metadata' and rest:
        return lambda address, _: _of_metadata(address, rest)
    raise UsageError(f'--machine-from {text}: expected {RULES}')


def _parts(address: str) -> tuple[str, str]:
    """Names of the folder around a recording and of the recording."""
    path = Path(address.partition('://')[2]) if is_remote(address) else Path(address).absolute()
    name = path.name
    for ending in ('.zstd', '.mcap', '.db3', '.bag'):
        name = name.removesuffix(ending)
    return path.parent.name, name


def _of_path(pattern: str) -> Rule:
    try:
        compiled = re.compile(pattern)
    except re.error as error:
        raise UsageError(f'--machine-from path:{pattern} is no pattern: {error}') from None

    def rule(address: str, _: Path | None) -> str:
        found = compiled.search(address)
        if found is None:
            raise InputError(f'{address}: its path does not match {pattern!r}: no machine.')
        groups = [one for one in found.groups() if one is not None]
        return found.groupdict().get('machine') or (groups[0] if groups else found.group())

    return rule


@lru_cache(maxsize=4096)
def _description(path: Path) -> Mapping[str, Any]:
    return read(path).mapping


def _of_description(config: Path | None, field: str) -> str:
    if config is None:
        raise UsageError('--machine-from description:... needs --config')
    found: Any = _description(config)
    for part in field.split('.'):
        found = found.get(part) if isinstance(found, Mapping) else None
    if found is None or isinstance(found, (Mapping, list)):
        raise InputError(f'{config} has no entry {field} that names the machine.')
    return str(found)


def _of_metadata(address: str, key: str) -> str:
    if is_remote(address):
        raise UsageError(f'{address}: metadata is read of local recordings only')
    file = Path(address) / METADATA
    if not file.is_file():
        raise InputError(f'{address} has no {METADATA} whose custom_data names the machine.')
    found = read_metadata(file).custom_data.get(key)
    if not found:
        raise InputError(f'{file}: custom_data has no entry {key} that names the machine.')
    return found


def plan(named: Named, rule: Rule, config: str | Path | None) -> Planned:
    """Machine and description of a recording; what is wrong is a sentence beside it.

    `config` may hold {machine}, {folder} and {name} (of the recording): each machine has a
    description of its own.
    """
    machine, path = '', None
    try:
        pattern = named.config or (str(config) if config is not None else '')
        folder, name = _parts(named.address)
        pattern = pattern.replace('{folder}', folder).replace('{name}', name)
        later = '{machine}' in pattern
        path = find_config(pattern) if pattern and not later else None
        machine = named.machine or rule(named.address, path)
        if not _NAME.fullmatch(machine) or machine in ('.', '..'):
            raise InputError(f'{named.address}: {machine!r} is no name of a machine.')
        if later:
            path = find_config(pattern.replace('{machine}', machine))
    except VehIdError as error:
        if isinstance(error, UsageError) and not named.config and '{' not in str(config):
            raise  # wrong for every recording
        return Planned(named.address, machine, path, str(error))
    return Planned(named.address, machine, path)
