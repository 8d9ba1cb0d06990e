"""One walk through a serialised message, and the functions generated from it.

The walk lists the pieces of the message in order: numbers, arrays, and the bytes that make the
structure (encapsulation, lengths, texts). From that list straight-line Python is generated, as
rosbags generates its own (de)serialisers, only without any loop or look-up left in it.
"""

from __future__ import annotations

import dataclasses
import struct
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from rosbags.interfaces import Nodetype

#: More pieces than this make no function worth compiling.
MAXIMUM_PIECES = 400
ENCAPSULATION = 4
# As rosbags reads and writes them; a byte is signed there.
CODES = {
    **{'bool': '?', 'byte': 'b', 'char': 'B', 'int8': 'b', 'uint8': 'B', 'int16': 'h'},
    **{'uint16': 'H', 'int32': 'i', 'uint32': 'I', 'int64': 'q', 'uint64': 'Q'},
    **{'float32': 'f', 'float64': 'd'},
}
DTYPES = {'bool': 'bool', 'char': 'uint8', 'byte': 'int8'}
STANDARD = struct.Struct('<I')
NEWLINE = '\n'


class UnsuitableError(Exception):
    """No template can be made of a message."""


class Piece(NamedTuple):
    """Bytes `begin` to `end`: a number (`code`), an array (`dtype`) or structure (neither)."""

    begin: int
    end: int
    path: str = ''
    code: str = ''
    dtype: str = ''
    length: int = 0


