from __future__ import annotations

import numpy as np
import pytest

from veh_identification.errors import SignalError
from veh_identification.signals.filtering import (
    ZeroPhaseFilter,
    central_difference,
    integrate_high_passed,
    trapezoid,
)

RATE = 200.0
T = np.arange(6000) / RATE


def chirp_free(t):
    """Sum of slow sines with a ramp: value, velocity, acceleration (N, 2)."""
    w = 2 * np.pi * np.array([0.7, 1.9])
    x = np.sin(np.outer(t, w)) + 2.0 * t[:, None] - 3.0
    return x, w * np.cos(np.outer(t, w)) + 2.0, -(w**2) * np.sin(np.outer(t, w))


@pytest.mark.parametrize(
    ('method', 'bounds'),
    [('spectral', (1e-5, 2e-5, 2e-3)), ('butterworth', (1e-5, 8e-4, 2e-3))],
)
def test_derivatives_of_known_signals(method, bounds):
    low_pass = ZeroPhaseFilter(RATE, 15.0, method=method)
    out = low_pass.derivatives(chirp_free(T)[0])
    assert out.valid.sum() == len(T) - 2 * low_pass.transient
    for got, want, bound in zip(
        (out.position, out.velocity, out.acceleration), chirp_free(T), bounds, strict=True
    ):
        error = np.abs(got - want)[out.valid].max() / np.abs(want - want.mean(axis=0)).max()
        assert error < bound, error


def test_spectral_derivative_beats_central_difference_near_nyquist():
    rate = 40.0
    t = np.arange(4000) / rate
    w = 2 * np.pi * 6.0
    errors = {}
    for method in ('spectral', 'butterworth'):
        low_pass = ZeroPhaseFilter(rate, 14.0, order=8, method=method, tolerance=1e-5)
        out = low_pass.derivatives(np.sin(w * t))
        errors[method] = np.abs(out.velocity - w * np.cos(w * t))[out.valid].max() / w
    assert errors['spectral'] < 2e-5
    # Equation (29) has gain sin(w T) / (w T) = 0.858 there.
    assert errors['butterworth'] == pytest.approx(1 - np.sin(w / rate) / (w / rate), abs=2e-3)


@pytest.mark.parametrize('method', ['spectral', 'butterworth'])
@pytest.mark.parametrize('order', [2, 4, 7])
def test_zero_phase_and_stated_gain(method, order):
    low_pass = ZeroPhaseFilter(RATE, 3.0, order=order, method=method)
    assert low_pass.response(3.0)[0] == pytest.approx(0.5, abs=1e-9)
    for frequency in (0.5, 3.0, 6.0):
        w = 2 * np.pi * frequency
        out, valid = low_pass.apply(np.sin(w * T))
        basis = np.stack([np.sin(w * T), np.cos(w * T)], axis=1)[valid]
        in_phase, quadrature = np.linalg.lstsq(basis, out[valid], rcond=None)[0]
        assert in_phase == pytest.approx(low_pass.response(frequency)[0], abs=1e-4)
        assert abs(quadrature) < 1e-4


def test_edges_are_cut_where_the_transient_lives():
    rng = np.random.default_rng(0)
    long = np.cumsum(np.cumsum(rng.standard_normal(9000))) * 1e-3
    low_pass = ZeroPhaseFilter(RATE, 4.0)
    whole, _ = low_pass.apply(long)
    part, kept = low_pass.apply(long[3000:6000])
    error = np.abs(part - whole[3000:6000])
    scale = np.abs(np.diff(long)).max() * RATE / 4.0
    assert error[kept].max() < 1e-3 * scale
    assert error[~kept].max() > 3 * error[kept].max()


@pytest.mark.parametrize('method', ['spectral', 'butterworth'])
def test_gaps_are_not_filtered_across(method):
    x = chirp_free(T)[0]
    valid = np.ones(len(T), dtype=bool)
    valid[2000:2300] = False
    valid[5000:5010] = False
    dirty = x.copy()
    dirty[~valid] = np.nan
    low_pass = ZeroPhaseFilter(RATE, 10.0, method=method)
    out, kept = low_pass.apply(dirty, valid)
    assert np.isfinite(out[kept]).all()
    assert not kept[2000 - low_pass.transient : 2300 + low_pass.transient].any()
    alone, alone_kept = low_pass.apply(x[:2000])
    np.testing.assert_allclose(out[:2000][alone_kept], alone[alone_kept], atol=1e-12)


def test_stop_band_takes_out_the_driveline():
    low_pass = ZeroPhaseFilter(RATE, 20.0, stop_bands=((3.5, 6.0),))
    x = np.sin(2 * np.pi * 1.0 * T) + np.sin(2 * np.pi * 4.5 * T) + np.sin(2 * np.pi * 12.0 * T)
    out, kept = low_pass.apply(x)
    want = sum(low_pass.response(f)[0] * np.sin(2 * np.pi * f * T) for f in (1.0, 12.0))
    assert np.abs(out - want)[kept].max() < 5e-3
    assert low_pass.response(4.5)[0] < 1e-3
    assert low_pass.response(1.0)[0] > 0.99


def test_both_sides_of_an_equation_stay_equal():
    rng = np.random.default_rng(4)
    columns = rng.standard_normal((4000, 6, 3)).cumsum(axis=0)
    parameters = np.array([2.0, -1.0, 0.5])
    low_pass = ZeroPhaseFilter(RATE, 5.0)
    w, kept = low_pass.apply(columns)
    y, _ = low_pass.apply(columns @ parameters)
    np.testing.assert_allclose(w[kept] @ parameters, y[kept], atol=1e-9)


def test_central_difference_is_equation_29():
    x = T[:50] ** 2
    out = central_difference(x, RATE)
    np.testing.assert_allclose(out, 2 * T[:50], atol=1e-10)


def test_trapezoid_is_equation_30():
    out = trapezoid(3.0 * T + 1.0, RATE)
    np.testing.assert_allclose(out, 1.5 * T**2 + T, atol=1e-9)


def test_high_passed_integral_has_no_phase_and_no_drift():
    t = np.arange(40000) / RATE
    w = 2 * np.pi * 1.3
    velocity = w * np.cos(w * t) + 0.05
    out, kept = integrate_high_passed(velocity, RATE, 0.05)
    assert kept.sum() > 20000
    # Left over: the gain of the high-pass at 1.3 Hz and that of the trapezoids.
    error = np.abs(out - np.sin(w * t))[kept].max()
    assert error < 5e-3, error


def test_errors_are_one_sentence():
    with pytest.raises(SignalError, match='Nyquist frequency 100 Hz, found 120 Hz'):
        ZeroPhaseFilter(RATE, 120.0, label='imu/data')
    with pytest.raises(SignalError, match='longest segment has 20 samples, shorter than'):
        ZeroPhaseFilter(RATE, 3.0).apply(np.zeros(20))
    with pytest.raises(SignalError, match='is not finite'):
        ZeroPhaseFilter(RATE, 30.0).apply(np.full(1000, np.nan))
    with pytest.raises(SignalError, match='stop band'):
        ZeroPhaseFilter(RATE, 30.0, stop_bands=((5.0, 4.0),))
    with pytest.raises(SignalError, match="found 'band'"):
        ZeroPhaseFilter(RATE, 30.0, kind='band')
    with pytest.raises(SignalError, match='sample rate must be positive'):
        ZeroPhaseFilter(-1.0, 30.0)
    with pytest.raises(SignalError, match='needs three samples'):
        central_difference(np.zeros(2), RATE)
