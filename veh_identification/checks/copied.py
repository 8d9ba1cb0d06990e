"""Channels that hold the values of another one: a cable split, a line copied in a driver."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from veh_identification.findings import Finding
from veh_identification.types import Array

#: Samples that it takes to tell, and share of them that are the same to the last bit.
FEWEST, SAME = 200, 0.98


def check_copied(values: Array, places: Sequence[str]) -> list[Finding]:
    """Measured channels (columns, with their places) of which two never differ.

    Noise makes no two sensors alike. What may be one quantity by its nature is not to be asked.
    """
    found = []
    for a, b in combinations(range(values.shape[1]), 2):
        known = np.isfinite(values[:, a]) & np.isfinite(values[:, b])
        first, second = values[known, a], values[known, b]
        if len(first) < FEWEST or not (np.ptp(first) > 0.0 and np.ptp(second) > 0.0):
            continue
        # A channel that mostly rests at one value is like any other one that does.
        moved = (first != np.median(first)) | (second != np.median(second))
        if moved.sum() < FEWEST or np.mean(first[moved] == second[moved]) < SAME:
            continue
        text = (
            f'{places[a]} and {places[b]} hold the same values to the last bit: one of them is a '
            'copy of the other (a cable, a channel list, a line of the driver)'
        )
        found.append(Finding('bad', 'copied', text, f'{places[a]}, {places[b]}'))
    return found
