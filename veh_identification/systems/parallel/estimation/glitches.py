"""Glitches of lengths and forces, told by their roughness: nothing has to repeat for that.

A sample that is far rougher than the roughest of the usual period is no motion and no friction.
Some samples about it are cut out, which leaves a gap that filters do not cross.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.ndimage import maximum_filter1d, median_filter

from veh_identification.findings import Finding
from veh_identification.signals import TimeSeries
from veh_identification.types import Array, BoolArray

#: Moments this many times as rough as the roughest of the usual period are cut out, with so many
#: samples before and behind them.
ROUGH, CUT = 5.0, 10
#: Samples whose median says what a force would be without a spike.
SPIKES = (5, 21)
#: Smallest roughness of a glitch, as a share of the range of lengths, and of forces.
LEAST = np.repeat([2e-3, *[2e-2] * len(SPIKES)], 6)


def roughness(values: Array) -> Array:
    """(N, 18): bend of the lengths from sample to sample, and spikes of the forces.

    Forces may jump, by dry friction, so that only what comes and goes within some samples counts.
    """
    bends = np.zeros((len(values), 6))
    if len(values) > 2:
        bends[1:-1] = np.abs(np.diff(values[:, :6], n=2, axis=0))
    forces = values[:, 6:]
    spikes = [np.abs(forces - median_filter(forces, (size, 1), mode='nearest')) for size in SPIKES]
    return np.hstack([bends, *spikes])


def size_of(values: Array) -> tuple[Array, Array]:
    """Roughest moment and range of the samples of one period."""
    extent = np.ptp(values, axis=0)
    ranges = np.concatenate([extent[:6], *[extent[6:]] * len(SPIKES)])
    return roughness(values).max(axis=0), ranges


def spoilt(values: Array, periods: Sequence[tuple[Array, Array]]) -> BoolArray:
    """Samples (N,) to be cut out, with the sizes of the periods that tell what is usual."""
    if not periods:
        return np.zeros(len(values), dtype=bool)
    # The lower one of two: of them the rougher one is the spoilt one.
    usual = np.sort([rough for rough, _ in periods], axis=0)[(len(periods) - 1) // 2]
    limit = np.maximum(ROUGH * usual, LEAST * np.min([one for _, one in periods], axis=0)) + 1e-9
    glitch = (roughness(values) > limit).any(axis=1)
    return np.asarray(maximum_filter1d(glitch, 2 * CUT + 1, mode='constant'))


def without_glitches(legs: TimeSeries, period: float) -> tuple[TimeSeries, list[Finding]]:
    """Lengths and forces (N, 12) of a recording, cut into periods [s] to see what is usual."""
    step = legs.median_period
    count = max(round(period / step), 4)
    times = (legs.stamps - legs.stamps[0]) / (period / count)
    number = np.floor((times + 0.5) / count).astype(int)
    finite = np.asarray(np.isfinite(legs.values).all(axis=1))
    values = legs.values
    edges = np.flatnonzero(np.diff(number)) + 1
    parts = np.split(np.arange(len(legs)), edges)
    whole = [one for one in parts[:-1] if finite[one].all()]
    sizes = [size_of(values[one]) for one in whole]
    cut = np.zeros(len(legs), dtype=bool)
    # Run by run: a pause is no glitch.
    ends = (finite[1:] != finite[:-1]) | (np.diff(legs.stamps) > 2.5 * step)
    for run in np.split(np.arange(len(legs)), np.flatnonzero(ends) + 1):
        if finite[run[0]]:
            cut[run] = spoilt(values[run], sizes)
    if not cut.any():
        return legs, []
    text = (
        f'{legs.label}: {int(cut.sum())} samples about glitches are left out (the first at '
        f'{legs.stamps[int(np.argmax(cut))] - legs.stamps[0]:.4g} s)'
    )
    return legs.take(~cut), [Finding('note', 'glitches_left_out', text, legs.label)]
