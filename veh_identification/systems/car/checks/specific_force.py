"""Gravity in the accelerometer of a car: there, removed, in another unit, tilted."""

from __future__ import annotations

import numpy as np

from veh_identification.checks.grid import slope
from veh_identification.checks.ranges import GRAVITY
from veh_identification.findings import Finding
from veh_identification.systems.car.checks.channels import RATE, Channels
from veh_identification.systems.car.configuration import CarDescription
from veh_identification.types import Array

#: Mean specific force that is neither one g nor nothing: sensor tilted or in another unit.
GRAVITY_TOLERANCE = 0.08
TILT_DEGREES = 15.0
#: Share of one g that zeros of fair sensors and rough roads do not explain.
SLIGHT = 0.02
#: Below this yaw rate [rad/s] a car goes straight.
STRAIGHT_RATE = 0.02


def check_specific_force(shown: Channels, configuration: CarDescription) -> list[Finding]:
    """One g upwards in the mean: gravity removed, another unit, tilted or turned."""
    where = f'{configuration.topics["imu"]} linear_acceleration'
    mean = _straight_mean(shown)
    if not np.isfinite(mean).all():
        return []
    size = float(np.linalg.norm(mean))
    told = f'the mean specific force is [{mean[0]:.3g}, {mean[1]:.3g}, {mean[2]:.3g}]'
    if abs(mean[2]) < 0.2 * GRAVITY and size < 0.25 * GRAVITY:
        in_g = abs(abs(mean[2]) - 1.0) < 0.1
        code, text = (
            ('unit', 'it seems to be in g, it must be in m/s^2')
            if in_g
            else (
                'gravity_removed',
                'gravity has been removed; it must be the specific force, '
                '+9.81 m/s^2 upwards at rest (REP-145)',
            )
        )
        return [Finding('bad', code, f'{where}: {told}: {text}', where)]
    if abs(size / GRAVITY - 1.0) > 2.0 * GRAVITY_TOLERANCE:
        text = f'{told}, {size:.4g} m/s^2 in all: scale or unit is wrong, one g is 9.81 m/s^2'
        return [Finding('bad', 'scale', f'{where}: {text}', where)]
    tilt = float(np.degrees(np.arccos(np.clip(mean[2] / size, -1.0, 1.0))))
    if tilt > TILT_DEGREES:
        up = 'xyz'[int(np.argmax(np.abs(mean)))]
        sign = '-' if mean['xyz'.index(up)] < 0.0 else '+'
        text = (
            f'{told} in base_link, {tilt:.0f} degrees from upwards ({sign}{up} shows up): the '
            'inertial unit is mounted upside down or turned against the pose given (sensors.imu, '
            'or /tf_static)'
        )
        return [Finding('bad', 'imu_turned', f'{where}: {text}', configuration.topics['imu'])]
    return []


def check_one_g(shown: Channels, configuration: CarDescription) -> list[Finding]:
    """A mean specific force that is near one g, but not as near as a fair sensor shows it."""
    size = float(np.linalg.norm(_straight_mean(shown)))
    off = size / configuration.gravity - 1.0
    if not abs(off) > SLIGHT:
        return []
    where = f'{configuration.topics["imu"]} linear_acceleration'
    text = (
        f'{where}: the mean specific force is {size:.4g} m/s^2, {100.0 * off:+.2g} % from one g: '
        'its scale or its zero is off, and masses are off with it'
    )
    return [Finding('warn', 'scale', text, where)]


def _straight_mean(shown: Channels) -> Array:
    """Mean specific force where the car goes straight: bends tilt it rightly.

    The acceleration of the path is taken off, where less is left then: a recording may hold
    nothing but braking, but a yaw rate in degrees must not look like a force.
    """
    straight = np.abs(shown.rate[:, 2]) < STRAIGHT_RATE
    known = np.isfinite(shown.force).all(axis=1)
    if np.sum(straight & known) >= RATE:
        known &= straight
    along = slope(shown.grid, shown.speed[:, 0])
    path = np.column_stack([along, shown.speed[:, 0] * shown.rate[:, 2], np.zeros(len(along))])
    told = known & np.isfinite(path).all(axis=1)
    if not told.any():
        return shown.force[known].mean(axis=0) if known.any() else np.full(3, np.nan)
    plain, rest = (one[told].mean(axis=0) for one in (shown.force, shown.force - path))
    return np.asarray(min(plain, rest, key=lambda mean: float(np.linalg.norm(mean[:2]))))
