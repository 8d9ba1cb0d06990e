"""Rows of the balance of momentum while samples come in, as `processing.momentum` makes them.

A long stretch takes the low-pass, a short one B-splines from its first to its last sample: until
a stretch is long its samples are kept, since nobody knows yet which one it will be.
"""

from __future__ import annotations

import numpy as np

from veh_identification.identification.rows import Rows, StretchStream
from veh_identification.systems.humanoid.processing.momentum import (
    Balance,
    balance_rows,
    is_long,
    long_window,
    placed,
    shortest_stretch,
)
from veh_identification.types import Array, IntArray


class MomentumStream(StretchStream):
    """Takes the balance of each sample and gives the rows that became complete."""

    def __init__(self, rate: float, cutoff_hz: float) -> None:
        self._cutoff = cutoff_hz
        self._window, self._spacing = long_window(rate, cutoff_hz)
        super().__init__(rate, rate / self._spacing)

    def _begin(self) -> None:
        self._stamps = np.zeros(0, np.int64)
        self._samples: Balance | None = None
        self._next = -1.0  # middle of the next row in samples from the first kept one; -1: short

    def _end(self) -> list[Rows]:
        """Rows of a stretch that ends before it was long."""
        samples, count = self._samples, len(self._stamps)
        if samples is None or self._next >= 0.0:
            return []
        if count < shortest_stretch(self.rate, self._cutoff):
            return []
        middles, window = placed(count - 1, self.rate, self._cutoff)
        return [self._rows(middles, balance_rows(samples, middles, window, self.rate))]

    def _push(self, stamps: IntArray, *arrays: Array) -> list[Rows]:
        self._keep(stamps, Balance(*arrays))
        assert self._samples is not None
        last, reach = len(self._stamps) - 1, self._window.reach
        if self._next < 0.0:
            if not is_long(last, self._window):
                return []
            self._next = reach
        count = int(np.floor((last - reach - self._next) / self._spacing)) + 1
        if count < 1:
            return []
        middles: Array = self._next + self._spacing * np.arange(count, dtype=float)
        found = balance_rows(self._samples, middles, self._window, self.rate)
        rows = self._rows(middles, found)
        self._next += count * self._spacing
        self._drop(max(0, int(self._next - reach) - 1))
        return [rows]

    def _rows(self, middles: Array, found: tuple[Array, Array]) -> Rows:
        return Rows(self._stamps[np.rint(middles).astype(np.int64)], *found)

    def _keep(self, stamps: IntArray, new: Balance) -> None:
        old, self._stamps = self._samples, np.concatenate([self._stamps, stamps])
        if old is None:
            self._samples = new
        else:
            self._samples = Balance(*(np.concatenate(part) for part in zip(old, new, strict=True)))

    def _drop(self, count: int) -> None:
        """Samples that no later row rests on."""
        assert self._samples is not None
        self._stamps = self._stamps[count:]
        self._samples = Balance(*(part[count:] for part in self._samples))
        self._next -= count
