"""Whether the clock of a stream has stepped, by stamps and the order of arrival alone.

Steps of some tenths of a second keep a stream within reach of the others (`arrivals`): what an
observer learns from it then, a delay or a place, is wrong as soon as its clock steps back. Such
steps are told from what looks alike:

* A step back repeats a time that the stream had told already, in order and at its usual pace.
  Samples that were held up somewhere and come all at once fill gaps instead.
* A step forward of a stream that was behind the others skips as much time as it gains on them. A
  stream that falls silent gains nothing; one whose samples come sooner than before skips nothing.

A stream that runs ahead of all others is the merge's work (`fusion.clock_steps`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

#: The smallest step that is looked for, and for so long stamps must have kept to it [ns].
SMALLEST = 200_000_000
#: Samples that are no further apart always follow each other [ns].
NEAR = SMALLEST // 2
#: So many samples in a row at least.
FEWEST = 5
#: No sensor is slower than this [ns].
UNUSUAL = 2_000_000_000
#: Behind a step samples come no slower than so many times the period of the stream.
SLOWEST = 1.5
#: Steps forward: time gained over time skipped.
GAINED = (0.5, 1.5)


@dataclass
class _Track:
    """Samples of a stream that follow each other."""

    first: int
    last: int
    behind: int  # of the newest sample of all streams, when the last one came
    count: int = 1
    strays: int = 0  # samples beside it that were no new time, and the last of them
    stray: int = 0
    _fastest: float = math.inf  # the shortest mean of a few periods
    _begin: int = 0  # of these few

    @property
    def period(self) -> float:
        """Of the stream: some samples may be missing for a while, or be strays."""
        if self._fastest == math.inf:
            return math.inf
        return min(self._fastest, (self.last - self.first) / (self.count + self.strays - 1))

    def leave_out(self, other: _Track) -> None:
        """Samples beside this track were no new time."""
        self.strays += other.count
        self.stray = other.last

    def goes_on(self, time_ns: int, usual: float) -> bool:
        """Whether a sample follows the last one as samples of this period do."""
        longest = NEAR + 3.0 * usual if usual < math.inf else UNUSUAL
        return 0 <= time_ns - self.last <= longest

    def take(self, time_ns: int, behind: int) -> None:
        self.behind = behind
        if time_ns == self.last:
            return
        self.last = time_ns
        self.count += 1
        if self.count % FEWEST == 1:
            mean = (time_ns - (self._begin or self.first)) / FEWEST
            self._fastest = min(self._fastest, mean)
            self._begin = time_ns


class ClockSteps:
    """Follows the stamps of all streams in the order in which they arrive."""

    def __init__(self) -> None:
        self._tracks: dict[str, _Track] = {}
        self._others: dict[str, _Track] = {}  # what may be a new time of a stream
        self._newest = 0

    def clear(self) -> None:
        """Another time begins."""
        self._tracks.clear()
        self._others.clear()
        self._newest = 0

    def push(self, stream: str, time_ns: int) -> int | None:
        """Take a stamp; the step [ns] that it makes sure of, if any."""
        track = self._tracks.get(stream)
        if track is None:
            self._tracks[stream] = _Track(time_ns, time_ns, self._behind(time_ns))
            return None
        other = self._others.get(stream)
        if other is None and 0 <= time_ns - track.last <= NEAR:
            track.take(time_ns, self._behind(time_ns))
            return None
        usual = track.period
        if track.goes_on(time_ns, usual):
            if other is not None:
                track.leave_out(other)
                del self._others[stream]
            track.take(time_ns, self._behind(time_ns))
            return None
        if other is None or not other.goes_on(time_ns, usual):
            if other is not None:
                track.leave_out(other)
            self._others[stream] = _Track(time_ns, time_ns, self._newest - time_ns)
            return None
        other.take(time_ns, self._newest - time_ns)
        if other.count < FEWEST or other.last - other.first < SMALLEST:
            return None
        del self._others[stream]
        self._tracks[stream] = other
        other.behind = self._behind(time_ns)
        return _step(track, other)

    def _behind(self, time_ns: int) -> int:
        """How far behind the newest sample this one is, which may be the newest itself."""
        if time_ns >= self._newest:
            self._newest = time_ns
            return 0
        return self._newest - time_ns


def _step(before: _Track, after: _Track) -> int | None:
    """The step between two stretches of a stream; None where the clock has not stepped."""
    usual, period = before.period, (after.last - after.first) / (after.count - 1)
    if usual == math.inf or period > SLOWEST * usual:
        return None
    skipped = after.first - before.last - round(usual)
    if skipped <= -SMALLEST:
        return skipped
    if before.stray < after.first:  # samples of the time between came out of order
        skipped = min(skipped, after.first - before.stray)
    gained = before.behind - after.behind
    if skipped >= SMALLEST and GAINED[0] * skipped <= gained <= GAINED[1] * skipped:
        return skipped
    return None
