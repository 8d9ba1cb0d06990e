"""What the fixed-lag merge keeps of each stream, and of streams whose clock differs."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any

NANOSECONDS = 1_000_000_000
Item = tuple[int, str, Any]
#: So many samples of a stream must have been seen before its usual period counts as known.
KNOWN_PERIODS = 10
#: So many samples in a row must be late before a stream is said to lag behind.
LATE_RUN = 5
#: So many in a row, in order, are a clock that was set back, if others were by as much.
FEWEST_BACK = 2


@dataclass
class StreamCounters:
    """What happened to the samples of one stream inside the merge."""

    late: int = 0
    duplicate: int = 0
    invalid: int = 0
    clock_jumps: int = 0
    reordered: int = 0
    delivered: int = 0
    last_stamp: int | None = None
    newest: int | None = None
    #: The first sample handed on since the last reset, and how many came before it.
    began: int | None = None
    before: int = 0
    #: Late samples since the last one that was not; the last of them against the newest of all.
    late_run: int = 0
    late_by: int = 0
    late_first: int = 0
    late_last: int = 0
    late_newest: int | None = None
    #: Whether the stamps of the late ones go forward.
    late_in_order: bool = True

    def start_anew(self) -> None:
        """Another time begins."""
        self.last_stamp = self.newest = self.began = self.late_newest = None
        self.late_run = 0

    def period(self) -> int | None:
        """Mean time between samples; None while too few are known."""
        count = self.delivered - self.before
        if self.began is None or self.last_stamp is None or count < KNOWN_PERIODS:
            return None
        return (self.last_stamp - self.began) // (count - 1)

    def patience(self, lag: int) -> int | None:
        """A pause that is longer than this is unusual; None while the period is not known."""
        period = self.period()
        return None if period is None else 3 * period + lag

    def note_late(self, stamp: int, newest: int) -> int | None:
        """Count a late sample; if it completes a run that began with a step back of the stream's
        own clock, the size of that step.
        """
        if self.newest is None or self.late_newest != self.newest:
            self.late_newest, self.late_run, self.late_first = self.newest, 0, stamp
            self.late_in_order = True
        elif stamp <= self.late_last:
            self.late_in_order = False
        self.late_last = stamp
        self.late += 1
        self.late_run += 1
        self.late_by = stamp - newest
        if self.late_run != LATE_RUN or self.newest is None or self.late_first > self.newest:
            return None  # stamps that go on forward are delayed, their clock did not step
        return self.late_first - self.newest - (self.period() or 0)

    def on_time(self) -> None:
        """A sample came that was not late."""
        self.late_run, self.late_newest = 0, None

    def stepped_back(self) -> int | None:
        """The step of a clock that went back once and forward from there, with nothing on time
        since; None without one. Samples that arrive late go forward from those before them, and
        those that arrive in disorder do not go forward.
        """
        if self.newest is None or self.late_newest != self.newest or self.late_first > self.newest:
            return None
        if self.late_run < FEWEST_BACK or not self.late_in_order:
            return None
        return self.late_first - self.newest - (self.period() or 0)

    @property
    def lagging(self) -> bool:
        """Whether everything that came lately was late."""
        return self.late_run >= LATE_RUN and self.late_newest == self.newest


@dataclass
class Cluster:
    """Samples that agree with each other about the time, but not with the merge."""

    newest: int
    samples: deque[Item] = field(default_factory=deque)
    members: set[str] = field(default_factory=set)
    #: For streams that still deliver the old time: where this cluster stood at their last sample.
    opposed: dict[str, int] = field(default_factory=dict)


@dataclass
class Doubt(Cluster):
    """Streams that ran ahead by less than `max_step`: a pause of all, or a step of their clock."""

    step: int = 0
    #: Streams that are alive would have spoken within this time.
    patience: int = 0
    confirmed: bool = False


@dataclass(frozen=True)
class MergeOptions:
    """Times in nanoseconds of stamp time."""

    lag: int = 50_000_000
    in_order: bool = False
    max_step: int = 2 * NANOSECONDS
    max_pause: int = 60 * NANOSECONDS
    confirm: int = 2 * NANOSECONDS
    max_clusters: int = 4
