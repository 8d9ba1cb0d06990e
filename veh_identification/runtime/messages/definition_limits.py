"""Message definitions that recordings bring along: checked before code is made of them.

rosbags (and our own templates) generate Python from the names and structure of a definition. Its
grammar lets plain names through only; this is the second lock. And a type that holds itself, or
types that hold each other in ever more places, would never end.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from rosbags.interfaces import Nodetype

from veh_identification.errors import MessageError

_TYPE = re.compile(r'[A-Za-z][A-Za-z0-9_]*(/[A-Za-z][A-Za-z0-9_]*){1,3}', re.ASCII)
_FIELD = re.compile(r'[A-Za-z_][A-Za-z0-9_]*', re.ASCII)
MOST_LETTERS = 200
#: Numbers and texts of a message with everything that it holds; lists count once.
MOST_LEAVES = 100_000
MOST_LEVELS = 40


def check_types(types: Mapping[str, Any], known: Mapping[str, Any]) -> None:
    """Refuse (MessageError) types that cannot be meant."""
    for name, (constants, fields) in types.items():
        _plain(_TYPE, name, 'a message type')
        for entry in (*constants, *fields):
            _plain(_FIELD, entry[0], f'a field of {name}')
        if any(type(value) not in (bool, int, float, str) for _, _, value in constants):
            raise MessageError(f'The definition of {name} has a constant that is none.')
    sizes: dict[str, int] = {}
    for name in types:
        _leaves(name, types, known, sizes, ())


def _plain(pattern: re.Pattern[str], name: str, what: str) -> None:
    if len(name) > MOST_LETTERS or not pattern.fullmatch(name):
        raise MessageError(f'{name[:60]!r} is not a name for {what}.')


def _leaves(
    name: str,
    types: Mapping[str, Any],
    known: Mapping[str, Any],
    sizes: dict[str, int],
    above: tuple[str, ...],
) -> int:
    if name in above:
        raise MessageError(f'The definition of {name} contains itself.')
    if len(above) > MOST_LEVELS:
        raise MessageError(f'The definition of {above[0]} is nested too deep.')
    if name not in sizes:
        found = types.get(name) or known.get(name)
        total = 0
        for _, (kind, rest) in found[1] if found else ():
            count = 1
            if kind in (Nodetype.ARRAY, Nodetype.SEQUENCE):
                count = max(1, rest[1]) if kind == Nodetype.ARRAY else 1
                kind, rest = rest[0]
            if kind == Nodetype.NAME:
                total += count * _leaves(rest, types, known, sizes, (*above, name))
            else:
                total += 1
        if total > MOST_LEAVES:
            raise MessageError(f'The definition of {name} has more than {MOST_LEAVES} fields.')
        sizes[name] = total
    return sizes[name]
