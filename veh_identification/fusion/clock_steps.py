"""Clock steps of single streams that are too small to be taken for another time.

A sample that leaves its stream's own rhythm and runs ahead of all others by more than the lag is
held back: if the others follow, there was a pause of all; if they go on in the old time, the clock
of that stream has stepped, and the stream stays out until its stamps agree again. A step back
makes the stream's own samples late, which harms nobody else; it is only noted. If most streams
step back by as much, all that moves has moved on in the meantime: their stamps, when they have
caught up, belong to another time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from veh_identification.fusion.merge_records import (
    NANOSECONDS,
    Doubt,
    MergeOptions,
    StreamCounters,
)


class StepWatch:
    """Holds back what is doubtful, and keeps a list of the steps."""

    def __init__(
        self,
        options: MergeOptions,
        counters: Mapping[str, StreamCounters],
        accept: Callable[[str, int, tuple[Any, ...], StreamCounters], None],
    ) -> None:
        self._lag, self._confirm = options.lag, options.confirm
        self._counters = counters
        self._accept = accept
        self.doubt: Doubt | None = None
        #: Stream and step in seconds, in the order in which the steps were noticed.
        self.steps: list[tuple[str, float]] = []

    def holds(self, key: str, stamp: int, payload: tuple[Any, ...], newest: int) -> bool:
        """Whether a sample is held back; `newest`: of all streams in the present time."""
        doubt, ahead = self.doubt, stamp - newest > self._lag
        if doubt is None:
            doubt = self._new_doubt(key, stamp, newest) if ahead else None
            if doubt is None:
                return False
            self.doubt = doubt
        elif key in doubt.members and not ahead:
            self.end(release=False)  # its clock has come back
            return False
        elif key not in doubt.members and stamp <= doubt.newest - self._lag:
            doubt.opposed[key] = doubt.newest
            return False
        doubt.members.add(key)
        doubt.newest = max(doubt.newest, stamp)
        doubt.samples.append((stamp, key, payload))
        self._judge(doubt)
        return True

    def _new_doubt(self, key: str, stamp: int, newest: int) -> Doubt | None:
        """A doubt about a sample that leaves its rhythm while another stream keeps its own."""
        counters = self._counters[key]
        usual = counters.patience(self._lag)
        if usual is None or counters.newest is None or stamp - counters.newest <= usual:
            return None
        alive = []
        for other, theirs in self._counters.items():
            patience = theirs.patience(self._lag)
            if other != key and patience is not None and theirs.newest is not None:
                alive += [patience] if newest - theirs.newest <= patience else []
        if not alive:
            return None
        step = stamp - counters.newest - (counters.period() or 0)
        return Doubt(stamp, step=step, patience=min(alive))

    def _judge(self, doubt: Doubt) -> None:
        """A pause if the others follow or fall silent, a step if they go on in the old time."""
        span = doubt.newest - doubt.samples[0][0]
        recent = [at for at in doubt.opposed.values() if doubt.newest - at < self._confirm]
        if len(doubt.members) > max(len(recent), 1) or (not recent and span >= doubt.patience):
            self.end(release=True)
            return
        if recent and span >= 2 * self._lag and not doubt.confirmed:
            doubt.confirmed = True
            for key in sorted(doubt.members):
                self.note(key, doubt.step)
        while doubt.newest - doubt.samples[0][0] > self._confirm:
            self._counters[doubt.samples.popleft()[1]].invalid += 1

    def end(self, *, release: bool) -> None:
        """Hand on what is held back, or count it as invalid."""
        doubt, self.doubt = self.doubt, None
        if doubt is None:
            return
        for stamp, key, payload in sorted(doubt.samples):
            if release:
                self._accept(key, stamp, payload, self._counters[key])
            else:
                self._counters[key].invalid += 1

    def common_step_back(self, key: str, newest: int) -> int | None:
        """By how much most clocks were set back (nanoseconds, negative) when the first sample
        that is not late comes from a stream; None if they were not.
        """
        own = self._counters[key].stepped_back()
        if own is None:
            return None
        alike, alive = 0, 0
        for theirs in self._counters.values():
            patience = theirs.patience(self._lag)
            if patience is None or theirs.newest is None or newest - theirs.newest > patience:
                continue
            alive += 1
            step = theirs.stepped_back()
            alike += step is not None and abs(step - own) <= patience
        return own if 2 * alike > alive else None

    def note(self, key: str, step: int) -> None:
        """Count a step (nanoseconds)."""
        self._counters[key].clock_jumps += 1
        self.steps.append((key, step / NANOSECONDS))

    def step_of(self, key: str) -> float | None:
        """By how much (seconds) the clock of a stream that stays out has stepped."""
        doubt = self.doubt
        if doubt is not None and doubt.confirmed and key in doubt.members:
            return doubt.step / NANOSECONDS
        return None

    def lag_of(self, key: str) -> float | None:
        """How far (seconds) a stream lies behind of which everything is late, else None."""
        counters = self._counters[key]
        return -counters.late_by / NANOSECONDS if counters.lagging else None
