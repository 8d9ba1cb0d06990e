"""From recordings of a car to its identified parameters: the whole offline method."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veh_identification.errors import EstimationError
from veh_identification.identification import IdentificationResult, Removal, Validation
from veh_identification.identification.statistics import correlation_condition
from veh_identification.systems.car import bias
from veh_identification.systems.car.configuration import CarConfiguration
from veh_identification.systems.car.cutoffs import Cutoffs, choose_cutoffs, fixed_cutoffs, widest
from veh_identification.systems.car.estimation import (
    CarProblem,
    Fit,
    Selection,
    estimate,
    solve,
    without_influence,
)
from veh_identification.systems.car.findings import (
    Finding,
    check_gravity,
    check_steering,
    explain,
    lost_equations,
    suspicious,
)
from veh_identification.systems.car.model import EQUATIONS, CarModel
from veh_identification.systems.car.offsets import offset_covariance
from veh_identification.systems.car.parameters import NAMES, unit
from veh_identification.systems.car.processing import Prepared, Processing, prepare
from veh_identification.systems.car.recording import CarRecording
from veh_identification.systems.car.samples import CarSamples
from veh_identification.systems.car.spectral import SpectralInformation, gather
from veh_identification.systems.car.static import StaticLoads, static_loads

Array = NDArray[np.float64]


@dataclass(frozen=True)
class CarOptions:
    """How to identify; the defaults are for any recording of the contract's format."""

    dof: int | None = None  # 20 or 38; by default 38 where its extra dofs are known
    names: tuple[str, ...] = NAMES
    processing: Processing = field(default_factory=Processing)
    chassis_cutoff_hz: float | None = None
    suspension_cutoff_hz: float | None = None
    gauss_markov: bool = False
    spectral_weights: bool = True
    bias_correction: bool = True
    check: bool = True  # look for swapped, turned and wrongly signed sensors


@dataclass
class Gathered:
    """What remains of recordings after reading: flat in their length."""

    model: CarModel
    information: SpectralInformation
    mirrored: list[SpectralInformation]  # with added noise, for the bias
    cutoffs: Cutoffs
    first: CarSamples
    usable: NDArray[np.bool_]
    has_speed: bool
    findings: list[Finding]
    static: StaticLoads | None
    details: dict[str, Any]


def gather_recordings(recordings: Iterable[CarRecording], configuration: CarConfiguration,
                      options: CarOptions) -> Gathered:
    """Read recordings one by one (never two at a time) and keep their Gram matrices."""
    total: Gathered | None = None
    cutoffs: list[Cutoffs] = []
    for seed, recording in enumerate(recordings):
        one = _gather_one(recording, configuration, options, seed)
        cutoffs.append(one.cutoffs)
        total = one if total is None else _joined(total, one)
    if total is None:
        raise EstimationError('no recording was given')
    total.cutoffs = widest(cutoffs)
    return total


def _gather_one(recording: CarRecording, configuration: CarConfiguration, options: CarOptions,
                seed: int) -> Gathered:
    noise = bias.sensor_noise(recording, configuration)
    processing = replace(options.processing, travel_noise=bias.travel_noise(noise))
    prepared = prepare(recording, configuration, processing)
    usable, findings = lost_equations(prepared.missing_wrenches, prepared.missing_travels)
    findings += [Finding('note', note, serious=False) for note in prepared.notes]
    findings += [Finding('samples', sentence, serious=False)
                 for report in recording.reports for sentence in report.sentences()]
    static = static_loads(prepared.pieces, configuration) if usable[:6].all() else None
    _require_motion(recording, prepared, static)
    model = CarModel(configuration, _dof(options, prepared, configuration), options.names)
    if options.chassis_cutoff_hz is not None or options.suspension_cutoff_hz is not None:
        top = 0.75 * prepared.cutoff_hz
        cutoffs = fixed_cutoffs(options.chassis_cutoff_hz or top,
                                options.suspension_cutoff_hz or top, configuration.disturbances)
    else:
        cutoffs = choose_cutoffs(prepared, recording, noise, configuration)
    top_hz = prepared.cutoff_hz
    information = gather(model, prepared.pieces, top_hz)
    mirrored = []
    if options.bias_correction and any(np.any(sigma > 0.0) for sigma in noise.values()):
        louder = replace(processing, travel_noise=bias.travel_noise(
            {name: np.sqrt(2.0) * sigma for name, sigma in noise.items()}))
        for sign in (1.0, -1.0):
            noisy = prepare(bias.perturbed(recording, noise, sign, seed), configuration, louder,
                            prepared)
            mirrored.append(gather(model, noisy.pieces, top_hz))
    details = {'recordings': [recording.label], **prepared.details, 'dof': model.dof,
               'noise': {name: sigma.tolist() for name, sigma in noise.items()}}
    return Gathered(model, information, mirrored, cutoffs, max(prepared.pieces, key=len), usable,
                    prepared.has_speed, findings, static, details)


