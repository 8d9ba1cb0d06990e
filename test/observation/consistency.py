"""NEES and NIS over seeds, judged by their chi-square bands."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from veh_identification.observation import average_band


@dataclass(frozen=True)
class Consistency:
    """Average normalised square, and whether a consistent filter keeps it there."""

    average: float
    samples: int
    consistent: bool


def normalised_error_square(error: ArrayLike, covariance: ArrayLike) -> float:
    """NEES e^T P^-1 e of one estimate."""
    e = np.asarray(error, dtype=float)
    return float(e @ np.linalg.solve(np.asarray(covariance, dtype=float), e))


def consistency(values: ArrayLike, degrees: float) -> Consistency:
    """Judge independent NEES or NIS values (one per seed) with `degrees` each."""
    v = np.asarray(values, dtype=float).ravel()
    v = v[np.isfinite(v)]
    low, high = average_band(degrees, v.size)
    average = float(v.mean())
    return Consistency(average, v.size, low <= average <= high)


def fraction_inside(values: ArrayLike, degrees: float) -> float:
    """Share of times (rows) at which the average over seeds (columns) lies in its band."""
    v = np.asarray(values, dtype=float)
    low, high = average_band(degrees, v.shape[1])
    means = v.mean(axis=1)
    return float(np.mean((means >= low) & (means <= high)))
