"""Which sensors are on time, by their delays against the inertial unit."""

from __future__ import annotations

import numpy as np
import pytest

from veh_identification.systems.vehicle.observer.belief import Belief
from veh_identification.systems.vehicle.observer.clock import (
    UNKNOWN_DELAY,
    Late,
    count_from,
    first_satellite,
    fixes_late,
    is_late,
    not_before,
    told_again,
    told_of_unit,
    who_is_late,
    without,
)
from veh_identification.systems.vehicle.observer.rolling_wheel import LATE

BELIEVED = np.array([0.03, 0.05, LATE])  # deviations of fixes, velocities, wheels


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
    assert who_is_late(np.array(delays), np.eye(3) * deviation**2, BELIEVED) is late


def believed_and_measured(measured, information):
    """Posterior of delays that were believed to be zero, after a measurement of all three."""
    covariance = np.linalg.inv(information + np.diag(BELIEVED**-2.0))
    return covariance @ information @ measured, covariance


def test_what_is_told_is_told_apart_from_the_beliefs():
    """Satellites and wheels agree to a millisecond, and all are 25 ms before the unit, to 4 ms."""
    apart = np.array([[1.0, 0.0, -1.0], [0.0, 1.0, -1.0]])
    information = apart.T @ apart / 0.001**2 + np.diag([0.0, 0.0, 0.004**-2.0])
    delays, covariance = believed_and_measured(np.full(3, -0.025), information)
    assert delays[2] > -0.01  # believed to be on time
    told = told_of_unit(delays, covariance, BELIEVED)
    assert told == pytest.approx((0.025, 0.004), rel=1e-6)
    assert is_late(told)
    assert told_of_unit(np.zeros(3), np.diag(BELIEVED**2), BELIEVED).deviation == np.inf


def test_what_was_said_of_a_delay_does_not_hide_that_the_unit_is_late():
    """That fixes are not early is no measurement, and can be taken out again."""
    apart = np.array([[1.0, 0.0, -1.0], [0.0, 1.0, -1.0]])
    information = apart.T @ apart / 0.001**2 + np.diag([0.0, 0.0, 0.004**-2.0])
    delays, P = believed_and_measured(np.full(3, -0.02), information)
    before = delays.copy(), P.copy()
    mean, variance = 0.0005, 0.0004**2
    said = np.zeros((2, 3))
    said[:, 0] = np.array([1.0, mean]) / variance - np.array([1.0, delays[0]]) / P[0, 0]
    delays = delays + told_again(P, 0, float(delays[0]), mean, variance)
    assert delays[0] == pytest.approx(mean)
    assert not is_late(told_of_unit(delays, P, BELIEVED))
    free = without(said, delays, P)
    assert free[0] == pytest.approx(before[0]) and free[1] == pytest.approx(before[1])
    assert is_late(told_of_unit(*free, BELIEVED))


def test_fixes_are_late_by_their_delay_or_against_the_velocities():
    belief, covariance = Belief(0.005, 0.03), np.diag([0.002, 0.003, 0.001]) ** 2
    assert fixes_late(np.array([0.02, 0.0, 0.0]), covariance, belief)
    assert not fixes_late(np.array([0.004, 0.0, 0.0]), covariance, belief)
    assert fixes_late(np.array([0.003, -0.04, 0.0]), covariance, belief)
    assert not fixes_late(np.array([0.003, 0.1, 0.0]), covariance, belief)  # late velocities
    assert not fixes_late(np.array([0.003, -0.04, 0.0]), 25.0 * covariance, belief)


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


@pytest.mark.parametrize(('value', 'deviation'), [(-0.003, 0.002), (-0.0045, 0.0015)])
def test_a_delay_that_seems_negative_is_the_part_of_it_that_can_be(value, deviation):
    samples = np.random.default_rng(3).normal(value, deviation, 2_000_000)
    possible = samples[samples > 0.0]
    mean, variance = not_before(value, deviation**2)
    assert mean == pytest.approx(possible.mean(), rel=0.02)
    assert np.sqrt(variance) == pytest.approx(possible.std(), rel=0.03)


def test_a_delay_far_below_zero_is_about_zero_and_others_are_left_alone():
    mean, variance = not_before(-0.0075, 0.0001**2)
    assert 0.0 < mean < 2e-6 and np.sqrt(variance) == pytest.approx(mean)
    assert not_before(0.001, 0.002**2) is None
    assert not_before(-0.001, 0.002**2) is None  # it would be said again and again
    assert not_before(-0.004, 0.003**2) is None  # may still be too early: others may be late
    assert not_before(-0.05, 0.002**2) is None


def test_a_place_follows_the_delay_that_is_known_better():
    """As a measurement of that delay would have it."""
    rng = np.random.default_rng(5)
    half = rng.normal(size=(4, 4))
    P, value = half @ half.T, -0.7
    noise = 0.3
    gain = P[:, 2] / (P[2, 2] + noise)
    after, errors = P - np.outer(gain, P[2]), gain * (0.4 - value)
    mean, variance = value + errors[2], after[2, 2]
    before = P.copy()
    assert told_again(P, 2, value, mean, variance) == pytest.approx(errors)
    assert np.allclose(P, after) and not np.allclose(P, before)
