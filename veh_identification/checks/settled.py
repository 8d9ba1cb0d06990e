"""What is the same for every machine: gravity, and means that nobody has by chance."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from veh_identification.findings import Finding
from veh_identification.findings.numbers import listed
from veh_identification.signals.spread import spread
from veh_identification.types import Array

#: Gravity on the surface of the earth [m/s^2], mountains and poles included, a little more.
LEAST_GRAVITY, MOST_GRAVITY = 9.74, 9.86
#: Means over deviations that are none by chance (noise alone leaves more), of so many channels.
NO_MEAN, CHANNELS = 1e-5, 3


def check_gravity(size: float, where: str = 'gravity') -> list[Finding]:
    """An entry that is not that of the earth; none at all is a matter of the fit."""
    if size == 0.0 or LEAST_GRAVITY <= size <= MOST_GRAVITY:
        return []
    text = (
        f'{where} is {size:.4g} m/s^2, on earth it is 9.76 to 9.84: weights are divided by it, '
        'and masses come out wrong by as much'
    )
    return [Finding('warn', 'gravity', text, where, size=size)]


def check_means(values: Array, places: Sequence[str], code: str) -> list[Finding]:
    """Channels (columns, with their places) whose means have been taken off."""
    size = np.array([spread(one) for one in values.T])
    moving = size > 0.0
    if moving.sum() < CHANNELS:
        return []
    means = np.abs(np.nanmean(values[:, moving], axis=0)) / size[moving]
    if not (means < NO_MEAN).all():
        return []
    names = [place for place, moves in zip(places, moving, strict=True) if moves]
    text = (
        f'the means of {listed(names)} are all zero: they have been taken off, or a high pass has '
        'done so, and what carries weight has lost it: record them with their means'
    )
    return [Finding('bad', code, text, names[0])]
