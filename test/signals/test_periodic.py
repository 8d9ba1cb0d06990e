from __future__ import annotations

import numpy as np
import pytest

from veh_identification.errors import SignalError
from veh_identification.signals.periodic import (
    average_periods,
    check_fundamental,
    guess_fundamental,
    harmonic_fit_derivatives,
    resample_periods,
    spectral_derivatives,
    split_periods,
    stack_periods,
)

RATE, FUNDAMENTAL = 100.0, 0.2
N = int(RATE / FUNDAMENTAL)


def fourier(t, fundamental=FUNDAMENTAL, harmonics=7, channels=3, seed=0):
    rng = np.random.default_rng(seed)
    a, b = rng.standard_normal((2, harmonics, channels))
    offset = rng.standard_normal(channels)
    w = 2 * np.pi * fundamental * np.arange(1, harmonics + 1)
    s, c = np.sin(np.outer(t, w)), np.cos(np.outer(t, w))
    return (
        offset + s @ a + c @ b,
        (c * w) @ a - (s * w) @ b,
        -(s * w**2) @ a - (c * w**2) @ b,
    )


@pytest.mark.parametrize('count', [N, N + 1, 3 * N])
def test_derivatives_are_exact(count):
    # A period of N + 1 samples: odd lengths have no Nyquist line.
    fundamental = RATE / count if count != 3 * N else FUNDAMENTAL
    truth = fourier(np.arange(count) / RATE, fundamental)
    got = spectral_derivatives(truth[0], RATE, 7.5 * fundamental)
    for a, b in zip(got, truth, strict=True):
        assert np.abs(a - b).max() / np.abs(b).max() < 1e-10


def test_lines_above_the_cutoff_vanish_altogether():
    t = np.arange(N) / RATE
    x = np.sin(2 * np.pi * FUNDAMENTAL * t) + np.sin(2 * np.pi * 4 * FUNDAMENTAL * t)
    position, velocity, _ = spectral_derivatives(x, RATE, 3 * FUNDAMENTAL)
    np.testing.assert_allclose(position, np.sin(2 * np.pi * FUNDAMENTAL * t), atol=1e-13)
    spectrum = np.abs(np.fft.rfft(velocity))
    assert spectrum[4:].max() < 1e-12 * spectrum.max()


def test_a_line_on_the_cutoff_passes():
    t = np.arange(N) / RATE
    x = np.cos(2 * np.pi * 7 * FUNDAMENTAL * t)
    np.testing.assert_allclose(spectral_derivatives(x, RATE, 7 * FUNDAMENTAL)[0], x, atol=1e-13)


def test_average_and_full_covariance():
    rng = np.random.default_rng(1)
    periods, truth = 40, fourier(np.arange(N) / RATE)[0]
    mixing = np.array([[1.0, 0.0, 0.0], [0.6, 0.8, 0.0], [-0.3, 0.2, 0.5]])
    noise = rng.standard_normal((periods * N, 3)) @ mixing.T
    average = average_periods(np.tile(truth, (periods, 1)) + noise, N)
    covariance = mixing @ mixing.T
    # Standard error of a covariance element over 19,500 samples is below 0.01.
    assert np.abs(average.covariance - covariance).max() < 0.035
    assert average.periods == periods
    scatter = (average.mean - truth).std(axis=0)
    np.testing.assert_allclose(scatter, np.sqrt(np.diag(average.covariance_of_mean)), rtol=0.12)


def test_covariance_is_unbiased_with_two_periods():
    rng = np.random.default_rng(2)
    found = [
        average_periods(rng.standard_normal((2 * 50, 1)), 50).covariance[0, 0] for _ in range(400)
    ]
    # 1 / (N (N_m - 1)); dividing by N N_m - 1 would give one half.
    assert np.mean(found) == pytest.approx(1.0, abs=0.04)


def test_fundamental_that_is_off_is_found_and_leaks():
    t = np.arange(4 * N) / RATE
    good = check_fundamental(t, fourier(t)[0], FUNDAMENTAL, 7)
    assert good.frequency_hz == pytest.approx(FUNDAMENTAL, rel=1e-8)
    assert not good.leaks
    assert good.warning is None
    off = 1.004 * FUNDAMENTAL
    values = fourier(t, off)[0]
    found = check_fundamental(t, values, FUNDAMENTAL, 7)
    assert found.frequency_hz == pytest.approx(off, rel=1e-7)
    assert found.leaks
    assert 'leaks' in found.warning
    assert found.residual_share < 1e-9
    # The implicit filter with the nominal period is wrong, with the found one exact.
    wrong = harmonic_fit_derivatives(t, values, FUNDAMENTAL, 7)[1]
    right = harmonic_fit_derivatives(t, values, found.frequency_hz, 7)[1]
    truth = fourier(t, off)[1]
    assert np.abs(wrong - truth).max() > 0.02 * np.abs(truth).max()
    assert np.abs(right - truth).max() < 1e-5 * np.abs(truth).max()


