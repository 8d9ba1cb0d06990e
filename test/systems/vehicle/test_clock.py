"""Which sensors are on time, by their delays against the inertial unit."""

from __future__ import annotations

import numpy as np
import pytest

from veh_identification.systems.vehicle.observer.clock import (
    UNKNOWN_DELAY,
    Late,
    count_from,
    first_satellite,
    is_late,
    told_of_unit,
    who_is_late,
)
from veh_identification.systems.vehicle.observer.rolling_wheel import LATE


@pytest.mark.parametrize(
    ('delays', 'deviation', 'late'),
    [
        ((-0.04, -0.036, 0.0), 0.002, Late.WHEELS),
        ((-0.04, 0.1, 0.0), 0.002, Late.WHEELS),  # the velocity is late as well
        ((-0.04, -0.036, 0.0), 0.012, Late.NOBODY),  # not known well enough
        ((-0.002, -0.003, 0.0), 0.0003, Late.NOBODY),
        ((0.05, 0.15, 0.0), 0.002, Late.NOBODY),  # late satellites are no news
        ((-0.012, -0.011, -0.01), 0.0015, Late.UNIT),
        ((-0.005, -0.003, -0.003), 0.0018, Late.NOBODY),  # as on clean drives
    ],
)
def test_who_is_late(delays, deviation, late):
    assert who_is_late(np.array(delays), np.eye(3) * deviation**2) is late


def test_what_is_told_is_told_apart_from_the_belief():
    """A measurement of -25 ms to 4 ms, put into the belief that wheels are on time."""
    measured, deviation = -0.025, 0.004
    gain = LATE**2 / (LATE**2 + deviation**2)
    told = told_of_unit(gain * measured, (1.0 - gain) * LATE**2)
    assert told == pytest.approx((-measured, deviation))
    assert is_late(told) and not is_late(told_of_unit(0.0, LATE**2))


@pytest.mark.parametrize(('delays', 'first'), [((-0.04, -0.041), 0), ((-0.04, -0.05), 1)])
def test_the_fixes_are_on_time_unless_velocities_are_earlier(delays, first):
    assert first_satellite(np.array([*delays, 0.0]), np.eye(3) * 0.003**2) == first


def test_a_state_that_followed_late_wheels_is_moved_ahead():
    """Place at 10 m/s, and the delays of fixes and wheels: all are later by what was early."""
    later, before = np.array([10.0, 1.0, 1.0]), np.diag([0.02, 0.002, 0.002]) ** 2
    P = before.copy()
    errors = count_from(P, later, 1, -0.04, LATE)
    assert errors == pytest.approx([0.4, 0.04, 0.04], rel=0.02)
    # the delay is known as said, the place with it, and the others' relation is as before
    assert np.sqrt(P[1, 1]) == pytest.approx(LATE, rel=0.01)
    assert np.sqrt(P[0, 0]) < 0.06 < 10.0 * UNKNOWN_DELAY
    apart = np.array([0.0, 1.0, -1.0])
    assert apart @ P @ apart <= apart @ before @ apart + 1e-12
    assert np.linalg.eigvalsh(P).min() > 0.0
