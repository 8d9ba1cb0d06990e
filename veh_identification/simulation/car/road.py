"""A rough road: one profile a wheel track, with the spectrum of ISO 8608.

Displacement spectrum G(n) = G0 (n / n0)^-2 with n0 = 0.1 cycles/m. Left and right agree at long
waves and are independent at short ones; the rear wheels run over what the front wheels ran over,
because a profile is a function of the place along the road. Heights are cubic B-splines, so that
the slope that the tyre feels is smooth.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from veh_identification.types import Array

#: Reference spatial frequency of ISO 8608 [cycles/m].
REFERENCE = 0.1
#: Knots of the splines stand this far apart [m].
SPACING = 0.1
#: Waves longer than this are left out: they lift the whole car [m].
LONGEST = 60.0
#: A tyre spans short unevenness; waves shorter than this fade out [m].
SHORTEST = 0.4


class Road(NamedTuple):
    """Spline coefficients (2, K) of the left and right track; the first knot is at `start`."""

    coefficients: Array
    start: float


def flat_road() -> Road:
    """A road without any unevenness."""
    return Road(np.zeros((2, 8)), 0.0)


def rough_road(
    length: float,
    roughness: float,
    track: float,
    generator: np.random.Generator,
    smooth_start: float = 20.0,
) -> Road:
    """A road from -10 m to `length`; `roughness` is G(n0) in m^3 (class A 16e-6, B 64e-6)."""
    start = -10.0
    knots = int(np.ceil((length - start + 20.0) / SPACING)) + 8
    n = np.fft.rfftfreq(knots, SPACING)
    # One-sided spectrum to amplitudes of a real inverse transform.
    spectrum = np.zeros_like(n)
    spectrum[1:] = roughness * (n[1:] / REFERENCE) ** -2.0
    shape = 1.0 / (1.0 + (1.0 / (LONGEST * np.maximum(n, 1e-9))) ** 8)
    shape = shape / (1.0 + (n * SHORTEST) ** 8)
    amplitude = np.sqrt(spectrum * shape * knots / (4.0 * SPACING))
    waves = generator.standard_normal((2, 2, len(n)))
    first, second = waves[0, 0] + 1j * waves[0, 1], waves[1, 0] + 1j * waves[1, 1]
    # Coherence between the tracks falls with the wave number times their distance.
    coherence = np.exp(-1.5 * n * track)
    right = coherence * first + np.sqrt(1.0 - coherence**2) * second
    profiles = np.fft.irfft(amplitude * np.stack([first, right]), knots, axis=1)
    station = start + SPACING * np.arange(knots)
    rise = np.clip(station / smooth_start, 0.0, 1.0)
    return Road(np.ascontiguousarray(profiles * (rise * rise * (3.0 - 2.0 * rise))), start)


@njit(cache=True, nogil=True)
def road_height(
    coefficients: Array, start: float, side: int, station: float
) -> tuple[float, float]:
    """Height and slope of a track at a place along the road; flat beyond both ends."""
    u = (station - start) / SPACING
    k = int(np.floor(u))
    if k < 1 or k > coefficients.shape[1] - 3:
        return 0.0, 0.0
    t = u - k
    a, b = coefficients[side, k - 1], coefficients[side, k]
    c, d = coefficients[side, k + 1], coefficients[side, k + 2]
    r = 1.0 - t
    height = (
        r * r * r * a
        + (3.0 * t * t * t - 6.0 * t * t + 4.0) * b
        + (3.0 * r * r * r - 6.0 * r * r + 4.0) * c
        + t * t * t * d
    ) / 6.0
    slope = (
        -r * r * a + (3.0 * t * t - 4.0 * t) * b + (4.0 * r - 3.0 * r * r) * c + t * t * d
    ) / (2.0 * SPACING)
    return height, slope


@njit(cache=True, nogil=True)
def road_heights(coefficients: Array, start: float, side: int, stations: Array) -> Array:
    """Heights of a track at many places."""
    heights = np.empty(len(stations))
    for k in range(len(stations)):
        heights[k] = road_height(coefficients, start, side, stations[k])[0]
    return heights