def _joined(a: Gathered, b: Gathered) -> Gathered:
    """Two recordings of one car; equations count only where both have them."""
    mirrored = [x + y for x, y in zip(a.mirrored, b.mirrored, strict=True)] \
        if a.mirrored and b.mirrored else []
    details = {**a.details, 'recordings': a.details['recordings'] + b.details['recordings']}
    return Gathered(a.model, a.information + b.information, mirrored, a.cutoffs, a.first,
                    a.usable & b.usable, a.has_speed and b.has_speed, a.findings + b.findings,
                    a.static or b.static, details)


def _dof(options: CarOptions, prepared: Prepared, configuration: CarConfiguration) -> int:
    if options.dof is not None:
        if options.dof not in (20, 38):
            raise EstimationError(f'there are models with 20 and 38 dof, not {options.dof}')
        return options.dof
    return 38 if prepared.measured_extra or configuration.axle_tables else 20


def _require_motion(recording: CarRecording, prepared: Prepared,
                    static: StaticLoads | None) -> None:
    """Refuse a recording in which nothing moves, with the little that it says."""
    turning = max(float(piece.angular_velocity.std(axis=0).max()) for piece in prepared.pieces)
    travel = max(float(piece.joints['suspension'].position.std(axis=0).max())
                 for piece in prepared.pieces)
    speed = max(float(np.sqrt(piece.air_speed_squared).max()) for piece in prepared.pieces)
    if turning < 0.005 and travel < 0.001 and (speed < 0.5 or not prepared.has_speed):
        mass = '' if static is None else \
            f'; the wheel loads say {static.mass:.1f} kg for chassis and M1 to M4 together'
        raise EstimationError(
            f'{recording.label}: the car stands still in the whole recording (turning below '
            f'{max(turning, 1e-4):.2g} rad/s, travel below {max(1e3 * travel, 0.01):.2g} mm): no '
            f'parameter of its dynamics can be identified{mass}')


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


def fit_gathered(gathered: Gathered, options: CarOptions, selection: Selection,
                 configuration: CarConfiguration) -> tuple[Fit, Array]:
    """Weighted least squares and the bias that was taken off its values."""
    problem = CarProblem(gathered.model, gathered.information)
    fit = estimate(problem, selection, gauss_markov=options.gauss_markov,
                   spectral_weights=options.spectral_weights)
    correction = np.zeros(len(fit.value))
    if gathered.mirrored:
        plain = solve(problem, fit.weights, selection.parameters)[0]
        noisy = [solve(CarProblem(gathered.model, one), fit.weights, selection.parameters)[0]
                 for one in gathered.mirrored]
        correction = np.mean(noisy, axis=0) - plain
    fit = replace(fit, value=fit.value - correction)
    inverse = solve(problem, fit.weights, selection.parameters)[1]
    constant, scale = offset_covariance(problem, fit, selection, configuration, inverse,
                                        gathered.model.constant_column)
    gathered.details['offset_scale'] = scale
    return replace(fit, covariance=fit.covariance + constant), correction


