"""From recordings of a car to its identified parameters: the whole offline method."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from veh_identification.errors import EstimationError
from veh_identification.identification import IdentificationResult, Removal, Validation
from veh_identification.identification.statistics import correlation_condition
from veh_identification.systems.car.checks.camber_and_lag import check_untold, untold
from veh_identification.systems.car.checks.explanations import (
    Finding,
    check_gravity,
    check_steering,
    explain,
    lost_equations,
    suspicious,
)
from veh_identification.systems.car.checks.static_mass import static_loads
from veh_identification.systems.car.configuration import CarConfiguration
from veh_identification.systems.car.estimation.gathering import (
    CarOptions,
    Gathered,
    gather_recordings,
)
from veh_identification.systems.car.estimation.offsets import offset_covariance
from veh_identification.systems.car.estimation.weighted import (
    CarProblem,
    Fit,
    Selection,
    estimate,
    solve,
    without_influence,
)
from veh_identification.systems.car.model import EQUATIONS
from veh_identification.systems.car.parameters import unit
from veh_identification.systems.car.processing.signals import Prepared, prepare
from veh_identification.systems.car.processing.spectral import gather
from veh_identification.systems.car.recording.reader import CarRecording
from veh_identification.types import Array

__all__ = [
    'CarOptions',
    'Gathered',
    'fit_gathered',
    'gather_recordings',
    'identify_recordings',
    'select',
    'validate_prepared',
]


def select(gathered: Gathered) -> tuple[Selection, list[Removal]]:
    """Equations and parameters that the recordings support; the others with the reason."""
    model = gathered.model
    bands = gathered.cutoffs.bands(gathered.information.frequency) & gathered.usable[:, None]
    seen = {entry.parameter for entry in model.entries if gathered.usable[entry.equation]}
    idle = without_influence(CarProblem(model, gathered.information), bands)
    chosen = np.zeros(len(model.names), dtype=bool)
    removed = []
    for k, name in enumerate(model.names):
        reason = ''
        if k not in seen:
            reason = 'none of the remaining equations holds it'
        elif name.startswith('C') and not gathered.has_speed:
            reason = 'the recording holds no speed'
        elif idle[k]:
            reason = 'nothing in the recording excites it: its column is zero throughout'
        chosen[k] = not reason
        if reason:
            removed.append(Removal(name, float('nan'), float('nan'), 0.0, 1.0, 0.0, reason))
    if not chosen.any():
        raise EstimationError('the sensors that are missing leave no equation to identify from')
    return Selection(bands, chosen), removed


def fit_gathered(
    gathered: Gathered, options: CarOptions, selection: Selection, configuration: CarConfiguration
) -> tuple[Fit, Array]:
    """Weighted least squares and the bias that was taken off its values."""
    problem = CarProblem(gathered.model, gathered.information)
    fit = estimate(
        problem,
        selection,
        gauss_markov=options.gauss_markov,
        spectral_weights=options.spectral_weights,
    )
    correction = np.zeros(len(fit.value))
    if gathered.mirrored:
        plain, *noisy = (
            solve(
                CarProblem(gathered.model, one), fit.weights[: len(one.rows)], selection.parameters
            )[0]
            for one in gathered.mirrored
        )
        correction = np.mean(noisy, axis=0) - plain
    fit = replace(fit, value=fit.value - correction)
    inverse = solve(problem, fit.weights, selection.parameters)[1]
    constant, scale = offset_covariance(
        problem, fit, selection, configuration, inverse, gathered.model.constant_column
    )
    gathered.details['offset_scale'] = scale
    return replace(fit, covariance=fit.covariance + constant), correction


def identify_recordings(
    recordings: Iterable[CarRecording],
    configuration: CarConfiguration,
    options: CarOptions | None = None,
    validation: CarRecording | None = None,
) -> IdentificationResult:
    """Identify a car from one or several recordings, and validate on another one."""
    options = options or CarOptions()
    gathered = gather_recordings(recordings, configuration, options)
    selection, removed = select(gathered)
    fit, correction = fit_gathered(gathered, options, selection, configuration)
    problem = CarProblem(gathered.model, gathered.information)
    findings = list(gathered.findings)
    if options.check:
        findings += _checked(gathered, problem, fit, selection)
    names = gathered.model.names
    result = _result(gathered, fit, selection, removed, configuration.a_priori_array(names))
    result.noise['bias_correction'] = dict(zip(names, correction.tolist(), strict=True))
    static = gathered.static
    if validation is not None:
        prepared = prepare(validation, configuration, options.processing)
        result.validation = validate_prepared(
            prepared, gathered, fit.value, configuration, selection
        )
        if static is None and gathered.usable[:6].all() and not prepared.missing_wrenches:
            static = static_loads(prepared.pieces, configuration)
    if static is not None:
        result.extra['static_mass'] = static.compare(result)
    result.extra['findings'] = [finding.as_dict() for finding in findings]
    return result


def _checked(
    gathered: Gathered, problem: CarProblem, fit: Fit, selection: Selection
) -> list[Finding]:
    """What is wrong with the recordings: signs and swaps first, then camber and lags."""
    # The yaw rate of a turned inertial unit says nothing about the steering.
    found = check_gravity(gathered.first) or check_steering(gathered.first)
    poor = suspicious(problem, fit, selection, gathered.model.constant_column)
    if poor:
        band = gathered.details.get('sensor_band_hz', {'imu': np.inf})['imu']
        culprit = explain(gathered.model, gathered.first, selection, gathered.imu, band)
        found += [] if culprit is None else [culprit]
    if not found and gathered.usable.all():
        more = untold(gathered.model, gathered.first, gathered.cutoffs.stop_bands)
        found += [] if more is None else check_untold(more)
    if poor and not found:
        found.append(
            Finding(
                'poor_fit',
                'the equations fit badly or a mass, spring or damper comes out negative; '
                'no single swapped, turned or wrongly signed sensor explains it',
            )
        )
    return found


def _result(
    gathered: Gathered, fit: Fit, selection: Selection, removed: list[Removal], a_priori: Array
) -> IdentificationResult:
    names, samples = gathered.model.names, gathered.information.samples
    kept = np.flatnonzero(selection.parameters)
    value = np.where(selection.parameters, fit.value, np.nan)
    covariance = fit.covariance.copy()
    unknown = ~selection.parameters
    covariance[unknown, unknown] = np.nan
    rms = np.sqrt(fit.residual_squares / samples)
    measured = np.sqrt(fit.measured_squares / samples)
    used = gathered.usable
    with np.errstate(divide='ignore', invalid='ignore'):
        relative = np.where(used & (measured > 0.0), rms / measured, np.nan)
    sigma = np.sqrt(np.einsum('bjj->jb', fit.power).mean(axis=1))
    cutoffs = gathered.cutoffs
    return IdentificationResult(
        names=list(names),
        units=[unit(name) for name in names],
        value=value,
        covariance=covariance,
        equations=list(EQUATIONS),
        estimator='weighted',
        samples=samples,
        excluded_samples=0,
        condition_number=fit.condition_number,
        correlation_condition=correlation_condition(fit.covariance[np.ix_(kept, kept)]),
        sigma=np.where(used, sigma, np.nan),
        residual_rms=np.where(used, rms, np.nan),
        residual_rms_relative=relative,
        a_priori=a_priori,
        noise={
            'model': 'power of the residuals per band and pair of equations',
            'lines': fit.lines.tolist(),
        },
        removed=removed,
        system='car',
        input={
            **gathered.details,
            'seconds': gathered.information.seconds,
            'cutoff_hz': dict(cutoffs.hertz),
            'cutoff_reason': dict(cutoffs.reasons),
            'stop_bands_hz': [list(band) for band in cutoffs.stop_bands],
        },
    )


def validate_prepared(
    prepared: Prepared,
    gathered: Gathered,
    value: Array,
    configuration: CarConfiguration,
    selection: Selection,
) -> Validation:
    """Residuals of another recording for given parameters, a-priori values beside them.

    The motion is that of the sensors alone: motion told by the wheel forces beyond the sensors'
    bands would partly predict the forces from themselves.
    """
    model = gathered.model
    information = gather(model, prepared.pieces, gathered.details['wide_cutoff_hz'])
    problem = CarProblem(model, information)
    usable, _ = lost_equations(prepared.missing_wrenches, prepared.missing_travels)
    bands = gathered.cutoffs.bands(information.frequency) & (usable & gathered.usable)[:, None]
    residual, measured = problem.squares(np.where(selection.parameters, value, 0.0), bands)
    prior = np.nan_to_num(configuration.a_priori_array(model.names))
    prior_residual, _ = problem.squares(prior, bands)
    with np.errstate(divide='ignore', invalid='ignore'):
        relative = np.where(measured > 0.0, np.sqrt(residual / measured), np.nan)
    return Validation(
        list(EQUATIONS),
        np.sqrt(residual / information.samples),
        relative,
        np.sqrt(prior_residual / information.samples),
        information.samples,
        0,
    )
