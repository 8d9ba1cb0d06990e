"""From states to rows: stretches without gaps, both sides of the equations through one filter."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from veh_identification.signals import BlockDecimator, DecimationFilter, design_decimation
from veh_identification.types import Array, BoolArray, IntArray

#: Rows per second over the cut-off, as in the offline identification.
ROWS_PER_CUTOFF = 3.0
#: States from whose stamps the rate is found.
RATE_STATES = 20
#: A step longer than this many periods is a gap.
GAP = 1.5
#: Seconds of states that are treated together.
BLOCK_SECONDS = 0.25


@dataclass(frozen=True, eq=False)
class Rows:
    """Decimated rows of the equations."""

    stamps_ns: IntArray
    W: Array  # (n, equations, unknowns)
    Y: Array  # (n, equations)


def row_filter(rate: float, cutoff_hz: float) -> DecimationFilter:
    """Short linear-phase low-pass with half gain at the cut-off."""
    factor = max(1, int(rate / (ROWS_PER_CUTOFF * cutoff_hz)))
    return design_decimation(rate, cutoff_hz, factor=factor, transition=1.0, attenuation_db=40.0)


class RowStream:
    """Filters W and Y alike; an unusable sample ends a stretch, the next one starts afresh."""

    def __init__(self, filter_: DecimationFilter) -> None:
        self.filter = filter_
        self.stretches = 0
        self._left, self._right = BlockDecimator(filter_), BlockDecimator(filter_)
        self._stamps: list[IntArray] = []
        self._dropped = 0

    def interrupt(self) -> None:
        """The next sample does not follow the last one."""
        self._left.reset()
        self._right.reset()
        self._stamps, self._dropped = [], 0
        self.stretches += 1

    def push(self, stamps: IntArray, W: Array, Y: Array, usable: BoolArray) -> list[Rows]:
        """Rows that became complete."""
        found: list[Rows] = []
        edges = np.flatnonzero(np.diff(usable)) + 1
        for part in np.split(np.arange(len(stamps)), edges):
            if not usable[part[0]]:
                self.interrupt()
                continue
            rows = self._push(stamps[part], W[part], Y[part])
            if len(rows.Y):
                found.append(rows)
        return found

    def _push(self, stamps: IntArray, W: Array, Y: Array) -> Rows:
        begin = self._left.outputs
        self._stamps.append(stamps)
        left, right = self._left.push(W), self._right.push(Y)
        known = np.concatenate(self._stamps)
        places = self.filter.half_length + self.filter.factor * np.arange(
            begin, self._left.outputs
        )
        rows = Rows(known[places - self._dropped], left, right)
        # Only stamps that later rows can refer to are kept.
        keep = max(
            0, self.filter.half_length + self.filter.factor * self._left.outputs - self._dropped
        )
        keep = min(keep, len(known))
        self._stamps, self._dropped = [known[keep:]], self._dropped + keep
        return rows


class StateBuffer:
    """Collects states into blocks, finds their rate, and sees gaps and late stamps."""

    def __init__(
        self,
        deliver: Callable[[IntArray, Array], None],
        gap: Callable[[], None],
        rate: float = 0.0,
    ) -> None:
        """`deliver` takes blocks of one stretch, `gap` is told between stretches."""
        self.rate = rate
        self.gaps = self.late = self.clock_jumps = 0
        self._deliver, self._gap = deliver, gap
        self._stamps: list[int] = []
        self._values: list[Array] = []
        self._last = 0
        self._wait: list[tuple[int, Array | None]] = []

    def push(self, stamp_ns: int, values: Array | None) -> None:
        """Take one state, None for one that cannot be used."""
        if not self.rate:
            self._wait.append((stamp_ns, values))
            if len(self._wait) >= RATE_STATES:
                self._find_rate()
            return
        if 0 < self._last - stamp_ns < 1_000_000_000 or stamp_ns == self._last:
            self.late += 1
            return
        step = stamp_ns - self._last
        if self._last and (step < 0 or step > GAP * 1e9 / self.rate):
            if step < 0:
                self.clock_jumps += 1  # a bag that is played again: the robot is the same
            self.gaps += 1
            self.interrupt()
        self._last = stamp_ns
        if values is None:
            self.interrupt()
            return
        self._stamps.append(stamp_ns)
        self._values.append(values)
        if len(self._stamps) >= max(1, round(BLOCK_SECONDS * self.rate)):
            self.flush()

    def _find_rate(self) -> None:
        steps = np.diff([stamp for stamp, _ in self._wait])
        steps = steps[steps > 0]
        waiting, self._wait = self._wait, []
        if len(steps):
            self.rate = 1e9 / float(np.median(steps))
            for stamp, values in waiting:
                self.push(stamp, values)

    def interrupt(self) -> None:
        """End the present stretch."""
        self.flush()
        self._gap()

    def flush(self) -> None:
        """Deliver what is there."""
        if self._stamps:
            stamps, values = np.array(self._stamps, np.int64), np.array(self._values)
            self._stamps, self._values = [], []
            self._deliver(stamps, values)


class Skipped:
    """Counts what was not used, by reason."""

    def __init__(self) -> None:
        self.reasons: Counter[str] = Counter()
        self.lately: Counter[str] = Counter()

    def add(self, reason: str, count: int = 1) -> None:
        """Count."""
        self.reasons[reason] += count
        self.lately[reason] += count

    @property
    def total(self) -> int:
        """All of them."""
        return sum(self.reasons.values())

    def take(self) -> Counter[str]:
        """Those since the last call."""
        lately, self.lately = self.lately, Counter()
        return lately
