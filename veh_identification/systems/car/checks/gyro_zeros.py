"""The zero of the yaw rate, by who else tells how the car turns.

A yaw rate that is off by a constant makes speed times yaw rate off by more the faster the car is,
which looks like a scale of one of the channels. The lateral acceleration over the speed tells the
same yaw rate, and so do the wheel forces and the steering: where their changes agree with those
of the gyroscope and all of them see the same constant, it is that of the gyroscope.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from veh_identification.checks.grid import slope
from veh_identification.findings import Finding
from veh_identification.systems.car.checks.channels import Channels
from veh_identification.systems.car.configuration import CarDescription
from veh_identification.types import Array, BoolArray

#: Speed [m/s] from which on a lateral acceleration tells a yaw rate.
FAST = 5.0
#: Samples that say something.
LEAST_SAMPLES = 75
#: Correlation and factor between which changes of the yaw rate are told alike. Cars understeer.
ALIKE, FACTOR, STEERING_FACTOR = 0.9, 1.5, 3.0
#: Yaw rate [rad/s] that zeros of gyroscopes do not reach, and lateral acceleration [m/s^2] that
#: banks, tilted units and zeros of accelerometers make look like one.
SMALLEST, BANKED = 0.03, 0.6
#: Share within which all must see the same constant.
SAME = 0.5


def check_gyro_zero(shown: Channels, configuration: CarDescription) -> list[Finding]:
    """A yaw rate that is off by a constant that all others see."""
    fast = shown.speed[:, 0] > FAST
    found = [*_offsets(shown, configuration, fast)]
    if len(found) < 2 or None in found:
        return []
    told = np.array(found, dtype=float)
    middle = float(np.mean(told))
    least = max(SMALLEST, BANKED / float(np.median(shown.speed[fast, 0])))
    if abs(middle) < least or np.abs(told - middle).max() > SAME * abs(middle):
        return []
    where = f'{configuration.topics["imu"]} angular_velocity.z'
    text = (
        f'{where}: the yaw rate is {middle:+.2g} rad/s off its zero, by {len(told)} others that '
        'tell it (lateral acceleration or wheel forces over the speed, steering): take off what '
        'the gyroscope shows at rest'
    )
    return [Finding('bad', 'gyro_zero', text, where, size=abs(middle))]


def _offsets(
    shown: Channels, configuration: CarDescription, fast: BoolArray
) -> Iterator[float | None]:
    """What each of the others takes for the zero; None where it contradicts the gyroscope."""
    speed = np.where(fast, shown.speed[:, 0], np.nan)
    sliding = np.nan_to_num(slope(shown.grid, shown.speed[:, 1]))
    loads = shown.load.sum(axis=1)
    carried = np.isfinite(loads) & (loads > 0.0)  # of all wheels at once
    weight = loads[carried].mean() if carried.any() else np.nan
    yaw = shown.rate[:, 2]
    for other, factor in (
        ((shown.force[:, 1] - sliding) / speed, FACTOR),
        ((configuration.gravity * shown.side / weight - sliding) / speed, FACTOR),
        (speed * shown.steering / configuration.geometry.wheelbase, STEERING_FACTOR),
    ):
        good = np.isfinite(yaw) & np.isfinite(other)
        if good.sum() >= LEAST_SAMPLES:
            yield _offset(yaw[good], other[good], factor)


def _offset(yaw: Array, other: Array, factor: float) -> float | None:
    """The constant between two that move alike."""
    sizes = float(yaw.std()), float(other.std())
    if min(sizes) <= 0.0:
        return None
    alike = float(np.corrcoef(yaw, other)[0, 1])
    ratio = sizes[0] / sizes[1]
    if alike < ALIKE or not 1.0 / factor < ratio < factor:
        return None
    return float(yaw.mean() - ratio * other.mean())
