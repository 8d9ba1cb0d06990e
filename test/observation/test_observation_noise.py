from __future__ import annotations

import numpy as np
import pytest

from veh_identification.observation.noise import (
    integrator_noise,
    integrator_transition,
    van_loan,
)
from veh_identification.observation.sequential import (
    LEAST,
    banded_transition,
    learn_noise,
    noise_factor,
    predict_banded,
    predict_covariance,
    update_group,
    wrap_angle,
)


def test_van_loan_against_the_integral():
    rng = np.random.default_rng(1)
    F, G = rng.standard_normal((3, 3)), rng.standard_normal((3, 2))
    W = G @ G.T
    dt, steps = 0.3, 6000
    transition, covariance = van_loan(F, W, dt)
    from scipy.linalg import expm

    assert np.allclose(transition, expm(F * dt), atol=1e-12)
    h = dt / steps
    total = np.zeros((3, 3))
    E, half = expm(F * h), expm(F * h / 2)
    M = half
    for _ in range(steps):
        total += M @ W @ M.T * h
        M = E @ M
    assert np.allclose(covariance, total, atol=1e-6)


def test_integrator_noise_closed_form():
    dt, a, f = 0.02, np.array([2.0, 3.0]), np.array([5.0, 7.0])
    W = integrator_noise(dt, a)
    assert np.allclose(W[:2, :2], np.diag(a) * dt**3 / 3)
    assert np.allclose(W[:2, 2:], np.diag(a) * dt**2 / 2)
    assert np.allclose(W[2:, 2:], np.diag(a) * dt)
    W3 = integrator_noise(dt, 0 * a, f)
    assert np.allclose(W3[:2, :2], np.diag(f) * dt**5 / 20)
    assert np.allclose(W3[2:4, 4:], np.diag(f) * dt**2 / 2)
    F = integrator_transition(dt, 2, 3)
    assert F[0, 2] == dt and F[0, 4] == pytest.approx(dt**2 / 2) and F[3, 5] == dt


def batch(P, H, nu, N):
    S = H @ P @ H.T + np.diag(N)
    L = P @ H.T @ np.linalg.inv(S)
    A = np.eye(len(P)) - L @ H
    return L @ nu, A @ P @ A.T + L @ np.diag(N) @ L.T, nu @ np.linalg.solve(S, nu)


def call(P, x, H, predicted, measured, N, available=None, wrap=False, limit=np.inf):
    m = len(N)
    flags = np.ones(m, dtype=bool) if available is None else available
    nis, count, weight = update_group(
        P,
        x,
        H,
        predicted,
        measured,
        N,
        flags,
        wrap,
        np.full((2, 64), limit),
        1.0,
        np.zeros(m),
        np.zeros(m),
        np.zeros(m),
    )
    return nis, count, weight > 0.0


def test_sequential_scalar_updates_equal_the_joseph_form():
    rng = np.random.default_rng(2)
    A = rng.standard_normal((5, 5))
    P0, H = A @ A.T + np.eye(5), rng.standard_normal((3, 5))
    N, nu = np.array([0.5, 1.0, 2.0]), rng.standard_normal(3)
    P, x = P0.copy(), np.zeros(5)
    nis, count, accepted = call(P, x, H, np.zeros(3), nu, N)
    expected_x, expected_P, expected_nis = batch(P0, H, nu, N)
    assert accepted and count == 3
    assert np.allclose(x, expected_x, atol=1e-12)
    assert np.allclose(P, expected_P, atol=1e-12)
    assert nis == pytest.approx(expected_nis, rel=1e-12)
    assert np.array_equal(P, P.T)


def test_a_second_sensor_starts_from_what_the_first_left():
    rng = np.random.default_rng(3)
    P0, H = np.diag([1.0, 2.0, 3.0]), rng.standard_normal((2, 3))
    N, nu = np.array([0.5, 1.0]), np.array([1.0, -2.0])
    P, x = P0.copy(), np.zeros(3)
    for i in range(2):
        call(P, x, H[i : i + 1], np.zeros(1), nu[i : i + 1], N[i : i + 1])
    expected_x, expected_P, _ = batch(P0, H, nu, N)
    assert np.allclose(x, expected_x) and np.allclose(P, expected_P)


