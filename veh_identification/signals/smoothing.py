"""Local polynomial derivatives over whole recordings, with their noise gain.

`savitzky_golay` on uniform grids, `local_polynomial_derivatives` on stamps as they come.
"""

from __future__ import annotations

from math import factorial

import numpy as np
from numba import njit
from scipy import signal

from veh_identification.errors import SignalError
from veh_identification.signals.filtering import Derivatives
from veh_identification.signals.local_polynomial import fit_local_polynomial
from veh_identification.signals.segments import apply_per_segment, erode
from veh_identification.signals.time_series import require_finite, require_increasing
from veh_identification.types import Array, BoolArray


def savitzky_golay_coefficients(half_window: int, order: int, rate: float) -> Array:
    """Weights (3, 2 half_window + 1) of position, velocity, acceleration at the middle."""
    if not 2 <= order <= 2 * half_window:
        raise SignalError(
            f'a window of {2 * half_window + 1} samples takes orders 2 to {2 * half_window}, '
            f'found {order}'
        )
    u = np.arange(-half_window, half_window + 1) / half_window
    vandermonde = np.vander(u, order + 1, increasing=True)
    rows = np.linalg.pinv(vandermonde)[:3]
    scale = [factorial(k) * (rate / half_window) ** k for k in range(3)]
    return rows * np.array(scale)[:, None]


def noise_gain(coefficients: Array) -> Array:
    """Sigma of each output per unit sigma of white input noise."""
    return np.sqrt((coefficients**2).sum(axis=-1))


def savitzky_golay(
    values: Array,
    rate: float,
    half_window: int,
    order: int = 4,
    valid: BoolArray | None = None,
) -> Derivatives:
    """Derivatives by a polynomial over 2 half_window + 1 samples; window ends are not valid."""
    weights = savitzky_golay_coefficients(half_window, order, rate)
    x = np.asarray(values, dtype=float)
    mask = np.ones(len(x), dtype=bool) if valid is None else np.asarray(valid, dtype=bool)
    require_finite(x[mask], 'savitzky_golay')
    length = 2 * half_window + 1
    kept = erode(mask, half_window)
    if not kept.any():
        raise SignalError(f'no segment holds the {length} samples of the window')

    def filtered(k: int) -> Array:
        kernel = weights[k, ::-1]

        def run(segment: Array) -> Array:
            flat = segment.reshape(len(segment), -1)
            out = np.full(flat.shape, np.nan)
            inner = signal.oaconvolve(flat, kernel[:, None], mode='valid', axes=0)
            out[half_window : len(flat) - half_window] = inner
            return out.reshape(segment.shape)

        return apply_per_segment(x, mask, run, length)

    return Derivatives(filtered(0), filtered(1), filtered(2), kept)


@njit(cache=True, nogil=True)
def _local_batch(
    stamps: Array,
    values: Array,
    at: Array,
    half_width: float,
    order: int,
    max_gap: float,
    out: Array,
) -> None:
    count = stamps.shape[0]
    low = 0
    coefficients = np.empty((order + 1, values.shape[1]))
    for m in range(at.shape[0]):
        centre = at[m]
        while low < count and stamps[low] <= centre - half_width:
            low += 1
        high = low
        largest = 0.0
        while high < count and stamps[high] < centre + half_width:
            if high > low:
                largest = max(largest, stamps[high] - stamps[high - 1])
            high += 1
        # One-sided windows (record ends) and windows with a gap are refused, not extrapolated.
        if high - low <= order or largest > max_gap:
            continue
        if centre - stamps[low] < half_width - max_gap:
            continue
        if stamps[high - 1] - centre < half_width - max_gap:
            continue
        fit_local_polynomial(
            stamps, values, low, high - low, centre, half_width, order, coefficients
        )
        scale = 1.0
        for k in range(3):
            if k > 0:
                scale *= k / half_width
            for c in range(values.shape[1]):
                out[m, k, c] = coefficients[k, c] * scale


def local_polynomial_derivatives(
    stamps: Array,
    values: Array,
    at: Array,
    half_width: float,
    *,
    order: int = 4,
    max_gap: float | None = None,
) -> Derivatives:
    """Derivatives at the stamps `at` straight from irregular samples (triweight kernel).

    The same kernel as `CausalDerivativeFilter`, so live and offline results agree. Points whose
    window is cut by a record end or holds a pause longer than `max_gap` (a quarter of the window
    by default) are not valid.
    """
    require_increasing(stamps, 'local polynomial')
    require_increasing(at, 'evaluation stamps')
    x = np.asarray(values, dtype=float)
    x = np.ascontiguousarray(x[:, None] if x.ndim == 1 else x)
    require_finite(x, 'local polynomial')
    if not 2 <= order <= 6 or not half_width > 0.0:
        raise SignalError(
            f'order 2 to 6 and a positive half window needed, found {order} and {half_width} s'
        )
    out = np.full((len(at), 3, x.shape[1]), np.nan)
    limit = 0.5 * half_width if max_gap is None else max_gap
    _local_batch(
        np.ascontiguousarray(stamps, dtype=np.float64),
        x,
        np.ascontiguousarray(at, dtype=np.float64),
        half_width,
        order,
        limit,
        out,
    )
    known = np.isfinite(out).all(axis=(1, 2))
    return Derivatives(out[:, 0], out[:, 1], out[:, 2], np.asarray(known, dtype=bool))
