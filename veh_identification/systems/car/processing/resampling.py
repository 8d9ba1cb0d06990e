"""A sensor's samples on the common grid, and its own low-pass behaviour taken out of them.

Band-limited interpolation, compiled: a Kaiser-windowed sinc on the sensor's own regular stamps;
jittered stamps are first brought on regular ones by a cubic spline. Flat up to 0.4 of the
sensor's rate. Never across a gap.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy import fft, signal
from scipy.interpolate import CubicSpline

from veh_identification.signals import TimeSeries, ZeroPhaseFilter, gap_segments
from veh_identification.types import Array, BoolArray

HALF_WIDTH = 24
TABLE_STEPS = 512
KAISER_BETA = 12.0
GAP_PERIODS = 5.0
#: Anti-alias filter: half gain at this share of the grid's Nyquist frequency.
ANTI_ALIAS_SHARE = 0.8
#: The inverse of a sensor's low-pass is limited here: beyond, noise would be amplified without
#: any signal to win.
LARGEST_GAIN = 20.0


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


def sensor_response(frequency: Array, bandwidth_hz: float, order: int) -> NDArray[np.complex128]:
    """Complex response of an analogue Butterworth low-pass."""
    b, a = signal.butter(order, 2.0 * np.pi * bandwidth_hz, analog=True)
    return np.asarray(signal.freqs(b, a, 2.0 * np.pi * np.asarray(frequency))[1])


def equalise(values: Array, rate: float, bandwidth_hz: float, order: int) -> Array:
    """Signal (N, C) before the sensor's low-pass; the outer tenths of a second are disturbed."""
    count = len(values)
    pad = min(count - 1, int(rate * max(1.0, 4.0 / bandwidth_hz)))
    line = np.linspace(values[0], values[-1], count)
    odd = values - line
    # Odd reflection: no jump at the ends.
    extended = np.concatenate([-odd[pad:0:-1], odd, -odd[-2 : -pad - 2 : -1]])
    length = fft.next_fast_len(2 * len(extended), real=True)
    response = sensor_response(fft.rfftfreq(length, 1.0 / rate), bandwidth_hz, order)
    inverse = 1.0 / response
    gain = np.abs(inverse)
    inverse *= np.minimum(1.0, LARGEST_GAIN / gain) ** 2
    spectrum = fft.rfft(extended, length, axis=0) * inverse[:, None]
    result = fft.irfft(spectrum, length, axis=0)[pad : pad + count]
    # A ramp passes a low-pass with its delay: the inverse moves it ahead by that delay.
    delay = float(
        -np.unwrap(np.angle(sensor_response(np.array([1e-3, 2e-3]), bandwidth_hz, order)))[1]
        / (2.0 * np.pi * 2e-3)
    )
    slope = (values[-1] - values[0]) * rate / (count - 1)
    return result + line + slope * delay
