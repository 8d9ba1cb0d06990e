"""From recordings of a car to its identified parameters: the whole offline method."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from veh_identification.errors import EstimationError
from veh_identification.findings import Finding
from veh_identification.identification import IdentificationResult, Removal, Validation
from veh_identification.systems.car.checks.axles import check_axles
from veh_identification.systems.car.checks.calibrated import CALIBRATED
from veh_identification.systems.car.checks.excited import untold_parameters
from veh_identification.systems.car.checks.explanations import explain, suspicious, tried
from veh_identification.systems.car.checks.possible import impossible_values
from veh_identification.systems.car.checks.sensors import check_before_fit, lost_equations
from veh_identification.systems.car.checks.sides import unequal_sides
from veh_identification.systems.car.checks.static_mass import static_loads, static_mass_finding
from veh_identification.systems.car.configuration import CarDescription
from veh_identification.systems.car.estimation.gathering import (
    CarMethod,
    Gathered,
    as_gathered,
    gather_recordings,
)
from veh_identification.systems.car.estimation.identified import Identified, solved
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
from veh_identification.systems.car.suspension.uneven import uneven_of
from veh_identification.types import Array

__all__ = [
    'CarMethod',
    'Gathered',
    'Identified',
    'all_findings',
    'check_recording',
    'fit_gathered',
    'gather_recordings',
    'identify_recordings',
    'quick_identification',
    'select',
    'validate_prepared',
]
#: What is taken off for noise in the regressor goes with the square of that noise, which is known
#: to some 15 %: this share of it stays unsure.
BIAS_SHARE = 0.3


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
            removed.append(_removal(name, reason))
    if not chosen.any():
        raise EstimationError('the sensors that are missing leave no equation to identify from')
    return Selection(bands, chosen), removed


def _removal(name: str, reason: str) -> Removal:
    return Removal(name, float('nan'), float('nan'), 0.0, 1.0, 0.0, reason)


def _told(names: Sequence[str], fit: Fit, selection: Selection) -> tuple[Selection, list[Removal]]:
    """What is shown of a fit; parameters that noise alone tells, with the reason."""
    untold = untold_parameters(fit)
    chosen = selection.parameters[: len(names)]
    lost = chosen & np.isin(names, list(untold))
    removed = [
        _removal(name, untold[name]) for name, gone in zip(names, lost, strict=True) if gone
    ]
    return replace(selection, parameters=chosen & ~lost), removed


def fit_gathered(
    gathered: Gathered, method: CarMethod, selection: Selection, configuration: CarDescription
) -> tuple[Fit, Array]:
    """Weighted least squares and the bias that was taken off its values."""
    problem = CarProblem(gathered.model, gathered.information)
    fit = estimate(
        problem,
        selection,
        gauss_markov=method.gauss_markov,
        spectral_weights=method.spectral_weights,
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
        problem,
        fit,
        selection,
        configuration,
        inverse,
        gathered.model.constant_column,
        gathered.constants,
    )
    gathered.details['offset_scale'] = scale
    told = len(gathered.model.told)
    covariance = fit.covariance + constant + BIAS_SHARE**2 * np.outer(correction, correction)
    covariance[:told, :told] += gathered.settings_spread / gathered.information.seconds
    fit = replace(fit, covariance=covariance)
    gathered.details['uneven_dampers'] = uneven_of(gathered.model, fit).as_dict()
    return fit, correction


def identify_recordings(
    recordings: Iterable[CarRecording],
    configuration: CarDescription,
    method: CarMethod | None = None,
    validation: CarRecording | None = None,
) -> Identified:
    """Identify a car from one or several recordings, and validate on another one."""
    method = method or CarMethod()
    gathered = gather_recordings(recordings, configuration, method)
    selection, removed = select(gathered)
    fit, correction = fit_gathered(gathered, method, selection, configuration)
    names = gathered.model.told
    told = fit.first(len(names))
    shown, lost = _told(names, told, selection)
    removed += lost
    result = _result(gathered, told, shown, removed, configuration.a_priori_array(names))
    result.noise['bias_correction'] = dict(
        zip(names, correction[: len(names)].tolist(), strict=True)
    )
    result.impossible, found = impossible_values(names, result.value, told.covariance)
    findings = all_findings(gathered, fit, selection) if method.check else gathered.findings
    found += unequal_sides(names, result.value, told.covariance)
    findings = [*findings, *uneven_of(gathered.model, fit).findings(), *found]
    static = gathered.static
    if gathered.calibrations:
        result.extra['calibration'] = [one.as_dict() for one in gathered.calibrations]
    if validation is not None:
        validation, configuration = as_gathered(
            validation, configuration, method, gathered.calibrations
        )
        prepared = prepare(validation, configuration, method.processing)
        result.validation = validate_prepared(
            prepared, gathered, fit.value, configuration, selection
        )
        findings += check_validation(validation, prepared, configuration)
        if static is None and gathered.usable[:6].all() and not prepared.missing_wrenches:
            static = static_loads([*prepared.pieces, *prepared.stands], configuration)
    if static is not None:
        result.extra['static_mass'] = weighed = static.compare(result)
        findings.append(static_mass_finding(weighed))
    return Identified(
        result,
        tuple(findings),
        gathered.model,
        gathered.origins,
        gathered.calibrations,
        gathered.configuration,
        (gathered.first,),
        fit.value[len(names) :],
    )


def check_recording(recording: CarRecording, configuration: CarDescription) -> list[Finding]:
    """Is a recording what it says it is? By a quick identification from it alone."""
    return quick_identification(recording, configuration)[1]


def quick_identification(
    recording: CarRecording, configuration: CarDescription
) -> tuple[Gathered | None, list[Finding]]:
    """A recording as it was gathered, None where that cannot be, and what the checks say of it."""
    method = CarMethod(bias_correction=False)
    try:
        gathered = gather_recordings([recording], configuration, method)
        selection, _ = select(gathered)
        fit, _ = fit_gathered(gathered, method, selection, configuration)
    except EstimationError as error:
        text = f'the sensors cannot be checked against each other: {error}'
        return None, [Finding('warn', 'not_checked', text, recording.label)]
    return gathered, all_findings(gathered, fit, selection)


def all_findings(gathered: Gathered, fit: Fit, selection: Selection) -> list[Finding]:
    """What reading, calibration and fit say; a cause that is sure stands alone.

    Settings that were found in signals that are wrong themselves are no news.
    """
    causes = check_fit(gathered, fit, selection)
    sure = any(
        one.level == 'bad' and not np.isnan([one.evidence, one.size]).all() for one in causes
    )
    told = [one for one in gathered.findings if not (sure and one.code in CALIBRATED)]
    return [*told, *causes]


def check_fit(gathered: Gathered, fit: Fit, selection: Selection) -> list[Finding]:
    """What is wrong with the recordings: signs first, then swaps and turned units."""
    notes = [one for one in gathered.signs if one.level == 'note']
    return [*_causes(gathered, fit, selection), *notes]


def _causes(gathered: Gathered, fit: Fit, selection: Selection) -> list[Finding]:
    """What a note says explains no misfit."""
    model = gathered.model
    found = [one for one in gathered.signs if one.level != 'note']
    problem = CarProblem(model, gathered.information)
    known = bool(gathered.cutoffs.stop_bands)
    poor = suspicious(problem, fit, selection, model.constant_column, known)
    if not any(one.level == 'bad' for one in found):
        asked = poor or any(one.code == 'sensors_disagree' for one in found)
        causes = explain(model, gathered.stretches, selection, asked, gathered.rivalled)
        if causes:  # the cause stands alone: that sensors disagree follows from it
            found = [*causes, *(one for one in found if one.code != 'sensors_disagree')]
    if poor and not found:
        found.append(
            Finding(
                'bad',
                'poor_fit',
                'the equations fit badly or a mass, spring or damper comes out negative; no '
                'single cause explains it. Tried: units and ranges, the pose of the inertial '
                'unit, delays and camber (where all wheels are recorded), '
                + ', '.join(name.replace('_', ' ') for name in tried()),
            )
        )
    if found:
        return found
    uneven = check_axles(model, problem, fit, selection, gathered.stretches)
    # A wheel whose sensor is already named fits worse because of that.
    named = [one.text for one in gathered.findings if one.level != 'note']
    return [
        one
        for one in uneven
        if one.code != 'uneven_fit'
        or not any(f'wheel_{one.where[-2:]}/wrench' in text or one.where in text for text in named)
    ]


def check_validation(
    validation: CarRecording, prepared: Prepared, configuration: CarDescription
) -> list[Finding]:
    """Checks of the recording that judges, and equations that it cannot judge."""
    label, piece = validation.label, max(prepared.pieces, key=len)
    _, lost = lost_equations(prepared.missing_wrenches, prepared.missing_travels, label)
    return [
        *check_before_fit(validation, configuration, prepared.poses['imu'][0], piece),
        *(
            replace(one, level='note', text=f'in the validation recording, {one.text}')
            for one in lost
        ),
    ]


def _result(
    gathered: Gathered, fit: Fit, selection: Selection, removed: list[Removal], a_priori: Array
) -> IdentificationResult:
    names, cutoffs, information = gathered.model.told, gathered.cutoffs, gathered.information
    found = solved(fit, information.samples, gathered.usable, selection.parameters, removed)
    return found.result(
        names,
        [unit(name) for name in names],
        EQUATIONS,
        a_priori,
        system='car',
        input={
            **gathered.details,
            'seconds': information.seconds,
            'cutoff_hz': dict(cutoffs.hertz),
            'cutoff_reason': dict(cutoffs.reasons),
            'stop_bands_hz': [list(band) for band in cutoffs.stop_bands],
        },
    )


def validate_prepared(
    prepared: Prepared,
    gathered: Gathered,
    value: Array,
    configuration: CarDescription,
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
    prior = np.zeros(len(model.names))  # beforehand dampers are straight
    prior[: len(model.told)] = configuration.a_priori_array(model.told)
    prior_residual, _ = problem.squares(np.nan_to_num(prior), bands)
    # Unknown values predict nothing; what is no part of the model is zero on both sides.
    incomplete = problem.involving(selection.parameters & ~np.isfinite(prior))
    with np.errstate(divide='ignore', invalid='ignore'):
        relative = np.where(measured > 0.0, np.sqrt(residual / measured), np.nan)
    return Validation(
        list(EQUATIONS),
        np.sqrt(residual / information.samples),
        relative,
        np.where(incomplete, np.nan, np.sqrt(prior_residual / information.samples)),
        information.samples,
        0,
    )
