"""Reductions made of numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from veh_identification.fleets.reduction import Reduction

DAY_NS = 86_400 * 1_000_000_000


def reduction(
    value: ArrayLike,
    covariance: ArrayLike,
    day: int = 0,
    names: tuple[str, ...] = ('Mc', 'k1'),
    **more: Any,
) -> Reduction:
    """Of a car, on a day."""
    entries = {
        'verdict': 'yes',
        'headline': 'Yes.',
        'samples': 100,
        'seconds': 10.0,
        'meanings': ('',) * len(names),
        **more,
    }
    return Reduction(
        'car',
        names,
        ('kg',) * len(names),
        value=np.asarray(value, float),
        covariance=np.asarray(covariance, float),
        start_ns=1_700_000_000_000_000_000 + day * DAY_NS,
        **entries,
    )
