"""Steps of an observer on a fixed grid, with a memory for samples that come too late to wait for.

Step k ends at origin + (k + 1) step. A measurement belongs to the step whose end is nearest; that
is decided in whole nanoseconds, so it cannot depend on how a time was rounded. For a belated one
the filter goes back to before its step and computes everything since again.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

from veh_identification.observation import ErrorEKF, Innovation, Measurement
from veh_identification.observation.error_ekf import Snapshot

# Steps that may be computed again for each new one: more would not keep up with the sensors.
AGAIN = 1.5
# The filter is copied before every so many steps; going back starts at such a copy. A copy costs
# half a step.
COPY_EVERY = 10


@dataclass
class _Past:
    """A step that was made: how, with what, and now and then the filter before it."""

    inputs: Any
    measurements: list[Measurement]
    before: Snapshot | None


#: Time, then sensor: the same set of measurements gives the same estimate in whatever order it
#: arrives.
_order = itemgetter(Measurement._fields.index('time'), Measurement._fields.index('sensor'))


class Stepper:
    """Runs a filter from `origin_ns`; `inputs(k, end_ns)` gives what drives step k.

    `memory` is the number of past steps that belated measurements can reach; `hold_ns` how much
    older than its stamp a sample may prove to be; `count` how many steps the filter has made.
    """

    def __init__(
        self,
        filter_: ErrorEKF,
        origin_ns: int,
        step_ns: int,
        inputs: Callable[[int, int], Any],
        pseudo: Callable[[int, float], list[Measurement]],
        memory: int = 0,
        hold_ns: int = 0,
        count: int = 0,
    ) -> None:
        self.filter, self.origin_ns, self.step_ns = filter_, origin_ns, step_ns
        self._hold_ns = hold_ns
        self.dt = step_ns * 1e-9
        self.count = count  # steps made
        self.repeated = 0
        self._half = step_ns // 2
        self._inputs, self._pseudo = inputs, pseudo
        self._future: dict[int, list[Measurement]] = {}
        self._memory = memory
        self._past: deque[_Past] = deque(maxlen=memory or None)
        self._again: int | None = None  # oldest step that got a belated measurement
        self._allowed = 0
        self._belated: set[tuple[str, float]] = set()

    def time_of(self, time_ns: int) -> float:
        """Seconds since the origin."""
        return (time_ns - self.origin_ns) * 1e-9

    def end_ns(self, k: int) -> int:
        """When step k ends."""
        return self.origin_ns + (k + 1) * self.step_ns

    @property
    def due_ns(self) -> int:
        """All samples up to this time must be known before the next step can be made."""
        end_ns = self.origin_ns + (self.count + 1) * self.step_ns
        return end_ns + self._half - 1 + self._hold_ns

    def index(self, time_ns: int) -> int:
        """The step whose end is nearest."""
        return (time_ns - self.origin_ns + self._half) // self.step_ns - 1

    def add(self, measurements: list[Measurement], taken_ns: int) -> bool:
        """Keep measurements for their step; False when that step is beyond reach."""
        k = self.index(taken_ns)
        if k >= self.count:
            waiting = self._future.get(k)
            if waiting is None:
                self._future[k] = list(measurements)
            else:
                waiting += measurements
            return True
        if not measurements:
            return True
        place = k - (self.count - len(self._past))
        if k < 0 or place < 0 or not self._reachable(place):
            return False
        self._past[place].measurements += measurements
        self._again = k if self._again is None else min(k, self._again)
        self._belated.update((one.sensor, one.time) for one in measurements)
        return True

    def pending(self) -> Counter[str]:
        """Measurements by sensor that wait for their step, belated ones included."""
        ahead = Counter(one.sensor for many in self._future.values() for one in many)
        return ahead + Counter(sensor for sensor, _ in self._belated)

    def _reachable(self, place: int) -> bool:
        """Whether a copy of the filter is kept from before a past step."""
        return any(self._past[i].before is not None for i in range(min(place + 1, COPY_EVERY)))

    def run(self, watermark_ns: int, made: Callable[[int, Sequence[Innovation]], None]) -> None:
        """Make all steps to which nothing more can come; `made(k, innovations)` after each."""
        while self.due_ns <= watermark_ns:
            late = self._repeat()
            k = self.count
            measurements = self._future.pop(k, [])
            end_ns = self.end_ns(k)
            measurements += self._pseudo(k, self.time_of(end_ns))
            measurements.sort(key=_order)
            inputs = self._inputs(k, end_ns)
            if self._memory:
                copied = None if k % COPY_EVERY else self.filter.snapshot()
                self._past.append(_Past(inputs, measurements, copied))
            innovations = self.filter.step(self.dt, inputs, measurements)
            self.count += 1
            made(k, [*late, *innovations] if late else innovations)

    def _repeat(self) -> list[Innovation]:
        """Go back for belated measurements; returns what came of them."""
        if self._again is None or self.count < self._allowed:
            return []
        past = list(self._past)
        wanted = max(0, self._again - (self.count - len(past)))
        self._again = None
        # back to the last copy before it; the oldest steps may have lost theirs
        copies = [i for i, step in enumerate(past) if step.before is not None]
        first = max((i for i in copies if i <= wanted), default=copies[0])
        start = past[first].before
        assert start is not None
        self.filter.restore(start)
        found: list[Innovation] = []
        steps = past[first:]
        for number, step in enumerate(steps):
            if number and step.before is not None:
                step.before = self.filter.snapshot()
            step.measurements.sort(key=_order)
            found += [
                i
                for i in self.filter.step(self.dt, step.inputs, step.measurements)
                if (i.sensor, i.time) in self._belated
            ]
        self.repeated += len(steps)
        self._allowed = self.count + int(len(steps) / AGAIN)
        self._belated.clear()
        return found
