"""From blocks of samples to an `IdentificationResult`: one call for every estimator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from veh_identification.errors import EstimationError
from veh_identification.identification.accumulator import Information, accumulate
from veh_identification.identification.blocks import (
    BlockSource,
    require_reiterable,
    select_equations,
)
from veh_identification.identification.essential import Removal, essential_parameters
from veh_identification.identification.factor import Factor, deficient_columns, scaled_condition
from veh_identification.identification.gauss_markov import gauss_markov_fit, whitened, whitening
from veh_identification.identification.gram import accumulate_fast
from veh_identification.identification.least_squares import (
    Estimate,
    Prior,
    checked_sigma,
    ordinary,
    refined,
    regularised,
    weighted,
)
from veh_identification.identification.noise import (
    NoiseColour,
    describe_noise,
    effective_samples,
    is_white,
    taken_up,
)
from veh_identification.identification.residuals import MAXIMUM_LAG, residual_statistics
from veh_identification.identification.result import IdentificationResult, Solved
from veh_identification.identification.robust import Loss, robust_fit
from veh_identification.identification.sandwich import coloured_covariance
from veh_identification.identification.statistics import noise_variance
from veh_identification.types import Array

EstimatorName = Literal['ordinary', 'weighted', 'gauss-markov', 'robust', 'prior']
NoiseModel = Literal['auto', 'white', 'coloured']


@dataclass(frozen=True)
class Options:
    """How to estimate. Defaults: weighted least squares with honest deviations."""

    estimator: EstimatorName = 'weighted'
    noise: NoiseModel = 'auto'  # white: trust (27); coloured: always allow for correlation
    sigma: Array | None = None  # per equation; by (24) unless given; not for 'ordinary'
    noise_covariance: Array | None = None  # between equations, for gauss-markov
    prior: Prior | None = None  # for the estimator 'prior'
    loss: Loss = 'huber'  # for the estimator 'robust'
    eliminate: bool = False  # keep only essential parameters
    eliminate_above_percent: float = 30.0
    eliminate_significance: float = 0.05


def identify(
    source: BlockSource,
    names: Sequence[str],
    equation_names: Sequence[str],
    units: Sequence[str] | None = None,
    a_priori: Array | None = None,
    options: Options | None = None,
    information: Information | None = None,
) -> IdentificationResult:
    """Estimate the parameters of Y = W X + rho (22) with deviations that one can believe.

    `information` (from `accumulate` over the same source) saves the first pass.
    """
    _check(names, equation_names, units, a_priori)
    found = solve(source, names, equation_names, options, information)
    return found.result(names, units or [''] * len(names), equation_names, a_priori)


def solve(
    source: BlockSource,
    names: Sequence[str],
    equation_names: Sequence[str],
    options: Options | None = None,
    information: Information | None = None,
) -> Solved:
    """The same before it is a result, for systems with unknowns that are no parameters."""
    options = options or Options()
    _check_options(options)
    if options.noise != 'white':
        require_reiterable(source, 'a noise model other than white')
    information, refine = _informed(source, options, information)
    _check_information(information, names, equation_names)
    telling = _telling(information, options)
    if telling.all() or not telling.any():  # nothing to go by: the estimators say what lacks
        return _solved(source, names, equation_names, options, information, refine)
    return _solved_by(telling, source, names, equation_names, options, information, refine)


def _telling(information: Information, options: Options) -> NDArray[np.bool_]:
    """Equations that take part: those that say something, with rows enough to tell their noise.

    A recording that is too short for all of them is another matter, see `estimate_sigma`.
    """
    telling = information.telling
    if options.sigma is None:
        for j in np.flatnonzero(telling & (information.counts < information.samples)):
            telling[j] = information.counts[j] > information.equation_fit(int(j))[0]
    return telling


def _solved_by(
    telling: NDArray[np.bool_],
    source: BlockSource,
    names: Sequence[str],
    equation_names: Sequence[str],
    options: Options,
    information: Information,
    refine: bool,
) -> Solved:
    """Solve with some equations as if the others did not exist; those are judged afterwards."""
    if options.sigma is not None:
        sigma = checked_sigma(options.sigma, equation_names)
        options = replace(options, sigma=sigma[telling])
    if options.noise_covariance is not None:
        whitening(options.noise_covariance, equation_names)  # refuses what is no covariance
        part = np.asarray(options.noise_covariance, float)[np.ix_(telling, telling)]
        options = replace(options, noise_covariance=part)
    found = _solved(
        select_equations(source, telling),
        names,
        [name for name, kept in zip(equation_names, telling, strict=True) if kept],
        options,
        information.select_equations(telling),
        refine,
    )
    rms, relative = residual_shares(information, found.value)
    sigma = rms.copy()
    sigma[telling] = found.sigma
    noise = dict(found.noise)
    if 'effective_samples' in noise:
        effective = np.zeros(len(telling))
        effective[telling] = noise['effective_samples']
        noise['effective_samples'] = effective.tolist()
    if 'noise_covariance' in noise:
        covariance = np.full((len(telling), len(telling)), np.nan)
        covariance[np.ix_(telling, telling)] = noise['noise_covariance']
        noise['noise_covariance'] = covariance.tolist()
    return replace(
        found,
        sigma=sigma,
        residual_rms=rms,
        residual_rms_relative=relative,
        rows=np.where(telling, information.counts, 0),
        noise=noise,
    )


def _solved(
    source: BlockSource,
    names: Sequence[str],
    equation_names: Sequence[str],
    options: Options,
    information: Information,
    refine: bool,
) -> Solved:
    estimate, cleaned, details = _estimate(source, information, names, equation_names, options)
    estimate, noise = _with_noise(cleaned, estimate, options, information, refine)
    estimate, removed = _essential(estimate, names, options)
    rms, relative = residual_shares(information, estimate.value)
    kept = np.flatnonzero(np.diag(estimate.covariance) > 0.0)
    condition, unexcited = _excitation(information, estimate, kept, names, options)
    return Solved(
        value=estimate.value,
        covariance=estimate.covariance,
        sigma=estimate.sigma,
        residual_rms=rms,
        residual_rms_relative=relative,
        estimator=estimate.estimator,
        samples=information.samples,
        excluded=information.excluded,
        condition_number=condition,
        rows=information.rows,
        noise={**noise, **details},
        removed=removed,
        unexcited=unexcited,
    )


def residual_shares(information: Information, value: Array) -> tuple[Array, Array]:
    """rms of every equation's residuals, and over the rms of what was measured."""
    with np.errstate(divide='ignore', invalid='ignore'):  # nan for an equation without rows
        rms = np.sqrt(information.residual_squares(value) / information.counts)
        measured = np.sqrt(information.squares / information.counts)
        return rms, np.where(measured > 0.0, rms / measured, np.nan)


