"""Roll and pitch rates against gravity in the accelerometer."""

from __future__ import annotations

import numpy as np
import pytest

from veh_identification.checks.channels import STEP, Channels
from veh_identification.checks.tilting import check_tilting
from veh_identification.types import Array

GRAVITY = 9.80665
TIME = np.arange(0.0, 60.0, STEP)


def tilting(factors: tuple[float, float], speed: float = 12.0) -> tuple[Channels, list[Array]]:
    """A vehicle that rolls and pitches by tenths of a degree; factors of both rates as measured.

    Of the specific force beside gravity half is what nobody tells: slip and bumps.
    """
    rng = np.random.default_rng(6)
    forward = speed + 0.3 * speed * np.sin(0.3 * TIME)
    yaw = 0.15 * np.sin(0.7 * TIME)
    roll, pitch = 0.006 * np.sin(2.1 * TIME), 0.005 * np.sin(2.7 * TIME + 1.0)
    unknown = 0.04 * rng.standard_normal((2, len(TIME)))
    rates = [factors[0] * np.gradient(roll, TIME), factors[1] * np.gradient(pitch, TIME), yaw]
    forces = [
        np.gradient(forward, TIME) - GRAVITY * np.sin(pitch) + unknown[0],
        forward * yaw + GRAVITY * np.sin(roll) + unknown[1],
        np.full(len(TIME), GRAVITY),
    ]
    wheels = (TIME, forward[:, None])
    return Channels({'wheels': wheels, 'imu': (TIME, np.column_stack([*rates, *forces]))}), [
        *rates,
        *forces,
    ]


def told(factors: tuple[float, float], speed: float = 12.0) -> list[tuple[str, str]]:
    channels, measured = tilting(factors, speed)
    rows = [np.interp(channels.grid, TIME, one) for one in measured]
    found = check_tilting(channels, rows[:3], rows[3:], 'imu/data', GRAVITY)
    return [(one.code, one.where.rpartition('.')[2]) for one in found]


@pytest.mark.parametrize(
    ('factors', 'expected'),
    [
        ((1.0, 1.0), []),
        ((-1.0, 1.0), [('sign', 'x')]),
        ((1.0, -1.0), [('sign', 'y')]),
        ((57.3, 1.0), [('unit', 'x')]),
        ((1.0, -57.3), [('unit', 'y')]),
        ((0.0, 0.0), []),
    ],
)
def test_rates_that_contradict_gravity_are_told(factors, expected) -> None:
    assert told(factors) == expected


def test_a_vehicle_that_hardly_goes_says_nothing() -> None:
    assert told((-1.0, -1.0), speed=1.0) == []
