"""Offsets of force plates, read off while nobody stands on them.

A walkway is empty before and after every pass, and a plate under one foot is empty during that
foot's swing. What it shows then is its offset, far better known than any estimate could make it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from veh_identification.signals import TimeSeries
from veh_identification.systems.humanoid.recording import Recording, Wrench

Array = NDArray[np.float64]

BLOCK_SECONDS = 0.05
EMPTY_SHARE = 0.05  # of the heaviest load on any plate
QUIET = 3.0  # times the usual change from block to block of an empty plate
FEWEST_BLOCKS = 4  # in a row, of which the outermost are left out
# An offset smaller than this share of the load is not worth a word.
WORTH_SAYING = 0.002


@dataclass(frozen=True, eq=False)
class Empty:
    """What a plate shows while it is empty."""

    offset: Array  # (6,)
    seconds: float


def tared(recording: Recording) -> tuple[Recording, list[str]]:
    """The recording with the offsets of plates taken off that are empty at times, and notes."""
    plates = [w for w in recording.wrenches if w.is_plate]
    load = max((float(np.percentile(_force(w.series), 98)) for w in plates), default=0.0)
    wrenches, notes = [], []
    for one in recording.wrenches:
        found = empty_plate(one.series, load) if one.is_plate else None
        if found is None:
            wrenches.append(one)
            continue
        series = replace(one.series, values=one.series.values - found.offset)
        wrenches.append(replace(one, series=series, tared=True))
        if np.linalg.norm(found.offset[:3]) > WORTH_SAYING * load:
            shown = ', '.join(f'{value:.3g}' for value in found.offset)
            notes.append(f'{recording.label}: {one.topic} shows {shown} (N, N m) while it is '
                         f'empty ({found.seconds:.3g} s); taken off')
    return replace(recording, wrenches=tuple(wrenches)), notes


def empty_plate(series: TimeSeries, load: float) -> Empty | None:
    """Mean of the stretches in which the plate is empty; None if there is none."""
    size = max(1, round(BLOCK_SECONDS / series.median_period))
    count = len(series) // size
    if count < FEWEST_BLOCKS or not load > 0.0:
        return None
    blocks = series.values[: count * size].reshape(count, size, 6).mean(axis=1)
    force = np.linalg.norm(blocks[:, :3], axis=1)
    low = force < EMPTY_SHARE * load
    if low.sum() < FEWEST_BLOCKS:
        return None
    centre = np.median(blocks[low, :3], axis=0)
    away = np.linalg.norm(blocks[:, :3] - centre, axis=1)
    # Loading and unloading pass through small forces as well, but not in the same place.
    usual = max(1.4826 * float(np.median(away[low])), 1e-4 * load)
    kept = _inner(low & (away < QUIET * usual))
    if kept.sum() < 2:
        return None
    return Empty(np.median(blocks[kept], axis=0), float(kept.sum()) * BLOCK_SECONDS)


def _inner(mask: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Runs of at least FEWEST_BLOCKS without their first and last element."""
    result = np.zeros(len(mask), dtype=bool)
    edges = np.flatnonzero(np.diff(np.concatenate([[0], mask.astype(np.int8), [0]])))
    for first, last in zip(edges[::2], edges[1::2], strict=True):
        if last - first >= FEWEST_BLOCKS:
            result[first + 1 : last - 1] = True
    return result


def common_sources(groups: Sequence[Sequence[Wrench]]) -> tuple[Wrench, ...]:
    """Each wrench topic once; tared only if it is in every recording that holds it."""
    found: dict[str, Wrench] = {}
    for sources in groups:
        for one in sources:
            before = found.get(one.topic)
            both = one.tared and (before is None or before.tared)
            found[one.topic] = replace(before or one, tared=both)
    return tuple(found.values())


def _force(series: TimeSeries) -> Array:
    return np.asarray(np.linalg.norm(series.values[:, :3], axis=1))
