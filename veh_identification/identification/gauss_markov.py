"""Gauss-Markov estimate with a full noise covariance between the equations.

Abdellatif 2009, (9) and (10).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from veh_identification.errors import EstimationError
from veh_identification.identification.accumulator import accumulate
from veh_identification.identification.blocks import (
    Block,
    BlockSource,
    CleanBlock,
    FactoryBlocks,
    clean_blocks,
    require_reiterable,
)
from veh_identification.identification.least_squares import Estimate
from veh_identification.identification.residuals import ResidualStatistics, residual_statistics
from veh_identification.identification.statistics import noise_variance, require_determined
from veh_identification.types import Array


def whitening(covariance: Array, equation_names: Sequence[str]) -> Array:
    """Return L^-1 with covariance = L L': rows multiplied by it have unit, uncoupled noise."""
    covariance = np.asarray(covariance, float)
    n = len(equation_names)
    if covariance.shape != (n, n) or not np.allclose(covariance, covariance.T, rtol=1e-9):
        raise EstimationError(
            f'the noise covariance must be a symmetric {n} x {n} matrix, '
            f'found shape {covariance.shape}'
        )
    for name, variance in zip(equation_names, np.diag(covariance), strict=True):
        if not variance > 0.0:
            raise EstimationError(
                f'the noise variance of equation {name} must be positive, found {variance:g}'
            )
    std = np.sqrt(np.diag(covariance))
    try:  # scaled first: forces and moments may differ by many orders of magnitude
        L = np.linalg.cholesky(covariance / np.outer(std, std))
    except np.linalg.LinAlgError:
        raise EstimationError('the noise covariance is not positive definite') from None
    return np.linalg.inv(L) / std


def whitened(
    source: BlockSource, covariance: Array, equation_names: Sequence[str]
) -> FactoryBlocks:
    """Every sample's equations with unit, uncoupled noise.

    Where some equations are missing, the covariance of the others whitens those.
    """
    transform = whitening(covariance, equation_names)

    def blocks() -> Iterator[Block]:
        for block in clean_blocks(source):
            W = np.matmul(transform, block.W)
            Y = block.Y @ transform.T
            if not block.complete:
                _whiten_parts(W, Y, block, np.asarray(covariance, float), equation_names)
            yield W, Y

    return FactoryBlocks(blocks)


def _whiten_parts(
    W: Array, Y: Array, block: CleanBlock, covariance: Array, equation_names: Sequence[str]
) -> None:
    """Whiten in place the samples that lack equations; missing rows stay countable as nan."""
    for seen in np.unique(block.valid, axis=0):
        if seen.all():
            continue
        samples = (block.valid == seen).all(axis=1)
        W[samples], Y[samples] = 0.0, np.nan
        if seen.any():
            names = [name for name, usable in zip(equation_names, seen, strict=True) if usable]
            part = whitening(covariance[np.ix_(seen, seen)], names)
            place = np.ix_(samples, seen)
            W[place], Y[place] = np.matmul(part, block.W[place]), block.Y[place] @ part.T


def _residual_covariance(statistics: ResidualStatistics, spent: float) -> Array:
    """Covariance of the noise between the equations, from residuals of a fit."""
    pairs = statistics.pairs
    covariance = statistics.covariance * pairs / np.maximum(pairs - spent, 1.0)
    if np.all(pairs == pairs[0, 0]):
        return covariance
    # Means over different samples need not be a covariance matrix: the nearest correlation is.
    std = np.sqrt(np.maximum(np.diag(covariance), 1e-300))
    values, vectors = np.linalg.eigh(covariance / np.outer(std, std))
    if values[0] > 1e-6:
        return covariance
    nearest = (vectors * np.maximum(values, 1e-6)) @ vectors.T
    scale = std / np.sqrt(np.diag(nearest))
    return nearest * np.outer(scale, scale)


def gauss_markov_fit(
    source: BlockSource,
    names: Sequence[str],
    equation_names: Sequence[str],
    covariance: Array | None = None,
    start: Array | None = None,
    iterations: int = 3,
) -> tuple[Estimate, Array]:
    """Solve (9); without a given covariance it is estimated from the residuals, repeatedly.

    `start` is the first estimate (e.g. weighted least squares) whose residuals give the first
    covariance. Returns the estimate and the covariance between the equations.
    """
    if covariance is not None:
        return _solve(source, names, equation_names, covariance), np.asarray(covariance, float)
    require_reiterable(source, 'the Gauss-Markov estimator')
    if start is None:
        raise EstimationError('Gauss-Markov without a covariance needs a first estimate')
    value = start
    for _ in range(max(iterations, 1)):
        statistics = residual_statistics(source, value, maximum_lag=0)
        spent = len(names) / len(equation_names)
        noise = _residual_covariance(statistics, spent)
        estimate = _solve(source, names, equation_names, noise)
        change = np.abs(estimate.value - value) / np.sqrt(np.diag(estimate.covariance))
        value = estimate.value
        if change.max() < 0.01:  # a hundredth of a standard deviation matters to nobody
            break
    return estimate, noise


def _solve(
    source: BlockSource, names: Sequence[str], equation_names: Sequence[str], covariance: Array
) -> Estimate:
    factor = accumulate(whitened(source, covariance, equation_names), merged=True).combined()
    require_determined(factor, names)
    inverse = factor.inverse()
    variance = noise_variance(factor, len(names))
    sigma = np.sqrt(np.diag(covariance) * variance)
    # (10), times the scale that the residuals show (1 when the given covariance is right)
    return Estimate(
        factor.solve(),
        variance * (inverse @ inverse.T),
        factor,
        np.ones(len(equation_names)),
        sigma,
        'gauss-markov',
    )
