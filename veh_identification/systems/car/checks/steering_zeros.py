"""The zero of the steering, by how the car turns: straight on, nobody steers."""

from __future__ import annotations

import numpy as np

from veh_identification.findings import Finding, Level
from veh_identification.systems.car.checks.channels import Channels, likeness
from veh_identification.systems.car.configuration import CarDescription

#: Angle [rad] that toe, crosswinds and banked roads do not reach, and from which on the axes of
#: the front wheel forces are not those of the hubs.
SMALLEST, LARGE = 0.025, 0.05
#: Speed [m/s], samples, and how much alike steering and turning must be.
FAST, LEAST_SAMPLES, ALIKE = 5.0, 75, 0.9


def check_steering_zero(shown: Channels, configuration: CarDescription) -> list[Finding]:
    """A steering angle that is not zero where yaw rate and lateral acceleration are."""
    speed = np.where(shown.speed[:, 0] > FAST, shown.speed[:, 0], np.nan)
    bend, lateral = shown.rate[:, 2] / speed, shown.force[:, 1]
    table = np.column_stack([shown.steering, bend, lateral])
    good = np.isfinite(table).all(axis=1)
    if good.sum() < LEAST_SAMPLES:
        return []
    y, A = table[good, 0], np.column_stack([np.ones(good.sum()), table[good, 1:]])
    A = A / np.maximum(np.abs(A).max(axis=0), 1e-12)
    x, *_ = np.linalg.lstsq(A, y, rcond=1e-6)
    zero, rest = float(x[0]), y - A @ x
    if abs(zero) < SMALLEST or not likeness(y, y - rest) > ALIKE:
        return []
    where = f'{configuration.topics["joints"]}.position[steering_*]'
    text = (
        f'{where}: the steering seems to be {zero:+.3g} rad ({np.degrees(zero):+.2g} degrees) off '
        'its zero: that is what it shows where neither yaw rate nor lateral acceleration tells of '
        'a bend'
    )
    level: Level = 'bad' if abs(zero) > LARGE else 'warn'
    return [Finding(level, 'steering_zero', text, where, size=abs(zero) / SMALLEST)]
