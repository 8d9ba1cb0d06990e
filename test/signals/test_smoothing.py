from __future__ import annotations

import numpy as np
import pytest

from veh_identification.errors import SignalError
from veh_identification.signals.causal import CausalDerivativeFilter
from veh_identification.signals.smoothing import (
    local_polynomial_derivatives,
    noise_gain,
    savitzky_golay,
    savitzky_golay_coefficients,
)

RATE = 200.0
T = np.arange(2000) / RATE


def test_savitzky_golay_is_exact_on_polynomials():
    p = np.polynomial.Polynomial([1.0, -2.0, 0.5, 0.3, -0.02])
    out = savitzky_golay(p(T), RATE, 10, order=4)
    assert out.valid.sum() == len(T) - 20
    scale = np.abs(p(T)).max()
    np.testing.assert_allclose(out.position[out.valid], p(T)[out.valid], atol=1e-9 * scale)
    np.testing.assert_allclose(out.velocity[out.valid], p.deriv()(T)[out.valid], atol=1e-8 * scale)
    np.testing.assert_allclose(
        out.acceleration[out.valid], p.deriv(2)(T)[out.valid], atol=1e-6 * scale
    )


def test_noise_gain_is_the_measured_one():
    rng = np.random.default_rng(0)
    gain = noise_gain(savitzky_golay_coefficients(15, 4, RATE))
    out = savitzky_golay(rng.standard_normal(60000), RATE, 15)
    for k, got in enumerate((out.position, out.velocity, out.acceleration)):
        assert got[out.valid].std() == pytest.approx(gain[k], rel=0.05)


def test_savitzky_golay_respects_gaps():
    x = np.sin(3 * T)
    valid = np.ones(len(T), dtype=bool)
    valid[700:720] = False
    x[~valid] = np.nan
    out = savitzky_golay(x, RATE, 10, valid=valid)
    assert not out.valid[690:730].any()
    assert np.abs(out.velocity - 3 * np.cos(3 * T))[out.valid].max() < 1e-4


def test_offline_and_live_agree_on_irregular_stamps():
    rng = np.random.default_rng(1)
    stamps = np.cumsum(rng.uniform(0.003, 0.007, 1500))
    x = np.stack([np.sin(4 * stamps), np.cos(7 * stamps)], axis=1)
    live = CausalDerivativeFilter(2, 10.0)
    results, centres = [], []
    for t, sample in zip(stamps, x, strict=True):
        out = live.update(t, sample)
        if live.ready:
            results.append(out)
            centres.append(live.stamp)
    offline = local_polynomial_derivatives(stamps, x, np.array(centres), live.delay)
    results = np.array(results)
    assert offline.valid.mean() > 0.99
    for k, got in enumerate((offline.position, offline.velocity, offline.acceleration)):
        np.testing.assert_allclose(
            got[offline.valid], results[offline.valid, k], rtol=1e-9, atol=1e-8
        )


def test_local_polynomial_leaves_out_ends_and_gaps():
    stamps = np.concatenate([np.arange(0, 400), np.arange(500, 900)]) / RATE
    at = np.arange(-50, 950) / RATE
    out = local_polynomial_derivatives(stamps, np.sin(stamps), at, 0.1)
    near = [np.abs(at - edge) < 0.05 for edge in (0.0, 399 / RATE, 500 / RATE, 899 / RATE)]
    assert not out.valid[np.any(near, axis=0)].any()
    assert not out.valid[(at > 2.0) & (at < 2.5)].any()
    assert np.abs(out.velocity[out.valid, 0] - np.cos(at[out.valid])).max() < 1e-6
    assert out.valid.sum() > 600


def test_errors_are_one_sentence():
    with pytest.raises(SignalError, match='window of 5 samples takes orders 2 to 4'):
        savitzky_golay(np.zeros(100), RATE, 2, order=6)
    with pytest.raises(SignalError, match='no segment holds the 21 samples'):
        savitzky_golay(np.zeros(15), RATE, 10)
    with pytest.raises(SignalError, match='order 2 to 6'):
        local_polynomial_derivatives(T, T, T, 0.1, order=1)
