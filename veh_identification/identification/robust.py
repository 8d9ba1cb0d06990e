"""Robust estimate by iteratively reweighted least squares (Huber or Tukey), streamed.

Every iteration is one pass: residuals, weights, weighted factor and the next scale together. The
scale of each equation is the median absolute residual, read from a histogram over logarithmic
bins so that no residual has to be kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from veh_identification.errors import EstimationError
from veh_identification.identification.accumulator import Accumulator, Information
from veh_identification.identification.blocks import BlockSource, require_reiterable
from veh_identification.identification.least_squares import Estimate
from veh_identification.identification.residuals import residual_blocks
from veh_identification.identification.statistics import require_determined
from veh_identification.types import Array

Loss = Literal['huber', 'tukey']
# Tuning constants for 95 % efficiency under Gaussian noise.
TUNING: dict[str, float] = {'huber': 1.345, 'tukey': 4.685}
MAD_TO_SIGMA = 1.4826022185056018  # 1 / normal quantile of 0.75


def loss_functions(u: Array, loss: Loss) -> tuple[Array, Array, Array]:
    """Weight psi(u) / u, psi(u) and psi'(u) of scaled residuals."""
    c = TUNING[loss]
    size = np.abs(u)
    if loss == 'huber':
        weight = np.minimum(1.0, c / np.maximum(size, c))
        return weight, weight * u, (size <= c).astype(float)
    inside = np.where(size < c, 1.0 - np.square(u / c), 0.0)
    weight = np.square(inside)
    slope = np.where(size < c, inside * (1.0 - 5.0 * np.square(u / c)), 0.0)
    return weight, weight * u, slope


class _MedianHistogram:
    """Median of absolute residuals per equation from logarithmic bins (1 % wide, interpolated)."""

    def __init__(self, centre: Array) -> None:
        self._edges = np.exp(np.linspace(np.log(1e-8), np.log(1e8), 3700))
        self._centre = np.maximum(centre, 1e-300)
        self._counts = np.zeros((len(centre), len(self._edges) + 1))

    def add(self, residuals: Array, valid: NDArray[np.bool_]) -> None:
        bins = np.searchsorted(self._edges, np.abs(residuals) / self._centre)
        for j, row in enumerate(bins.T):
            self._counts[j] += np.bincount(row[valid[:, j]], minlength=self._counts.shape[1])

    def median(self) -> Array:
        result = np.empty(len(self._centre))
        for j, counts in enumerate(self._counts):
            cumulated = np.cumsum(counts)
            half = 0.5 * cumulated[-1]
            index = int(np.searchsorted(cumulated, half))
            before = cumulated[index] - counts[index]
            low = self._edges[max(index - 1, 0)]
            high = self._edges[min(index, len(self._edges) - 1)]
            result[j] = low + (high - low) * (half - before) / max(counts[index], 1.0)
        return result * self._centre


@dataclass(frozen=True)
class RobustFit:
    """The robust estimate and what it made of the data."""

    estimate: Estimate
    iterations: int
    converged: bool
    down_weighted: Array  # per equation: share of rows with a weight below one half


@dataclass(frozen=True)
class _Pass:
    information: Information
    scale: Array
    moments: Array  # (3, equations): mean psi^2, mean psi', share of small weights


def robust_fit(
    source: BlockSource,
    names: Sequence[str],
    equation_names: Sequence[str],
    start: Estimate,
    information: Information,
    loss: Loss = 'huber',
    iterations: int = 50,
) -> RobustFit:
    """Reweight from a first estimate until no parameter moves by a hundredth of its deviation.

    `information` is the unweighted one of the recording: it gives the covariance of the estimate.
    """
    if loss not in TUNING:
        raise EstimationError(f'loss must be one of {", ".join(TUNING)}, found {loss!r}')
    require_reiterable(source, 'the robust estimator')
    value = start.value
    scale = _first_scale(source, value, start.sigma)
    converged = False
    count = 0
    while count < max(iterations, 1) and not converged:
        count += 1
        step = _reweighted_pass(source, value, scale, loss)
        factor = step.information.combined(1.0 / scale)
        require_determined(factor, names)
        update = factor.solve()
        covariance = _covariance(information, scale, step.moments, len(names))
        moved = np.abs(update - value) / np.sqrt(np.diag(covariance))
        value, used, scale = update, scale, step.scale
        converged = bool(moved.max() < 0.01)
    estimate = Estimate(value, covariance, factor, 1.0 / used, used, f'robust-{loss}')
    return RobustFit(estimate, count, converged, step.moments[2])


def _first_scale(source: BlockSource, value: Array, sigma: Array) -> Array:
    histogram = _MedianHistogram(sigma)
    for residuals, block in residual_blocks(source, value):
        histogram.add(residuals, block.valid)
    return np.maximum(MAD_TO_SIGMA * histogram.median(), 1e-12 * sigma)


def _reweighted_pass(source: BlockSource, value: Array, scale: Array, loss: Loss) -> _Pass:
    histogram = _MedianHistogram(scale)
    accumulator: Accumulator | None = None
    sums = np.zeros((3, len(scale)))
    for residuals, block in residual_blocks(source, value):
        weight, psi, slope = loss_functions(residuals / scale, loss)
        root = np.sqrt(weight)
        accumulator = accumulator or Accumulator(len(scale), len(value))
        accumulator.add(block.W * root[:, :, None], block.Y * root, block.valid)
        histogram.add(residuals, block.valid)
        sums[0] += np.square(psi).sum(axis=0)  # residuals of rows that are missing are zero
        sums[1] += np.where(block.valid, slope, 0.0).sum(axis=0)
        sums[2] += (weight < 0.5).sum(axis=0)
    if accumulator is None:
        raise ValueError('the source was empty on a later pass')
    information = accumulator.information()
    median = np.maximum(MAD_TO_SIGMA * histogram.median(), 1e-12 * scale)
    return _Pass(information, median, sums / np.maximum(information.counts, 1))


def _covariance(information: Information, scale: Array, moments: Array, unknowns: int) -> Array:
    """Covariance of an M-estimate: H^-1 S H^-1, H with mean psi', S with mean psi^2."""
    slope = np.maximum(moments[1], 0.05)
    bread = information.combined(np.sqrt(slope) / scale)
    filling = information.combined(np.sqrt(moments[0]) / scale)
    inverse = bread.inverse()
    spread = filling.R @ inverse
    rows = int(information.rows.sum())
    return inverse @ (spread.T @ spread) @ inverse.T * rows / (rows - unknowns)
