"""Sensors of unequal rates and stamps on one grid: never across a gap, never extrapolated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.interpolate import CubicSpline, PchipInterpolator

from veh_identification.errors import SignalError
from veh_identification.signals.filtering import ZeroPhaseFilter
from veh_identification.signals.hygiene import GAP_FACTOR
from veh_identification.signals.segments import contiguous_segments, gap_segments
from veh_identification.signals.time_series import (
    TimeSeries,
    require_finite,
    require_increasing,
)
from veh_identification.types import Array, BoolArray

METHODS = ('linear', 'pchip', 'cubic', 'band_limited')
# Anti-alias filter: half gain at 80 % of the new Nyquist frequency.
ANTI_ALIAS_SHARE = 0.8
SINC_HALF_WIDTH = 24
# Images 118 dB down; flat up to 42 % of the sample rate.
KAISER_BETA = 12.0


@dataclass(frozen=True)
class SynchronisedSeries:
    """Several series on one uniform grid; `values[i]` (N, C_i) is NaN where `valid[:, i]` is not.

    Attributes:
        stamps: (N,) seconds after `epoch_ns`, uniform at `rate`.
        values: one array per input series, in the order given.
        valid: (N, S) mask.
    """

    epoch_ns: int
    rate: float
    stamps: Array
    values: tuple[Array, ...]
    valid: BoolArray
    labels: tuple[str, ...]

    @property
    def all_valid(self) -> BoolArray:
        """Samples at which every series has a value."""
        return np.asarray(self.valid.all(axis=1), dtype=bool)

    def segments(self, minimum_length: int = 1) -> list[slice]:
        """Contiguous runs in which every series has a value."""
        return contiguous_segments(self.all_valid, minimum_length)


#: A grid is at most so many times denser than the samples.
DENSEST = 10.0


def common_grid(series: Sequence[TimeSeries], rate: float | None = None) -> tuple[Array, float]:
    """Uniform stamps over the time that all series share (one epoch), and their rate.

    The rate is by default that of the fastest series, so no information is lost; the grid stands
    on multiples of its period, so that two recordings with one rate have comparable stamps.
    """
    if not series:
        raise SignalError('no series to synchronise')
    for one in series:
        if len(one) < 2:
            raise SignalError(f'{one.label}: {len(one)} samples cannot be synchronised')
        if one.epoch_ns != series[0].epoch_ns:
            raise SignalError(
                f'{one.label}: its epoch {one.epoch_ns} differs from {series[0].epoch_ns} of '
                f'{series[0].label}'
            )
        require_increasing(one.stamps, one.label)
    if rate is None:
        rate = max(1.0 / one.median_period for one in series)
    if not rate > 0.0 or not np.isfinite(rate):
        raise SignalError(f'the grid rate must be positive, found {rate} Hz')
    fastest = max(1.0 / one.median_period for one in series)
    if rate > DENSEST * fastest:
        raise SignalError(
            f'a grid of {rate:g} Hz was asked for, more than {DENSEST:g} times the '
            f'{fastest:.4g} Hz of {series[0].label}: nothing is known between its samples'
        )
    latest = max(series, key=lambda one: one.stamps[0])
    earliest = min(series, key=lambda one: one.stamps[-1])
    first, last = latest.stamps[0], earliest.stamps[-1]
    begin, end = int(np.ceil(first * rate - 1e-6)), int(np.floor(last * rate + 1e-6))
    if end <= begin:
        raise SignalError(
            f'{latest.label} starts at {first:.6g} s, {earliest.label} ends at {last:.6g} s: '
            f'there is no overlap'
        )
    return np.arange(begin, end + 1) / rate, rate


def resample(
    series: TimeSeries,
    grid: Array,
    *,
    method: str = 'cubic',
    max_gap: float | None = None,
    delay: float = 0.0,
    anti_alias: bool = True,
    keep_ends: bool = False,
) -> tuple[Array, BoolArray]:
    """Values (M, C) at the increasing stamps `grid` and the mask of those that are known.

    Args:
        series: clean samples (increasing stamps, finite values).
        grid: stamps in seconds of the same epoch.
        method: 'linear', 'pchip' (no overshoot), 'cubic' (spline), or 'band_limited' (windowed
            sinc on the series' own median rate).
        max_gap: pauses longer than this are not bridged (five median periods by default).
        delay: the sensor shows what was true `delay` seconds before its stamp.
        anti_alias: low-pass at 0.8 of the grid's Nyquist frequency when the grid is slower.
        keep_ends: also values at the ends of pieces, where that low-pass rests on reflected
            samples: for signals that pass a narrower one afterwards.
    """
    if method not in METHODS:
        raise SignalError(
            f'{series.label}: unknown interpolation {method!r}, use one of {", ".join(METHODS)}'
        )
    require_increasing(series.stamps, series.label)
    require_finite(series.values, series.label)
    require_increasing(grid, 'grid')
    stamps = series.stamps - delay
    limit = GAP_FACTOR * series.median_period if max_gap is None else max_gap
    result = np.full((len(grid), series.values.shape[1]), np.nan)
    valid = np.zeros(len(grid), dtype=bool)
    grid_rate = (len(grid) - 1) / (grid[-1] - grid[0]) if len(grid) > 1 else np.inf
    for piece in gap_segments(stamps, limit):
        t, x = stamps[piece], series.values[piece]
        if len(t) < 2:
            continue
        if anti_alias and grid_rate < 0.9 / series.median_period:
            own_rate = 1.0 / series.median_period
            t, x = _anti_aliased(t, x, own_rate, grid_rate, series.label, keep_ends)
            if len(t) < 2:
                continue
        # A grid point may fall a rounding error outside of the first or last sample.
        slack = 1e-9 * max(1.0, abs(t[0]), abs(t[-1]))
        inside = (grid >= t[0] - slack) & (grid <= t[-1] + slack)
        if not inside.any():
            continue
        values, known = _interpolate(t, x, np.clip(grid[inside], t[0], t[-1]), method)
        rows = np.flatnonzero(inside)[known]
        result[rows] = values[known]
        valid[rows] = True
    return result, valid


def synchronise(
    series: Sequence[TimeSeries],
    *,
    rate: float | None = None,
    method: str = 'cubic',
    delays: Sequence[float] | None = None,
    max_gap: float | None = None,
    anti_alias: bool = True,
) -> SynchronisedSeries:
    """All series on one uniform grid over the time they share (see `resample`)."""
    shifts = [0.0] * len(series) if delays is None else list(delays)
    if len(shifts) != len(series):
        raise SignalError(f'{len(series)} series need as many delays, found {len(shifts)}')
    epoch = series[0].epoch_ns if series else 0
    moved = [
        one.with_epoch(epoch).delayed(shift) for one, shift in zip(series, shifts, strict=True)
    ]
    grid, grid_rate = common_grid(moved, rate)
    columns = [
        resample(one, grid, method=method, max_gap=max_gap, anti_alias=anti_alias) for one in moved
    ]
    valid = np.stack([mask for _, mask in columns], axis=1)
    if not valid.all(axis=1).any():
        raise SignalError(
            f'{", ".join(one.label for one in series)}: no grid point at which all have values'
        )
    return SynchronisedSeries(
        epoch,
        grid_rate,
        grid,
        tuple(values for values, _ in columns),
        valid,
        tuple(one.label for one in series),
    )


def uniform(series: TimeSeries, rate: float | None = None) -> SynchronisedSeries:
    """One irregular series on a uniform grid (its own median rate by default)."""
    return synchronise([series], rate=rate)


def _interpolate(t: Array, x: Array, at: Array, method: str) -> tuple[Array, BoolArray]:
    known = np.ones(len(at), dtype=bool)
    if method == 'linear' or len(t) < 4:
        columns = [np.interp(at, t, x[:, c]) for c in range(x.shape[1])]
        return np.stack(columns, axis=1), known
    if method == 'pchip':
        return PchipInterpolator(t, x, axis=0)(at), known
    if method == 'cubic':
        return CubicSpline(t, x, axis=0)(at), known
    return _band_limited(t, x, at)


def _band_limited(t: Array, x: Array, at: Array) -> tuple[Array, BoolArray]:
    """Kaiser-windowed sinc; the outermost half width, where the kernel is cut, is not known."""
    period = (t[-1] - t[0]) / (len(t) - 1)
    regular = t[0] + period * np.arange(len(t))
    if np.abs(t - regular).max() > 1e-6 * period:
        x = CubicSpline(t, x, axis=0)(np.clip(regular, t[0], t[-1]))
    half = SINC_HALF_WIDTH
    place = (at - t[0]) / period
    nearest = np.rint(place).astype(np.intp)
    known = (nearest >= half) & (nearest < len(t) - half)
    values = np.full((len(at), x.shape[1]), np.nan)
    offsets = np.arange(-half, half + 1)
    fraction = (place - nearest)[known, None] - offsets
    window = np.i0(KAISER_BETA * np.sqrt(np.maximum(0.0, 1.0 - (fraction / (half + 1)) ** 2)))
    kernel = np.sinc(fraction) * window
    # Unit sum: constants pass exactly, whatever the truncation.
    kernel /= kernel.sum(axis=1, keepdims=True)
    index = nearest[known]
    total = np.zeros((len(index), x.shape[1]))
    for column, offset in enumerate(offsets):
        total += kernel[:, column, None] * x[index + offset]
    values[known] = total
    return values, known


def _anti_aliased(
    t: Array, x: Array, rate: float, grid_rate: float, label: str, keep_ends: bool
) -> tuple[Array, Array]:
    """Low-pass one piece on its own uniform stamps; transients at its ends are cut off or kept."""
    count = int(np.floor((t[-1] - t[0]) * rate * (1.0 + 1e-9))) + 1
    low_pass = ZeroPhaseFilter(
        rate, ANTI_ALIAS_SHARE * grid_rate / 2.0, order=6, label=f'{label} (anti-alias)'
    )
    if count < low_pass.minimum_length:
        return t[:0], x[:0]
    regular = t[0] + np.arange(count) / rate
    even, _ = _interpolate(t, x, np.clip(regular, t[0], t[-1]), 'cubic')
    smooth, kept = low_pass.apply(even)
    return (regular, smooth) if keep_ends else (regular[kept], smooth[kept])
