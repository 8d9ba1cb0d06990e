"""Has something changed? Compares two estimates by the chi-square distribution."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import chi2, norm

from veh_identification.errors import EstimationError
from veh_identification.identification.blocks import Array, Selection


@dataclass(frozen=True)
class ChangeTest:
    """Outcome of comparing a recent estimate with a stored one."""

    changed: bool
    statistic: float  # d' C^-1 d
    threshold: float  # chi-square quantile
    degrees: int
    probability: float  # of a statistic at least as large without a change
    z_scores: Array
    parameters: list[str]  # those that differ on their own (Bonferroni-corrected)


def change_test(
    recent: Array,
    recent_covariance: Array,
    stored: Array,
    stored_covariance: Array,
    names: Sequence[str],
    significance: float = 0.01,
    considered: Selection | None = None,
) -> ChangeTest:
    """Test whether two independent estimates of the same parameters differ.

    `considered` (indices or mask) leaves out what is not excited; its joint statistic is
    chi-square distributed with as many degrees of freedom as parameters are compared.
    """
    if len(recent) != len(stored) or len(recent) != len(names):
        raise EstimationError(
            f'cannot compare {len(recent)} recent with {len(stored)} stored parameters'
        )
    index = np.arange(len(names)) if considered is None else np.arange(len(names))[considered]
    if len(index) == 0:
        raise EstimationError('no parameter is left to compare: none is excited')
    difference = (np.asarray(recent) - np.asarray(stored))[index]
    covariance = (np.asarray(recent_covariance) + np.asarray(stored_covariance))[
        np.ix_(index, index)
    ]
    std = np.sqrt(np.diag(covariance))
    if not (np.all(np.isfinite(std)) and np.all(std > 0.0)):
        bad = [names[i] for i, s in zip(index, std, strict=True) if not s > 0.0]
        raise EstimationError(f'no deviation is known for {", ".join(bad) or "a parameter"}')
    z = difference / std
    values, vectors = np.linalg.eigh(covariance / np.outer(std, std))
    usable = values > 1e-12 * values[-1]  # perfectly correlated parameters count once
    statistic = float(np.sum(np.square(vectors.T @ z)[usable] / values[usable]))
    degrees = int(np.count_nonzero(usable))
    threshold = float(chi2.isf(significance, degrees))
    limit = float(norm.isf(0.5 * significance / len(index)))
    scores = np.zeros(len(names))
    scores[index] = z
    return ChangeTest(
        statistic > threshold,
        statistic,
        threshold,
        degrees,
        float(chi2.sf(statistic, degrees)),
        scores,
        [names[i] for i in index if abs(scores[i]) > limit],
    )
