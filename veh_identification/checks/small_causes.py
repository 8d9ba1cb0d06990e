"""Causes too small for the misfit to show that move the values by many deviations all the same.

Where a mistake makes less of the misfit than noise does, no search for the least misfit tells it:
it never becomes twice as small. Its size may be known well nevertheless, as thousands of
residuals speak of one number. Such a cause is told, with its deviation, where nothing but noise is
left with it; a model that errs in other ways as well would make every cause significant.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from typing import Generic, TypeVar

import numpy as np
from scipy.optimize import minimize_scalar

from veh_identification.checks.explanation import Family, Hypothesis, judged
from veh_identification.findings import Finding
from veh_identification.types import Array

D = TypeVar('D')
#: Deviations from nothing that a size must have.
SURE = 6.0
#: Squares of what is left with it over those of noise: at most this.
NOISE_ALONE = 1.1
#: Pieces of the recording whose residuals are taken as one each: noise need not be white.
PIECES = 30
#: Steps up to which a size is sought, and the share of one to which it is found.
FARTHEST, EXACT = 20.0, 0.02


@dataclass(frozen=True)
class SmallCause(Generic[D]):
    """A cause whose size the residuals tell."""

    hypothesis: Hypothesis[D]
    deviations: float  # root of how much likelier the data are with it
    left: float  # sum of the squares of the residuals with it


def small_cause(
    data: D,
    families: Iterable[Family[D]],
    residual: Callable[[D], Array],
    variance: float,
) -> SmallCause[D] | None:
    """The one that leaves least, if its size is sure and noise of that variance is all it leaves.

    `residual` is what the best parameters leave of the signals, in the order of time; a family's
    first size is the step by which its effect is measured, to both sides.
    """
    own = residual(data)
    found = [_sized(data, family, residual, own, variance) for family in families]
    sure = [one for one in found if one is not None and one.deviations > SURE]
    best = min(sure, key=lambda one: one.left, default=None)
    if best is None or best.left > NOISE_ALONE * variance * len(own):
        return None
    return best


def _sized(
    data: D, family: Family[D], residual: Callable[[D], Array], own: Array, variance: float
) -> SmallCause[D] | None:
    """The best size of one family; None where one step to either side makes nothing better.

    By the squares themselves and not along the residuals: noise turns with what is changed, and
    dry friction jumps.
    """
    unknown = np.full_like(own, np.inf)

    @cache
    def left(size: float) -> float:
        made = judged(data, family.of(size), residual, unknown)
        return float(np.square(made).sum())

    here, step = float(own @ own), family.directions[0][0]
    step = min((-step, step), key=left)
    if not left(step) < here - SURE * variance:
        return None
    inner, outer = step, 2.0 * step
    while left(outer) < left(inner) and abs(outer) < FARTHEST * abs(step):
        inner, outer = outer, 2.0 * outer
    ends = sorted((0.5 * inner if inner != step else 0.0, outer))
    found = minimize_scalar(
        left, bounds=(ends[0], ends[1]), method='bounded', options={'xatol': EXACT * abs(step)}
    )
    one = family.of(float(found.x))
    rest = judged(data, one, residual, unknown)
    if not np.isfinite(rest).all():
        return None
    squares = float(rest @ rest)
    gain = max(here - squares, 0.0) / variance
    return SmallCause(one, math.sqrt(gain / _colour(own - rest, rest, variance)), squares)


def _colour(effect: Array, rest: Array, variance: float) -> float:
    """How many times the variance of a size is that with white noise, one at least."""
    pieces = np.array([np.sum(one) for one in np.array_split(effect * rest, PIECES)])
    white = variance * float(effect @ effect)
    return max(float(pieces @ pieces) / white, 1.0) if white > 0.0 else 1.0


def small_cause_findings(found: SmallCause[D] | None, label: str) -> list[Finding]:
    """A doubt, not a proof: the misfit itself hardly tells it."""
    if found is None:
        return []
    one = found.hypothesis
    text = (
        f'{label}: {one.text}; noise hides most of it, yet it is {found.deviations:.3g} '
        'deviations from nothing, noise is all that is left with it, and values are off by more '
        'than their deviations without it'
    )
    where = f'{label}, {one.where}' if one.where else label
    return [Finding('warn', one.code, text, where, size=found.deviations)]
