"""Messages of which only stamps and runs of numbers change, as bytes.

To fill nested messages anew and to serialise them costs more than many an estimate: the numbers go
straight to their places in the bytes of the message before.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from veh_identification.runtime.messages import (
    NANOSECONDS,
    rosbags_backend,
    serialize,
    type_name,
)
from veh_identification.types import Array

PACK_STAMP = struct.Struct('<iI').pack_into


class Stamped(Protocol):
    """What messages are made of."""

    @property
    def stamp_ns(self) -> int:
        """When it was."""


_State = TypeVar('_State', bound=Stamped)


class RowWriter(Generic[_State]):
    """From states to a message that holds stamps and runs of numbers."""

    def __init__(
        self,
        make: Callable[[_State], Any],
        stamps: Sequence[str],
        runs: Mapping[str, tuple[int, Callable[[_State], Array]]],
    ) -> None:
        """`stamps`: their paths; `runs`: path of the first number, how many, and where from."""
        self._make = make
        self._stamp_paths = list(stamps)
        self._runs = dict(runs)
        self._buffer = bytearray()
        self._stamps: list[int] = []
        self._places: list[tuple[Array, Callable[[_State], Array]]] = []

    def __call__(self, state: _State) -> bytes:
        """What to publish of a state."""
        if not self._places:
            self._prepare(self._make(state))
        for stamp in self._stamps:
            PACK_STAMP(self._buffer, stamp, *divmod(state.stamp_ns, NANOSECONDS))
        for place, numbers in self._places:
            place[:] = numbers(state)
        return bytes(self._buffer)

    def _prepare(self, message: Any) -> None:
        payload = serialize(message)
        plan = rosbags_backend().templates(type_name(message)).plan(payload)
        assert plan is not None  # these messages are short
        self._buffer = buffer = bytearray(payload)
        leaves: Mapping[str, Any] = plan.leaves
        self._stamps = [leaves[f'{path}.sec'].begin for path in self._stamp_paths]
        for path, (count, numbers) in self._runs.items():
            place = np.frombuffer(buffer, '<f8', count, leaves[path].begin)
            self._places.append((place, numbers))
