"""The speed of the middle of a car by its wheels."""

from __future__ import annotations

import numpy as np

from veh_identification.systems.vehicle.checks.heard import centre_speed

TIME = np.arange(0.0, 20.0, 0.05)
SPEED, TURN = 15.0 + np.sin(0.3 * TIME), 0.15 * np.sin(0.8 * TIME)
HALF_TRACK = 0.75


def wheels(*radii: float) -> np.ndarray:
    """Wheels of a car in bends whose radii are not what is said."""
    sides = np.array([-1.0, 1.0, -1.0, 1.0])
    return (SPEED[:, None] + TURN[:, None] * HALF_TRACK * sides) * np.array(radii)


def swing(speeds: np.ndarray) -> float:
    """By how many metres aside the speed is that of another point."""
    columns = np.column_stack([TURN, SPEED, np.ones_like(SPEED)])
    return float(np.linalg.lstsq(columns, centre_speed(speeds), rcond=None)[0][0])


def test_unequal_wheels_of_one_side_do_not_stand_for_the_middle():
    speeds = wheels(1.0, 1.012, 1.0, 0.988)
    assert abs(swing(speeds)) < 0.02
    columns = np.column_stack([TURN, SPEED, np.ones_like(SPEED)])
    median = np.linalg.lstsq(columns, np.median(speeds, axis=1), rcond=None)[0][0]
    assert abs(median) > 0.3  # what this is for


def test_a_wheel_that_stands_takes_its_axle_along():
    speeds = wheels(1.0, 1.0, 1.0, 1.0)
    speeds[100:, 1] = 0.0
    assert abs(swing(speeds)) < 0.02


def test_wheels_that_are_not_there():
    speeds = wheels(1.0, 1.0, 1.0, 1.0)
    speeds[:, :2] = np.nan
    assert np.allclose(centre_speed(speeds), SPEED)
    speeds[5] = np.nan
    assert np.isnan(centre_speed(speeds)[5])
