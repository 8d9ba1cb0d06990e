"""Beliefs that are exchanged, as if they had never been held."""

from __future__ import annotations

import numpy as np
import pytest

from veh_identification.systems.vehicle.observer.belief import Belief, exchanged, told_alone

BELIEF = Belief(0.005, 0.05)


def estimated(deviation: float) -> tuple[np.ndarray, np.ndarray]:
    """Three states from measurements of them; the last one begins with the deviation."""
    random = np.random.default_rng(3)
    rows, truth = random.standard_normal((12, 3)), np.array([0.3, -0.2, 0.04])
    measured = rows @ truth + 0.01 * random.standard_normal(12)
    P = np.linalg.inv(np.diag([1.0, 1.0, deviation**-2]) + rows.T @ rows / 0.01**2)
    return P @ rows.T @ measured / 0.01**2, P


def test_an_exchanged_belief_was_never_held():
    x, P = estimated(BELIEF.usual)
    wanted, covariance = estimated(BELIEF.widest)
    errors = exchanged(P, 2, float(x[2]), BELIEF)
    assert x + errors == pytest.approx(wanted, rel=1e-9)
    assert pytest.approx(covariance, rel=1e-9) == P


def test_of_what_nothing_was_told_nothing_is_exchanged():
    P = np.eye(2) * 0.01**2
    assert exchanged(P, 1, 0.0, BELIEF) is None and told_alone(0.0, 0.01**2, 0.005).value == 0.0
    assert pytest.approx(np.eye(2) * 0.01**2) == P


def test_what_is_told_is_the_estimate_without_a_belief():
    x, P = estimated(BELIEF.usual)
    alone, free = estimated(1e6)
    told = told_alone(float(x[2]), float(P[2, 2]), BELIEF.usual)
    assert told == pytest.approx((alone[2], np.sqrt(free[2, 2])), rel=1e-6)
