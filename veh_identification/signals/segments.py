"""Contiguous stretches of usable samples."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
from scipy.ndimage import minimum_filter1d

from veh_identification.types import Array, BoolArray

#: Steps whose mean tells the period of a sensor whose stamps come in bursts.
BURST = 50
#: Seconds within which messages behind a late one have caught up.
CATCH_UP = 0.25


def usual_step(stamps: Array) -> float:
    """The period of a sensor by its increasing stamps; NaN where no two of them differ.

    The median of the steps, since it does not see pauses. Messages that wait and then come at once
    make it far too short; then it is the median of the mean of some steps.
    """
    steps = np.diff(stamps)
    steps = steps[steps > 0.0]
    if not len(steps):
        return float('nan')
    count = min(BURST, len(steps))
    total = np.concatenate([[0.0], np.cumsum(steps)])
    median, mean = np.median(steps), np.median(total[count:] - total[:-count]) / count
    return float(median if median > 0.5 * mean else mean)


def contiguous_segments(valid: BoolArray, minimum_length: int = 1) -> list[slice]:
    """Maximal runs of True that hold at least `minimum_length` samples."""
    padded = np.concatenate([[False], np.asarray(valid, dtype=bool), [False]]).astype(np.int8)
    edges = np.diff(padded)
    starts, ends = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1)
    return [
        slice(int(a), int(b)) for a, b in zip(starts, ends, strict=True) if b - a >= minimum_length
    ]


def gap_segments(stamps: Array, max_gap: float) -> list[slice]:
    """Runs of increasing stamps without a pause longer than `max_gap` seconds."""
    if len(stamps) == 0:
        return []
    breaks = np.flatnonzero(np.diff(stamps) > max_gap) + 1
    edges = [0, *breaks.tolist(), len(stamps)]
    return [slice(a, b) for a, b in itertools.pairwise(edges)]


def sent_segments(stamps: Array, max_gap: float) -> list[slice]:
    """Runs without a pause of the sender, by the stamps of arrival.

    A message that comes late, and those behind it that catch up, make no pause: from none on are
    all that follow later than the even steps.
    """
    if len(stamps) < 3:
        return gap_segments(stamps, max_gap)
    step = usual_step(stamps)
    even = step * np.arange(len(stamps))
    half = max(1, round(0.5 * CATCH_UP / step))
    caught_up = minimum_filter1d(stamps - even, 2 * half + 1, mode='nearest', origin=-half)
    return gap_segments(even + caught_up, max_gap)


def erode(valid: BoolArray, count: int) -> BoolArray:
    """Take `count` samples off both ends of every run: where a filter's transient lives."""
    result = np.zeros(len(valid), dtype=bool)
    for segment in contiguous_segments(valid, 2 * count + 1):
        result[segment.start + count : segment.stop - count] = True
    return result


def apply_per_segment(
    values: Array,
    valid: BoolArray,
    function: Callable[[Array], Array],
    minimum_length: int,
) -> Array:
    """Apply `function` to every long enough valid run; NaN elsewhere."""
    result = np.full(values.shape, np.nan)
    for segment in contiguous_segments(valid, minimum_length):
        result[segment] = function(values[segment])
    return result
