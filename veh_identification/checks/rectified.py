"""Channels whose signs were lost: magnitudes, registers without a sign, what pushes alone.

One channel may be positive all the time for a reason, and come near zero by chance. That none of
several like channels ever has another sign, and most of them come to zero and no further, is no
chance.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from veh_identification.findings import Finding
from veh_identification.findings.numbers import listed
from veh_identification.types import Array

#: Samples that it takes to tell.
FEWEST = 400
#: Of the largest value: how far beyond zero a channel without signs may be (rounding), and how
#: near it comes.
BEYOND, NEAR, QUANTILE = 1e-3, 0.01, 0.98
#: Channels that must come to zero: so many, and this share of those that move.
CHANNELS, MOST = 3, 0.5


def check_rectified(values: Array, places: Sequence[str]) -> list[Finding]:
    """Like channels (columns, with their places) of which none has both signs."""
    known = values[np.isfinite(values).all(axis=1)]
    if len(known) < FEWEST:
        return []
    size = np.quantile(np.abs(known), QUANTILE, axis=0)
    moving = (size > 0.0) & (np.ptp(known, axis=0) > 0.0)
    if moving.sum() < CHANNELS:
        return []
    shown = known[:, moving] / size[moving]
    shown = shown * np.where(np.median(shown, axis=0) < 0.0, -1.0, 1.0)
    if (shown.min(axis=0) < -BEYOND).any():
        return []
    near = shown.min(axis=0) < NEAR
    if near.sum() < max(CHANNELS, MOST * moving.sum()):
        return []
    names = [place for place, moves in zip(places, moving, strict=True) if moves]
    text = (
        f'{names[0]}: none of the {len(names)} channels like it ever has another sign, though '
        f'{int(near.sum())} of them come to zero: their signs were lost on the way (magnitudes, '
        f'registers without a sign, one direction alone): {listed(names)} must be recorded with '
        'their signs'
    )
    return [Finding('bad', 'rectified', text, names[0], size=float(near.sum()))]