class MessagePlan:
    """Pieces of a message, the checks on its texts, and the expression that builds it."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.pieces: list[Piece] = [Piece(0, 2)]
        self.reads: list[str] = []  # nested messages, and the checks of texts and lengths
        self.builds: list[str] = []
        self.expression = ''
        self.locals = 0
        self.constants: dict[str, Any] = {}
        #: By dotted name: the piece of a number or an array, or the text (or list of texts).
        self.leaves: dict[str, Piece | str | list[str]] = {}
        self._names: dict[int, str] = {}

    def constant(self, value: Any) -> str:
        """Name of a constant inside the generated functions."""
        name = self._names.get(id(value))
        if name is None:
            name = self._names[id(value)] = f'K{len(self.constants)}'
            self.constants[name] = value  # also keeps it alive, so that its id stays its own
        return name

    # Decoding -----------------------------------------------------------------------------------

    def decoder(self) -> Callable[[bytes | memoryview], Any]:
        """Function of the bytes of a message of this length; None if the structure differs."""
        form, names, tests = ['<'], [], []
        position = 0
        for begin, end, index in self.structure():
            form.append(f'{begin - position}x')
            if index >= 0:
                form.append(self.pieces[index].code)
                names.append(f'v{index}')
            else:
                form.append(f'{end - begin}s')
                names.append(f's{begin}')
                tests.append(f's{begin} != {self.constant(self.data[begin:end])}')
            position = end
        form.append(f'{len(self.data) - position}x')
        unpack = self.constant(struct.Struct(''.join(form)).unpack)
        body = '    body = data[4:]\n' if any(piece.dtype for piece in self.pieces) else ''
        return self._compile(
            f'def function(data):\n'
            f'    {", ".join(names)}, = {unpack}(data)\n'
            f'    if {" or ".join(tests)}:\n'
            f'        return None\n'
            f'{body}'
            f'{"".join(f"    {line}{NEWLINE}" for line in self.builds)}'
            f'    return {self.expression}\n'
        )

    def structure(self) -> list[tuple[int, int, int]]:
        """(begin, end, index) of what is unpacked; neighbouring structure with its padding is
        one item (index -1).
        """
        merged: list[tuple[int, int, int]] = []
        joinable = False
        for index, piece in enumerate(self.pieces):
            if piece.dtype:
                joinable = False
            elif piece.code:
                merged.append((piece.begin, piece.end, index))
                joinable = False
            elif joinable and piece.begin != ENCAPSULATION:
                merged[-1] = (merged[-1][0], piece.end, -1)
            else:
                merged.append((piece.begin, piece.end, -1))
                joinable = piece.end > ENCAPSULATION  # the options of the header are free
        return merged

    # Encoding -----------------------------------------------------------------------------------

    def encoder(self) -> Callable[[Any], bytes | None]:
        """Function of a message; None if its texts or lengths differ."""
        lines = ['def function(m):']
        parts: list[str] = []
        form, position = '<', 0
        values: list[str] = []

        def finish(end: int) -> None:
            """Close the run of numbers and structure before an array."""
            nonlocal form, values, position
            if end > position or values:
                if values:
                    fixed = f'{form}{end - position}s'
                    pack = self.constant(struct.Struct(fixed).pack)
                    tail = self.constant(self.data[position:end])
                    parts.append(f'{pack}({", ".join(values)}, {tail})')
                else:
                    parts.append(self.constant(self.data[position:end]))
            form, values, position = '<', [], end

        lines += [f'    {read}' for read in self.reads]
        for index, piece in enumerate(self.pieces):
            if piece.dtype:
                finish(piece.begin)
                name = f'a{index}'
                lines.append(f'    {name} = {piece.path}')
                dtype = self.constant(np.dtype(piece.dtype))
                lines.append(
                    f'    if {name}.shape != {(piece.length,)} or {name}.dtype != {dtype}:'
                    ' return None'
                )
                parts.append(name)
                position = piece.end
            elif piece.code:
                if piece.begin > position:  # structure and padding as in the model
                    form += f'{piece.begin - position}s'
                    values.append(self.constant(self.data[position : piece.begin]))
                form += piece.code
                values.append(piece.path)
                position = piece.end
        finish(len(self.data))
        lines.append(f'    return {self.constant(b"".join)}(({", ".join(parts)},))')
        return self._compile('\n'.join(lines) + '\n')

    def _compile(self, source: str) -> Any:
        scope: dict[str, Any] = dict(self.constants)
        exec(compile(source, '<message template>', 'exec'), scope)
        return scope['function']


def make_plan(store: Any, type_name: str, data: bytes) -> MessagePlan:
    """Plan of one valid little-endian message; UnsuitableError when there cannot be one."""
    walk = _Walk(store, data)
    walk.plan.expression = walk.message(type_name, 'm')
    if not 0 <= len(data) - walk.position <= 3:
        raise UnsuitableError('it ends elsewhere')
    return walk.plan


class _Walk:
    """Follows the fields of a type through the bytes of a message."""

    def __init__(self, store: Any, data: bytes) -> None:
        self.store = store
        self.data = data
        self.plan = MessagePlan(data)
        self.position = ENCAPSULATION
        self._trail: list[str] = []  # names of the fields down to the present one
        self._frombuffer = self.plan.constant(np.frombuffer)

    def message(self, type_name: str, path: str) -> str:
        """Walk through a message; returns the variable that holds it once it is built.

        Attributes are set one by one: the same as the dataclass's constructor does, without its
        call.
        """
        plan = self.plan
        cls = self.store.types[type_name]
        own = 'm'
        if path != 'm':
            plan.locals += 1
            own = f'm{plan.locals}'
            plan.reads.append(f'{own} = {path}')
        sets = []
        for name, description in self.store.get_msgdef(type_name).fields:
            if not name.isidentifier():
                raise UnsuitableError(name)
            self._trail.append(name)
            sets.append(f'{own}.{name} = {self.field(description, f"{own}.{name}")}')
            self._trail.pop()
        new = plan.constant(object.__new__)
        plan.builds.append(f'{own} = {new}({plan.constant(cls)})')
        plan.builds += sets
        for rest in dataclasses.fields(cls)[len(sets) :]:  # constants and the type's name
            plan.builds.append(f'{own}.{rest.name} = {plan.constant(rest.default)}')
        return own

    def field(self, description: Any, path: str) -> str:
        kind, rest = description
        if kind == Nodetype.BASE:
            return self.text(path) if rest[0] == 'string' else self.number(rest[0], path)
        if kind == Nodetype.NAME:
            return self.message(rest, path)
        (inner_kind, inner), count = rest
        if kind == Nodetype.SEQUENCE:
            count = self.length()
        if inner_kind == Nodetype.BASE and inner[0] == 'string':
            return self.texts(count, path)
        if inner_kind == Nodetype.BASE:
            return self.array(inner[0], count, path)
        if count > MAXIMUM_PIECES:
            raise UnsuitableError('a long list of messages')
        self.plan.reads.append(f'if len({path}) != {count}: return None')
        items, name = [], self._trail[-1]
        for index in range(count):
            self._trail[-1] = f'{name}[{index}]'
            items.append(self.message(inner, f'{path}[{index}]'))
        return f'[{", ".join(items)}]'

    def number(self, kind: str, path: str) -> str:
        code = self.code(kind)
        size = struct.calcsize('<' + code)
        self.align(size)
        self.add(Piece(self.position, self.position + size, path, code=code), leaf=True)
        return f'v{len(self.plan.pieces) - 1}'

    def array(self, kind: str, count: int, path: str) -> str:
        size = struct.calcsize('<' + self.code(kind))
        if count:
            self.align(size)
        dtype = np.dtype(DTYPES.get(kind, kind))
        begin = self.position
        end = begin + count * size
        self.add(Piece(begin, end, path, dtype=dtype.str, length=count), leaf=True)
        offset = begin - ENCAPSULATION
        return f'{self._frombuffer}(body, {self.plan.constant(dtype)}, {count}, {offset})'

    def text(self, path: str) -> str:
        value = self.plan.constant(self.remember(self.read_text()))
        self.plan.reads.append(f'if {path} != {value}: return None')
        return value

    def texts(self, count: int, path: str) -> str:
        if count > MAXIMUM_PIECES:
            raise UnsuitableError('a long list of texts')
        value = self.plan.constant(self.remember([self.read_text() for _ in range(count)]))
        self.plan.reads.append(f'if {path} != {value}: return None')
        return f'[*{value}]'

    def read_text(self) -> str:
        length = self.length()
        begin = self.position
        self.add(Piece(begin, begin + length))
        return self.data[begin : begin + length - 1].decode()

    def length(self) -> int:
        self.align(4)
        begin = self.position
        self.add(Piece(begin, begin + 4))
        return int(STANDARD.unpack_from(self.data, begin)[0])

    def code(self, kind: str) -> str:
        if kind not in CODES:
            raise UnsuitableError(kind)
        return CODES[kind]

    def align(self, size: int) -> None:
        self.position += -(self.position - ENCAPSULATION) % size

    def remember(self, leaf: Any) -> Any:
        self.plan.leaves['.'.join(self._trail)] = leaf
        return leaf

    def add(self, piece: Piece, *, leaf: bool = False) -> None:
        self.plan.pieces.append(piece)
        if leaf:
            self.remember(piece)
        self.position = piece.end
        if self.position > len(self.data) or len(self.plan.pieces) > MAXIMUM_PIECES:
            raise UnsuitableError('too long')