def test_unavailable_and_nan_components_are_left_out():
    P0, H = np.diag([1.0, 2.0]), np.eye(2)
    P, x = P0.copy(), np.zeros(2)
    _, count, _ = call(P, x, H, np.zeros(2), np.array([np.nan, 1.0]), np.ones(2))
    assert count == 1 and x[0] == 0.0 and x[1] == pytest.approx(2 / 3) and P[0, 0] == 1.0
    _, count, accepted = call(
        P, x, H, np.zeros(2), np.ones(2), np.ones(2), np.zeros(2, dtype=bool)
    )
    assert count == 0 and not accepted


def test_the_gate_rejects_the_whole_group_and_changes_nothing():
    P, x = np.eye(2), np.zeros(2)
    nis, _, accepted = call(
        P, x, np.eye(2), np.zeros(2), np.array([0.1, 9.0]), np.ones(2), limit=9.21
    )
    assert not accepted and nis == pytest.approx((0.01 + 81) / 2)
    assert np.array_equal(x, np.zeros(2)) and np.array_equal(P, np.eye(2))


def test_angles_wrap():
    assert wrap_angle(np.pi + 0.1) == pytest.approx(-np.pi + 0.1)
    assert wrap_angle(np.pi) == pytest.approx(np.pi)
    assert wrap_angle(-5 * np.pi + 0.1) == pytest.approx(-np.pi + 0.1)
    P, x = np.eye(1), np.zeros(1)
    call(P, x, np.ones((1, 1)), np.array([3.1]), np.array([-3.1]), np.ones(1), wrap=True)
    assert x[0] == pytest.approx((2 * np.pi - 6.2) / 2)


def learnt(true: float, spread: float, correlation: float = 0.0, samples: int = 20000):
    """What is made of noise of this variance that is stated as one."""
    rng = np.random.default_rng(4)
    noise, last, factors = np.array([1.0, 0.0, 0.0, 0.0, 0.0]), 0.0, []
    for _ in range(samples):
        last = correlation * last + np.sqrt(1.0 - correlation**2) * rng.standard_normal()
        innovation = np.sqrt(true) * last + np.sqrt(spread) * rng.standard_normal()
        learn_noise(noise, innovation, 1.0)
        factors.append(noise_factor(noise))
    return float(np.mean(factors[samples // 2 :]))


@pytest.mark.parametrize('spread', [0.01, 0.3])
def test_noise_is_learnt_downwards_and_never_beyond_what_is_stated(spread):
    # no innovation tells the noise from what the estimate itself is off by: it is no larger
    assert learnt(0.4, spread) == pytest.approx(0.4 + spread, rel=0.25)
    assert learnt(1.0, spread) == pytest.approx(1.0, abs=0.12)
    assert learnt(9.0, spread) <= 1.0
    assert learnt(1e-4, 1e-4) == pytest.approx(LEAST, rel=0.1)


def test_what_is_stated_counts_for_a_while():
    assert learnt(1e-4, 1e-4, samples=20) == pytest.approx(50 / 65, rel=0.05)
    assert learnt(1e-4, 1e-4, samples=400) < 0.3


def test_noise_that_lasts_tells_less():
    assert learnt(0.3, 1e-3, correlation=0.5) == pytest.approx(0.9, rel=0.25)


def test_the_covariance_of_an_integrator_without_full_products():
    rng = np.random.default_rng(5)
    F = np.eye(9)
    F[:6, :6] = integrator_transition(0.02, 2, 3)
    F[6:, 6:] = np.diag([1.0, 0.9, 1.0])
    A, B = rng.standard_normal((2, 9, 9))
    P, W = A @ A.T, B @ B.T
    banded = banded_transition(F)
    assert banded is not None and banded.offset.tolist() == [2, 4]
    found = P.copy()
    predict_banded(banded, found, W, np.empty((9, 9)))
    assert np.allclose(found, predict_covariance(F, P, W), rtol=1e-13, atol=1e-13)
    assert np.array_equal(found, found.T)
    assert banded_transition(F.T) is None
