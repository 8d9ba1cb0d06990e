"""Versions and the command behind a result."""

from __future__ import annotations

import platform
import shlex
import sys
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from importlib import metadata
from pathlib import Path
from typing import Any

from veh_identification._version import __version__
from veh_identification.reporting.content import Provenance

LIBRARIES = ('numpy', 'scipy', 'numba', 'rosbags', 'plotly')


def versions() -> tuple[tuple[str, str], ...]:
    """This package, Python and the libraries that the numbers depend on."""
    found = [('veh_identification', __version__), ('Python', platform.python_version())]
    for name in LIBRARIES:
        try:
            found.append((name, metadata.version(name)))
        except metadata.PackageNotFoundError:
            found.append((name, 'not installed'))
    return (*found, ('system', f'{platform.system()} {platform.machine()}'))


def command_line(verb: str, system: str, options: Sequence[tuple[str, Any]]) -> str:
    """The command that makes the result again: as typed, or put together from the arguments."""
    called = Path(sys.argv[0])
    ours = called.name == 'veh-id' or called.parts[-2:] == ('cli', 'main.py')
    if ours and sys.argv[1:3] == [verb, system]:
        return shlex.join(['veh-id', *sys.argv[1:]])
    words = ['veh-id', verb, system]
    for name, value in options:
        if value is True:
            words.append(f'--{name.replace("_", "-")}')
        elif value is not None and value is not False:
            words += [f'--{name.replace("_", "-")}', str(value)]
    return shlex.join(words)


def provenance(
    verb: str,
    system: str,
    options: Sequence[tuple[str, Any]],
    settings: Mapping[str, Any] | None = None,
    inputs: Sequence[tuple[str, str, str]] = (),
) -> Provenance:
    """Where a result comes from; `options` are (name, value) pairs of the command line."""
    files = tuple(
        (name.replace('_', ' '), 'yes' if value is True else str(value))
        for name, value in options
        if value is not None and value is not False
    )
    return Provenance(
        command_line(verb, system, options),
        files,
        versions(),
        settings or {},
        datetime.now(timezone.utc).strftime('%Y-%m-%d %H:%M UTC'),
        tuple(inputs),
        arguments_of(options),
    )


def arguments_of(options: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """Recordings, files and options by name as JSON holds them, and where relative paths begin.

    What is neither a number nor a path (a recording that was in memory) is None.
    """
    found: dict[str, Any] = {'folder': str(Path.cwd()), 'bag': []}
    for name, value in options:
        if name == 'bag':
            found['bag'].append(_plain(value))
        elif name != 'out' and value is not None:
            found[name] = _plain(value)
    return found


def _plain(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    if isinstance(value, Path):
        return str(value)
    return value if isinstance(value, (str, bool, int, float)) else None
