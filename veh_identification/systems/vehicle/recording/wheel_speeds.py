"""Wheel speeds for cars whose wheels are taken as rolling, from speeds or from angles."""

from __future__ import annotations

import numpy as np

from veh_identification.systems.vehicle.configuration import Configuration
from veh_identification.systems.vehicle.recording.recording import Series
from veh_identification.types import Array

LONGEST = 0.1  # a gap between two angles beyond which their mean speed says too little [s]
COUNTED = 0.1  # angles that are counted in holes need so long a base for a speed [s]


def rolling(car: Configuration) -> bool:
    """Whether the wheels are taken as rolling, each with a radius to estimate."""
    return car.sensors.wheels.radius_deviation > 0.0


class WheelSpeeds:
    """Turns wheel angles into speeds, message by message; a wheel may be missing (NaN)."""

    def __init__(self, car: Configuration) -> None:
        self._base = COUNTED if car.sensors.wheels.resolution > 0.0 else 0.0
        self._last: list[tuple[float, float] | None] = [None] * 4

    def push(self, time: float, angles: Array) -> Array | None:
        """Speeds [rad/s] of the four wheels since an earlier message, None when there is none."""
        speeds = np.full(4, np.nan)
        for i in range(4):
            if np.isfinite(angles[i]):
                speeds[i] = self._one(i, time, float(angles[i]))
        return speeds if np.isfinite(speeds).any() else None

    def _one(self, i: int, time: float, angle: float) -> float:
        last = self._last[i]
        gap = float('inf') if last is None else time - last[0]
        if last is not None and 0.0 < gap < self._base:
            return float('nan')
        self._last[i] = time, angle
        if last is None or not 0.0 < gap <= self._base + LONGEST:
            return float('nan')
        return (angle - last[1]) / gap


def variance_of_differences(car: Configuration, interval: float) -> float:
    """Variance [rad^2/s^2] of a speed from two angles an interval apart."""
    wheels = car.sensors.wheels
    base = max(COUNTED if wheels.resolution > 0.0 else 0.0, interval)
    return 2.0 * (wheels.deviation**2 + wheels.resolution**2 / 12.0) / base**2


def wheel_series(car: Configuration, angle: Series, rate: Series) -> tuple[Series, Series]:
    """Angles and speeds of a recording as this car's observer uses them: one of them is empty.

    Speeds made of angles bring the variance of the angles with them.
    """
    nothing = Series(np.zeros(0), np.zeros((0, 4)))
    if not rolling(car):
        return angle, (nothing if len(angle) else rate)
    if len(rate):
        return nothing, rate
    converter = WheelSpeeds(car)
    times, values = [], []
    for time, row in zip(angle.time, angle.value, strict=True):
        speeds = converter.push(float(time), row)
        if speeds is not None:
            times.append(float(time))
            values.append(speeds)
    if not times:
        return nothing, nothing
    interval = float(np.median(np.diff(angle.time)))
    variance = np.full((len(times), 4), variance_of_differences(car, interval))
    return nothing, Series(np.array(times), np.array(values), variance)
