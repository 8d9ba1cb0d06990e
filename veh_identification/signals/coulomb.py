"""Sign of a noisy velocity for Coulomb friction columns.

sign(v) of a measured v flips at random near zero speed and biases friction and damping. Given
v = true + noise with a known sigma, the best predictor of sign(true) is its conditional mean,
a smooth step whose width is the noise: erf(v / (sqrt(2) sigma)).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.integrate import trapezoid  # numpy names it so from 2.0 on
from scipy.special import erf

from veh_identification.errors import SignalError
from veh_identification.types import Array


def smoothed_sign(
    velocity: ArrayLike, noise_sigma: ArrayLike, signal_sigma: ArrayLike | None = None
) -> Array:
    """E[sign(true) | measured] for Gaussian velocity noise.

    Without `signal_sigma` every true speed is taken as equally likely. With it the true velocity
    is Gaussian with that spread: the measured value shrinks by s^2 / (s^2 + n^2) and the
    remaining uncertainty is s n / sqrt(s^2 + n^2). Zero noise gives the plain sign.
    """
    v = np.asarray(velocity, dtype=float)
    noise = np.asarray(noise_sigma, dtype=float)
    if (noise < 0.0).any() or not np.isfinite(noise).all():
        raise SignalError('the velocity noise must be a finite sigma of zero or more')
    mean, width = v, noise
    if signal_sigma is not None:
        spread = np.asarray(signal_sigma, dtype=float)
        if not (spread > 0.0).all():
            raise SignalError('the spread of the velocity must be positive')
        total = spread**2 + noise**2
        mean, width = v * spread**2 / total, spread * noise / np.sqrt(total)
    safe = np.where(width > 0.0, width, 1.0)
    return np.where(width > 0.0, erf(mean / (np.sqrt(2.0) * safe)), np.sign(mean))


def filtered_noise_sigma(
    density: ArrayLike,
    frequency_hz: Array,
    gain: Array,
    derivative: int = 1,
) -> Array:
    """Sigma of the `derivative`-th derivative of white noise after a filter.

    `density` is the one-sided spectral density of the raw signal's noise (unit^2 / Hz, one per
    channel), `gain` the filter's response on the uniform grid `frequency_hz`.
    """
    weight = (gain * (2.0 * np.pi * frequency_hz) ** derivative) ** 2
    power = trapezoid(weight, frequency_hz)
    return np.sqrt(np.asarray(density, dtype=float) * power)
