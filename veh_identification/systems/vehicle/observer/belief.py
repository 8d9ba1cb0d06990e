"""Beliefs that evidence may take back: a parameter is about zero until sensors say otherwise.

Inertial units are mounted with care and wheels stamped well, or they are not: one Gaussian states
neither. So a parameter begins with the small deviation of a good car, and what the sensors alone
tell is compared with that. Where it is surely something else, the belief is exchanged for one that
allows for it, as if it had never been held: of a linear filter that is exact, for all states.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from veh_identification.types import Array


class Told(NamedTuple):
    """What the sensors alone tell of a parameter, and its deviation."""

    value: float = 0.0
    deviation: float = math.inf


class Belief(NamedTuple):
    """Deviations of a parameter about zero: of most cars, and of all."""

    usual: float
    widest: float


def told_alone(value: float, variance: float, believed: float) -> Told:
    """Of an estimate that began as zero with the deviation `believed`."""
    information = believed**2 / max(variance, 1e-300) - 1.0  # over that of the belief
    if not information > 0.0:
        return Told()
    return Told(value * (1.0 + information) / information, believed / math.sqrt(information))


def exchanged(P: Array, state: int, value: float, belief: Belief) -> Array | None:
    """Errors of all states once a belief is the wide one; changes P.

    `value`: of the parameter at `state`. None: nothing was told of it.
    """
    less = belief.usual**-2 - belief.widest**-2  # information
    left = 1.0 - less * float(P[state, state])
    if left <= 0.0:
        return None
    gain = P[:, state] * (less / left)
    P += np.outer(gain, P[state])
    return np.asarray(gain * value)
