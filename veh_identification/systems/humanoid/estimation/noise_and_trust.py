"""Noise of the six equations and trust in the CAD values, both judged by the recording itself.

A short walk has hardly more rows per equation than there are unknowns, so the noise cannot be
read off each equation alone. Instead noise and prior are found together: given both, the estimate
uses up tr(W_j' W_j C) / sigma_j^2 of the rows of equation j, which gives a new sigma_j (as in
restricted maximum likelihood); given the noise, the scale s of the prior's deviations is the one
that makes d = z - R x0, which is normal with the covariance 1 + s^2 R C0 R', most likely
(empirical Bayes).

Rows are correlated over time. That noise is read off the residuals, after giving back what the fit
has taken up. With a prior that is less than one row per unknown: in E(r r') = Gamma - s0 A,
A = W C W' with C the covariance of data and prior together, and tr(A) = unknowns - tr(C C0^-1). A
walk of four steps determines 30 of 100 unknowns; to count all of them would make the deviation of
the mass more than twice too large.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import minimize_scalar

from veh_identification.identification import BlockSource, Factor, Information, Prior
from veh_identification.identification.least_squares import floored_sigma
from veh_identification.identification.noise import describe_noise
from veh_identification.identification.residuals import MAXIMUM_LAG, residual_statistics
from veh_identification.identification.sandwich import coloured_covariance
from veh_identification.systems.humanoid.estimation.noise_free_normal import Excess, without_excess
from veh_identification.types import Array

SMALLEST, LARGEST = 0.2, 1.0
ITERATIONS = 40
# Where a recording says little of it (the few things it shows are no sample of the others): half
# of prior_percent, give or take a fifth.
USUAL, USUAL_SPREAD = 0.5, 0.2
# Share of its rows that an equation must have over to say anything of its noise.
SMALLEST_LEFT = 0.05
# Of the density of white noise: no short recording shows less.
SMALLEST_NOISE = 0.2
PROBES = 8


@dataclass(frozen=True, eq=False)
class Evidence:
    """Noise deviations, scale of the prior, and the estimate that goes with them."""

    sigma: Array
    scale: float
    prior: Prior
    value: Array
    covariance: Array
    factor: Factor  # weighted, without the prior and without what noise in the regressor did
    measured: Factor  # weighted, as the rows are
    gain: Array | None = None  # from W' (Y - W x0) to the rows of `factor`, if they differ
    inflation: float = 1.0  # of the variance of the rows of `factor`

    @property
    def response(self) -> Array:
        """How the estimate follows W' P^2 (Y - W x0)."""
        if self.gain is None:
            return self.covariance
        return np.asarray(self.covariance @ self.factor.R.T @ self.gain)


def weigh(
    information: Information,
    prior: Prior,
    scaled_unknowns: int,
    inflation: float = 1.0,
    sigma: Array | None = None,
    fixed_scale: float | None = None,
    excess: Excess | None = None,
) -> Evidence:
    """Find noise and trust, unless they are given; `inflation` is the rows' correlation."""
    given = sigma is not None
    counts = np.maximum(information.counts, 1)
    rms = np.sqrt(information.squares / counts)
    level = np.asarray(sigma, float) if sigma is not None else 0.1 * np.maximum(rms, 1e-9)
    trusted = _Trusted(prior, scaled_unknowns)
    count = information.columns
    factors = information.factors[:, :, :count]
    grams = np.swapaxes(factors, 1, 2) @ factors
    scale, found = 1.0, None
    for _ in range(ITERATIONS):
        measured = factor = information.combined(1.0 / level)
        gain = None
        if excess is not None:
            normal = measured.R.T @ np.column_stack([measured.R, measured.z])
            corrected = without_excess(normal, excess.weighted(1.0 / level), prior)
            factor, gain = corrected.factor(measured), corrected.gain
        scale = fixed_scale or trusted.likely_scale(factor, inflation)
        used = scaled(prior, scale, scaled_unknowns)
        solved = factor.extended(*trusted.rows(scale))
        inverse = solved.inverse()
        covariance, value = inverse @ inverse.T, solved.solve()
        found = Evidence(level, scale, used, value, covariance, factor, measured, gain, inflation)
        if given:
            break
        spent = np.tensordot(grams, covariance, axes=2) / level**2
        left = np.maximum(counts - spent, SMALLEST_LEFT * counts)
        new = floored_sigma(np.sqrt(information.residual_squares(value) / left), information)
        # Rows that the unknowns fit exactly would shrink their noise to nothing, step by step.
        new = np.where(spent > (1.0 - SMALLEST_LEFT) * counts, np.maximum(new, level), new)
        settled = bool(np.all(np.abs(np.log(new / level)) < 0.01))
        level = new
        if settled:
            break
    assert found is not None
    return found


