"""Channels of a machine that repeats its motion: each period must look like the others."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from veh_identification.findings import Finding
from veh_identification.types import Array

#: Phases of a period at which means are compared.
PHASES = 48
#: Gain of a period over the one before (in logarithms) that no load or warming up explains, and
#: the least correlation of two periods.
GAIN, ALIKE = 0.35, 0.5
#: With more periods than that the first one does not count.
SETTLED = 3
#: Share of the channel's variation that is noise: beyond it periods tell nothing.
NOISY = 0.5


def check_periods(
    time: Array, values: Array, period: float, places: Sequence[str]
) -> list[Finding]:
    """Channels (columns, with their places) that are others from some period on."""
    if len(time) < 2 or not period > 0.0:
        return []
    # The last sample stands for its time, too, or a recording of three periods would have two.
    whole = int(np.floor((time[-1] - time[0] + np.median(np.diff(time))) / period + 1e-6))
    if whole < 2:
        return []
    cycle = (time - time[0]) / period
    number = np.minimum(cycle.astype(int), whole)
    phase = np.minimum((PHASES * (cycle - number)).astype(int), PHASES - 1)
    cells = number * PHASES + phase
    count = np.bincount(cells, minlength=(whole + 1) * PHASES)[: whole * PHASES]
    found = []
    for k, place in enumerate(places):
        total = np.bincount(cells, values[:, k], minlength=(whole + 1) * PHASES)
        with np.errstate(invalid='ignore', divide='ignore'):
            means = (total[: whole * PHASES] / count).reshape(whole, PHASES)
        found += _changes(means, time[0] + period * np.arange(whole), place)
    return found


def _changes(means: Array, begins: Array, place: str) -> list[Finding]:
    """The first period that is not like the one before."""
    means = means[:, np.isfinite(means).all(axis=0)]
    if means.shape[1] < PHASES // 2:
        return []
    moved = means - means.mean(axis=1, keepdims=True)
    sizes = moved.std(axis=1)
    noise = float(np.median(np.abs(np.diff(moved, 2, axis=1)))) if means.shape[1] > 2 else 0.0
    if not sizes.max() > 0.0 or noise > NOISY * float(sizes.max()):
        return []
    # A run-up from rest makes the first period another one.
    for k in range(2 if len(means) > SETTLED else 1, len(means)):
        product = float(np.mean(moved[k] * moved[k - 1]))
        alike = product / max(float(sizes[k] * sizes[k - 1]), 1e-300)
        gain = float(sizes[k] / max(sizes[k - 1], 1e-300))
        if alike > ALIKE and abs(np.log(max(gain, 1e-300))) < GAIN:
            continue
        scaled = abs(alike) > ALIKE
        how = f'{np.copysign(gain, alike):.3g} times what it was' if scaled else 'something else'
        text = (
            f'{place} is {how} from {begins[k]:.1f} s on, though the motion repeats: its sign, '
            'unit or source changed during the recording, or a sensor failed'
        )
        return [Finding('bad', 'changes', text, place)]
    return []