def identify_recordings(recordings: Iterable[CarRecording], configuration: CarConfiguration,
                        options: CarOptions | None = None,
                        validation: CarRecording | None = None) -> IdentificationResult:
    """Identify a car from one or several recordings, and validate on another one."""
    options = options or CarOptions()
    gathered = gather_recordings(recordings, configuration, options)
    selection, removed = select(gathered)
    fit, correction = fit_gathered(gathered, options, selection, configuration)
    problem = CarProblem(gathered.model, gathered.information)
    findings = list(gathered.findings)
    if options.check:
        findings += check_gravity(gathered.first) + check_steering(gathered.first)
    if options.check and suspicious(problem, fit, selection):
        culprit = explain(gathered.model, gathered.first, selection,
                          np.array(configuration.sensors.imu.position))
        findings.append(culprit or Finding(
            'poor_fit', 'the equations fit badly or a mass, spring or damper comes out negative; '
            'no single swapped, turned or wrongly signed sensor explains it'))
    names = gathered.model.names
    result = _result(gathered, fit, selection, removed, configuration.a_priori_array(names))
    result.noise['bias_correction'] = dict(zip(names, correction.tolist(), strict=True))
    if validation is not None:
        result.validation = validate_recording(validation, gathered, fit.value, configuration,
                                               options, selection)
    if gathered.static is not None:
        result.extra['static_mass'] = gathered.static.compare(result)
    result.extra['findings'] = [finding.as_dict() for finding in findings]
    return result


def _result(gathered: Gathered, fit: Fit, selection: Selection, removed: list[Removal],
            a_priori: Array) -> IdentificationResult:
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
        names=list(names), units=[unit(name) for name in names], value=value,
        covariance=covariance, equations=list(EQUATIONS), estimator='weighted', samples=samples,
        excluded_samples=0, condition_number=fit.condition_number,
        correlation_condition=correlation_condition(fit.covariance[np.ix_(kept, kept)]),
        sigma=np.where(used, sigma, np.nan), residual_rms=np.where(used, rms, np.nan),
        residual_rms_relative=relative, a_priori=a_priori,
        noise={'model': 'power of the residuals per band and pair of equations',
               'lines': fit.lines.tolist()},
        removed=removed, system='car',
        input={**gathered.details, 'seconds': gathered.information.seconds,
               'cutoff_hz': dict(cutoffs.hertz), 'cutoff_reason': dict(cutoffs.reasons),
               'stop_bands_hz': [list(band) for band in cutoffs.stop_bands]})


def validate_recording(recording: CarRecording, gathered: Gathered, value: Array,
                       configuration: CarConfiguration, options: CarOptions,
                       selection: Selection) -> Validation:
    """Residuals of another recording for given parameters, a-priori values beside them."""
    prepared = prepare(recording, configuration, options.processing)
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
    return Validation(list(EQUATIONS), np.sqrt(residual / information.samples), relative,
                      np.sqrt(prior_residual / information.samples), information.samples, 0)


def compare_models(recordings: Sequence[CarRecording], configuration: CarConfiguration,
                   options: CarOptions | None = None) -> dict[str, dict[str, float]]:
    """The 20-dof and the 38-dof estimates side by side, as Tables II and IV."""
    options = options or CarOptions()
    results = {dof: identify_recordings(recordings, configuration, replace(options, dof=dof))
               for dof in (20, 38)}
    table = {}
    for k, name in enumerate(options.names):
        first, second = results[20], results[38]
        spread = max(float(first.std[k]), float(second.std[k]), 1e-300)
        table[name] = {'value_20': float(first.value[k]), 'std_20': float(first.std[k]),
                       'value_38': float(second.value[k]), 'std_38': float(second.std[k]),
                       'difference_in_sigma': float(abs(first.value[k] - second.value[k])
                                                    / spread)}
    return table
