"""Consistency of a filter: NEES and NIS with their chi-square bands."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import chi2

from veh_identification.errors import EstimationError


@dataclass(frozen=True)
class Consistency:
    """Average normalised square and the band in which a consistent filter keeps it."""

    average: float
    lower: float
    upper: float
    expected: float
    samples: int
    consistent: bool


def normalised_error_square(error: ArrayLike, covariance: ArrayLike) -> float:
    """NEES e^T P^-1 e of one estimate."""
    e = np.asarray(error, dtype=float)
    return float(e @ np.linalg.solve(np.asarray(covariance, dtype=float), e))


def normalised_innovation_square(innovation: ArrayLike, covariance: ArrayLike) -> float:
    """NIS nu^T S^-1 nu of one innovation."""
    return normalised_error_square(innovation, covariance)


def average_band(degrees: float, samples: int, confidence: float = 0.95) -> tuple[float, float]:
    """Two-sided band of the average of `samples` independent chi-square values."""
    if samples < 1 or degrees <= 0.0:
        raise EstimationError(
            f'a consistency band needs samples and degrees of freedom, found '
            f'{samples} and {degrees}'
        )
    tail = 0.5 * (1.0 - confidence)
    freedom = degrees * samples
    return (
        float(chi2.ppf(tail, freedom)) / samples,
        float(chi2.ppf(1.0 - tail, freedom)) / samples,
    )


def consistency(values: ArrayLike, degrees: float, confidence: float = 0.95) -> Consistency:
    """Judge independent NEES or NIS values (one per seed) with `degrees` each."""
    v = np.asarray(values, dtype=float).ravel()
    v = v[np.isfinite(v)]
    low, high = average_band(degrees, v.size, confidence)
    average = float(v.mean())
    return Consistency(average, low, high, degrees, v.size, low <= average <= high)


def fraction_inside(values: ArrayLike, degrees: float, confidence: float = 0.95) -> float:
    """Share of times (rows) at which the average over seeds (columns) lies in its band."""
    v = np.asarray(values, dtype=float)
    low, high = average_band(degrees, v.shape[1], confidence)
    means = v.mean(axis=1)
    return float(np.mean((means >= low) & (means <= high)))
