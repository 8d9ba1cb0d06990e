"""Deviations where errors repeat with the motion."""

from __future__ import annotations

import numpy as np
import pytest

from veh_identification.identification.repetition import clustered_variance, period_of


def motion(times: np.ndarray, period: float) -> np.ndarray:
    base = 2.0 * np.pi / period
    return np.column_stack(
        [np.sin(base * times) + 0.4 * np.cos(3.0 * base * times), np.cos(2.0 * base * times + 1.0)]
    )


def test_periods_are_found() -> None:
    times = np.arange(0.0, 60.0, 0.032)
    assert period_of(motion(times, 9.64), 0.032) == pytest.approx(9.64, abs=0.002)
    rng = np.random.default_rng(0)
    noisy = motion(times, 9.64) + 0.01 * rng.standard_normal((len(times), 2))
    assert period_of(noisy, 0.032) == pytest.approx(9.64, abs=0.02)
    assert period_of(motion(times, 55.0), 0.032) == 0.0
    chirp = np.sin(times**1.5)[:, None]
    assert period_of(chirp, 0.032) == 0.0
    assert period_of(np.zeros((100, 2)), 0.032) == 0.0


def test_errors_that_repeat_do_not_average_out() -> None:
    rng = np.random.default_rng(1)
    period, times = 10.0, np.arange(0.0, 50.0, 0.1)
    q = motion(times, period)
    V = np.stack([q[:, 0], q[:, 1], np.ones(len(q)), np.sign(q[:, 0])], axis=1)[:, None]
    phases = np.floor(times % period / 0.4).astype(np.int64)
    alone = np.arange(len(times)) // 4
    inverse = np.linalg.pinv(V[:, 0])
    for repeated, clusters in ((True, phases), (False, alone)):
        estimates, variances = [], []
        for _ in range(80):
            noise = rng.standard_normal(len(times))
            if repeated:
                noise = noise[np.arange(len(times)) % 100]
            x = inverse @ noise
            estimates.append(x)
            left = noise - V[:, 0] @ x
            variances.append(clustered_variance(V, left[:, None], clusters))
        true = np.var(estimates, axis=0)
        np.testing.assert_allclose(np.mean(variances, axis=0), true, rtol=0.35)
