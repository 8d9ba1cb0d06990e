"""Columns of the Coulomb friction: the sign of the suspension velocity, or surfaces that stick.

Surfaces that stick strain by some micrometres before they slip; until then the friction is
anywhere between -fs and fs, and after a reversal it keeps its old sign for a while. Prandtl's
element says so with one length, the presliding: with none it is the plain sign.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numba import njit
from scipy import fft
from scipy.integrate import trapezoid  # numpy names it so from 2.0 on
from scipy.special import ndtri

from veh_identification.signals import (
    ZeroPhaseFilter,
    choose_cutoff,
    smoothed_sign,
    welch_spectrum,
)
from veh_identification.systems.car.configuration import Geometry
from veh_identification.systems.car.processing.band_extension import (
    Extension,
    HighBand,
    crossover,
    velocity_density,
)
from veh_identification.systems.car.processing.padded_fourier import Lines, Padded
from veh_identification.types import Array

Noise = tuple[float, float, float, float]
SIGN_STEPS = 4
#: Errors of the velocity, in deviations, over which a friction that sticks is averaged.
ERRORS = ndtri((np.arange(9) + 0.5) / 9.0)
#: The sign needs its argument undistorted: the filter ends well above where noise takes over.
SIGN_MARGIN = 2.0
#: Spectra need no more than this for a cut-off.
SPECTRUM_SAMPLES = 20000


def friction_sign(
    travel: Array,
    noise: Noise,
    wide: ZeroPhaseFilter,
    sensor_rate: float,
    geometry: Geometry,
    extension: Extension | None = None,
    beyond: HighBand | None = None,
    presliding: float = 0.0,
) -> Array:
    """The friction over fs, as well as noise lets it be known, filtered like all signals."""
    padded = Padded(wide.rate, len(travel))
    lines = sign_lines(travel, noise, wide, sensor_rate, geometry, extension, beyond, presliding)
    gain = wide.response(padded.frequency)
    return np.stack([padded.backward(column * gain) for column in lines.T], axis=1)


def sign_lines(
    travel: Array,
    noise: Noise,
    wide: ZeroPhaseFilter,
    sensor_rate: float,
    geometry: Geometry,
    extension: Extension | None = None,
    beyond: HighBand | None = None,
    presliding: float = 0.0,
) -> Lines:
    """Lines (lines of `Padded`, 4) of the friction of the suspensions over fs.

    Its argument is the measured velocity, above the sensor's band the one that the wheel forces
    tell; without those it ends where the velocity's spectrum drowns in noise. The sign jumps
    between samples; it is formed on a finer grid so that the common filter sees the jump where it
    is and not at the next sample.
    """
    padded = Padded(wide.rate, len(travel))
    result = np.zeros((len(padded.frequency), 4), dtype=np.complex128)
    for j in range(4):
        if np.ptp(travel[:, j]) == 0.0:
            continue
        # White noise per sample at the sensor's rate has the density 2 sigma^2 / rate.
        density = 2.0 * noise[j] ** 2 / sensor_rate
        lines, slope = padded.forward(travel[:, j])
        if extension is None or beyond is None:
            narrow = replace(wide, cutoff_hz=_velocity_cutoff(travel[:, [j]], wide, density))
            velocity = lines * narrow.response(padded.frequency) * (2j * np.pi * padded.frequency)
            sigma = _sigma(narrow, density)
        else:
            keep = 1.0 - crossover(padded.frequency, extension.travel_hz[j])
            velocity = lines * keep * (2j * np.pi * padded.frequency) + beyond.travel_rate[j]
            sigma = _extended_sigma(extension, geometry, density, j)
        if padded.length % 2 == 0:
            velocity[-1] = 0.0  # an odd derivative of the Nyquist line has no real counterpart
        fine = fft.irfft(velocity, SIGN_STEPS * padded.length) * SIGN_STEPS + slope
        friction = (
            smoothed_sign(fine, sigma)
            if presliding == 0.0
            else sticking(
                fine / (SIGN_STEPS * wide.rate), sigma / (SIGN_STEPS * wide.rate), presliding
            )
        )
        result[:, j] = fft.rfft(friction)[: len(velocity)] / SIGN_STEPS
    return result


def sticking(steps: Array, sigma: float, presliding: float) -> Array:
    """Friction over fs of surfaces that move by `steps`, each known to `sigma`.

    As `smoothed_sign` does for the plain sign: the mean over what the motion may have been.
    """
    return _elements(np.ascontiguousarray(steps), sigma * ERRORS, presliding)


@njit(cache=True, nogil=True)
def _elements(steps: Array, errors: Array, presliding: float) -> Array:  # pragma: no cover
    result = np.zeros(len(steps))
    for error in errors:
        strain = 0.0
        for n in range(len(steps)):
            # Half of the step before the sample, half after it.
            half = 0.5 * (steps[n] + error) / presliding
            middle = min(max(strain + half, -1.0), 1.0)
            result[n] += middle
            strain = min(max(middle + half, -1.0), 1.0)
    return result / len(errors)


def _sigma(narrow: ZeroPhaseFilter, density: float) -> float:
    """Noise of the velocity behind a filter."""
    frequency = np.linspace(0.0, 0.5 * narrow.rate, 512)
    gain = narrow.response(frequency) * 2.0 * np.pi * frequency
    return float(np.sqrt(density * trapezoid(gain**2, frequency)))


def _extended_sigma(extension: Extension, geometry: Geometry, density: float, j: int) -> float:
    """Noise of the velocity: of the travel sensor below its band's end, of the force above."""
    frequency = np.linspace(0.5, extension.top_hz, 256)
    share = crossover(frequency, extension.travel_hz[j])
    measured = density * ((1.0 - share) * 2.0 * np.pi * frequency) ** 2
    told = velocity_density(extension, geometry, frequency, j) * share**2
    return float(np.sqrt(trapezoid(measured + told, frequency)))


def _velocity_cutoff(travel: Array, wide: ZeroPhaseFilter, density: float) -> float:
    if density <= 0.0 or len(travel) < 512:
        return wide.cutoff_hz
    spectrum = welch_spectrum(travel[:SPECTRUM_SAMPLES], wide.rate)
    choice = choose_cutoff(
        spectrum, derivative=1, bias_bound=0.05, floor=np.array([density]), minimum_hz=3.0
    )
    return min(SIGN_MARGIN * choice.cutoff_hz, wide.cutoff_hz)
