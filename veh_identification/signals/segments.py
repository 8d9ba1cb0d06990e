"""Contiguous stretches of usable samples."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np

from veh_identification.types import Array, BoolArray


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
