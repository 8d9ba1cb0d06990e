from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import trapezoid

from veh_identification.errors import SignalError
from veh_identification.signals.coulomb import filtered_noise_sigma, smoothed_sign
from veh_identification.signals.cutoff import NamedBand, choose_cutoff, noise_share
from veh_identification.signals.filtering import ZeroPhaseFilter
from veh_identification.signals.spectra import noise_floor, welch_spectrum

RATE = 200.0
T = np.arange(24000) / RATE


def band_signal(rng, top_hz, level=1.0):
    """Random signal with a flat spectrum up to `top_hz`."""
    spectrum = np.fft.rfft(rng.standard_normal(len(T)))
    spectrum[np.fft.rfftfreq(len(T), 1 / RATE) > top_hz] = 0.0
    x = np.fft.irfft(spectrum, len(T))
    return level * x / x.std()


def test_welch_density_integrates_to_the_variance():
    rng = np.random.default_rng(0)
    x = np.stack([rng.standard_normal(len(T)), 3.0 * np.sin(2 * np.pi * 7.0 * T)], axis=1)
    spectrum = welch_spectrum(x, RATE, names=['white', 'sine'])
    power = trapezoid(spectrum.density, spectrum.frequency_hz, axis=0)
    np.testing.assert_allclose(power, [1.0, 4.5], rtol=0.03)
    assert spectrum.peaks(1, 1)[0] == pytest.approx(7.0, abs=spectrum.resolution_hz)


def test_gaps_do_not_enter_the_spectrum():
    rng = np.random.default_rng(1)
    x = rng.standard_normal(len(T))
    x[5000:6000] = np.nan
    spectrum = welch_spectrum(x, RATE, valid=np.isfinite(x), window_seconds=2.0)
    power = trapezoid(spectrum.density[:, 0], spectrum.frequency_hz)
    assert power == pytest.approx(1.0, rel=0.05)


def test_noise_floor_is_found_under_signal_and_line():
    rng = np.random.default_rng(2)
    noise = 0.05
    x = band_signal(rng, 10.0) + noise * rng.standard_normal(len(T)) + np.sin(2 * np.pi * 60 * T)
    floor = noise_floor(welch_spectrum(x, RATE))
    assert floor[0] == pytest.approx(2 * noise**2 / RATE, rel=0.1)


def test_cutoff_falls_as_the_bias_bound_tightens_and_the_bias_is_real():
    rng = np.random.default_rng(3)
    # Falling spectrum, as real motion has: the noise overtakes it gradually.
    spectrum = np.fft.rfft(rng.standard_normal(len(T)))
    f = np.fft.rfftfreq(len(T), 1 / RATE)
    position = np.fft.irfft(spectrum / (1 + (f / 2.0) ** 3), len(T))
    position /= position.std()
    measured = position + 0.03 * rng.standard_normal(len(T))
    spectrum = welch_spectrum(measured, RATE, names=['suspension_fl'])
    previous = np.inf
    for bound in (0.01, 0.003, 0.001):
        choice = choose_cutoff(spectrum, derivative=2, bias_bound=bound)
        assert choice.cutoff_hz < previous
        assert choice.noise_share <= 1.3 * bound
        assert 'suspension_fl' in choice.reason
        previous = choice.cutoff_hz
        low_pass = ZeroPhaseFilter(RATE, choice.cutoff_hz, order=8)
        truth, kept = low_pass.derivatives(position), low_pass.derivatives(measured).valid
        noisy = low_pass.derivatives(measured).acceleration[kept]
        exact = truth.acceleration[kept]
        shrink = 1.0 - (noisy @ exact) / (noisy @ noisy)
        # Least squares of force = m a shrinks by the share of noise in a.
        assert shrink < 1.5 * bound


def test_noise_share_grows_with_the_cutoff():
    rng = np.random.default_rng(4)
    spectrum = welch_spectrum(band_signal(rng, 5.0) + 0.01 * rng.standard_normal(len(T)), RATE)
    share = noise_share(spectrum, 2)[:, 0]
    line = int(6.0 / spectrum.resolution_hz)
    assert share[line] < 0.05
    assert share[-1] > 0.7


