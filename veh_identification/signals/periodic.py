"""Periodic data (Abdellatif 2009, sections 3.2 and 3.3): averaging, noise, exact derivatives."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import fft
from scipy.interpolate import CubicSpline
from scipy.optimize import minimize_scalar

from veh_identification.errors import SignalError
from veh_identification.signals.filtering import check_cutoff
from veh_identification.signals.time_series import require_finite, require_increasing
from veh_identification.types import Array

# Phase drift over the record, in cycles of the fundamental, above which leakage is announced:
# 1 % of a cycle puts about 3 % of a line's amplitude beside it.
LEAKAGE_CYCLES = 0.01
# A step from the last sample to the first that is this many times the largest step inside the
# record is no noise: whole periods close within about one ordinary step.
SEAM_STEPS = 3.0


@dataclass(frozen=True)
class PeriodAverage:
    """Mean period (N, C) and the full noise covariance (C, C) of one raw sample."""

    mean: Array
    covariance: Array
    periods: int

    @property
    def covariance_of_mean(self) -> Array:
        """Noise covariance of a sample of the averaged period."""
        return self.covariance / self.periods


def split_periods(values: Array, samples_per_period: int) -> Array:
    """(N_m N, C) -> (N_m, N, C); the record must hold whole periods, at least two."""
    x = np.asarray(values, dtype=float)
    x = x[:, None] if x.ndim == 1 else x
    if samples_per_period < 2:
        raise SignalError(f'a period needs two samples at least, found {samples_per_period}')
    if len(x) < 2 * samples_per_period:
        raise SignalError(
            f'averaging needs at least two periods of {samples_per_period} samples, found '
            f'{len(x)} samples ({len(x) / samples_per_period:.3g} periods)'
        )
    if len(x) % samples_per_period:
        raise SignalError(
            f'{len(x)} samples are not a whole number of periods of {samples_per_period} samples'
        )
    require_finite(x, 'periodic data')
    return x.reshape(-1, samples_per_period, x.shape[1])


def stack_periods(periods: Sequence[Array]) -> Array:
    """Separately recorded periods into one record, refusing unequal lengths."""
    if len(periods) < 2:
        raise SignalError(f'averaging needs at least two periods, found {len(periods)}')
    lengths = [len(period) for period in periods]
    odd = next((i for i, n in enumerate(lengths) if n != lengths[0]), None)
    if odd is not None:
        raise SignalError(
            f'unequal periods: period 0 has {lengths[0]} samples, period {odd} has {lengths[odd]}'
        )
    return np.concatenate(periods)


def average_periods(values: Array, samples_per_period: int) -> PeriodAverage:
    """Section 3.2: mean over N_m periods and covariance between the channels.

    Normalised by 1 / (N (N_m - 1)) for positions and forces alike (the paper prints two forms).
    """
    periods = split_periods(values, samples_per_period)
    mean = periods.mean(axis=0)
    residual = (periods - mean).reshape(-1, periods.shape[2])
    count = samples_per_period * (len(periods) - 1)
    return PeriodAverage(mean, residual.T @ residual / count, len(periods))


def spectral_derivatives(
    values: Array,
    rate: float,
    cutoff_hz: float | None = None,
    fundamental_hz: float | None = None,
) -> tuple[Array, Array, Array]:
    """Section 3.3: DFT, rectangular window up to f_c, times (j w)^k, back.

    `values` (N, C) must hold a whole number of periods: with `fundamental_hz` anything else is
    refused, without it a jump between the last and the first sample is warned of. Exact for
    everything below the cut-off; lines on the cut-off itself pass. Without a cut-off everything
    below Nyquist passes.
    """
    x = np.asarray(values, dtype=float)
    _require_positive(rate, 'sample rate')
    if len(x) < 3:
        raise SignalError(f'periodic data: derivatives need three samples, found {len(x)}')
    flat = x.reshape(len(x), -1)
    require_finite(flat, 'periodic data')
    _check_whole_periods(flat, rate, fundamental_hz)
    frequency = fft.rfftfreq(len(x), 1.0 / rate)
    keep = frequency < rate / 2.0 * (1.0 - 1e-12)
    if cutoff_hz is not None:
        check_cutoff(cutoff_hz, rate, 'periodic data')
        keep &= frequency <= cutoff_hz * (1.0 + 1e-9)
    spectrum = fft.rfft(flat, axis=0) * keep[:, None]
    factor = 2j * np.pi * frequency[:, None]
    position, velocity, acceleration = (
        fft.irfft(spectrum * factor**k, len(x), axis=0).reshape(x.shape) for k in range(3)
    )
    return position, velocity, acceleration


def _require_positive(frequency: float, what: str) -> None:
    if not (np.isfinite(frequency) and frequency > 0.0):
        raise SignalError(f'periodic data: the {what} must be positive, found {frequency} Hz')


def _check_whole_periods(x: Array, rate: float, fundamental_hz: float | None) -> None:
    """Refuse a broken number of periods; without a fundamental look at the seam."""
    if fundamental_hz is not None:
        _require_positive(fundamental_hz, 'fundamental')
        periods = len(x) * fundamental_hz / rate
        if round(periods) < 1 or abs(periods - round(periods)) > LEAKAGE_CYCLES:
            raise SignalError(
                f'periodic data: {len(x)} samples at {rate:g} Hz hold {periods:.6g} periods of '
                f'{fundamental_hz:.9g} Hz, not a whole number'
            )
        return
    seam = np.abs(x[0] - x[-1])
    largest = np.abs(np.diff(x, axis=0)).max(axis=0)
    torn = np.flatnonzero(seam > SEAM_STEPS * largest)
    if len(torn):
        warnings.warn(
            f'periodic data: channel {torn[0]} jumps by {seam[torn[0]]:.3g} from the last sample '
            f'to the first, {seam[torn[0]] / max(largest[torn[0]], 1e-300):.3g} times its largest '
            'step: the record seems not to hold a whole number of periods',
            stacklevel=3,
        )


def harmonic_basis(stamps: Array, fundamental_hz: float, harmonics: int) -> Array:
    """Matrix B of equation (17), sine columns first (the 1 / (k w_f) left out)."""
    phase = 2.0 * np.pi * fundamental_hz * np.outer(stamps, np.arange(1, harmonics + 1))
    return np.concatenate([np.ones((len(stamps), 1)), np.sin(phase), np.cos(phase)], axis=1)


def harmonic_fit_derivatives(
    stamps: Array, values: Array, fundamental_hz: float, harmonics: int
) -> tuple[Array, Array, Array]:
    """Equations (17), (18): the implicit filter, for irregular stamps and for comparison.

    Leaks when the fundamental is not exactly known; see `check_fundamental`.
    """
    x = np.asarray(values, dtype=float)
    flat = x.reshape(len(x), -1)
    _require_positive(fundamental_hz, 'fundamental')
    if harmonics < 1:
        raise SignalError(f'a harmonic fit needs at least one harmonic, found {harmonics}')
    require_finite(np.asarray(stamps, dtype=float), 'stamps of periodic data')
    require_finite(flat, 'periodic data')
    basis = harmonic_basis(stamps, fundamental_hz, harmonics)
    if len(basis) < basis.shape[1]:
        raise SignalError(
            f'{harmonics} harmonics need {basis.shape[1]} samples, found {len(basis)}'
        )
    coefficients = np.linalg.lstsq(basis, flat, rcond=None)[0]
    omega = 2.0 * np.pi * fundamental_hz * np.arange(1, harmonics + 1)[:, None]
    sine, cosine = coefficients[1 : harmonics + 1], coefficients[harmonics + 1 :]
    out = [basis @ coefficients]
    for _ in range(2):
        sine, cosine = -omega * cosine, omega * sine
        zero = np.zeros((1, flat.shape[1]))
        out.append(basis @ np.concatenate([zero, sine, cosine]))
    return out[0].reshape(x.shape), out[1].reshape(x.shape), out[2].reshape(x.shape)


@dataclass(frozen=True)
class Fundamental:
    """Fundamental found in the data against the nominal one."""

    frequency_hz: float
    nominal_hz: float
    drift_cycles: float
    residual_share: float

    @property
    def leaks(self) -> bool:
        """Whether the nominal period would smear the lines."""
        return self.drift_cycles > LEAKAGE_CYCLES

    @property
    def warning(self) -> str | None:
        """One sentence when the fundamental is off, else None."""
        if not self.leaks:
            return None
        return (
            f'the fundamental is {self.frequency_hz:.9g} Hz, not {self.nominal_hz:.9g} Hz: over '
            f'the record the phase drifts by {self.drift_cycles:.3g} cycles, so the spectrum leaks'
        )


def check_fundamental(
    stamps: Array, values: Array, nominal_hz: float, harmonics: int
) -> Fundamental:
    """Find the fundamental near the nominal one by the best harmonic fit."""
    require_increasing(stamps, 'periodic data')
    _require_positive(nominal_hz, 'nominal fundamental')
    if harmonics < 1:
        raise SignalError(f'a fundamental needs at least one harmonic, found {harmonics}')
    x = np.asarray(values, dtype=float).reshape(len(stamps), -1)
    require_finite(x, 'periodic data')
    duration = float(stamps[-1] - stamps[0])
    if duration * nominal_hz < 1.5:
        raise SignalError(
            f'finding the fundamental needs about two periods of {1.0 / nominal_hz:.6g} s, the '
            f'record lasts {duration:.6g} s'
        )
    centred = x - x.mean(axis=0)
    scale = np.sqrt((centred**2).mean(axis=0))
    moving = centred[:, scale > 0.0] / scale[scale > 0.0]
    if moving.shape[1] == 0:
        raise SignalError('constant data have no fundamental')

    power = float((moving**2).sum())

    def misfit(frequency: float) -> float:
        basis = harmonic_basis(stamps - stamps[0], frequency, harmonics)
        # Sines and cosines over whole cycles are nearly orthogonal: normal equations are safe.
        right = basis.T @ moving
        solution = np.linalg.solve(basis.T @ basis, right)
        return 1.0 - float((right * solution).sum()) / power

    # The misfit has side minima one per cycle of drift of the highest harmonic: scan, then refine.
    step = 0.25 / (duration * harmonics)
    span = min(0.3 * nominal_hz, 40.0 * step)
    candidates = nominal_hz + np.arange(-span, span + 0.5 * step, step)
    best = candidates[int(np.argmin([misfit(f) for f in candidates]))]
    found = minimize_scalar(
        misfit,
        bounds=(best - step, best + step),
        method='bounded',
        options={'xatol': 1e-10 * nominal_hz},
    )
    frequency = float(found.x)
    drift = abs(frequency - nominal_hz) * duration * harmonics
    return Fundamental(frequency, nominal_hz, drift, float(found.fun))


def guess_fundamental(values: Array, rate: float) -> float:
    """Frequency of the strongest repetition in the autocorrelation, for unknown periods."""
    _require_positive(rate, 'sample rate')
    x = np.asarray(values, dtype=float).reshape(len(values), -1)
    require_finite(x, 'periodic data')
    x = (x - x.mean(axis=0)) / np.maximum(x.std(axis=0), 1e-300)
    length = fft.next_fast_len(2 * len(x))
    power = (np.abs(fft.rfft(x, length, axis=0)) ** 2).sum(axis=1)
    lags = np.arange(len(x))
    correlation = fft.irfft(power, length)[: len(x)] / (len(x) - lags)
    correlation = correlation[: len(x) * 2 // 3]
    below = np.flatnonzero(correlation < 0.0)
    if len(below) == 0:
        raise SignalError('no repetition found: the record is shorter than about two periods')
    first = below[0]
    top = correlation[first:].max()
    # The first lag that repeats as well as the best one is the period, not a multiple of it.
    peaks = np.flatnonzero(
        (correlation[first + 1 : -1] >= 0.95 * top)
        & (correlation[first + 1 : -1] >= correlation[first:-2])
        & (correlation[first + 1 : -1] >= correlation[first + 2 :])
    )
    if top <= 0.5 * correlation[0] or len(peaks) == 0:
        raise SignalError('no repetition found: the record is shorter than about two periods')
    lag = first + 1 + int(peaks[0])
    left, middle, right = correlation[lag - 1 : lag + 2]
    curvature = left - 2.0 * middle + right
    shift = 0.5 * (left - right) / curvature if curvature else 0.0
    return rate / (lag + shift)


def resample_periods(
    stamps: Array, values: Array, fundamental_hz: float, samples_per_period: int
) -> Array:
    """Whole periods with a whole number of samples each, by cubic splines: (N_m N, C)."""
    require_increasing(stamps, 'periodic data')
    step = 1.0 / (fundamental_hz * samples_per_period)
    available = int(np.floor((stamps[-1] - stamps[0]) / step * (1.0 + 1e-12))) + 1
    periods = available // samples_per_period
    if periods < 2:
        raise SignalError(
            f'averaging needs at least two periods of {1.0 / fundamental_hz:.6g} s, the record '
            f'lasts {stamps[-1] - stamps[0]:.6g} s'
        )
    grid = stamps[0] + step * np.arange(periods * samples_per_period)
    return CubicSpline(stamps, values, axis=0)(np.minimum(grid, stamps[-1]))
