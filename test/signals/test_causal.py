from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from veh_identification.errors import SignalError
from veh_identification.signals.causal import CausalDerivativeFilter, KalmanDerivativeFilter
from veh_identification.signals.local_polynomial import (
    half_width_for_cutoff,
    local_polynomial_response,
)


def run(filter_, stamps, values):
    return np.array([filter_.update(t, x) for t, x in zip(stamps, values, strict=True)])


def irregular_stamps(rng, rate, count):
    return np.cumsum(rng.uniform(0.5, 1.5, count)) / rate


def test_polynomials_are_exact_on_irregular_stamps():
    rng = np.random.default_rng(1)
    t = irregular_stamps(rng, 200.0, 600)
    coefficients = rng.standard_normal((3, 5))
    polynomials = [np.polynomial.Polynomial(c) for c in coefficients]
    filter_ = CausalDerivativeFilter(3, 8.0, order=4)
    out = run(filter_, t, np.stack([p(t) for p in polynomials], axis=1))
    ready = np.isfinite(out[:, 0, 0])
    assert ready.sum() > 500
    late = t[ready] - filter_.delay
    for c, p in enumerate(polynomials):
        for k in range(3):
            expected = p.deriv(k)(late) if k else p(late)
            np.testing.assert_allclose(out[ready, k, c], expected, rtol=1e-8, atol=1e-7)


def test_sine_follows_the_stated_response_with_the_stated_delay():
    filter_ = CausalDerivativeFilter(1, 20.0)
    frequency = 9.0
    omega = 2 * np.pi * frequency
    t = np.arange(4000) / 1000.0
    out = run(filter_, t, np.sin(omega * t)[:, None])[:, :, 0]
    ready = np.isfinite(out[:, 0])
    late = t[ready] - filter_.delay
    gain = filter_.response(frequency)[0]
    ideal = np.stack(
        [np.sin(omega * late), omega * np.cos(omega * late), -(omega**2) * np.sin(omega * late)], 1
    )
    error = np.abs(out[ready] - gain * ideal).max(axis=0) / np.array([1, omega, omega**2])
    assert (error < 2e-3).all(), error


@pytest.mark.parametrize('order', [2, 3, 4, 5, 6])
def test_cutoff_is_where_the_acceleration_has_lost_three_decibels(order):
    width = half_width_for_cutoff(7.0, order, 2)
    gains = local_polynomial_response(np.array([0.01, 7.0]), width, order)
    np.testing.assert_allclose(gains[1, 2], np.sqrt(0.5), atol=1e-9)
    np.testing.assert_allclose(gains[0], 1.0, atol=1e-4)


def test_noise_gain_falls_with_the_window():
    rng = np.random.default_rng(2)
    t = np.arange(6000) / 500.0
    noise = rng.standard_normal((len(t), 1))
    spread = []
    for cutoff in (5.0, 10.0):
        out = run(CausalDerivativeFilter(1, cutoff), t, noise)[:, 2, 0]
        spread.append(np.nanstd(out))
    # Acceleration noise of a white signal grows with cutoff^2.5.
    assert 4.5 < spread[1] / spread[0] < 7.0


def test_gap_empties_the_window_and_is_counted():
    filter_ = CausalDerivativeFilter(2, 10.0)
    t = np.concatenate([np.arange(500), np.arange(600, 1100)]) / 500.0
    out = run(filter_, t, np.stack([t, t**2], axis=1))
    assert filter_.gate.gaps == 1
    after = (t >= 1.2) & (t < 1.2 + 2 * filter_.delay - 1e-6)
    assert np.isnan(out[after]).all()
    assert np.isfinite(out[t > 1.2 + 2 * filter_.delay + 1e-6]).all()


def test_unusable_samples_are_counted_and_change_nothing():
    t = np.arange(400) / 500.0
    x = np.sin(5 * t)[:, None]
    clean, dirty = CausalDerivativeFilter(1, 20.0), CausalDerivativeFilter(1, 20.0)
    expected = run(clean, t, x)
    out = []
    for k in range(len(t)):
        out.append(dirty.update(t[k], x[k]))
        dirty.update(t[k] + 1e-4, [np.nan])
        dirty.update(np.nan, x[k])
        dirty.update(t[k] - 1e-3, x[k])
    np.testing.assert_array_equal(np.array(out), expected)
    assert dirty.gate.rejected_non_finite == 800
    assert dirty.gate.rejected_out_of_order == 400


@pytest.mark.parametrize('make', [CausalDerivativeFilter, KalmanDerivativeFilter])
def test_clock_set_back_restarts_but_one_wild_stamp_does_not_block(make):
    filter_ = make(1, 20.0)
    for k in range(300):
        filter_.update(100.0 + k / 500.0, [0.0])
    filter_.update(1e9, [0.0])
    for k in range(300, 600):
        filter_.update(100.0 + k / 500.0, [1.0])
    assert filter_.gate.clock_jumps == 1
    assert filter_.ready
    assert filter_.update(100.0 + 600 / 500.0, [1.0])[0][0] == pytest.approx(1.0)


