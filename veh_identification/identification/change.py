"""Has something changed? Compares two estimates by the chi-square or the F distribution."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import chi2, f, norm, t

from veh_identification.errors import EstimationError
from veh_identification.identification.blocks import Selection
from veh_identification.types import Array


@dataclass(frozen=True)
class ChangeTest:
    """Outcome of comparing a recent estimate with a stored one."""

    changed: bool
    statistic: float  # d' C^-1 d
    threshold: float  # chi-square quantile, or Hotelling's with `freedom`
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
    freedom: float | None = None,
) -> ChangeTest:
    """Test whether two independent estimates of the same parameters differ.

    `considered` (indices or mask) leaves out what is not excited; its joint statistic is
    chi-square distributed with as many degrees of freedom as parameters are compared, *if* the
    covariances are known. Those of coloured noise come from few independent residuals: taken as
    known, they gave 7 to 18 % of false alarms at a nominal 5 % (9 and 24 parameters, 600 samples,
    cut-off at 0.1 and 0.05 of Nyquist). `freedom`, the number of independent residuals behind
    both covariances (the sum of the two results' `freedom`), allows for the scatter of the
    covariances by Hotelling's T^2 distribution, and for their being a little small (the fit takes
    up part of the noise, of which only an estimate is given back): 2 to 6 % in the same cases.
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
    threshold, probability = _joint(statistic, degrees, significance, freedom)
    single = norm if freedom is None else t(freedom)
    limit = float(single.isf(0.5 * significance / len(index)))
    scores = np.zeros(len(names))
    scores[index] = z
    return ChangeTest(
        statistic > threshold,
        statistic,
        threshold,
        degrees,
        probability,
        scores,
        [names[i] for i in index if abs(scores[i]) > limit],
    )


def _joint(
    statistic: float, degrees: int, significance: float, freedom: float | None
) -> tuple[float, float]:
    """Threshold of the statistic, and the probability of one at least as large by chance."""
    if freedom is None:
        return float(chi2.isf(significance, degrees)), float(chi2.sf(statistic, degrees))
    rest = freedom - degrees + 1.0
    if not rest > 0.0:
        raise EstimationError(
            f'{freedom:.1f} independent residuals are too few to compare {degrees} parameters'
        )
    # Hotelling: T^2 is distributed like this times F, if the covariances are right on average.
    # Those of coloured noise were 5 to 7 % small where `degrees / freedom` was 5 %.
    scale = degrees * freedom / rest * (1.0 + degrees / freedom)
    threshold = scale * f.isf(significance, degrees, rest)
    return float(threshold), float(f.sf(statistic / scale, degrees, rest))
