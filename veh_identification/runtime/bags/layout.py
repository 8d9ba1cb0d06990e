"""Where the fields of a serialised message are.

Messages of one topic mostly share one layout: the same frame, the same joint names, sequences of
the same length. One walk through a message finds the offsets of its numbers and the bytes that
must agree for another message to have the same layout (lengths and texts); numpy then checks and
reads thousands of messages at once.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

import numpy as np
from rosbags.interfaces import Nodetype

from veh_identification.errors import MessageError

SIZES = {
    **{'bool': 1, 'byte': 1, 'char': 1, 'int8': 1, 'uint8': 1, 'int16': 2, 'uint16': 2},
    **{'int32': 4, 'uint32': 4, 'int64': 8, 'uint64': 8, 'float32': 4, 'float64': 8},
}
CODES = {
    **{'bool': 'u1', 'byte': 'u1', 'char': 'u1', 'int8': 'i1', 'uint8': 'u1', 'int16': 'i2'},
    **{'uint16': 'u2', 'int32': 'i4', 'uint32': 'u4', 'int64': 'i8', 'uint64': 'u8'},
    **{'float32': 'f4', 'float64': 'f8'},
}
ENCAPSULATION = 4
LITTLE_ENDIAN, BIG_ENDIAN = b'\x00\x01', b'\x00\x00'


@dataclass(frozen=True)
class Leaf:
    """Numbers of one field: where they start, of which type, how many."""

    offset: int
    dtype: str
    count: int


@dataclass(frozen=True)
class Layout:
    """Offsets of all numbers, texts, and the bytes that decide about the layout."""

    size: int
    leaves: dict[str, Leaf]
    texts: dict[str, list[str]]
    positions: np.ndarray
    pattern: np.ndarray

    def matches(self, block: np.ndarray) -> np.ndarray:
        """Which rows of a (messages, bytes) block have this layout."""
        return np.all(block[:, self.positions] == self.pattern, axis=1)

    def numbers(self, block: np.ndarray, leaf: Leaf, index: int | None = None) -> np.ndarray:
        """Numbers of a leaf of all rows as float64; of one element when `index` is given."""
        item = np.dtype(leaf.dtype).itemsize
        start = leaf.offset + (0 if index is None else index * item)
        length = item * (leaf.count if index is None else 1)
        cut = np.ascontiguousarray(block[:, start : start + length])
        return cut.view(leaf.dtype).astype(np.float64)


def find_layout(store: Any, typename: str, data: bytes, *, ros1: bool) -> Layout:
    """Layout of one message of a type of a rosbags type store; MessageError if it is damaged."""
    walk = _Walk(store, data, ros1=ros1)
    try:
        walk.message(typename, '')
        walk.finish()
    except (struct.error, UnicodeDecodeError, _DamagedError) as error:
        raise MessageError(f'{typename} cannot be decoded: {error}.') from error
    buffer = np.frombuffer(data, np.uint8)
    positions = np.array(
        [position for begin, end in walk.fixed for position in range(begin, end)], np.intp
    )
    return Layout(len(data), walk.leaves, walk.texts, positions, buffer[positions].copy())


class _DamagedError(Exception):
    """The bytes do not fit the type."""


class _Walk:
    """One pass through a serialised message."""

    def __init__(self, store: Any, data: bytes, *, ros1: bool):
        self.store = store
        self.data = data
        self.ros1 = ros1
        self.leaves: dict[str, Leaf] = {}
        self.texts: dict[str, list[str]] = {}
        self.fixed: list[tuple[int, int]] = []
        self.position = 0
        self.order = '<'
        if not ros1:
            if data[:2] not in (LITTLE_ENDIAN, BIG_ENDIAN) or len(data) < ENCAPSULATION:
                raise MessageError('A message does not start with a CDR encapsulation header.')
            self.order = '<' if data[:2] == LITTLE_ENDIAN else '>'
            self.position = ENCAPSULATION
            self.fixed.append((0, 2))
        self.length = struct.Struct(self.order + 'I')

    def finish(self) -> None:
        """Check that the message ends where its bytes end, up to padding."""
        rest = len(self.data) - self.position
        if not 0 <= rest <= (0 if self.ros1 else 3):
            raise _DamagedError(f'it ends {rest} bytes before its data')

    def message(self, typename: str, prefix: str) -> None:
        if self.ros1 and typename == 'std_msgs/msg/Header':
            self.advance(4)  # the sequence number of ROS 1
        for name, description in self.store.fielddefs[typename][1]:
            if self.ros1 and name == 'structure_needs_at_least_one_member':
                continue
            self.field(description, f'{prefix}{name}')

    def field(self, description: Any, path: str) -> None:
        kind, rest = description
        if kind == Nodetype.BASE:
            if rest[0] == 'string':
                self.texts[path] = [self.text()]
            else:
                self.numbers(rest[0], 1, path)
        elif kind == Nodetype.NAME:
            self.message(rest, f'{path}.')
        else:
            inner, count = rest
            if kind == Nodetype.SEQUENCE:
                count = self.read_length()
            self.elements(inner, count, path)

    def elements(self, inner: Any, count: int, path: str) -> None:
        kind, rest = inner
        if count > len(self.data):
            raise _DamagedError(f'{path} claims {count} elements')
        if kind == Nodetype.BASE and rest[0] == 'string':
            self.texts[path] = [self.text() for _ in range(count)]
        elif kind == Nodetype.BASE:
            self.numbers(rest[0], count, path)
        else:
            for index in range(count):
                self.message(rest, f'{path}[{index}].')

    def numbers(self, kind: str, count: int, path: str) -> None:
        if kind not in SIZES:
            raise _DamagedError(f'{path} has the type {kind}, which is not supported')
        size = SIZES[kind]
        if count:
            self.align(size)
        self.leaves[path] = Leaf(self.position, self.order + CODES[kind], count)
        self.advance(size * count)

    def text(self) -> str:
        length = self.read_length()
        begin = self.position
        self.advance(length)
        self.fixed.append((begin, self.position))
        end = self.position
        if not self.ros1:
            if length < 1 or self.data[end - 1] != 0:
                raise _DamagedError('a text does not end with a zero byte')
            end -= 1
        return self.data[begin:end].decode('utf-8')

    def read_length(self) -> int:
        self.align(4)
        begin = self.position
        self.advance(4)
        self.fixed.append((begin, self.position))
        return int(self.length.unpack_from(self.data, begin)[0])

    def align(self, size: int) -> None:
        if not self.ros1:
            self.position += -(self.position - ENCAPSULATION) % size

    def advance(self, count: int) -> None:
        self.position += count
        if self.position > len(self.data):
            raise _DamagedError(f'it ends after {len(self.data)} bytes')
