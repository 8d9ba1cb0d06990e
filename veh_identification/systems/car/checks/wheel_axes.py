"""Axes of all wheel force sensors against the inertial unit, and of that against the path.

What the wheels push, over the weight, is the specific force of the car but for the drag. Where
both are turned against each other, speed and yaw rate tell which of them is: they know the
acceleration along the path, to which an upright unit adds no more than the slope of the road. The
equations of the car alone take turned wheel forces for a turned unit, or for another centre of
gravity.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from veh_identification.checks.grid import slope
from veh_identification.findings import Finding
from veh_identification.systems.car.checks.channels import AXLES, Channels
from veh_identification.systems.car.configuration import CarDescription
from veh_identification.types import Array

#: Angle [rad] that is told.
SMALLEST = 0.04
#: Usual drag over the square of the speed [N s^2/m^2], and by how much others differ: it looks
#: like an angle about y.
DRAG, OTHER_DRAG = 0.5, 0.5
#: Share of it by which the inertial unit may be turned itself, and an axle may differ.
OWN, ALIKE = 0.4, 0.6
#: Samples, speed [m/s] and change of the lateral force [m/s^2] that say something.
LEAST_SAMPLES, FAST, LIVELY = 75, 5.0, 0.5


@dataclass(frozen=True)
class Turned:
    """Angles (3,) about x, y, z [rad]; nan where nothing tells them."""

    wheels: Array  # all of them, against the inertial unit
    each: Array  # (2, 3) of each axle: toe turns left and right wheels against each other
    unit: Array  # against the path
    unsure: float  # of those about y, by the drag


def check_wheel_axes(shown: Channels, configuration: CarDescription) -> list[Finding]:
    """Wheel forces that are all turned alike."""
    found = turned(shown, configuration.gravity)
    if found is None:
        return []
    size = np.abs(found.wheels)
    least = SMALLEST + found.unsure * np.array([0.0, 1.0, 0.0])
    with np.errstate(invalid='ignore'):
        told = (size > least) & (np.abs(found.unit) < OWN * size)
        told &= (np.abs(found.each - found.wheels) < ALIKE * size).all(axis=0)
    if not told.any():
        return []
    k = int(np.argmax(np.where(told, size / least, 0.0)))
    text = (
        f'wheel_*/wrench: all wheel forces seem to be turned by '
        f'{np.degrees(found.wheels[k]):+.1f} degrees about {"xyz"[k]} against the car: so the '
        'inertial unit feels it, which agrees with speed and yaw rate within '
        f'{np.degrees(abs(found.unit[k])):.1f} degrees; look at how the sensors are mounted'
    )
    return [Finding('bad', 'wrench_turned', text, 'wheel_*/wrench', size=float(size[k]))]


def turned(shown: Channels, gravity: float) -> Turned | None:
    """How wheel forces are turned against the inertial unit, and this against the path."""
    force = _of_axles(shown)
    speed, yaw = shown.speed[:, 0], shown.rate[:, 2]
    aside = np.nan_to_num(shown.speed[:, 1])
    path = np.column_stack(
        [slope(shown.grid, speed) - aside * yaw, speed * yaw + slope(shown.grid, aside)]
    )
    known = np.column_stack([force.sum(axis=1), shown.force, path])
    good = np.isfinite(known).all(axis=1) & (np.abs(np.nan_to_num(speed)) > FAST)
    loads = force[good, :, 2].mean(axis=0) if good.sum() >= LEAST_SAMPLES else np.zeros(2)
    if not (loads > 0.0).all():
        return None
    felt, weight = shown.force[good], float(loads.sum())
    drag = gravity * DRAG * np.square(speed[good]) / weight
    horizontal = felt[:, :2] + np.column_stack([drag, 0.0 * drag])
    lateral = felt[:, 1] - felt[:, 1].mean()

    def angles(pushed: Array, other: Array) -> Array:
        """By which horizontal forces (n, 2), over mass, are turned against others."""
        apart = pushed - other
        about_z = np.nan
        if lateral.std() > LIVELY:
            about_z = -float(apart[:, 0] @ lateral) / float(lateral @ lateral)
        mean = apart.mean(axis=0) / gravity
        return np.array([-mean[1], mean[0], about_z])

    pushed = gravity * force[good, :, :2] / loads[:, None]
    every = np.einsum('nak,a->nk', pushed, loads / weight)
    return Turned(
        angles(every, horizontal),
        np.array([angles(pushed[:, j], horizontal) for j in range(2)]),
        angles(felt[:, :2], path[good]),
        float(OTHER_DRAG / DRAG * drag.mean() / gravity),
    )


def _of_axles(shown: Channels) -> Array:
    """Forces of both axles (N, 2, 3) in the axes of the car; front wheels turn as they steer."""
    front, rear = (shown.wrench[:, list(wheels), :3].sum(axis=1) for wheels in AXLES.values())
    angle = np.nan_to_num(shown.steering)
    cosine, sine = np.cos(angle), np.sin(angle)
    x, y = cosine * front[:, 0] - sine * front[:, 1], sine * front[:, 0] + cosine * front[:, 1]
    return np.stack([np.column_stack([x, y, front[:, 2]]), rear], axis=1)