def test_named_modes_and_disturbances():
    rng = np.random.default_rng(5)
    x = band_signal(rng, 15.0) + 0.001 * rng.standard_normal(len(T))
    spectrum = welch_spectrum(x, RATE)
    driveline = NamedBand('driveline', 3.9, 5.5)
    hop = NamedBand('wheel hop', 12.7, 12.7)
    chassis = NamedBand('chassis', 0.4, 1.5)
    low = choose_cutoff(spectrum, keep=[chassis], remove=[driveline])
    assert low.stop_bands == ()
    low_pass = ZeroPhaseFilter(RATE, low.cutoff_hz)
    assert low_pass.response(3.9)[0] < 0.06
    assert low_pass.response(1.5)[0] > 0.98
    assert 'driveline' in low.reason
    high = choose_cutoff(spectrum, keep=[chassis, hop], remove=[driveline])
    both = ZeroPhaseFilter(RATE, high.cutoff_hz, stop_bands=high.stop_bands)
    assert both.response(12.7)[0] > 0.9
    assert both.response(4.5)[0] < 0.01
    assert 'wheel hop' in high.reason
    assert 'stop band' in high.reason


def test_keeping_a_mode_under_the_noise_is_announced():
    rng = np.random.default_rng(6)
    spectrum = welch_spectrum(band_signal(rng, 2.0) + 0.02 * rng.standard_normal(len(T)), RATE)
    choice = choose_cutoff(spectrum, keep=[NamedBand('wheel hop', 12.7, 12.7)])
    assert choice.noise_share > 0.002
    assert 'exceeds the bound' in choice.reason


def test_spectrum_errors():
    with pytest.raises(SignalError, match='longest has 10'):
        welch_spectrum(np.zeros(10), RATE)
    with pytest.raises(SignalError, match="band 'x'"):
        NamedBand('x', 3.0, 2.0)
    with pytest.raises(SignalError, match='no spectral line'):
        noise_floor(welch_spectrum(np.arange(1000.0), RATE), (500.0, 600.0))


@pytest.mark.parametrize('spread', [0.05, 0.3])
def test_smoothed_sign_is_the_conditional_mean(spread):
    rng = np.random.default_rng(7)
    sigma = 0.1
    true = spread * rng.standard_normal(400000)
    measured = true + sigma * rng.standard_normal(len(true))
    predicted = smoothed_sign(measured, sigma, spread)
    for low in np.arange(-0.3, 0.3, 0.05):
        inside = (measured >= low) & (measured < low + 0.05)
        error = np.sign(true[inside]).mean() - predicted[inside].mean()
        assert abs(error) < 4.0 / np.sqrt(inside.sum())


def test_smoothed_sign_cures_the_bias_of_coulomb_friction():
    rng = np.random.default_rng(8)
    sigma, spread = 0.1, 0.15
    velocity = spread * rng.standard_normal(100000)
    measured = velocity + sigma * rng.standard_normal(len(velocity))
    force = 20.0 * np.sign(velocity) + rng.standard_normal(len(velocity))
    plain = np.sign(measured)
    smooth = smoothed_sign(measured, sigma, spread)
    assert (force @ plain) / (plain @ plain) < 15.0
    assert (force @ smooth) / (smooth @ smooth) == pytest.approx(20.0, rel=0.01)


def test_smoothed_sign_limits():
    np.testing.assert_array_equal(smoothed_sign([-2.0, 0.0, 3.0], 0.0), [-1.0, 0.0, 1.0])
    assert smoothed_sign(0.1, 0.1) == pytest.approx(0.6826894921)
    with pytest.raises(SignalError, match='zero or more'):
        smoothed_sign([1.0], -1.0)
    with pytest.raises(SignalError, match='must be positive'):
        smoothed_sign([1.0], 1.0, 0.0)


def test_filtered_noise_sigma_matches_the_scatter():
    rng = np.random.default_rng(9)
    low_pass = ZeroPhaseFilter(RATE, 8.0)
    out = low_pass.derivatives(rng.standard_normal(len(T)))
    f = np.linspace(0.0, RATE / 2, 4001)
    for k, got in enumerate((out.position, out.velocity, out.acceleration)):
        sigma = filtered_noise_sigma(2.0 / RATE, f, low_pass.response(f), k)
        assert got[out.valid].std() == pytest.approx(float(sigma), rel=0.06)
