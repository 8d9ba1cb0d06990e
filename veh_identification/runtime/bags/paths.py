"""Names of columns: paths to numbers in messages.

`linear_acceleration.x` is a number, `orientation_covariance` an array of fixed length,
`orientation_covariance[4]` one element of it, `linear_acceleration` stands for everything in it.
Sequences whose elements have names are addressed by them: `position[steering_fl]` of a JointState
(whatever joints a message names, in whatever order), `wrenches[l_foot].force.z`,
`parameters[Mc].value`; `position` alone stands for all names that occur.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from veh_identification.errors import MessageError

#: Which field names the elements of another one.
NAMES: dict[str, dict[str, str]] = {
    'sensor_msgs/msg/JointState': dict.fromkeys(('position', 'velocity', 'effort'), 'name'),
    'veh_identification/msg/FusedState': {
        **dict.fromkeys(('joint_positions', 'joint_velocities'), 'joint_names'),
        **dict.fromkeys(('joint_accelerations', 'joint_valid'), 'joint_names'),
        **dict.fromkeys(('wrenches', 'wrench_valid', 'wrench_frames'), 'wrench_names'),
        **dict.fromkeys(('channel_values', 'channel_valid'), 'channel_names'),
    },
    'veh_identification/msg/Reconstruction': dict.fromkeys(
        ('measured', 'predicted', 'sigma'), 'equations'
    ),
}
SEGMENT = re.compile(r'(?P<field>[A-Za-z_]\w*)(?:\[(?P<key>[^\]]*)\])?(?:\.|$)')
ALL = '*'

FieldTypes = Callable[[str], dict[str, str]]


@dataclass(frozen=True)
class ColumnPath:
    """A checked path: `field[key].rest`, the key of a sequence at the top level only."""

    text: str
    field: str
    key: str | None = None  # an index, a name, `*` for all names, None without a sequence
    rest: str = ''  # what follows the sequence's element, with its dot
    names: str = ''  # the field that names the elements, `.name` for a field of the elements


def expand_paths(paths: list[str] | None, typename: str, types: FieldTypes) -> list[ColumnPath]:
    """Columns that paths stand for; all of the message (without its header) for None."""
    if paths is None:
        fields = types(typename)
        found = []
        for name, spelled in fields.items():
            if name != 'header' and not _is_text(spelled) and _has_length(typename, name, spelled):
                found += _expand(name, typename, types)
        return found
    return [column for path in paths for column in _expand(path, typename, types)]


def _has_length(typename: str, name: str, spelled: str) -> bool:
    """Whether all messages have as many of it, or names for what they have."""
    return not _is_sequence(spelled) or name in NAMES.get(typename, {})


def _expand(path: str, typename: str, types: FieldTypes) -> list[ColumnPath]:
    segments = []
    position = 0
    while position < len(path):
        match = SEGMENT.match(path, position)
        if match is None:
            raise MessageError(f'{path!r} is not a path to a field.')
        segments.append((match['field'], match['key']))
        position = match.end()
    return _descend(path, segments, typename, types, ColumnPath('', ''), depth=0)


def _descend(
    path: str,
    segments: list[tuple[str, str | None]],
    typename: str,
    types: FieldTypes,
    so_far: ColumnPath,
    depth: int,
) -> list[ColumnPath]:
    """Follow a path through the types; where it ends before a number, take all numbers below."""
    fields = types(typename)
    (field, key), *following = segments
    if field not in fields:
        raise MessageError(f'{typename} has no field {field!r} ({path}); it has {list(fields)}.')
    spelled = fields[field]
    inner = spelled.partition('[')[0] if spelled.endswith(']') else spelled
    if _is_text(spelled):
        raise MessageError(f'{typename}: {field!r} is text, not a number ({path}).')
    here = _step(so_far, field)
    if spelled.endswith(']') and '<=' not in inner:
        here = _enter_sequence(path, here, field, key, spelled, typename, types, depth)
    elif key is not None:
        raise MessageError(f'{typename}: {field!r} is not a sequence ({path}).')
    if '/' in inner:
        if following:
            return _descend(path, following, inner, types, here, depth + 1)
        below = [
            (name, sub)
            for name, sub in types(inner).items()
            if not _is_text(sub) and not _is_sequence(sub)
        ]
        return [
            column
            for name, _ in below
            for column in _descend(path, [(name, None)], inner, types, here, depth + 1)
        ]
    if following:
        raise MessageError(f'{typename}: {field!r} has no fields of its own ({path}).')
    return [here]


def _step(so_far: ColumnPath, field: str) -> ColumnPath:
    if so_far.key is not None:
        rest = f'{so_far.rest}.{field}'
        return ColumnPath(f'{so_far.text}.{field}', so_far.field, so_far.key, rest, so_far.names)
    text = f'{so_far.text}.{field}' if so_far.text else field
    return ColumnPath(text, text)


def _enter_sequence(
    path: str,
    here: ColumnPath,
    field: str,
    key: str | None,
    spelled: str,
    typename: str,
    types: FieldTypes,
    depth: int,
) -> ColumnPath:
    """Path to an element (or all named elements) of a sequence, or to a whole fixed array."""
    inner = spelled.partition('[')[0]
    names = NAMES.get(typename, {}).get(field, '') if depth == 0 else ''
    if not names and '/' in inner and types(inner).get('name') == 'string':
        names = '.name'
    fixed = not _is_sequence(spelled)
    if key is None and fixed and '/' not in inner:
        return here
    if here.key is not None:
        raise MessageError(f'{path!r} leads through two sequences, only one is supported.')
    if key is None and not names:
        raise MessageError(
            f'{typename}: {field!r} has no fixed length and its elements have no names; '
            f'take one element, {field}[0] ({path}).'
        )
    if key is not None and not key.isdigit() and not names:
        raise MessageError(f'{typename}: the elements of {field!r} have no names ({path}).')
    key = ALL if key is None else key
    return ColumnPath(f'{here.text}[{key}]', here.text, key, '', names)


def _is_text(spelled: str) -> bool:
    return spelled.startswith(('string', 'wstring'))


def _is_sequence(spelled: str) -> bool:
    """Whether it is a list of variable length."""
    if not spelled.endswith(']'):
        return False
    count = spelled.rpartition('[')[2][:-1]
    return not count.isdigit()
