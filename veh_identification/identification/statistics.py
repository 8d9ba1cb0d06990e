"""Statistics of an estimate: Venture 2006 (24), (26)-(28) and Abdellatif 2009 (11)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from veh_identification.errors import EstimationError
from veh_identification.identification.factor import Factor, deficient_columns
from veh_identification.types import Array

WELL_IDENTIFIED_PERCENT = 10.0


@dataclass(frozen=True)
class Deviations:
    """Deviations of every parameter, all derived from one covariance matrix (27)."""

    std: Array
    rel_std_percent: Array  # (28); inf for a value of zero
    interval: Array  # (parameters, 2): value -/+ 2 sigma
    well_identified: NDArray[np.bool_]

    @property
    def rel_two_sigma_percent(self) -> Array:
        """The relative 95 % interval, the other column of Venture 2006."""
        return 2.0 * self.rel_std_percent


def deviations(
    value: Array, covariance: Array, threshold_percent: float = WELL_IDENTIFIED_PERCENT
) -> Deviations:
    """Standard and relative deviations, 2-sigma intervals and the well-identified flag.

    The flag (sigma% < 10) says little about parameters whose true value is near zero.
    """
    std = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    with np.errstate(divide='ignore', invalid='ignore'):
        relative = np.where(value != 0.0, 100.0 * std / np.abs(value), np.inf)
    interval = np.stack([value - 2.0 * std, value + 2.0 * std], axis=1)
    return Deviations(std, relative, interval, relative < threshold_percent)


def correlation(covariance: Array) -> Array:
    """Correlation coefficients of the estimates (Abdellatif 2009, equation 11)."""
    std = np.sqrt(np.diag(covariance))
    std = np.where(std > 0.0, std, 1.0)
    result = covariance / np.outer(std, std)
    np.fill_diagonal(result, 1.0)
    return result


def correlation_condition(covariance: Array) -> float:
    """Condition number of the correlation matrix (Abdellatif 2009, text after equation 11)."""
    values = np.linalg.eigvalsh(correlation(covariance))
    return float(values[-1] / values[0]) if values[0] > 0.0 else float('inf')


def noise_variance(factor: Factor, unknowns: int) -> float:
    """Unbiased variance of the weighted residuals (26)."""
    return factor.rss / (factor.rows - unknowns)


def equation_sigma(rss: float, samples: int, unknowns: int) -> float:
    """Standard deviation of one equation's residuals (24)."""
    return float(np.sqrt(rss / (samples - unknowns)))


def require_rows(rows: int, columns: int, names: Sequence[str]) -> None:
    """Refuse a problem with fewer rows than unknowns."""
    if len(names) != columns:
        raise EstimationError(f'{len(names)} names were given for {columns} columns of W')
    if rows <= columns:
        raise EstimationError(
            f'{rows} equations (samples times equations per sample) cannot determine '
            f'{columns} parameters: the recording is too short'
        )


def require_determined(factor: Factor, names: Sequence[str]) -> None:
    """Refuse a problem with too few rows or with unknowns that the data do not determine."""
    require_rows(factor.rows, len(factor.z), names)
    rank, columns = deficient_columns(factor.R)
    if rank < len(names):
        raise EstimationError(
            f'the recording does not excite all parameters (rank {rank} of {len(names)}); '
            f'undetermined: {_listed([names[i] for i in columns])}'
        )


def _listed(names: Sequence[str], limit: int = 40) -> str:
    shown = ', '.join(names[:limit])
    return shown if len(names) <= limit else f'{shown} and {len(names) - limit} more'
