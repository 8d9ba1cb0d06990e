"""Channels of different rates at the same times, averaged alike, to be compared."""

from __future__ import annotations

import numpy as np
from scipy.ndimage import uniform_filter1d

from veh_identification.types import Array


def averaged(time: Array, value: Array, grid: Array, window: float) -> Array:
    """Means of irregular samples over `window` seconds around each grid time; nan outside.

    The integral of the samples is interpolated, so that any rate, jitter and gap will do.
    """
    good = np.isfinite(value) & np.isfinite(time)
    t, v = time[good], value[good]
    if len(t) < 2:
        return np.full(len(grid), np.nan)
    steps = np.diff(t)
    integral = np.concatenate([[0.0], np.cumsum(0.5 * (v[1:] + v[:-1]) * steps)])
    begin, end = grid - 0.5 * window, grid + 0.5 * window
    mean = (np.interp(end, t, integral) - np.interp(begin, t, integral)) / window
    inside = (begin >= t[0]) & (end <= t[-1])
    # What lies in a gap longer than the window is an invention: a wheel that turned through it
    # would seem to leap at its edges.
    for k in np.flatnonzero(steps > window):
        inside &= (end <= t[k]) | (begin >= t[k + 1])
    return np.where(inside, mean, np.nan)


def slope(grid: Array, value: Array) -> Array:
    """Derivative on a uniform grid by central differences; nan at the ends and beside gaps."""
    step = grid[1] - grid[0] if len(grid) > 1 else 1.0
    found = np.full(len(value), np.nan)
    found[1:-1] = (value[2:] - value[:-2]) / (2.0 * step)
    return found


def quick(value: Array, count: int) -> Array:
    """What changes within `count` samples: less the mean of the known ones about each."""
    known = np.isfinite(value)
    share, mean = (
        uniform_filter1d(one, count, mode='constant')
        for one in (known.astype(float), np.where(known, value, 0.0))
    )
    return np.asarray(value - mean / np.maximum(share, 1.0 / count))