def _excitation(
    information: Information,
    estimate: Estimate,
    kept: NDArray[np.intp],
    names: Sequence[str],
    options: Options,
) -> tuple[float, list[str]]:
    """Condition number over the parameters kept, and the names of those that data leave open."""
    factor, unexcited = estimate.factor, []
    if options.estimator == 'prior':  # what the data alone say
        factor = information.combined(estimate.weights)
        unexcited = [names[i] for i in deficient_columns(factor.R)[1]]
    if len(kept) < len(names):
        factor = factor.select(kept)
    return scaled_condition(factor.R), unexcited


def _informed(
    source: BlockSource, options: Options, information: Information | None
) -> tuple[Information, bool]:
    """Return the factors, and whether the solution needs a refinement with true residuals."""
    if information is not None:
        return information, False
    if options.noise == 'white':
        return accumulate(source), False  # the only pass
    information, refine = accumulate_fast(source)
    # Gauss-Markov and robust solve orthogonally on passes of their own.
    return information, refine and options.estimator in {'ordinary', 'weighted', 'prior'}


def _check_options(options: Options) -> None:
    for what, found, known in (
        ('estimator', options.estimator, get_args(EstimatorName)),
        ('noise model', options.noise, get_args(NoiseModel)),
    ):
        if found not in known:
            raise EstimationError(f'unknown {what} {found!r}, use one of {", ".join(known)}')
    if options.estimator == 'ordinary' and options.sigma is not None:
        raise EstimationError(
            'the estimator "ordinary" weighs all equations alike and takes no sigma: '
            'use "weighted" or leave sigma out'
        )


def _check(
    names: Sequence[str],
    equation_names: Sequence[str],
    units: Sequence[str] | None,
    a_priori: Array | None,
) -> None:
    for what, given in (('parameter', names), ('equation', equation_names)):
        twice = sorted({name for name in given if list(given).count(name) > 1})
        if twice:
            raise EstimationError(f'two {what}s have the same name: {", ".join(twice)}')
    if units is not None and len(units) != len(names):
        raise EstimationError(f'{len(units)} units were given for {len(names)} parameters')
    if a_priori is not None and np.shape(a_priori) != (len(names),):
        raise EstimationError(
            f'a-priori values must be {len(names)} numbers, found shape {np.shape(a_priori)}'
        )


def _check_information(
    information: Information, names: Sequence[str], equation_names: Sequence[str]
) -> None:
    if (information.equations, information.columns) != (len(equation_names), len(names)):
        raise EstimationError(
            f'{len(equation_names)} equations and {len(names)} parameters were named, '
            f'but the samples hold {information.equations} and {information.columns}'
        )
    if not np.any(information.squares > 0.0):
        raise EstimationError(
            f'the measured values of all equations ({", ".join(equation_names)}) are zero '
            'throughout: nothing was measured'
        )


