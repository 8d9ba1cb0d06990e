"""One walk through a serialised message: where its numbers are, and the bytes that decide it.

Messages of one topic mostly share one structure: the same frame, the same joint names, sequences
of the same length; only numbers change. What is found in one message therefore serves for the
next: to decode and to encode (`plan`), to take single fields (`fields`), to read thousands of
messages as columns (`layout`). By hand since no library has it: of a recording with IMU, joints,
wrench and odometry rosbags hands out 36,000 decoded messages a second, the templates 108,000, the
fields 240,000 and the columns 210,000 (with reading, one core).
"""

from __future__ import annotations

import struct
from typing import Any, NamedTuple, Union

from rosbags.interfaces import Nodetype

ENCAPSULATION = 4
LITTLE_ENDIAN, BIG_ENDIAN = b'\x00\x01', b'\x00\x00'
#: Types of numbers with their codes in `struct`, as rosbags reads and writes them; a byte is
#: signed there.
CODES = {
    **{'bool': '?', 'byte': 'b', 'char': 'B', 'int8': 'b', 'uint8': 'B', 'int16': 'h'},
    **{'uint16': 'H', 'int32': 'i', 'uint32': 'I', 'int64': 'q', 'uint64': 'Q'},
    **{'float32': 'f', 'float64': 'd'},
}
SIZES = {kind: struct.calcsize(f'<{code}') for kind, code in CODES.items()}
BASE, NAME, SEQUENCE = Nodetype.BASE, Nodetype.NAME, Nodetype.SEQUENCE
ROS1_HEADER = 'std_msgs/msg/Header'
EMPTY = 'structure_needs_at_least_one_member'


class WalkError(Exception):
    """The bytes do not fit the type, or it holds what is not supported."""


class Piece(NamedTuple):
    """Bytes `begin` to `end`: numbers of a `kind`, or structure (no kind): a length, a text."""

    begin: int
    end: int
    path: str = ''
    kind: str = ''
    length: int | None = None  # of an array; None: a single number


class Message(NamedTuple):
    """A message inside: its fields in order."""

    type_name: str
    fields: list[tuple[str, Node]]


#: A field: the place of its numbers among the pieces, the path of its texts, or messages.
Node = Union[int, str, Message, list[Message]]  # noqa: UP007 (Message names it before it is)


class Walk:
    """Follows the fields of a type through the bytes of a message, in one pass."""

    def __init__(
        self,
        store: Any,
        type_name: str,
        data: bytes,
        *,
        ros1: bool = False,
        most: int | None = None,
    ) -> None:
        """Walk; WalkError when the bytes do not fit or there are more than `most` pieces.

        Args:
            store: rosbags' type store, which knows the type.
            type_name: Type of the message.
            data: The bytes, CDR of either order, or of ROS 1.
            ros1: Whether they are of ROS 1.
            most: Pieces that are worth it.
        """
        self.data = data
        self.order = '<'
        self.pieces: list[Piece] = []  # in the order of the bytes
        self.texts: dict[str, str | list[str]] = {}
        self._definitions = store.fielddefs
        self._ros1 = ros1
        self._size = len(data)
        self._most = self._size + 1 if most is None else most
        self._position = 0
        if not ros1:
            if self._size < ENCAPSULATION or data[:2] not in (LITTLE_ENDIAN, BIG_ENDIAN):
                raise WalkError('it does not start with a CDR encapsulation header')
            self.order = '<' if data[:2] == LITTLE_ENDIAN else '>'
            self._position = ENCAPSULATION
            self.pieces.append(Piece(0, 2))  # the options that follow are free
        self._length = struct.Struct(f'{self.order}I').unpack_from
        try:
            self.root = self._message(type_name, '')
        except (struct.error, UnicodeDecodeError) as error:
            raise WalkError(str(error)) from error
        rest = self._size - self._position
        if not 0 <= rest <= (0 if ros1 else 3):
            raise WalkError(f'it ends {rest} bytes before its data')

    def _message(self, type_name: str, prefix: str) -> Message:
        if self._ros1 and type_name == ROS1_HEADER:
            self._position += 4  # the sequence number of ROS 1
        fields = [
            (name, self._field(kind, rest, f'{prefix}{name}'))
            for name, (kind, rest) in self._definitions[type_name][1]
            if name != EMPTY or not self._ros1
        ]
        return Message(type_name, fields)

    def _field(self, kind: Any, rest: Any, path: str) -> Node:
        if kind == BASE:
            if rest[0] != 'string':
                return self._numbers(rest[0], None, path)
            self.texts[path] = self._text()
            return path
        if kind == NAME:
            return self._message(rest, f'{path}.')
        (inner_kind, inner), count = rest
        if kind == SEQUENCE:
            count = self._read_length()
            if count > self._size:
                raise WalkError(f'{path} claims {count} elements')
        if inner_kind == BASE:
            if inner[0] != 'string':
                return self._numbers(inner[0], count, path)
            self.texts[path] = [self._text() for _ in range(count)]
            return path
        return [self._message(inner, f'{path}[{index}].') for index in range(count)]

    def _numbers(self, kind: str, length: int | None, path: str) -> int:
        if kind not in SIZES:
            raise WalkError(f'{path} has the type {kind}, which is not supported')
        size = SIZES[kind]
        begin = self._position
        if length != 0 and not self._ros1:  # an empty sequence is followed by no padding
            begin += (ENCAPSULATION - begin) % size
        self._add(
            Piece(begin, begin + size * (1 if length is None else length), path, kind, length)
        )
        return len(self.pieces) - 1

    def _text(self) -> str:
        """A text; its length, its bytes and the zero at the end are one piece."""
        data, begin = self.data, self._position
        if not self._ros1:
            begin += -begin % 4
        start = begin + 4
        end = start + self._length(data, begin)[0]
        self._add(Piece(begin, end))
        if end > start and not self._ros1:
            end -= 1
            if data[end]:
                raise WalkError('a text does not end with a zero byte')
        return data[start:end].decode()

    def _read_length(self) -> int:
        begin = self._position
        if not self._ros1:
            begin += -begin % 4
        self._add(Piece(begin, begin + 4))
        return int(self._length(self.data, begin)[0])

    def _add(self, piece: Piece) -> None:
        if piece.end > self._size:
            raise WalkError(f'it ends after {self._size} bytes')
        if len(self.pieces) >= self._most:
            raise WalkError(f'it has more than {self._most} parts')
        self.pieces.append(piece)
        self._position = piece.end
