"""The lowest version of every dependency that pyproject.toml promises, as constraints for pip.

`make test-lowest` installs exactly these, so that the lower bounds are what was run and not what
somebody hoped for. An extra that is named is taken with its lower bounds as well; what tests need
stays at the newest.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import tomllib

PROJECT = Path(__file__).parents[1] / 'pyproject.toml'
#: A name, its lower bound and a marker: "numpy>=1.26.4,<3; python_version < '3.14'".
BOUND = re.compile(r'([\w.-]+)>=([\w.]+)[^;]*(;.*)?')


def lowest(project: Path, extras: list[str]) -> list[str]:
    """`name==bound` of every dependency; ValueError where one has no lower bound."""
    table = tomllib.loads(project.read_text('utf-8'))['project']
    wanted = [*table['dependencies']]
    for extra in extras:
        wanted += table['optional-dependencies'][extra]
    pinned = []
    for one in wanted:
        found = BOUND.fullmatch(one)
        if found is None:
            raise ValueError(f'{project.name}: {one!r} has no lower bound')
        pinned.append(f'{found[1]}=={found[2]}{found[3] or ""}')
    return pinned


if __name__ == '__main__':
    print('\n'.join(lowest(PROJECT, sys.argv[1:])))
