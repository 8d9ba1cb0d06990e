"""Offsets of force plates, read off while nobody stands on them.

A walkway is empty before and after every pass, and a plate under one foot is empty during that
foot's swing. What it shows then is its offset, far better known than any estimate could make it.
Who runs or jumps is in the air for a moment only, but again and again, and every time the plate
shows the same. No plate shows exactly nothing: where it does, a program has set small loads to
zero, and with them the offset.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import binary_dilation

from veh_identification.findings import Finding
from veh_identification.signals import TimeSeries
from veh_identification.signals.segments import contiguous_segments
from veh_identification.systems.humanoid.recording.reader import Recording, Wrench
from veh_identification.types import Array

BLOCK_SECONDS = 0.05
EMPTY_SHARE = 0.05  # of the heaviest load on any plate
QUIET = 3.0  # times the usual change from block to block of an empty plate
FEWEST_BLOCKS = 4  # in a row, of which the outermost are left out
# Load that passes through zero, as when weight is shifted slowly, bends; an empty plate does not.
SHORT_SECONDS = 0.6  # of a stretch that may be such a pass
BEND = 0.001  # of the load
# Flights: s at least, s of landing and taking off at each end that do not count, how many there
# must be, and how far apart they may lie (of the load, twice the noise apart).
FLIGHT_SECONDS, EDGE_SECONDS, FEWEST_FLIGHTS, FLIGHTS_APART = 0.05, 0.015, 3, 0.002
# Of all samples: a plate that is set to zero is so for a stretch, not for a sample.
ZEROED_SHARE = 0.02
# An offset smaller than this share of the load is not worth a word.
WORTH_SAYING = 0.002


@dataclass(frozen=True, eq=False)
class Empty:
    """What a plate shows while it is empty."""

    offset: Array  # (6,)
    seconds: float


def tared(recording: Recording, soles: Collection[str] = ()) -> tuple[Recording, list[Finding]]:
    """The recording with the offsets of plates taken off that are empty at times.

    `soles` are topics of sensors on the robot that carry no link: in the air they are empty too.
    """
    wrenches, findings = [], []
    for one in recording.wrenches:
        found = None
        alike = [w for w in recording.wrenches if w.is_plate == one.is_plate]
        load = heaviest_load(alike)
        if one.is_plate or one.topic in soles:
            found = what_is_empty(one.series, load)
        if found is None:
            wrenches.append(one)
            if one.is_plate and set_to_zero(one.series).mean() > ZEROED_SHARE:
                findings.append(_zeroed(recording.label, one.topic))
            continue
        told = bool(np.linalg.norm(found.offset[:3]) > WORTH_SAYING * load)
        if not told and _never_loaded(one.series, load):
            wrenches.append(one)
            continue
        series = replace(one.series, values=one.series.values - found.offset)
        wrenches.append(replace(one, series=series, tared=True))
        if told:
            shown = ', '.join(f'{value:.3g}' for value in found.offset)
            findings.append(
                Finding(
                    'note',
                    'plate_tared',
                    f'{recording.label}: {one.topic} shows {shown} (N, N m) while it is '
                    f'empty ({found.seconds:.3g} s); taken off',
                    f'{recording.label}, topic {one.topic}',
                )
            )
    return replace(recording, wrenches=tuple(wrenches)), findings


def _never_loaded(series: TimeSeries, load: float) -> bool:
    """Whether nobody ever stands on it, or its forces are in a far larger unit.

    Then what is taken for its zero may be the median of its loads.
    """
    return bool(np.percentile(_force(series), 98) < EMPTY_SHARE * load)


def _zeroed(label: str, topic: str) -> Finding:
    text = (
        f'{label}: {topic} shows exactly zero while it is empty: a program has set it so, and its '
        'offset is not known; the deviation of the total mass allows for 0.3 % of the weight'
    )
    return Finding('note', 'plate_zeroed', text, f'{label}, topic {topic}')


def set_to_zero(series: TimeSeries) -> NDArray[np.bool_]:
    """Samples whose forces are exactly zero."""
    return np.asarray((series.values[:, :3] == 0.0).all(axis=1))


def heaviest_load(plates: Sequence[Wrench]) -> float:
    """The heaviest load on any plate, but for peaks [N]."""
    return max((float(np.percentile(_force(w.series), 98)) for w in plates), default=0.0)


def what_is_empty(series: TimeSeries, load: float, smeared: float = 0.0) -> Empty | None:
    """What the plate shows while nobody stands on it, for long or in flights; None: never.

    `smeared` [s]: how far a smoothing filter has carried loads into the time before and after.
    """
    return empty_plate(series, load, smeared) or flights(series, load, smeared)


def _measured(series: TimeSeries, load: float, smeared: float) -> NDArray[np.bool_]:
    """Samples that a program has neither set to zero nor smoothed together with a load."""
    reach = round(smeared / series.median_period)
    if reach == 0:
        return ~set_to_zero(series)
    loaded = _force(series) >= EMPTY_SHARE * load
    return ~set_to_zero(series) & ~binary_dilation(loaded, iterations=reach)


def empty_plate(series: TimeSeries, load: float, smeared: float = 0.0) -> Empty | None:
    """Mean of the stretches in which the plate is empty; None if there is none."""
    size = max(1, round(BLOCK_SECONDS / series.median_period))
    count = len(series) // size
    if count < FEWEST_BLOCKS or not load > 0.0:
        return None
    blocks = series.values[: count * size].reshape(count, size, 6).mean(axis=1)
    force = np.linalg.norm(blocks[:, :3], axis=1)
    measured = _measured(series, load, smeared)[: count * size].reshape(count, size).all(axis=1)
    low = (force < EMPTY_SHARE * load) & measured
    if low.sum() < FEWEST_BLOCKS:
        return None
    centre = np.median(blocks[low, :3], axis=0)
    away = np.linalg.norm(blocks[:, :3] - centre, axis=1)
    # Loading and unloading pass through small forces as well, but not in the same place.
    usual = max(1.4826 * float(np.median(away[low])), 1e-4 * load)
    kept = np.zeros(count, dtype=bool)
    for first, last in _inner_runs(low & (away < QUIET * usual)):
        inside = series.values[first * size : last * size, :3]
        kept[first:last] = (last - first) * BLOCK_SECONDS > SHORT_SECONDS or _flat(inside, load)
    if kept.sum() < 2:
        return None
    return Empty(np.median(blocks[kept], axis=0), float(kept.sum()) * BLOCK_SECONDS)


def flights(series: TimeSeries, load: float, smeared: float = 0.0) -> Empty | None:
    """What the plate shows in flights that are all alike; None if there are not enough of them."""
    if not load > 0.0:
        return None
    rate = 1.0 / series.median_period
    edge = max(1, round(EDGE_SECONDS * rate))
    fewest = max(round(FLIGHT_SECONDS * rate), 2 * edge + 2)
    low = np.linalg.norm(series.values[:, :3], axis=1) < EMPTY_SHARE * load
    low &= _measured(series, load, smeared)
    means, counts = [], []
    for run in contiguous_segments(low, fewest):
        inside = series.values[run.start + edge : run.stop - edge]
        if _flat(inside[:, :3], load):
            means.append(inside.mean(axis=0))
            counts.append(len(inside))
    if len(means) < FEWEST_FLIGHTS:
        return None
    middle = np.median(means, axis=0)
    apart = np.linalg.norm(np.asarray(means)[:, :3] - middle[:3], axis=1)
    alike = apart < max(2.0 * float(np.median(apart)), FLIGHTS_APART * load)
    if np.median(apart) > FLIGHTS_APART * load or alike.sum() < FEWEST_FLIGHTS:
        return None
    weights = np.where(alike, counts, 0)
    return Empty(
        np.average(means, axis=0, weights=weights), float(weights.sum()) * series.median_period
    )


def _inner_runs(mask: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Runs of at least FEWEST_BLOCKS without their first and last element."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], mask.astype(np.int8), [0]])))
    return [
        (int(first) + 1, int(last) - 1)
        for first, last in zip(edges[::2], edges[1::2], strict=True)
        if last - first >= FEWEST_BLOCKS
    ]


def _flat(force: Array, load: float) -> bool:
    """Whether forces (n, 3) neither lean nor bend, but for noise."""
    count = len(force)
    if count < 8:
        return True
    quarter, half = count // 4, count // 2
    outside = np.concatenate([force[:quarter], force[-quarter:]]).mean(axis=0)
    bend = outside - force[quarter:-quarter].mean(axis=0)
    lean = force[:half].mean(axis=0) - force[half:].mean(axis=0)
    noise = np.std(np.diff(force, axis=0)) / np.sqrt(2.0) * 2.0 / np.sqrt(count)
    return bool(max(np.abs(bend).max(), np.abs(lean).max()) < max(4.0 * noise, BEND * load))


def _force(series: TimeSeries) -> Array:
    return np.asarray(np.linalg.norm(series.values[:, :3], axis=1))
