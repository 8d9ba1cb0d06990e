"""Right and left wheels against the yaw rate, in time."""

from __future__ import annotations

import numpy as np
import pytest

from veh_identification.checks.channels import STEP
from veh_identification.checks.lags import Pair, lag_of
from veh_identification.checks.sides import sides_pair
from veh_identification.systems.vehicle.loading import load


@pytest.mark.parametrize('late', [0.0, 0.3])
def test_a_car_that_slows_down_into_a_bend_is_not_late(late):
    """Outer wheels carry more, and more so at the speed at which the bend begins."""
    car, time = load(), np.arange(0.0, 20.0, STEP)

    def motion(at):
        return 15.0 - 9.0 * np.exp(-(((at - 11.0) / 3.0) ** 2)), 0.4 * np.exp(
            -(((at - 10.0) / 1.5) ** 2)
        )

    speed, turn = motion(time)
    _, shown = motion(time - late)  # by an inertial unit that is late
    tracks = 2.0 * (car.geometry.half_track_front + car.geometry.half_track_rear)
    difference = tracks * turn + 0.02 * speed**2 * turn + 0.003 * speed
    plain = lag_of(Pair('', 'imu', 'wheels', shown, difference - 0.003 * speed))
    found = lag_of(sides_pair(shown, speed, difference / tracks))
    assert plain.seconds > late + 0.05
    assert found.seconds == pytest.approx(late, abs=0.03)
