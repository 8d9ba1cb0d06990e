"""Wheel speeds from wheel angles: increments over a while, with the variance that they deserve.

The speed of an increment belongs to the middle of its interval. Its variance follows from the
size of a tick, which the angles themselves tell, and from the jitter of the stamps: neighbouring
messages may be a hundredth of a second apart by their stamps and a tenth of that by the clock.
"""

from __future__ import annotations

from bisect import bisect, insort
from typing import NamedTuple

import numpy as np

from veh_identification.systems.vehicle.configuration import CarDescription
from veh_identification.systems.vehicle.recording.recording import Series
from veh_identification.types import Array

SHORTEST, LONGEST = 0.05, 0.2  # intervals of an increment [s]
COARSE = 0.5  # a speed [rad/s] that one tick in an interval should not exceed
SILENCE = 0.2  # a gap beyond an interval after which its mean speed says too little [s]
SMALLEST_TICK = 1e-4  # finer ticks are no ticks [rad]
LARGEST_TICK = 0.7  # no counter has fewer than nine teeth [rad]
KEPT = 64  # different increments that are looked at
LARGEST_JITTER = 0.01  # of stamps [s]
LEARNING = 0.02  # share of a new message in the jitter of the stamps


def rolling(car: CarDescription) -> bool:
    """Whether the wheels are taken as rolling, each with a radius to estimate."""
    return car.sensors.wheels.radius_deviation > 0.0


class TickFinder:
    """The size of a tick: the smallest difference between increments of one counter."""

    def __init__(self, configured: float) -> None:
        self.tick = configured
        self._seen: list[float] = []  # in order

    def add(self, increment: float) -> None:
        """Take an increment between neighbouring messages."""
        size = abs(increment)
        if len(self._seen) >= KEPT or not size >= 0.0 or (size == 0.0 and not self._seen):
            return
        # a first size may be that of an even speed: zero tells once the wheel has turned
        seen = self._seen
        place = bisect(seen, size)
        if place and size - seen[place - 1] < SMALLEST_TICK:
            return
        if place < len(seen) and seen[place] - size < SMALLEST_TICK:
            return
        insort(seen, size)
        if len(seen) > 1:
            self._look()

    def _look(self) -> None:
        sizes = np.array(self._seen)
        tick = float(np.diff(sizes).min())
        if tick > LARGEST_TICK:
            return
        whole = sizes / tick
        if len(sizes) > 3 and np.mean(np.abs(whole - np.round(whole)) < 0.1) < 0.9:
            tick = 0.0  # increments of all sizes: no counter
            self._seen += [0.0] * KEPT
        self.tick = tick


class JitterFinder:
    """How far stamps are from an even spacing: [s], learnt as they come."""

    def __init__(self) -> None:
        self.deviation = 0.0
        self._last = self._gap = float('nan')

    def add(self, time: float) -> None:
        """Take a stamp."""
        gap, before = time - self._last, self._gap
        self._last, self._gap = time, gap
        if before != before:
            return
        # the difference of two gaps holds three stamps: variance 6; lost messages must not count
        variance = min(abs(gap - before), LARGEST_JITTER) ** 2 / 6.0
        self.deviation = float(np.sqrt((1.0 - LEARNING) * self.deviation**2 + LEARNING * variance))


class WheelSpeed(NamedTuple):
    """Speeds (4) [rad/s] with their variances, and how long ago they were true [s]."""

    speeds: Array
    variances: Array
    age: float


class WheelSpeeds:
    """Turns wheel angles into speeds, message by message; a wheel may be missing (NaN)."""

    def __init__(self, car: CarDescription) -> None:
        wheels = car.sensors.wheels
        self._noise = wheels.deviation
        self._ticks = [TickFinder(wheels.resolution) for _ in range(4)]
        self._jitter = JitterFinder()
        self._begin: list[tuple[float, float] | None] = [None] * 4
        self._last = [float('nan')] * 4

    def push(self, time: float, angles: Array) -> WheelSpeed | None:
        """Speeds of the four wheels since an earlier message, None when there is none."""
        self._jitter.add(time)
        speeds, variances = np.full(4, np.nan), np.full(4, np.nan)
        age = 0.0
        for i, angle in enumerate(angles.tolist()):
            if angle != angle:
                continue
            self._ticks[i].add(angle - self._last[i])
            self._last[i] = angle
            found = self._one(i, time, angle)
            if found is not None:
                speeds[i], variances[i], age = found
        return WheelSpeed(speeds, variances, age) if np.isfinite(speeds).any() else None

    def _one(self, i: int, time: float, angle: float) -> tuple[float, float, float] | None:
        begin, tick = self._begin[i], self._ticks[i].tick
        base = min(max(tick / COARSE, SHORTEST), LONGEST)
        gap = float('inf') if begin is None else time - begin[0]
        if begin is not None and 0.0 < gap < base - 1e-6:
            return None
        self._begin[i] = time, angle
        if begin is None or not 0.0 < gap <= base + SILENCE:
            return None
        speed = (angle - begin[1]) / gap
        variance = 2.0 * (self._noise**2 + tick**2 / 12.0 + (speed * self._jitter.deviation) ** 2)
        return speed, variance / gap**2, 0.5 * gap


def wheel_series(car: CarDescription, angle: Series, rate: Series) -> tuple[Series, Series]:
    """Angles and speeds of a recording as this car's observer uses them: one of them is empty.

    Speeds made of angles bring the variance of the angles with them.
    """
    nothing = Series(np.zeros(0), np.zeros((0, 4)))
    if not rolling(car):
        return angle, (nothing if len(angle) else rate)
    if len(rate):
        return nothing, rate
    return nothing, speeds_of(car, angle)


def speeds_of(car: CarDescription, angle: Series) -> Series:
    """Speeds of all wheels from a series of angles, at the middles of their intervals."""
    converter = WheelSpeeds(car)
    found = [
        (float(time) - one.age, one)
        for time, row in zip(angle.time, angle.value, strict=True)
        if (one := converter.push(float(time), row)) is not None
    ]
    if not found:
        return Series(np.zeros(0), np.zeros((0, 4)))
    return Series(
        np.array([time for time, _ in found]),
        np.array([one.speeds for _, one in found]),
        np.array([one.variances for _, one in found]),
    )
