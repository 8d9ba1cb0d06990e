"""Encoders that begin anew after a turn become continuous; those that count on stay so."""

from __future__ import annotations

import math

import numpy as np
import pytest

from veh_identification.signals.wrapping import Continuous, continuous


def made(angles: np.ndarray) -> np.ndarray:
    continuous = Continuous()
    return np.array([continuous.add([float(one)])[0] for one in angles])


@pytest.mark.parametrize('low', [-math.pi, 0.0])
def test_an_encoder_that_begins_anew(low: float) -> None:
    """Forwards, a stop, and backwards through the place where it begins anew."""
    t = np.linspace(0.0, 10.0, 2000)
    angle = 30.0 * np.sin(0.6 * t)
    wrapped = (angle - low) % (2.0 * math.pi) + low
    np.testing.assert_allclose(np.diff(made(wrapped)), np.diff(angle), atol=1e-9)


@pytest.mark.parametrize('step', [0.3, 4.0, 9.0])
def test_one_that_counts_on_is_left_alone(step: float) -> None:
    """However slowly it is read."""
    angle = 1.0 + step * np.arange(50.0)
    np.testing.assert_array_equal(made(angle), angle)


def test_one_that_trembles_where_it_begins_anew() -> None:
    """A car that stands: the angle goes to and fro by a tick, beyond the turn and back."""
    angle = math.pi + 0.02 * np.array([-3, -2, -1, 1, -1, 1, 1, -1, -2, 1, 2, 3, 1, -1, -1, 1.0])
    wrapped = (angle + math.pi) % (2.0 * math.pi) - math.pi
    np.testing.assert_allclose(made(wrapped), angle, atol=1e-9)


def test_a_change_of_the_wheels_begins_anew() -> None:
    continuous = Continuous()
    for k in range(10):
        continuous.add([k % 6.0])
    assert continuous.add([1.0, 2.0]) == [1.0, 2.0]


def test_angles_that_are_missing_now_and_then() -> None:
    t = np.linspace(0.0, 5.0, 1000)
    angles = np.stack([10.0 * t, -7.0 * t], axis=1)
    wrapped = (angles + math.pi) % (2.0 * math.pi) - math.pi
    wrapped[:3, 1] = np.nan
    wrapped[::7, 0] = np.nan
    found, encoders = continuous(wrapped)
    assert encoders.leaps == [0, 0]
    assert encoders.turns == [8, 6] and encoders.kinds == (False, True)
    good = np.isfinite(wrapped)
    np.testing.assert_array_equal(np.isfinite(found), good)
    for column in range(2):
        rows = good[:, column]
        away = found[rows, column] - angles[rows, column]
        np.testing.assert_allclose(away, away[0], atol=1e-9)


def test_a_counter_that_overflows_or_begins_anew_goes_on() -> None:
    t = np.linspace(0.0, 20.0, 2000)
    angle = 40.0 * t + 3.0 * np.sin(t)
    for spoilt, leaps in (
        ((angle + 20.0) % 40.0 - 20.0, 20),  # sixteen bits
        (np.where(t > 9.0, angle - angle[900], angle), 1),  # its driver was started again
    ):
        found, encoders = continuous(np.stack([spoilt, -spoilt], axis=1))
        assert encoders.leaps == [leaps, leaps] and encoders.kinds == (True, False)
        # Each leap is bridged by the step before.
        np.testing.assert_allclose(np.diff(found[:, 0]), np.diff(angle), atol=2e-3)
        np.testing.assert_allclose(np.diff(found[:, 1]), -np.diff(angle), atol=2e-3)


@pytest.mark.parametrize('size', [30.0, -30.0])
def test_one_glitch_of_a_counter_leaves_no_trace(size: float) -> None:
    angle = np.linspace(0.0, 300.0, 1000)
    spoilt = angle.copy()
    spoilt[500] += size
    found, encoders = continuous(spoilt[:, None])
    assert encoders.leaps == [0] and encoders.kinds == (False, False)
    np.testing.assert_allclose(np.delete(found[:, 0], 500), np.delete(angle, 500), atol=1e-9)


def test_a_gap_in_the_messages_and_a_car_that_turns_about_are_no_leaps() -> None:
    t = np.linspace(0.0, 20.0, 2000)
    angle = 60.0 * np.sin(0.5 * t)
    heard = np.r_[0:100, 250:2000]
    found, encoders = continuous(angle[heard][:, None])
    assert encoders.leaps == [0] and encoders.kinds == (False, False)
    np.testing.assert_array_equal(found[:, 0], angle[heard])