def normal_noise(rows: BlockSource, evidence: Evidence, samples: int) -> Array:
    """Covariance of W' P^2 e, with the noise e as coloured as the residuals show."""
    weights = 1.0 / evidence.sigma
    whole = evidence.measured.extended(*evidence.prior.rows())
    signs = np.random.default_rng(0).choice([-1.0, 1.0], (len(whole.z), PROBES))
    lags = int(min(MAXIMUM_LAG, max(samples // 4, 1)))
    statistics = residual_statistics(rows, evidence.value, lags, probes=whole.inverse() @ signs)
    used = round(float(np.sum(evidence.response * (evidence.measured.R.T @ evidence.measured.R))))
    colour = describe_noise(statistics, weights, used)  # tr(A)
    information = whole.R.T @ whole.R
    return np.asarray(
        information @ coloured_covariance(rows, whole, weights, colour) @ information
    )


def whitened(
    evidence: Evidence,
    noise: Array,
    prior: Prior,
    scaled_unknowns: int,
    fixed_scale: float | None = None,
) -> Evidence:
    """The estimate with rows weighed by their coloured noise, `noise` that of W' P^2 e.

    Its covariance is that of data and prior together: no further factor is needed.
    """
    assert evidence.gain is not None
    values, vectors = np.linalg.eigh(evidence.gain @ noise @ evidence.gain.T)
    whiten = (vectors / np.sqrt(np.maximum(values, SMALLEST_NOISE))) @ vectors.T
    factor = replace(evidence.factor, R=whiten @ evidence.factor.R, z=whiten @ evidence.factor.z)
    likely = prior_scale(factor, prior, scaled_unknowns)
    scale = fixed_scale or likely
    used = scaled(prior, scale, scaled_unknowns)
    solved = factor.extended(*used.rows())
    inverse = solved.inverse()
    covariance = inverse @ inverse.T
    if likely > scale:
        # More trust than likelihood gives predicts better; the CAD values are no better for it.
        believed = covariance[:, :scaled_unknowns] @ np.linalg.inv(
            used.covariance[:scaled_unknowns, :scaled_unknowns]
        )
        further = scaled(prior, likely, scaled_unknowns).covariance - used.covariance
        covariance = covariance + (
            believed @ further[:scaled_unknowns, :scaled_unknowns] @ believed.T
        )
    return Evidence(
        evidence.sigma,
        scale,
        used,
        solved.solve(),
        covariance,
        factor,
        evidence.measured,
        whiten @ evidence.gain,
    )


class _Trusted:
    """A prior of which the deviations of the first unknowns are scaled, taken apart once."""

    def __init__(self, prior: Prior, scaled_unknowns: int) -> None:
        self.prior, self._count = prior, scaled_unknowns
        free = slice(0, scaled_unknowns)
        self._root = np.linalg.cholesky(prior.covariance[free, free])
        self._rows, _ = prior.rows()

    def rows(self, scale: float) -> tuple[Array, Array]:
        """`Prior.rows` of the scaled prior."""
        factors = np.ones(len(self.prior.value))
        factors[: self._count] = scale
        rows = self._rows / factors
        return rows, rows @ self.prior.value

    def likely_scale(self, factor: Factor, inflation: float = 1.0) -> float:
        """Most likely factor on the deviations of the first unknowns."""
        deviation = (factor.z - factor.R @ self.prior.value) / np.sqrt(inflation)
        seen = factor.R[:, : self._count] @ self._root / np.sqrt(inflation)
        # d' (1 + s^2 seen seen')^-1 d but for d' d, which is the same for every s.
        variance, directions = np.linalg.eigh(seen.T @ seen)
        variance = np.maximum(variance, 0.0)
        squares = np.square(directions.T @ (seen.T @ deviation))

        def cost(log_scale: float) -> float:
            factor = np.exp(2.0 * log_scale)
            total = 1.0 + factor * variance
            unusual = (log_scale - np.log(USUAL)) / USUAL_SPREAD
            return float(np.sum(np.log(total) - factor * squares / total)) + unusual**2

        found = minimize_scalar(cost, bounds=(np.log(SMALLEST), np.log(LARGEST)), method='bounded')
        return float(np.exp(found.x))


def prior_scale(
    factor: Factor, prior: Prior, scaled_unknowns: int, inflation: float = 1.0
) -> float:
    """Most likely factor on the deviations of the first unknowns."""
    return _Trusted(prior, scaled_unknowns).likely_scale(factor, inflation)


def scaled(prior: Prior, scale: float, first: int) -> Prior:
    """The prior with the deviations of the first unknowns scaled, the others as they are."""
    factors = np.ones(len(prior.value))
    factors[:first] = scale
    return Prior(prior.value, prior.covariance * np.outer(factors, factors))
