"""Samples of all sensors in the order in which they were taken, whatever order they arrive in.

A sample waits until the newest stamp is `lag` ahead of it. One that arrives later, but not more
than `window` behind the newest, is handed out as belated: the observer goes back in time for it.
What is older still is counted as late. Clock jumps and odd sensors are the fusion merge's work.
Where the clock of a stream has stepped by less, a marker says so and the time begins anew.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import NamedTuple

from veh_identification.fusion.merge import EPOCH, FixedLagMerge, MergeOptions
from veh_identification.observation.streaming.clock_steps import ClockSteps

NANOSECONDS = 1_000_000_000
#: How the key of a marker begins that the clock of a stream has stepped (payload: ns).
STEPPED = ' '


class Item(NamedTuple):
    """One sample: when it was taken, its stream and its numbers."""

    time_ns: int
    key: str
    payload: tuple[float, ...]


@dataclass
class StreamRecord:
    """What happened to the messages of one stream before any filter saw them."""

    received: int = 0
    late: int = 0
    duplicate: int = 0
    belated: int = 0  # used after going back in time
    unused: int = 0  # forgotten by a restart of the observer
    invalid: int = 0
    clock_jumps: int = 0
    newest_ns: int | None = None
    reasons: dict[str, int] = field(default_factory=dict)

    def refuse(self, reason: str) -> None:
        """Count a message that cannot be used, under its reason."""
        self.invalid += 1
        self.reasons[reason] = self.reasons.get(reason, 0) + 1


@lru_cache(maxsize=256)  # asked for at every sample
def stream_of(key: str) -> str:
    """`wheel_angle:15` is a part of the stream `wheel_angle`."""
    return key.partition(':')[0]


@lru_cache(maxsize=256)
def is_marker(key: str) -> bool:
    """Whether an item is none of a stream."""
    return key == EPOCH or key.startswith(STEPPED)


class Arrivals:
    """Orders samples; see the module's description. Times in seconds of stamp time."""

    def __init__(self, lag: float, window: float) -> None:
        self.lag_ns = round(lag * NANOSECONDS)
        self.window_ns = max(round(window * NANOSECONDS), self.lag_ns)
        self.merge = FixedLagMerge(MergeOptions(lag=self.lag_ns))
        self.records: dict[str, StreamRecord] = {}
        self._recent: dict[str, deque[int]] = {}
        self._belated: list[Item] = []
        self._steps = ClockSteps()
        self._epochs = 0  # of the merge, when clocks were last looked at

    def record(self, stream: str) -> StreamRecord:
        """Counters of a stream."""
        found = self.records.get(stream)
        if found is None:
            found = self.records[stream] = StreamRecord()
        return found

    @property
    def newest_ns(self) -> int | None:
        """The newest time that any sensor agrees on."""
        return self.merge.newest

    @property
    def watermark_ns(self) -> int | None:
        """Up to here all samples have been handed out."""
        return self.merge.watermark

    def push(self, key: str, time_ns: int, payload: tuple[float, ...]) -> None:
        """Take one sample."""
        stream, merge = stream_of(key), self.merge
        record = self.records.get(stream) or self.record(stream)
        record.received += 1
        if record.newest_ns is None or time_ns > record.newest_ns:
            record.newest_ns = time_ns
        watermark, newest = merge.watermark, merge.newest
        if (
            watermark is None
            or newest is None
            or time_ns > watermark
            or (newest - time_ns > self.window_ns)
        ):
            merge.push(key, time_ns, payload)
        elif self._seen(key, time_ns):
            record.duplicate += 1
        else:
            record.belated += 1
            self._belated.append(Item(time_ns, key, payload))
        self._look_at_clock(stream, key, time_ns)

    def _look_at_clock(self, stream: str, key: str, time_ns: int) -> None:
        """Begin anew where the clock of a stream has stepped; the merge keeps odd ones out."""
        merge = self.merge
        if merge.epochs != self._epochs:
            self._epochs = merge.epochs
            self._steps.clear()
        if not merge.takes(key, time_ns):
            return
        step = self._steps.push(stream, time_ns)
        if step is None:
            return
        for item in self._belated:
            record = self.record(stream_of(item.key))
            record.belated -= 1
            record.unused += 1
        self._belated.clear()
        self._recent.clear()
        self._steps.clear()
        merge.begin_anew((time_ns, STEPPED + stream, (step,)))
        self._epochs = merge.epochs

    def _seen(self, key: str, time_ns: int) -> bool:
        """Whether a sample of this stream with this stamp was handed out already."""
        recent = self._recent.setdefault(key, deque())
        if time_ns in recent:
            return True
        recent.append(time_ns)
        return False

    @property
    def has_news(self) -> bool:
        """Whether something came that does not wait for its turn."""
        return bool(self._belated) or bool(self.merge.ready)

    def drain(self) -> Iterator[Item]:
        """Samples that are due, in order; a key EPOCH says that the time moved (payload: ns), one
        that begins with STEPPED that the clock of a stream has stepped.
        """
        track = self.window_ns > self.lag_ns
        for time_ns, key, payload in self.merge.drain():
            if track and not is_marker(key):
                recent = self._recent.get(key)
                if recent is None:
                    recent = self._recent[key] = deque()
                recent.append(time_ns)
                oldest = time_ns - self.window_ns
                while recent[0] < oldest:
                    recent.popleft()
            yield Item(time_ns, key, payload)

    def belated(self) -> list[Item]:
        """Samples that came too late to wait, but early enough to go back for."""
        items, self._belated = self._belated, []
        return items

    def waiting(self) -> Counter[str]:
        """Samples by key that were not handed out yet."""
        return self.merge.waiting() + Counter(item.key for item in self._belated)

    def flush(self) -> Iterator[Item]:
        """All that still waits, at the end of a recording."""
        merge = self.merge
        if merge.newest is not None:
            merge.watermark = merge.newest
        return self.drain()

    def reset(self) -> None:
        """Forget all samples; counters stay."""
        self.merge.reset()
        self._steps.clear()
        self._recent.clear()
        self._belated.clear()

    def summary(self, stream: str) -> StreamRecord:
        """Counters of a stream, those of the merge included."""
        total = replace(self.record(stream))
        for key, counters in self.merge.counters.items():
            if stream_of(key) == stream:
                total.late += counters.late
                total.duplicate += counters.duplicate
                total.invalid += counters.invalid
                total.clock_jumps += counters.clock_jumps
        return total
