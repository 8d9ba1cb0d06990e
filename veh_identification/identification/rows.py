"""From states to rows: stretches without gaps, both sides of the equations through one filter."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

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


class StretchStream(ABC):
    """Samples in, rows out: an unusable sample ends a stretch, the next one starts afresh."""

    def __init__(self, rate: float, row_rate: float) -> None:
        """`rate` of the samples and of the rows of a long stretch [Hz]."""
        self.rate, self.row_rate = rate, row_rate
        self._begin()

    @abstractmethod
    def _begin(self) -> None:
        """Forget the samples before."""

    @abstractmethod
    def _push(self, stamps: IntArray, *arrays: Array) -> list[Rows]:
        """Rows that became complete with further samples of the stretch."""

    def _end(self) -> list[Rows]:
        """Rows that only the end of the stretch completes."""
        return []

    def interrupt(self) -> list[Rows]:
        """The next sample does not follow the last one; rows of the stretch that ends."""
        rows = self._end()
        self._begin()
        return rows

    def push(self, stamps: IntArray, arrays: Sequence[Array], usable: BoolArray) -> list[Rows]:
        """Rows that became complete; every array has a row per sample."""
        found: list[Rows] = []
        edges = [0, *(np.flatnonzero(np.diff(usable)) + 1).tolist(), len(stamps)]
        for begin, end in pairwise(edges):
            if usable[begin]:
                new = self._push(stamps[begin:end], *(one[begin:end] for one in arrays))
            else:
                new = self.interrupt()
            found += [rows for rows in new if len(rows.Y)]
        return found


class RowStream(StretchStream):
    """Filters W and Y alike."""

    def __init__(self, filter_: DecimationFilter) -> None:
        self.filter = filter_
        self._left, self._right = BlockDecimator(filter_), BlockDecimator(filter_)
        super().__init__(filter_.rate, filter_.output_rate)

    def _begin(self) -> None:
        self._left.reset()
        self._right.reset()
        self._stamps: list[IntArray] = []
        self._dropped = 0

    def _push(self, stamps: IntArray, *arrays: Array) -> list[Rows]:
        W, Y = arrays
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
        return [rows]


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
        if self._last and self.is_gap(step):
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

    def is_gap(self, step_ns: int) -> bool:
        """Whether a state so much later does not follow."""
        return step_ns < 0 or step_ns > GAP * 1e9 / self.rate

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
