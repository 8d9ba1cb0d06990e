"""Band-limited interpolation of a sensor's samples on the common grid, compiled.

A Kaiser-windowed sinc on the sensor's own regular stamps; jittered stamps are first brought on
regular ones by a cubic spline. Flat up to 0.4 of the sensor's rate. Never across a gap.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from scipy.interpolate import CubicSpline

from veh_identification.signals import TimeSeries, ZeroPhaseFilter, gap_segments
from veh_identification.types import Array, BoolArray

HALF_WIDTH = 24
TABLE_STEPS = 512
KAISER_BETA = 12.0
GAP_PERIODS = 5.0
#: Anti-alias filter: half gain at this share of the grid's Nyquist frequency.
ANTI_ALIAS_SHARE = 0.8


def _kernel_table() -> Array:
    """Windowed sinc at TABLE_STEPS places between two samples, (steps + 1, 2 half width)."""
    fraction = np.arange(TABLE_STEPS + 1)[:, None] / TABLE_STEPS
    distance = fraction - np.arange(-HALF_WIDTH + 1, HALF_WIDTH + 1)[None, :]
    window = np.i0(KAISER_BETA * np.sqrt(np.maximum(0.0, 1.0 - (distance / HALF_WIDTH) ** 2)))
    table = np.sinc(distance) * window
    return np.ascontiguousarray(table / table.sum(axis=1, keepdims=True))


_TABLE = _kernel_table()


@njit(cache=True, nogil=True)
def _interpolate(
    x: Array, place: Array, table: Array, half: int, steps: int, out: Array
) -> None:  # pragma: no cover (compiled)
    """out[i] = x at the fractional index place[i]; the table is interpolated linearly."""
    taps = np.empty(2 * half)
    for i in range(len(place)):
        base = int(np.floor(place[i]))
        position = (place[i] - base) * steps
        entry = min(int(position), steps - 1)
        share = position - entry
        for k in range(2 * half):
            taps[k] = (1.0 - share) * table[entry, k] + share * table[entry + 1, k]
        first = base - half + 1
        for c in range(x.shape[1]):
            total = 0.0
            for k in range(2 * half):
                total += taps[k] * x[first + k, c]
            out[i, c] = total


def on_grid(series: TimeSeries, grid: Array, rate: float) -> tuple[Array, BoolArray]:
    """Values (M, C) on the uniform stamps `grid` and which of them are known."""
    result = np.full((len(grid), series.values.shape[1]), np.nan)
    valid = np.zeros(len(grid), dtype=bool)
    period = series.median_period
    for piece in gap_segments(series.stamps, GAP_PERIODS * period):
        t, x = series.stamps[piece], series.values[piece]
        if len(t) < 2 * HALF_WIDTH + 2:
            continue
        start, x, step = _regular(t, x, period)
        margin = HALF_WIDTH
        if rate < 0.9 / step:
            low = ZeroPhaseFilter(
                1.0 / step,
                ANTI_ALIAS_SHARE * rate / 2.0,
                order=6,
                label=f'{series.label} (anti-alias)',
            )
            if len(x) < low.minimum_length + 2 * margin:
                continue
            x, margin = low.apply(x)[0], max(margin, low.transient)
        place = (grid - start) / step
        inside = (place >= margin) & (place < len(x) - 1 - margin)
        chosen = np.flatnonzero(inside)
        if len(chosen) == 0:
            continue
        values = np.empty((len(chosen), x.shape[1]))
        _interpolate(
            np.ascontiguousarray(x), place[chosen], _TABLE, HALF_WIDTH, TABLE_STEPS, values
        )
        result[chosen], valid[chosen] = values, True
    return result, valid


def _regular(t: Array, x: Array, period: float) -> tuple[float, Array, float]:
    """First stamp, values and step on regular stamps."""
    step = (t[-1] - t[0]) / (len(t) - 1)
    regular = t[0] + step * np.arange(len(t))
    if np.abs(t - regular).max() <= 1e-5 * step:
        return float(t[0]), x, float(step)
    # Jitter or lost samples: the mean step is not the sensor's period any more.
    count = int(np.floor((t[-1] - t[0]) / period)) + 1
    regular = t[0] + period * np.arange(count)
    return float(t[0]), CubicSpline(t, x, axis=0)(regular), float(period)
