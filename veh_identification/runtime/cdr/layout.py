"""Columns of numbers from thousands of messages of one structure at once.

One walk through a message finds the offsets of its numbers and the bytes that must agree for
another message to have the same layout (lengths and texts); numpy then checks and reads the rest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from veh_identification.errors import MessageError
from veh_identification.runtime.cdr.walk import CODES, Walk, WalkError

#: By byte order; as a column a bool is the byte that it is, and a byte an octet as in ROS.
DTYPES = {
    order: {kind: np.dtype(order + code) for kind, code in CODES.items()}
    | {'bool': np.dtype('u1'), 'byte': np.dtype('u1')}
    for order in '<>'
}


class Leaf(NamedTuple):
    """Numbers of one field: where they start, of which type, how many."""

    offset: int
    dtype: np.dtype[Any]
    length: int


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
        item = leaf.dtype.itemsize
        start = leaf.offset + (0 if index is None else index * item)
        length = item * (leaf.length if index is None else 1)
        cut = np.ascontiguousarray(block[:, start : start + length])
        return cut.view(leaf.dtype).astype(np.float64)


def find_layout(store: Any, typename: str, data: bytes, *, ros1: bool) -> Layout:
    """Layout of one message of a type of a rosbags type store; MessageError if it is damaged."""
    try:
        walk = Walk(store, typename, data, ros1=ros1)
    except WalkError as error:
        raise MessageError(f'{typename} cannot be decoded: {error}.') from error
    leaves, fixed = {}, bytearray(len(data))
    for begin, end, path, kind, length in walk.pieces:
        if kind:
            leaves[path] = Leaf(begin, DTYPES[walk.order][kind], 1 if length is None else length)
        else:
            fixed[begin:end] = b'\1' * (end - begin)
    positions = np.flatnonzero(np.frombuffer(fixed, np.uint8))
    return Layout(
        len(data),
        leaves,
        {path: [one] if isinstance(one, str) else one for path, one in walk.texts.items()},
        positions,
        np.frombuffer(data, np.uint8)[positions],
    )