def _estimate(
    source: BlockSource,
    information: Information,
    names: Sequence[str],
    equation_names: Sequence[str],
    options: Options,
) -> tuple[Estimate, BlockSource, dict[str, Any]]:
    """Run the chosen estimator; also return the source as the estimator weighs it."""
    if options.estimator == 'ordinary':
        return ordinary(information, names, equation_names), source, {}
    if options.estimator == 'prior':
        if options.prior is None:
            raise EstimationError('the estimator "prior" needs a-priori values with deviations')
        estimate = regularised(information, names, equation_names, options.prior, options.sigma)
        return estimate, source, {}
    start = weighted(information, names, equation_names, options.sigma)
    if options.estimator == 'weighted':
        return start, source, {}
    if options.estimator == 'robust':
        fit = robust_fit(source, names, equation_names, start, information, options.loss)
        details = {
            'iterations': fit.iterations,
            'converged': fit.converged,
            'down_weighted_share': dict(zip(equation_names, fit.down_weighted, strict=True)),
        }
        return fit.estimate, source, details
    estimate, covariance = gauss_markov_fit(
        source, names, equation_names, options.noise_covariance, start.value
    )
    cleaned = whitened(source, covariance, equation_names)
    return estimate, cleaned, {'noise_covariance': covariance.tolist()}


def _with_noise(
    source: BlockSource,
    estimate: Estimate,
    options: Options,
    information: Information,
    refine: bool,
) -> tuple[Estimate, dict[str, Any]]:
    """Replace the white-noise covariance where the residuals are coloured or coupled."""
    if options.noise == 'white':
        return estimate, {'model': 'white'}
    lags = int(min(MAXIMUM_LAG, max(information.samples // 4, 1)))
    clip = 3.0 * estimate.sigma if options.estimator == 'robust' else None
    statistics = residual_statistics(source, estimate.value, lags, clip, with_gradient=refine)
    if refine:
        estimate = refined(estimate, statistics.gradient, options.prior)
    facts: dict[str, Any] = {
        'effective_samples': [float(v) for v in effective_samples(statistics)]
    }
    if options.noise == 'auto' and is_white(statistics):
        return estimate, {'model': 'white', **facts}
    probes = _probes(estimate.factor)
    if probes is not None:  # a further pass, only where it pays
        statistics = residual_statistics(source, estimate.value, lags, clip, probes)
    prior = options.prior if options.estimator == 'prior' else None
    prior_rows = None if prior is None else prior.rows()[0]
    colour = describe_noise(statistics, estimate.weights, taken_up(estimate.factor, prior_rows))
    facts |= {'model': 'coloured', 'stride': colour.stride, 'order': colour.coefficients.shape[1]}
    if options.estimator == 'robust':
        covariance = _coloured_robust(source, estimate, colour, statistics.rms, information)
    else:
        covariance = coloured_covariance(
            source, estimate.factor, estimate.weights, colour, prior_rows
        )
    return replace(estimate, covariance=covariance), facts


def _probes(factor: Factor) -> Array | None:
    """Random vectors v with E(v v') = (R'R)^-1, where the fit takes up a share worth restoring."""
    if len(factor.z) < 2e-4 * factor.rows:
        return None
    # Few probes do for many unknowns: the sums average over them.
    count = 8 if len(factor.z) < 50 else 3
    signs = np.random.default_rng(0).choice([-1.0, 1.0], (len(factor.z), count))
    return factor.inverse() @ signs


def _coloured_robust(
    source: BlockSource,
    estimate: Estimate,
    colour: NoiseColour,
    rms: Array,
    information: Information,
) -> Array:
    """Widen the robust covariance by what colour does to plain least squares with its weights."""
    factor = information.combined(estimate.weights)
    coloured = coloured_covariance(source, factor, estimate.weights, colour)
    share = information.counts / information.counts.mean()
    rss = float((share * np.square(rms * estimate.weights)).mean()) * factor.rows
    white = rss / (factor.rows - len(factor.z)) * np.square(factor.inverse()).sum(axis=1)
    ratio = np.sqrt(np.diag(coloured) / white)
    return estimate.covariance * np.outer(ratio, ratio)


def _essential(
    estimate: Estimate, names: Sequence[str], options: Options
) -> tuple[Estimate, list[Removal]]:
    if not options.eliminate:
        return estimate, []
    inverse = estimate.factor.inverse()
    variance = noise_variance(estimate.factor, len(names))
    white = variance * np.square(inverse).sum(axis=1)
    fit = essential_parameters(
        estimate.factor,
        names,
        inflation=np.diag(estimate.covariance) / np.maximum(white, 1e-300),
        relative_limit_percent=options.eliminate_above_percent,
        significance=options.eliminate_significance,
    )
    return replace(estimate, value=fit.value, covariance=fit.covariance), fit.removed
