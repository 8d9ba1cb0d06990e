"""Functions that decode and encode messages of one structure, generated from a walk through one.

The walk lists the pieces of the message in order: numbers, arrays, and the bytes that make the
structure (encapsulation, lengths, texts). From that list straight-line Python is generated, as
rosbags generates its own (de)serialisers, only without any loop or look-up left in it.
"""

from __future__ import annotations

import dataclasses
import struct
from collections.abc import Callable
from typing import Any

import numpy as np

from veh_identification.runtime.cdr.walk import (
    CODES,
    ENCAPSULATION,
    Message,
    Node,
    Piece,
    Walk,
    WalkError,
)

#: More pieces than this make no function worth compiling.
MAXIMUM_PIECES = 400
DTYPES = {kind: np.dtype(code) for kind, code in CODES.items()}
NEWLINE = '\n'


class MessagePlan:
    """Pieces of a message, the checks on its texts, and the expression that builds it."""

    def __init__(self, store: Any, type_name: str, data: bytes) -> None:
        """Plan of one valid little-endian message; WalkError when there cannot be one."""
        walk = Walk(store, type_name, data, most=MAXIMUM_PIECES)
        if walk.order != '<':
            raise WalkError('it is big-endian')
        self.data = data
        self.pieces = walk.pieces
        #: By dotted name: the piece of a number or an array, or the text (or list of texts).
        self.leaves: dict[str, Piece | str | list[str]] = {
            **{piece.path: piece for piece in walk.pieces if piece.kind},
            **walk.texts,
        }
        self._classes = store.types
        self._constants: dict[str, Any] = {}
        self._names: dict[int, str] = {}
        self._expressions: dict[int, str] = {}  # of each piece of numbers in a message `m`
        self._reads: list[str] = []  # nested messages, and the checks of texts and lengths
        self._builds: list[str] = []
        self._locals = 0
        self._message(walk.root, 'm')

    def constant(self, value: Any) -> str:
        """Name of a constant inside the generated functions."""
        name = self._names.get(id(value))
        if name is None:
            name = self._names[id(value)] = f'K{len(self._constants)}'
            self._constants[name] = value  # also keeps it alive, so that its id stays its own
        return name

    # Fields -------------------------------------------------------------------------------------

    def _message(self, message: Message, path: str) -> str:
        """Lines that read and build a message; returns the variable that holds it.

        Attributes are set one by one: the same as the dataclass's constructor does, without its
        call.
        """
        cls = self._classes[message.type_name]
        own = 'm'
        if path != 'm':
            self._locals += 1
            own = f'm{self._locals}'
            self._reads.append(f'{own} = {path}')
        # The names of the class: where a definition says `from`, the class says `from_`.
        attributes = dataclasses.fields(cls)
        sets = []
        for (name, node), attribute in zip(message.fields, attributes, strict=False):
            if attribute.name not in (name, f'{name}_'):
                raise WalkError(f'{name} is {attribute.name} in its class')
            place = f'{own}.{attribute.name}'
            sets.append(f'{place} = {self._field(node, place)}')
        self._builds.append(f'{own} = {self.constant(object.__new__)}({self.constant(cls)})')
        self._builds += sets
        for rest in attributes[len(sets) :]:  # constants and the type's name
            self._builds.append(f'{own}.{rest.name} = {self.constant(rest.default)}')
        return own

    def _field(self, node: Node, path: str) -> str:
        """Expression that gives a field when a message is built."""
        if isinstance(node, Message):
            return self._message(node, path)
        if isinstance(node, list):
            self._reads.append(f'if len({path}) != {len(node)}: return None')
            items = [self._message(one, f'{path}[{k}]') for k, one in enumerate(node)]
            return f'[{", ".join(items)}]'
        if isinstance(node, str):
            text = self.leaves[node]
            value = self.constant(text)
            self._reads.append(f'if {path} != {value}: return None')
            return value if isinstance(text, str) else f'[*{value}]'
        self._expressions[node] = path
        piece = self.pieces[node]
        if piece.length is None:
            return f'v{node}'
        dtype = self.constant(DTYPES[piece.kind])
        offset = piece.begin - ENCAPSULATION
        return f'{self.constant(np.frombuffer)}(body, {dtype}, {piece.length}, {offset})'

    # Decoding -----------------------------------------------------------------------------------

    def decoder(self) -> Callable[[bytes | memoryview], Any]:
        """Function of the bytes of a message of this length; None if the structure differs."""
        form, names, tests = ['<'], [], []
        position = 0
        for begin, end, index in self.structure():
            form.append(f'{begin - position}x')
            if index >= 0:
                form.append(CODES[self.pieces[index].kind])
                names.append(f'v{index}')
            else:
                form.append(f'{end - begin}s')
                names.append(f's{begin}')
                tests.append(f's{begin} != {self.constant(self.data[begin:end])}')
            position = end
        form.append(f'{len(self.data) - position}x')
        unpack = self.constant(struct.Struct(''.join(form)).unpack)
        arrays = any(piece.length is not None for piece in self.pieces)
        body = f'    body = data[{ENCAPSULATION}:]\n' if arrays else ''
        return self._compile(
            f'def function(data):\n'
            f'    {", ".join(names)}, = {unpack}(data)\n'
            f'    if {" or ".join(tests)}:\n'
            f'        return None\n'
            f'{body}'
            f'{"".join(f"    {line}{NEWLINE}" for line in self._builds)}'
            f'    return m\n'
        )

    def structure(self) -> list[tuple[int, int, int]]:
        """(begin, end, index) of what is unpacked; neighbouring structure with its padding is
        one item (index -1).
        """
        merged: list[tuple[int, int, int]] = []
        joinable = False
        for index, piece in enumerate(self.pieces):
            if piece.length is not None:
                joinable = False
            elif piece.kind:
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

        lines += [f'    {read}' for read in self._reads]
        for index, piece in enumerate(self.pieces):
            if piece.length is not None:
                finish(piece.begin)
                name = f'a{index}'
                lines.append(f'    {name} = {self._expressions[index]}')
                dtype = self.constant(DTYPES[piece.kind])
                lines.append(
                    f'    if {name}.shape != {(piece.length,)} or {name}.dtype != {dtype}:'
                    ' return None'
                )
                parts.append(name)
                position = piece.end
            elif piece.kind:
                if piece.begin > position:  # structure and padding as in the model
                    form += f'{piece.begin - position}s'
                    values.append(self.constant(self.data[position : piece.begin]))
                form += CODES[piece.kind]
                values.append(self._expressions[index])
                position = piece.end
        finish(len(self.data))
        lines.append(f'    return {self.constant(b"".join)}(({", ".join(parts)},))')
        return self._compile('\n'.join(lines) + '\n')

    def _compile(self, source: str) -> Any:
        scope: dict[str, Any] = dict(self._constants)
        exec(compile(source, '<message template>', 'exec'), scope)
        return scope['function']