def test_fundamental_from_noisy_data():
    rng = np.random.default_rng(3)
    t = np.arange(4 * N) / RATE
    values = fourier(t, 1.001 * FUNDAMENTAL)[0]
    found = check_fundamental(t, values + 0.1 * rng.standard_normal(values.shape), FUNDAMENTAL, 7)
    # Cramer-Rao bound: 4e-6 Hz for unit amplitudes in 7 harmonics of 3 channels over 20 s.
    assert found.frequency_hz == pytest.approx(1.001 * FUNDAMENTAL, abs=1.6e-5)


def test_unknown_fundamental_is_guessed_and_refined():
    t = np.arange(4 * N) / RATE
    values = fourier(t, 0.2137)[0]
    guess = guess_fundamental(values, RATE)
    assert guess == pytest.approx(0.2137, rel=5e-3)
    assert check_fundamental(t, values, guess, 7).frequency_hz == pytest.approx(0.2137, rel=1e-8)
    with pytest.raises(SignalError, match='no repetition'):
        guess_fundamental(np.linspace(0.0, 1.0, 100), 1.0)


def test_period_of_no_whole_number_of_samples():
    fundamental = 0.2137
    t = np.arange(3000) / RATE
    truth = fourier(t, fundamental)
    whole = resample_periods(t, truth[0], fundamental, 400)
    assert len(whole) % 400 == 0
    rate = 400 * fundamental
    velocity = spectral_derivatives(whole, rate, 7.5 * fundamental)[1]
    grid = np.arange(len(whole)) / rate
    expected = fourier(grid, fundamental)[1]
    assert np.abs(velocity - expected).max() < 1e-4 * np.abs(expected).max()


def test_errors_are_one_sentence():
    with pytest.raises(SignalError, match=r'at least two periods of 500 samples, found 700'):
        average_periods(np.zeros((700, 1)), 500)
    with pytest.raises(SignalError, match='not a whole number of periods'):
        split_periods(np.zeros((1100, 1)), 500)
    with pytest.raises(SignalError, match='unequal periods: period 0 has 5 samples, period 2 has'):
        stack_periods([np.zeros((5, 1)), np.zeros((5, 1)), np.zeros((4, 1))])
    with pytest.raises(SignalError, match='at least two periods, found 1'):
        stack_periods([np.zeros((5, 1))])
    with pytest.raises(SignalError, match='Nyquist'):
        spectral_derivatives(np.zeros((500, 1)), RATE, 60.0)
    with pytest.raises(SignalError, match='at least two periods'):
        resample_periods(np.arange(600) / RATE, np.zeros((600, 1)), FUNDAMENTAL, 100)
    with pytest.raises(SignalError, match='constant data'):
        check_fundamental(np.arange(1000) / RATE, np.ones((1000, 1)), FUNDAMENTAL, 3)


@pytest.mark.parametrize('rate', [0.0, -5.0, np.nan])
def test_rates_must_be_positive(rate):
    values = fourier(np.arange(N) / RATE)[0]
    for call in (spectral_derivatives, guess_fundamental):
        with pytest.raises(SignalError, match='the sample rate must be positive'):
            call(values, rate)
    for call in (check_fundamental, harmonic_fit_derivatives):
        with pytest.raises(SignalError, match='fundamental must be positive'):
            call(np.arange(N) / RATE, values, rate, 7)
        with pytest.raises(SignalError, match='at least one harmonic, found 0'):
            call(np.arange(N) / RATE, values, FUNDAMENTAL, 0)


def test_values_that_are_no_numbers_are_named():
    t = np.arange(2 * N) / RATE
    values = fourier(t)[0]
    values[5, 1] = np.nan
    for call in (
        lambda: harmonic_fit_derivatives(t, values, FUNDAMENTAL, 7),
        lambda: check_fundamental(t, values, FUNDAMENTAL, 7),
        lambda: guess_fundamental(values, RATE),
        lambda: spectral_derivatives(values, RATE),
    ):
        with pytest.raises(SignalError, match=r'value at index \(5, 1\) is not finite'):
            call()
    t[3] = np.nan
    with pytest.raises(SignalError, match='stamps of periodic data'):
        harmonic_fit_derivatives(t, np.nan_to_num(values), FUNDAMENTAL, 7)


def test_a_broken_number_of_periods_is_refused_or_warned_of():
    values = fourier(np.arange(int(2.77 * N)) / RATE)[0]
    with pytest.raises(SignalError, match=r'hold 2\.77 periods of 0\.2 Hz, not a whole number'):
        spectral_derivatives(values, RATE, fundamental_hz=FUNDAMENTAL)
    with pytest.warns(UserWarning, match='seems not to hold a whole number of periods'):
        spectral_derivatives(values, RATE)
    with pytest.raises(SignalError, match='need three samples'):
        spectral_derivatives(values[:2], RATE)


@pytest.mark.filterwarnings('error')
def test_whole_periods_pass_without_a_warning():
    clean = fourier(np.arange(3 * N) / RATE)[0]
    noisy = clean + 0.1 * np.random.default_rng(0).standard_normal(clean.shape)
    for values in (clean, noisy, np.ones_like(clean)):
        spectral_derivatives(values, RATE)
        spectral_derivatives(values, RATE, fundamental_hz=FUNDAMENTAL)
