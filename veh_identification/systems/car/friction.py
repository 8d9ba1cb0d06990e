"""Sign of the suspension velocity for the Coulomb friction columns."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicHermiteSpline

from veh_identification.signals import (
    ZeroPhaseFilter,
    choose_cutoff,
    filtered_noise_sigma,
    smoothed_sign,
    welch_spectrum,
)

Array = NDArray[np.float64]
SIGN_STEPS = 4
#: The sign needs its argument undistorted: the filter ends well above where noise takes over.
SIGN_MARGIN = 2.0
#: Spectra need no more than this for a cut-off.
SPECTRUM_SAMPLES = 20000


def friction_sign(travel: Array, noise: tuple[float, float, float, float], wide: ZeroPhaseFilter,
                  sensor_rate: float) -> Array:
    """sign(qd) as well as the noise of qd lets it be known, filtered like all other signals.

    Its argument passes a filter that ends where the velocity's spectrum drowns in noise. The sign
    jumps between samples; it is formed on a finer grid so that the common filter sees the jump
    where it is and not at the next sample.
    """
    count = len(travel)
    result = np.zeros((count, 4))
    place, fine_place = np.arange(count), np.arange((count - 1) * SIGN_STEPS + 1) / SIGN_STEPS
    fine = replace(wide, rate=wide.rate * SIGN_STEPS)
    frequency = np.linspace(0.0, 0.5 * wide.rate, 512)
    for j in range(4):
        if np.ptp(travel[:, j]) == 0.0:
            continue
        # White noise per sample at the sensor's rate has the density 2 sigma^2 / rate.
        density = 2.0 * noise[j] ** 2 / sensor_rate
        narrow = replace(wide, cutoff_hz=_velocity_cutoff(travel[:, [j]], wide, density))
        sigma = filtered_noise_sigma(density, frequency, narrow.response(frequency), 1)
        found = narrow.derivatives(travel[:, j])
        curve = CubicHermiteSpline(place, found.velocity, found.acceleration / wide.rate)
        jumps = smoothed_sign(curve(fine_place), sigma)
        result[:, j] = fine.apply(jumps)[0][::SIGN_STEPS]
    return result


def _velocity_cutoff(travel: Array, wide: ZeroPhaseFilter, density: float) -> float:
    if density <= 0.0 or len(travel) < 512:
        return wide.cutoff_hz
    spectrum = welch_spectrum(travel[:SPECTRUM_SAMPLES], wide.rate)
    choice = choose_cutoff(spectrum, derivative=1, bias_bound=0.05, floor=np.array([density]),
                           minimum_hz=3.0)
    return min(SIGN_MARGIN * choice.cutoff_hz, wide.cutoff_hz)
