"""Consistency of a filter: the chi-square band of averages of NEES or NIS."""

from __future__ import annotations

from scipy.stats import chi2

from veh_identification.errors import EstimationError


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
