"""Node clocks and timers: the system's time, or the time that `/clock` tells."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class ZenohTime:
    """A point on the node clock."""

    nanoseconds: int


class NodeClock(Protocol):
    """A node clock; `simulated` ones advance only when they are told."""

    simulated: bool

    def now(self) -> ZenohTime:
        """The present node time."""
        ...

    def now_ns(self) -> int:
        """The present node time in nanoseconds; 0 while it is unknown."""
        ...


class SystemClock:
    """The machine's clock."""

    simulated = False

    def now(self) -> ZenohTime:
        """The present node time."""
        return ZenohTime(time.time_ns())

    def now_ns(self) -> int:
        """The present node time in nanoseconds."""
        return time.time_ns()


class SimulatedClock:
    """The time of the last message on `/clock`, 0 before the first."""

    simulated = True

    def __init__(self) -> None:
        self._now_ns = 0

    def set_ns(self, now_ns: int) -> None:
        """Take over the time of a `/clock` message."""
        self._now_ns = now_ns

    def now(self) -> ZenohTime:
        """The present node time."""
        return ZenohTime(self._now_ns)

    def now_ns(self) -> int:
        """The present node time in nanoseconds; 0 while it is unknown."""
        return self._now_ns


class ZenohTimer:
    """A periodic callback on node time.

    As under rclpy, periods that were missed are dropped instead of caught up in a burst, and a
    clock that steps back starts a new period.
    """

    def __init__(self, clock: NodeClock, period_ns: int, callback: Callable[[], None]) -> None:
        self.clock = clock
        self.period_ns = period_ns
        self.callback = callback
        self.cancelled = False
        self._armed = False
        self._next_ns = 0
        self.reset()

    def cancel(self) -> None:
        """Stop firing."""
        self.cancelled = True

    def reset(self) -> None:
        """Start a new period now."""
        self.cancelled = False
        now_ns = self.clock.now_ns()
        # A simulated clock without a time yet cannot start a period.
        self._armed = now_ns != 0
        self._next_ns = now_ns + self.period_ns

    def wait_ns(self, now_ns: int) -> int:
        """Nanoseconds of node time until the timer is due; 0 or less when it is."""
        if not self._armed or self._next_ns - now_ns > self.period_ns:
            self.reset()
            return self.period_ns
        return self._next_ns - now_ns

    def fire(self, now_ns: int) -> None:
        """Call back and wait for the next whole period that lies ahead."""
        missed = (now_ns - self._next_ns) // self.period_ns
        self._next_ns += (missed + 1) * self.period_ns
        self.callback()