@pytest.mark.parametrize(('half_width', 'bunch'), [(0.05, 3), (0.06, 5), (0.1, 8), (0.04, 3)])
def test_bunches_of_stamps_make_no_values_of_their_own(half_width, bunch):
    """Stamps of arrival: several samples at once, then a pause; values went up to 60."""
    random = np.random.default_rng(4)
    taken = np.arange(0.0, 10.0, 0.01)
    arrived = np.ceil(taken / (0.01 * bunch)) * 0.01 * bunch
    arrived += np.arange(len(taken)) % bunch * 2e-4 + 1e-5 * random.random(len(taken))
    position = np.sin(2.0 * np.pi * 0.7 * taken) + 1e-4 * random.standard_normal(len(taken))
    filter_ = CausalDerivativeFilter(1, 1.0, half_width=half_width, max_gap=half_width)
    found = []
    for stamp, value in zip(arrived, position, strict=True):
        filter_.append(stamp, np.array([value]))
        found.append(np.ravel(filter_.evaluate(stamp - 1.3 * half_width)))
    largest = np.nanmax(np.abs(np.array(found)), axis=0, initial=0.0)
    assert (largest < [1.1, 10.0, 100.0]).all()


def test_a_sensor_that_is_slow_for_the_window_is_still_differentiated():
    """Samples at five places and more are as many as a polynomial of order four needs."""
    for period in (0.019, 0.0199, 0.035, 0.039):
        filter_ = CausalDerivativeFilter(1, 1.0, half_width=0.1, max_gap=0.1)
        for k in range(100):
            filter_.append(k * period, np.array([np.sin(k * period)]))
        at = 99 * period - 0.06
        value, slope, _ = filter_.evaluate(at)
        assert value[0] == pytest.approx(np.sin(at), abs=1e-6), period
        assert slope[0] == pytest.approx(np.cos(at), abs=1e-4), period


def test_evaluate_gives_two_sensors_at_one_stamp():
    fast, slow = CausalDerivativeFilter(1, 10.0), CausalDerivativeFilter(1, 10.0)
    for k in range(1000):
        fast.update(k / 1000.0, [np.sin(4.0 * k / 1000.0)])
    for k in range(130):
        slow.update(k / 130.0 + 0.003, [np.sin(4.0 * (k / 130.0 + 0.003))])
    stamp = 0.9
    a, b = fast.evaluate(stamp), slow.evaluate(stamp)
    for k in range(3):
        assert a[k][0] == pytest.approx(b[k][0], abs=1e-2 * 4.0**k)
    assert a[0][0] == pytest.approx(np.sin(3.6), abs=1e-5)
    assert np.isnan(fast.evaluate(1.5)[0][0])


def test_memory_stays_flat_and_results_are_deterministic():
    rng = np.random.default_rng(5)
    t = irregular_stamps(rng, 1000.0, 5000)
    x = rng.standard_normal((5000, 2))
    first, second = CausalDerivativeFilter(2, 20.0), CausalDerivativeFilter(2, 20.0)
    np.testing.assert_array_equal(run(first, t, x), run(second, t, x))
    assert len(first._times) <= 512


def test_reset_allows_older_stamps():
    filter_ = CausalDerivativeFilter(1, 20.0)
    run(filter_, 10.0 + np.arange(200) / 500.0, np.ones((200, 1)))
    assert filter_.ready
    filter_.reset()
    assert not filter_.ready
    run(filter_, np.arange(200) / 500.0, np.ones((200, 1)))
    assert filter_.ready
    assert filter_.gate.rejected_out_of_order == 0


def test_kalman_follows_constant_acceleration_without_lag():
    rng = np.random.default_rng(3)
    t = irregular_stamps(rng, 300.0, 3000)
    filter_ = KalmanDerivativeFilter(1, 5.0)
    out = run(filter_, t, (1.0 + 2.0 * t - 3.0 * t**2)[:, None])[:, :, 0]
    assert filter_.ready
    expected = np.stack([1 + 2 * t - 3 * t**2, 2 - 6 * t, np.full_like(t, -6.0)], axis=1)
    np.testing.assert_allclose(out[-100:], expected[-100:], rtol=1e-6, atol=1e-5)


def test_kalman_acceleration_lags_as_stated():
    filter_ = KalmanDerivativeFilter(1, 10.0)
    t = np.arange(8000) / 2000.0
    out = run(filter_, t, (t**3)[:, None])[:, 2, 0]
    lag = t[-1] - out[-1] / 6.0
    assert lag == pytest.approx(filter_.acceleration_delay, rel=0.03)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**31), st.floats(30.0, 2000.0))
def test_kalman_bandwidth_does_not_depend_on_the_rate(seed, rate):
    rng = np.random.default_rng(seed)
    filter_ = KalmanDerivativeFilter(1, 2.0)
    t = irregular_stamps(rng, rate, int(6 * rate))
    out = run(filter_, t, np.sin(2 * np.pi * 0.2 * t)[:, None])[:, 0, 0]
    error = np.abs(out - np.sin(2 * np.pi * 0.2 * t))[t > 3.0]
    assert error.max() < 5e-3


def test_wrong_arguments_say_what_was_found():
    with pytest.raises(SignalError, match='positive frequency'):
        CausalDerivativeFilter(1, 0.0)
    with pytest.raises(SignalError, match='order 1 gives no derivative 2'):
        CausalDerivativeFilter(1, 5.0, order=1)
    with pytest.raises(SignalError, match='has 2 channels'):
        CausalDerivativeFilter(2, 5.0).update(0.0, [1.0])
    with pytest.raises(SignalError, match='at least one channel'):
        KalmanDerivativeFilter(0, 5.0)
