"""Ordinary, weighted and prior-regularised least squares from the factors of a recording."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from veh_identification.errors import EstimationError
from veh_identification.identification.accumulator import Information
from veh_identification.identification.factor import Factor
from veh_identification.identification.statistics import (
    equation_sigma,
    noise_variance,
    require_determined,
    require_rows,
)
from veh_identification.types import Array

PRIOR = 'prior-regularised'


@dataclass(frozen=True)
class Estimate:
    """A solution with its covariance, and the weighted problem that it solves."""

    value: Array
    covariance: Array  # (27)
    factor: Factor  # of the weighted problem
    weights: Array  # per equation: 1 / sigma_j (ones for ordinary least squares)
    sigma: Array  # per equation: standard deviation of the noise
    estimator: str


@dataclass(frozen=True)
class Prior:
    """A-priori values with their covariance (a matrix, or standard deviations per parameter)."""

    value: Array
    covariance: Array

    @staticmethod
    def from_std(value: Array, std: Array | float) -> Prior:
        """Independent a-priori values."""
        value = np.asarray(value, float)
        return Prior(value, np.diag(np.broadcast_to(np.square(std), value.shape)).copy())

    def rows(self, parameters: int | None = None) -> tuple[Array, Array]:
        """Rows L^-1 X = L^-1 X_0 with covariance = L L'; refuses another number of parameters."""
        value, covariance = np.asarray(self.value, float), np.asarray(self.covariance, float)
        p = len(value)
        if parameters is not None and p != parameters:
            raise EstimationError(f'the prior holds {p} values for {parameters} parameters')
        if covariance.shape != (p, p):
            raise EstimationError(
                f'the prior covariance must be {p} x {p}, found {covariance.shape}'
            )
        for what, numbers in (('value', value), ('covariance', covariance)):
            wrong = np.argwhere(~np.isfinite(numbers))
            if len(wrong):
                raise EstimationError(
                    f'the prior {what} of parameter {wrong[0, 0]} (counted from 0) must be '
                    f'finite, found {numbers[tuple(wrong[0])]}'
                )
        try:
            L = np.linalg.cholesky(covariance)
        except np.linalg.LinAlgError:
            raise EstimationError('the prior covariance is not positive definite') from None
        inverse = np.linalg.inv(L)
        return inverse, inverse @ value


def estimate_sigma(information: Information, equation_names: Sequence[str]) -> Array:
    """Noise deviation of every equation, each fitted alone (24)."""
    sigma = np.empty(information.equations)
    for j, count in enumerate(information.counts):
        rank, rss = information.equation_fit(j)  # rank = n_Bj
        if count == 0:  # `floored_sigma` gives it a value, and it has no rows to weigh
            sigma[j] = 0.0
            continue
        if count <= rank:
            raise EstimationError(
                f'{count} samples cannot give a residual for equation '
                f'{equation_names[j]} with {rank} unknowns: the recording is too short'
            )
        sigma[j] = equation_sigma(rss, int(count), rank)
    return sigma


def checked_sigma(sigma: Array, equation_names: Sequence[str]) -> Array:
    """Refuse deviations that are not positive."""
    sigma = np.asarray(sigma, float)
    if sigma.shape != (len(equation_names),):
        raise EstimationError(
            f'sigma must hold one value for each of {len(equation_names)} equations, '
            f'found shape {sigma.shape}'
        )
    for name, value in zip(equation_names, sigma, strict=True):
        if not (np.isfinite(value) and value > 0.0):
            raise EstimationError(f'sigma of equation {name} must be positive, found {value:g}')
    return sigma


def ordinary(
    information: Information, names: Sequence[str], equation_names: Sequence[str]
) -> Estimate:
    """Solve (22) with equal weights; the covariance allows for unequal noise of the equations."""
    factor = information.combined()
    require_determined(factor, names)
    value = factor.solve()
    # Equal weights are not optimal under unequal noise, but the covariance can still be right.
    sigma = residual_sigma(information, value)
    inverse = factor.inverse()
    spread = information.combined(sigma).R @ inverse
    covariance = inverse @ (spread.T @ spread) @ inverse.T
    return Estimate(value, covariance, factor, np.ones(len(sigma)), sigma, 'ordinary')


def weighted(
    information: Information,
    names: Sequence[str],
    equation_names: Sequence[str],
    sigma: Array | None = None,
) -> Estimate:
    """Solve (25): rows of equation j divided by sigma_j, estimated by (24) unless given."""
    if sigma is None:
        require_rows(int(information.rows.sum()), information.columns, names)
        sigma = floored_sigma(estimate_sigma(information, equation_names), information)
    weights = 1.0 / checked_sigma(sigma, equation_names)
    factor = information.combined(weights)
    require_determined(factor, names)
    value = factor.solve()
    inverse = factor.inverse()
    variance = noise_variance(factor, len(names))  # (26)
    return Estimate(
        value,
        variance * (inverse @ inverse.T),  # (27)
        factor,
        weights,
        sigma * np.sqrt(variance),
        'weighted',
    )


def regularised(
    information: Information,
    names: Sequence[str],
    equation_names: Sequence[str],
    prior: Prior,
    sigma: Array | None = None,
) -> Estimate:
    """Add the prior's rows to the weighted problem; unexcited parameters stay at the prior."""
    if sigma is None:
        sigma = floored_sigma(estimate_sigma(information, equation_names), information)
    weights = 1.0 / checked_sigma(sigma, equation_names)
    factor = information.combined(weights).extended(*prior.rows(len(names)))
    inverse = factor.inverse()
    return Estimate(factor.solve(), inverse @ inverse.T, factor, weights, sigma, PRIOR)


def refined(estimate: Estimate, gradient: Array, prior: Prior | None = None) -> Estimate:
    """One step of iterative refinement; `gradient` (equations, columns) is W_j' (Y_j - W_j X)."""
    slope = np.square(estimate.weights) @ gradient
    if prior is not None and estimate.estimator == PRIOR:
        rows, right = prior.rows()
        slope = slope + rows.T @ (right - rows @ estimate.value)
    inverse = estimate.factor.inverse()
    return replace(estimate, value=estimate.value + inverse @ (inverse.T @ slope))


def residual_sigma(information: Information, value: Array) -> Array:
    """Deviation of every equation's residuals for given parameters, shared degrees of freedom."""
    unknowns = len(value) / max(int(np.count_nonzero(information.telling)), 1)
    freedom = np.where(information.telling, information.counts - unknowns, information.counts)
    return np.sqrt(information.residual_squares(value) / np.maximum(freedom, 1.0))


def floored_sigma(sigma: Array, information: Information) -> Array:
    """Keep noise-free equations (simulated data) from getting infinite weight."""
    rms = np.sqrt(information.squares / np.maximum(information.counts, 1))
    largest = float(rms.max())
    if largest == 0.0:
        raise EstimationError('the measured values of all equations are zero throughout')
    # 1e-12: a few hundred times the rounding of a double relative to the signal.
    return np.maximum(sigma, 1e-12 * np.maximum(rms, 1e-6 * largest))
