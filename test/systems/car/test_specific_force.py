"""Gravity in the accelerometer of a car that turns all the time."""

from __future__ import annotations

import numpy as np
import pytest
from car_cases import configuration

from veh_identification.systems.car.checks.channels import Channels
from veh_identification.systems.car.checks.specific_force import check_specific_force


def turning(up: float, rate_factor: float) -> Channels:
    """A car on circles to the left, 12 m/s: never straight."""
    time = np.arange(0.0, 20.0, 0.02)
    yaw = 0.2 + 0.1 * np.sin(time)
    speed = np.full_like(time, 12.0)
    nothing = np.zeros_like(time)
    return Channels(
        time,
        np.column_stack([nothing, nothing, rate_factor * yaw]),
        np.column_stack([nothing, speed * yaw, np.full_like(time, up)]),
        np.column_stack([speed, nothing]),
        nothing,
        np.zeros((len(time), 4)),
        np.zeros((len(time), 4, 6)),
        np.zeros((len(time), 4)),
    )


@pytest.mark.parametrize('rate_factor', [1.0, 57.3])
def test_gravity_that_is_removed_is_told_whatever_unit_the_yaw_rate_has(rate_factor) -> None:
    (found,) = check_specific_force(turning(0.0, rate_factor), configuration())
    assert found.code == 'gravity_removed'


def test_circles_do_not_tilt_what_is_upright() -> None:
    assert check_specific_force(turning(9.81, 1.0), configuration()) == []
