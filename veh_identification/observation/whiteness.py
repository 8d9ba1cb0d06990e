"""Whiteness of the innovation by the cumulative periodogram (equations 60-62)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import kstwobign

from veh_identification.errors import EstimationError
from veh_identification.types import Array


@dataclass(frozen=True)
class Whiteness:
    """Cumulative periodogram against the straight line of white noise.

    `frequencies` are relative to the sampling rate (0 to 1/2). The sequence is called white when
    the curve stays within `band` of the line everywhere.
    """

    frequencies: Array
    cumulative: Array
    line: Array
    statistic: float
    band: float
    p_value: float
    white: bool


def cumulative_periodogram(innovation: ArrayLike, significance: float = 0.05) -> Whiteness:
    """Test a sequence for whiteness.

    The largest distance between the normalised cumulative periodogram and the line follows the
    Kolmogorov-Smirnov law, so the band at `significance` comes from its distribution.
    """
    e = np.asarray(innovation, dtype=float).ravel()
    if e.size < 32 or not np.all(np.isfinite(e)):
        raise EstimationError(
            'a whiteness test needs at least 32 finite innovations, found '
            f'{int(np.isfinite(e).sum())} of {e.size}'
        )
    count = (e.size - 1) // 2
    spectrum = np.abs(np.fft.rfft(e - e.mean())[1 : count + 1]) ** 2
    total = spectrum.sum()
    if total <= 0.0:
        raise EstimationError('a whiteness test needs an innovation that is not constant')
    cumulative = np.cumsum(spectrum) / total
    line = np.arange(1, count + 1) / count
    statistic = float(np.max(np.abs(cumulative - line)))
    # Durbin's form: q ordinates behave like an empirical law of q - 1 points
    root = np.sqrt(count - 1)
    adjusted = statistic * (root + 0.2 + 0.68 / root)
    limit = float(kstwobign.isf(significance)) / (root + 0.2 + 0.68 / root)
    return Whiteness(
        np.arange(1, count + 1) / e.size,
        cumulative,
        line,
        statistic,
        limit,
        float(kstwobign.sf(adjusted)),
        statistic <= limit,
    )
