"""Noise of the six equations and trust in the CAD values, both judged by the recording itself.

A short walk has hardly more rows per equation than there are unknowns, so the noise cannot be
read off each equation alone. Instead noise and prior are found together: given both, the estimate
uses up tr(W_j' W_j C) / sigma_j^2 of the rows of equation j, which gives a new sigma_j (as in
restricted maximum likelihood); given the noise, the scale s of the prior's deviations is the one
that makes d = z - R x0, which is normal with the covariance 1 + s^2 R C0 R', most likely
(empirical Bayes).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from veh_identification.identification import Factor, Information, Prior
from veh_identification.identification.least_squares import floored_sigma

Array = NDArray[np.float64]

SMALLEST, LARGEST = 0.2, 1.0
ITERATIONS = 40


@dataclass(frozen=True, eq=False)
class Evidence:
    """Noise deviations, scale of the prior, and the estimate that goes with them."""

    sigma: Array
    scale: float
    prior: Prior
    value: Array
    covariance: Array
    factor: Factor  # weighted, without the prior


def weigh(information: Information, prior: Prior, scaled_unknowns: int, inflation: float = 1.0,
          sigma: Array | None = None, fixed_scale: float | None = None) -> Evidence:
    """Find noise and trust, unless they are given; `inflation` is the rows' correlation."""
    given = sigma is not None
    rms = np.sqrt(information.squares / information.samples)
    level = np.asarray(sigma, float) if sigma is not None else 0.1 * np.maximum(rms, 1e-9)
    count = information.columns
    grams = np.einsum('jki,jkl->jil', information.factors[:, :, :count],
                      information.factors[:, :, :count])
    scale, found = 1.0, None
    for _ in range(ITERATIONS):
        factor = information.combined(1.0 / level)
        scale = fixed_scale or prior_scale(factor, prior, scaled_unknowns, inflation)
        used = scaled(prior, scale, scaled_unknowns)
        solved = factor.extended(*used.rows())
        inverse = solved.inverse()
        covariance, value = inverse @ inverse.T, solved.solve()
        found = Evidence(level, scale, used, value, covariance, factor)
        if given:
            break
        spent = np.einsum('jkl,kl->j', grams, covariance) / level**2
        left = np.maximum(information.samples - spent, 0.05 * information.samples)
        new = floored_sigma(np.sqrt(information.residual_squares(value) / left), information)
        settled = bool(np.all(np.abs(np.log(new / level)) < 0.01))
        level = new
        if settled:
            break
    assert found is not None
    return found


def prior_scale(factor: Factor, prior: Prior, scaled_unknowns: int,
                inflation: float = 1.0) -> float:
    """Most likely factor on the deviations of the first unknowns."""
    free = slice(0, scaled_unknowns)
    deviation = (factor.z - factor.R @ prior.value) / np.sqrt(inflation)
    seen = factor.R[:, free] @ np.linalg.cholesky(prior.covariance[free, free])
    left, size, _ = np.linalg.svd(seen / np.sqrt(inflation))
    variance = np.zeros(len(deviation))
    variance[: len(size)] = size**2
    squares = np.square(left.T @ deviation)

    def cost(log_scale: float) -> float:
        total = 1.0 + np.exp(2.0 * log_scale) * variance
        return float(np.sum(np.log(total) + squares / total))

    found = minimize_scalar(cost, bounds=(np.log(SMALLEST), np.log(LARGEST)), method='bounded')
    return float(np.exp(found.x))


def scaled(prior: Prior, scale: float, first: int) -> Prior:
    """The prior with the deviations of the first unknowns scaled, the others as they are."""
    factors = np.ones(len(prior.value))
    factors[:first] = scale
    return Prior(prior.value, prior.covariance * np.outer(factors, factors))
