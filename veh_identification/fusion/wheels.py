"""Speeds of wheels from their angles or rates: increments over an interval, with their noise.

A division by the gap to the previous message makes 1 ms of jitter, or one tick of an encoder, a
speed. So angles are compared over at least INTERVAL, and the variance follows from the tick and
from how irregular the stamps are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from veh_identification.fusion.health import StuckWatch
from veh_identification.signals.wrapping import Continuous

#: Shortest time over which an increment is a speed, and the longest that still is one (seconds).
INTERVAL, LONGEST = 0.05, 0.6
#: Smaller changes are rounding (rad, rad/s).
RESOLVED = 1e-9


@dataclass
class Wheel:
    """One wheel: where it touches the ground, and what is known about its sensor."""

    name: str
    x: float
    y: float
    radius: float
    steering: str = ''
    steering_ratio: float = 1.0
    #: Its radius over the mean of all (less one): wheels are compared with each other.
    difference: float = 0.0
    tick: float = 0.0  # resolution of its angle (or rate), as far as it has shown
    watch: StuckWatch = field(default_factory=StuckWatch)
    #: Speed that was expected at the end of the interval before, and when that was.
    expected: float = math.nan
    expected_at: float = math.nan
    turned: float = 0.0  # angle by which it should have turned, for the watch


@dataclass(frozen=True)
class WheelSpeed:
    """Mean speed of one wheel over an interval, at the ground."""

    wheel: Wheel
    speed: float
    variance: float  # of ticks and stamps alone
    steering: float
    reading: float  # the angle, or the rate, as the sensor gave it last
    is_angle: bool  # what the reading is


class WheelGroup:
    """Wheels whose angles (or rates) come in the same messages."""

    def __init__(
        self,
        wheels: Sequence[Wheel],
        places: Sequence[int],
        steering: Sequence[int | None],
        are_angles: bool,
    ) -> None:
        """`places` of the wheels' readings and of their steering angles among the values."""
        self.wheels = list(wheels)
        self._places, self._steering = list(places), list(steering)
        self._angles = are_angles
        self._continuous = Continuous()
        self.reset()

    def reset(self) -> None:
        """Forget the interval that has begun."""
        self._continuous.reset()
        self._begin = self._last = math.nan
        self._first: list[float] = []
        self._before: list[float] = []
        self._steps: list[float] = []
        self._sums = [0.0] * len(self.wheels)
        self._count = 0
        self._period = math.nan
        self._jitter = 0.0  # mean absolute deviation of the stamps' steps, seconds

    @property
    def begun_anew(self) -> list[str]:
        """Wheels whose angles begin anew after each turn."""
        if not self._continuous.kinds[1]:
            return []
        both = zip(self.wheels, self._continuous.turns, strict=True)
        return [wheel.name for wheel, turns in both if turns]

    def add(self, time: float, values: tuple[float, ...]) -> tuple[float, list[WheelSpeed]] | None:
        """Take a message; the length of the interval and its speeds when one is complete."""
        readings = [values[place] for place in self._places]
        if self._angles:
            readings = self._continuous.add(readings)
        self._rhythm(time)
        self._learn_ticks(readings)
        if not self._first or not time - self._begin <= LONGEST:
            self._start(time, readings)
            return None
        self._count += 1
        for i, reading in enumerate(readings):
            self._sums[i] += reading
        span = time - self._begin
        if span < INTERVAL - 1e-6:
            return None
        found = [self._speed(i, readings[i], span, values) for i in range(len(readings))]
        self._start(time, readings)
        return span, found

    def _rhythm(self, time: float) -> None:
        step = time - self._last
        self._last = time
        if not 0.0 < step < LONGEST:
            return
        if not self._period > 0.0:
            self._period = step
        self._jitter += 0.02 * (abs(step - self._period) - self._jitter)
        self._period += 0.02 * (step - self._period)

    def _learn_ticks(self, readings: list[float]) -> None:
        """Steps of an encoder differ by whole ticks; those of a fine sensor by next to nothing."""
        steps = [now - before for now, before in zip(readings, self._before, strict=False)]
        for wheel, now, before in zip(self.wheels, steps, self._steps, strict=False):
            change = abs(now - before)
            if change > RESOLVED and (wheel.tick == 0.0 or change < wheel.tick):
                wheel.tick = change
        self._before, self._steps = readings, steps

    def _start(self, time: float, readings: list[float]) -> None:
        self._begin, self._first = time, readings
        self._sums = [0.0] * len(readings)
        self._count = 0

    def _speed(self, i: int, reading: float, span: float, values: tuple[float, ...]) -> WheelSpeed:
        wheel, first, place = self.wheels[i], self._first[i], self._steering[i]
        scale = wheel.radius / (1.0 + wheel.difference)
        steering = 0.0 if place is None else values[place] / wheel.steering_ratio
        if not self._angles:
            # The mean of the rates; the first one belongs to the interval before as well.
            mean = (self._sums[i] + 0.5 * (first - reading)) / self._count
            noise = (wheel.tick * scale) ** 2 / 12.0
            return WheelSpeed(wheel, mean * scale, noise, steering, reading, self._angles)
        speed = (reading - first) / span * scale
        # Two ends, each uniform within a tick; each stamp off by the jitter.
        noise = (wheel.tick * scale / span) ** 2 / 6.0
        noise += 2.0 * (1.25 * self._jitter * speed / span) ** 2
        return WheelSpeed(wheel, speed, noise, steering, reading, self._angles)
