"""`veh-id doctor`: what is installed, what is missing, and how to get it."""

from __future__ import annotations

import argparse
import importlib.util
import os
import platform
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from veh_identification._version import __version__
from veh_identification.errors import VehIdError

PACKAGE = 'veh_identification'
LOWEST_PYTHON = (3, 10)
#: What each extra is for.
EXTRAS = {
    'zenoh': 'live in several processes without ROS',
    'dataframe': 'results as pandas tables',
    'foxglove': 'live views in Foxglove',
    'batch': 'recordings on several machines or in object stores',
    'test': 'the tests',
    'docs': 'the site (make site)',
    'release': 'wheels (make dist)',
}
MARKS = {'good': 'ok     ', 'note': '-      ', 'bad': 'MISSING'}


@dataclass(frozen=True)
class Line:
    """One thing that was looked at; `bad`: nothing works properly before it is mended."""

    level: str
    what: str
    text: str
    remedy: str = ''


@dataclass(frozen=True)
class Requirement:
    """A distribution that is needed, the versions that will do, and the extra that wants it."""

    name: str
    at_least: str
    below: str
    extra: str = ''

    @property
    def wanted(self) -> str:
        """The versions in words for pip."""
        least = f'>={self.at_least}' if self.at_least else ''
        below = f'<{self.below}' if self.below else ''
        return self.name + ','.join(filter(None, (least, below)))


