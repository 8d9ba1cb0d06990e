"""Subscriptions that want some fields of a message, not the message.

    node.create_subscription(Imu, 'imu/data', FieldCallback(FIELDS, take), qos)

calls `take(values)` with a tuple, one entry a field. Under every engine the object is an ordinary
callback of a message; the replay engine knows it and takes the fields straight from the recorded
bytes, without making the message and the ten objects inside it.

A field is named by its path: `header.stamp.sec`; `position[]` is a whole numeric sequence as a
tuple; `position_covariance[4]` one of its elements; `wrenches[].force.x` that number of each
message of a sequence as a tuple; `name` of a list of texts is that list, which is shared between
messages and must not be changed.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from veh_identification.errors import UsageError
from veh_identification.runtime.cdr.plan import MessagePlan
from veh_identification.runtime.cdr.templates import TypeTemplates
from veh_identification.runtime.cdr.walk import CODES, LITTLE_ENDIAN, SIZES, Piece

Values = tuple[Any, ...]
Extract = Callable[[bytes], Values | None]

NAME = r'[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*'
PATH = re.compile(rf'({NAME})(\[(\d*)\])?')
EACH = re.compile(rf'({NAME})\[\]\.({NAME})')
#: Paths of a header's stamp.
STAMP = ('header.stamp.sec', 'header.stamp.nanosec')
#: Structures (lengths, texts) of one topic that are learnt before giving up.
MAXIMUM_STRUCTURES = 8


class Field(NamedTuple):
    """A path, taken apart."""

    name: str
    whole: bool = False
    element: int = -1
    inner: str = ''  # of each message of the sequence `name`


def parse_path(path: str) -> Field:
    """Take a path apart; UsageError when it is none."""
    if (each := EACH.fullmatch(path)) is not None:
        return Field(each[1], whole=True, inner=each[2])
    match = PATH.fullmatch(path)
    if match is None:
        raise UsageError(f'{path!r} is not the path of a message field')
    name, brackets, index = match.groups()
    if not brackets:
        return Field(name)
    return Field(name, element=int(index)) if index else Field(name, whole=True)


class FieldCallback:
    """A callback of messages that hands some of their fields to a function."""

    def __init__(self, paths: Sequence[str], function: Callable[[Values], None]) -> None:
        self.fields = tuple(parse_path(path) for path in paths)
        self.function = function
        self.read = message_reader(self.fields)

    def __call__(self, msg: Any) -> None:
        """Take the fields of a message of either backend."""
        self.function(self.read(msg))


def message_reader(fields: Sequence[Field]) -> Callable[[Any], Values]:
    """Function that takes the fields out of a message object."""
    parts = []
    for field in fields:
        value = f'm.{field.name}'
        if field.inner:
            value = f'tuple([one.{field.inner} for one in {value}])'
        elif field.whole:
            value = f'whole({value})'
        elif field.element >= 0:
            value += f'[{field.element}]'
        parts.append(value)
    return _compile(f'def function(m):\n    return ({", ".join(parts)},)\n', {'whole': _whole})


def _whole(values: Any) -> Values:
    """Of numpy, of array.array and of the lists that rclpy has for flags."""
    return tuple(values if isinstance(values, list) else values.tolist())


class FieldReader:
    """The same from CDR bytes; what does not look like a message before is decoded as usual."""

    def __init__(
        self,
        templates: TypeTemplates,
        fields: Sequence[Field],
        decode: Callable[[bytes], Any],
    ) -> None:
        self._templates = templates
        self._fields = tuple(fields)
        self._decode = decode
        self._from_message = message_reader(fields)
        self._known: dict[int, list[Extract]] = {}
        self._budget = MAXIMUM_STRUCTURES
        self._last: Extract = _nothing

    def __call__(self, data: bytes) -> Values:
        """The fields of one message; errors are those of `decode`."""
        try:
            values = self._last(data)
        except struct.error:  # of another length
            values = None
        return self._search(data) if values is None else values

    def _search(self, data: bytes) -> Values:
        for extract in self._known.get(len(data), ()):
            values = extract(data)
            if values is not None:
                self._last = extract
                return values
        values = self._from_message(self._decode(data))
        if self._budget > 0:
            self._budget -= 1
            self._learn(data, values)
        return values

    def _learn(self, data: bytes, values: Values) -> None:
        if bytes(data[:2]) != LITTLE_ENDIAN:
            return
        plan = self._templates.plan(bytes(data))
        extract = None if plan is None else make_extract(plan, self._fields)
        if extract is not None and _alike(extract(data), values):
            self._known.setdefault(len(data), []).append(extract)
            self._last = extract


def make_extract(plan: MessagePlan, fields: Sequence[Field]) -> Extract | None:
    """Function of the bytes of a message, None for one of another structure; None when a field
    is not a number, a numeric sequence or a text.
    """
    forms: list[tuple[int, int, str, int]] = []  # begin, end, code, how many values
    for begin, end, index in plan.structure():
        if index < 0:
            forms.append((begin, end, f'{end - begin}s', 1))
    constants: dict[str, Any] = {}
    wanted: list[tuple[int, str] | list[int] | str] = []
    for field in fields:
        if field.inner:
            each = _each_form(plan, field)
            if each is None:
                return None
            forms += [form for form in each if form not in forms]
            wanted.append([form[0] for form in each])
            continue
        leaf = plan.leaves.get(field.name)
        if isinstance(leaf, (str, list)):
            constants[f'T{len(constants)}'] = leaf
            wanted.append(f'T{len(constants) - 1}')
            continue
        if leaf is not None and field.whole and leaf.length == 0:
            wanted.append('()')
            continue
        form = None if leaf is None else _number_form(leaf, field)
        if form is None:
            return None
        if form not in forms:
            forms.append(form)
        wanted.append((form[0], '[]' if field.whole else ''))
    return _assemble(plan, sorted(forms), wanted, constants)


def _assemble(
    plan: MessagePlan,
    forms: list[tuple[int, int, str, int]],
    wanted: list[tuple[int, str] | list[int] | str],
    constants: dict[str, Any],
) -> Extract | None:
    """One `struct` call, the checks on what must agree, the tuple."""
    code, position, count = '<', 0, 0
    places: dict[int, tuple[int, int]] = {}
    tests = []
    for begin, end, form, size in forms:
        if begin < position:
            return None  # a sequence and one of its elements
        code += f'{begin - position}x{form}'
        if form.endswith('s'):
            constants[f'S{begin}'] = plan.data[begin:end]
            tests.append(f'u[{count}] != S{begin}')
        places[begin] = (count, size)
        position, count = end, count + size
    constants['unpack'] = struct.Struct(f'{code}{len(plan.data) - position}x').unpack
    parts = []
    for item in wanted:
        if isinstance(item, str):
            parts.append(item)
            continue
        if isinstance(item, list):
            each = (f'u[{places[begin][0]}],' for begin in item)
            parts.append(f'({"".join(each)})')
            continue
        place, size = places[item[0]]
        parts.append(f'u[{place}:{place + size}]' if item[1] else f'u[{place}]')
    return _compile(
        'def function(data):\n    u = unpack(data)\n'
        f'    if {" or ".join(tests)}:\n        return None\n'
        f'    return ({", ".join(parts)},)\n',
        constants,
    )


def _each_form(plan: MessagePlan, field: Field) -> list[tuple[int, int, str, int]] | None:
    """Forms of one number of each message of a sequence; None where it is no number."""
    found: list[tuple[int, int, str, int]] = []
    while (leaf := plan.leaves.get(f'{field.name}[{len(found)}].{field.inner}')) is not None:
        form = None if isinstance(leaf, (str, list)) else _number_form(leaf, Field(field.inner))
        if form is None:
            return None
        found.append(form)
    return found


def _number_form(piece: Piece, field: Field) -> tuple[int, int, str, int] | None:
    """Where the bytes of a field are and how `struct` reads them."""
    code, size = CODES[piece.kind], SIZES[piece.kind]
    if piece.length is None:
        plain = not field.whole and field.element < 0
        return (piece.begin, piece.end, code, 1) if plain else None
    if field.whole:
        return (piece.begin, piece.end, f'{piece.length}{code}', piece.length)
    if not 0 <= field.element < piece.length:
        return None
    begin = piece.begin + field.element * size
    return (begin, begin + size, code, 1)


def _alike(found: Values | None, expected: Values) -> bool:
    """Whether an extraction gave what decoding gave, NaN included."""
    return found is not None and repr(found) == repr(_plain(expected))


def _plain(values: Values) -> Values:
    return tuple(value.item() if isinstance(value, np.generic) else value for value in values)


def _nothing(_data: bytes) -> Values | None:
    return None


def _compile(source: str, scope: dict[str, Any]) -> Any:
    exec(compile(source, '<message fields>', 'exec'), scope)
    return scope['function']