def add_parser(verbs: Any) -> None:
    """Describe the verb."""
    parser = verbs.add_parser(
        'doctor',
        help='what is installed, what is missing and how to get it',
        description='Looks at Python, the libraries, the engines, ROS 2, the shared files and the '
        'caches of this installation. Status 1 where something that is needed is missing.',
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Look and tell."""
    lines = list(examine())
    for line in lines:
        print(f'{MARKS[line.level]} {line.what:18} {line.text}')
        if line.remedy:
            print(f'{"":26} -> {line.remedy}')
    bad = [line.what for line in lines if line.level == 'bad']
    print()
    print(f'Something is missing: {", ".join(bad)}.' if bad else 'Everything needed is here.')
    return int(bool(bad))


def examine() -> Iterator[Line]:
    """Everything that is looked at, in the order in which it matters."""
    yield Line('good', PACKAGE, f'{__version__} in {Path(__file__).resolve().parents[1]}')
    yield _python()
    yield _shared_files()
    yield from libraries(requirements())
    yield from _engines()
    yield _kernels(Path(__file__).resolve().parents[1])
    yield _states()
    yield Line('good', 'processor', f'{os.cpu_count()} cores, {platform.machine()}')


def _python() -> Line:
    text = f'{platform.python_version()} in {sys.prefix}'
    lowest = '.'.join(map(str, LOWEST_PYTHON))
    if sys.version_info < LOWEST_PYTHON:
        return Line('bad', 'Python', text, f'Python {lowest} or newer is needed')
    return Line('good', 'Python', text)


def _shared_files() -> Line:
    from veh_identification.runtime.share import share_directory

    try:
        return Line('good', 'shared files', str(share_directory()))
    except VehIdError as error:
        return Line('bad', 'shared files', 'not found', str(error))


def requirements() -> list[Requirement]:
    """What pip was told that this package needs; where pip does not know it, what ROS installs."""
    try:
        declared = metadata.requires(PACKAGE)
    except metadata.PackageNotFoundError:
        declared = None
    # What colcon installs has metadata, but no requirements in them.
    declared = declared or _from_project()
    return [one for one in map(requirement, declared) if one is not None]


def _from_project() -> list[str]:
    """The needed ones by the text of pyproject.toml, which lies beside the shared files."""
    from veh_identification.runtime.share import share_directory

    file = share_directory() / 'pyproject.toml'
    if not file.is_file():
        return []
    block = re.search(r'^dependencies = \[(.*?)^\]', file.read_text('utf-8'), re.M | re.S)
    return re.findall(r'"([^"]+)"', block[1]) if block else []


def requirement(text: str) -> Requirement | None:
    """A requirement as metadata spells it; None where its marker excludes this Python."""
    words, _, marker = text.partition(';')
    name = re.match(r'[\w.-]+', words.strip())
    if name is None:
        return None
    below = re.search(r"python_version\s*<\s*['\"]([\d.]+)", marker)
    if below and sys.version_info[:2] >= numbers(below[1]):
        return None
    if 'Windows' in marker and platform.system() == 'Windows':
        return None
    extra = re.search(r"extra\s*==\s*['\"]([\w-]+)", marker)
    least = re.search(r'>=\s*([\w.]+)', words)
    most = re.search(r'<\s*([\w.]+)', words)
    return Requirement(
        name[0], least[1] if least else '', most[1] if most else '', extra[1] if extra else ''
    )


def numbers(version: str) -> tuple[int, ...]:
    """The release of a version for comparison: 1.26.4 of 1.26.4rc1, without zeros at its end."""
    found = [int(part) for part in re.findall(r'\d+', version.partition('+')[0])]
    while found and found[-1] == 0:
        found.pop()
    return tuple(found)


def fits(installed: str, one: Requirement) -> bool:
    """Whether an installed version is one that will do."""
    seen = numbers(installed)
    above = not one.at_least or seen >= numbers(one.at_least)
    return above and (not one.below or seen < numbers(one.below))


def _installed(name: str) -> str:
    """The version of a distribution; '' where there is none."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ''


def libraries(needed: list[Requirement]) -> Iterator[Line]:
    """The needed libraries one by one, the extras each as one."""
    if not needed:
        yield Line('note', 'libraries', 'which versions are needed is not known here')
    for one in needed:
        if one.extra:
            continue
        version = _installed(one.name)
        if version and fits(version, one):
            yield Line('good', one.name, version)
        else:
            text = f'{version} is installed, {one.wanted} is needed' if version else 'not there'
            yield Line('bad', one.name, text, pip_line([one]))
    extras = {one.extra: None for one in needed if one.extra}
    for extra in extras:
        missing = [
            one
            for one in needed
            if one.extra == extra and not ((v := _installed(one.name)) and fits(v, one))
        ]
        use = EXTRAS.get(extra, 'optional')
        if missing:
            text = f'for {use}: without {", ".join(one.name for one in missing)}'
            yield Line('note', f'extra {extra}', text, pip_line(missing))
        else:
            yield Line('good', f'extra {extra}', f'for {use}')


def pip_line(missing: list[Requirement]) -> str:
    """The command that brings them."""
    return 'pip install ' + ' '.join(f"'{one.wanted}'" for one in missing)


def _engines() -> Iterator[Line]:
    yield Line('good', 'engine replay', 'offline, needs nothing')
    zenoh = _installed('eclipse-zenoh')
    if zenoh:
        yield Line('good', 'engine zenoh', zenoh)
    else:
        yield Line('note', 'engine zenoh', 'eclipse-zenoh is not installed (extra zenoh)')
    yield from _ros()


def _ros() -> Iterator[Line]:
    distribution = os.environ.get('ROS_DISTRO', '')
    if importlib.util.find_spec('rclpy') is None:
        seen = [path.name for path in sorted(Path('/opt/ros').glob('*')) if path.is_dir()]
        remedy = f'source /opt/ros/{seen[-1]}/setup.bash' if seen else ''
        text = 'rclpy is not on the path' if seen else 'ROS 2 is not installed (it need not be)'
        yield Line('note', 'engine ros', text, remedy)
        return
    middleware = os.environ.get('RMW_IMPLEMENTATION', 'the default middleware')
    yield Line('good', 'engine ros', f'{distribution or "rclpy"}, {middleware}')
    if importlib.util.find_spec(f'{PACKAGE}.msg') is None:
        yield Line(
            'bad',
            'ROS messages',
            f'{PACKAGE}.msg is not built',
            'colcon build in the workspace, then source install/setup.bash',
        )
    else:
        yield Line('good', 'ROS messages', f'{PACKAGE}.msg')


def _kernels(package: Path) -> Line:
    """Compiled kernels: how many are kept, and whether more can be."""
    elsewhere = os.environ.get('NUMBA_CACHE_DIR', '')
    folder = Path(elsewhere) if elsewhere else package
    kept = list(folder.rglob('*.nbi'))
    if not kept:
        text = 'none yet: the first run compiles for a minute or two'
    else:
        text = f'{len(kept)} kept below {folder}'
    if os.access(folder, os.W_OK):
        return Line('good', 'compiled kernels', text)
    return Line(
        'note',
        'compiled kernels',
        f'{folder} cannot be written: Numba keeps what it compiles in your own cache folder',
    )


def _states() -> Line:
    """Where live nodes keep their states."""
    try:
        from veh_identification.nodes.checkpoint import state_folder
    except ImportError:  # a library that is told as missing above
        return Line('note', 'states of nodes', 'not looked at while libraries are missing')
    folder = state_folder()
    existing = next(one for one in (folder, *folder.parents) if one.exists())
    if os.access(existing, os.W_OK):
        return Line('good', 'states of nodes', str(folder))
    return Line(
        'bad', 'states of nodes', f'{folder} cannot be written', 'set XDG_STATE_HOME to a folder'
    )


def version_text() -> str:
    """What `veh-id --version` prints: the version first, then what it runs on."""
    names = [one.name for one in requirements() if not one.extra]
    found = [f'{name} {_installed(name) or "missing"}' for name in names]
    engines = ['replay']
    engines += [f'zenoh {zenoh}'] if (zenoh := _installed('eclipse-zenoh')) else []
    if importlib.util.find_spec('rclpy') is not None:
        engines.append(f'ros ({os.environ.get("ROS_DISTRO", "rclpy")})')
    return '\n'.join(
        (
            f'veh-id {__version__}',
            f'Python {platform.python_version()}, {platform.system()} {platform.machine()}',
            f'engines: {", ".join(engines)}',
            f'libraries: {", ".join(found) or "unknown"}',
        )
    )
