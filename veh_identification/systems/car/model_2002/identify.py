"""`identify car` with the Lagrange model of Venture 2002: ramps, validation by braking, weighing.

Section 6 of the document: the parameters are identified from a ramp steer to each side, checked
on a braking in a straight line, and the mass is compared with the wheel loads of the standing car.
The document's model knows no camber. Where the recordings measure camber and kingpin angles the
wheel wrenches are turned by them first (`camber`): on the simulated car the mass is 1.6 % too
small without.

The dry friction needs the sign of the suspension velocity up to frequencies that the travel
sensors do not follow. It is that of the identification of Venture 2006 (`processing.friction`): by
the travel alone the largest friction came out three deviations low and its damper as much high.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from veh_identification.errors import EstimationError, SignalError
from veh_identification.findings import Finding
from veh_identification.identification import IdentificationResult, Validation
from veh_identification.systems.car.checks.possible import impossible_values
from veh_identification.systems.car.checks.sensors import check_signs, lost_equations
from veh_identification.systems.car.checks.sides import unequal_sides
from veh_identification.systems.car.checks.static_mass import (
    StaticLoads,
    static_loads,
    static_mass_finding,
)
from veh_identification.systems.car.configuration import CarDescription, Geometry
from veh_identification.systems.car.estimation import bias
from veh_identification.systems.car.estimation.gathering import CarMethod, gather_recordings
from veh_identification.systems.car.estimation.identified import Identified, solved
from veh_identification.systems.car.estimation.identify import quick_identification
from veh_identification.systems.car.estimation.offsets import (
    constant_responses,
    equation_offsets,
    offset_sizes,
)
from veh_identification.systems.car.estimation.weighted import (
    CarProblem,
    Fit,
    Selection,
    estimate,
    solve,
)
from veh_identification.systems.car.model_2002.attitude import with_attitude
from veh_identification.systems.car.model_2002.lagrange import (
    EQUATIONS_2002,
    JOINT_NUMBER,
    WHEEL_NUMBER,
    LagrangeCar,
)
from veh_identification.systems.car.origins import Origin, recording_origins
from veh_identification.systems.car.parameters import CORNERS, unit
from veh_identification.systems.car.processing.cutoffs import fixed_cutoffs
from veh_identification.systems.car.processing.driveline import (
    Modes,
    driveline_modes,
    merged,
)
from veh_identification.systems.car.processing.signals import PLAIN, Prepared, Processing, prepare
from veh_identification.systems.car.processing.spectral import SpectralInformation, gather, sum_of
from veh_identification.systems.car.recording.reader import CarRecording
from veh_identification.systems.car.recording.samples import CarSamples, hub_rotation
from veh_identification.types import Array

#: An equation of the validation counts where its signal exceeds this many residuals.
SIGNAL = 5.0


def names_of_2006() -> dict[str, tuple[str, float]]:
    """Name and sign under Venture 2006 of every name of Venture 2002.

    Body 6 has x to the right, y down, z forward.
    """
    table = {
        'm6': ('Mc', 1.0),
        'mx6': ('MYc', -1.0),
        'my6': ('MZc', -1.0),
        'mz6': ('MXc', 1.0),
        'xx6': ('YYc', 1.0),
        'yy6': ('ZZc', 1.0),
        'zz6': ('XXc', 1.0),
        'xy6': ('YZc', 1.0),
        'xz6': ('XYc', -1.0),
        'yz6': ('XZc', -1.0),
        'Cx': ('Cx', 1.0),
        'karf': ('karf', 1.0),
        'karr': ('karr', 1.0),
    }
    for j, corner in enumerate(CORNERS, start=1):
        table[f'm{WHEEL_NUMBER[corner]}'] = (f'M{j}', 1.0)
        for kind, other in (('ks', 'k'), ('h', 'h'), ('fs', 'fs'), ('off', 'off')):
            table[f'{kind}{JOINT_NUMBER[corner]}'] = (f'{other}{j}', 1.0)
    return table


@dataclass(frozen=True)
class Method2002:
    """How the Lagrange model is identified."""

    cutoff_hz: float = 5.0  # above, the smoothed sign of the friction and the driveline rule
    anti_roll: bool = True  # the document has no anti-roll bars: its springs take their part
    camber: bool = True  # turn wheel wrenches by measured camber and kingpin angles
    top_hz: float = 25.0
    check: bool = True  # look for swapped, turned and wrongly signed sensors


@dataclass(frozen=True)
class Gathered2002:
    """One recording of the ten equations."""

    information: SpectralInformation
    static: StaticLoads | None
    label: str
    origins: tuple[Origin, ...]
    signs: list[Finding]  # what gravity and steering contradict
    modes: Modes  # of the driveline


def identify_car_2002(
    recordings: Iterable[CarRecording],
    configuration: CarDescription,
    method: Method2002 | None = None,
    validation: CarRecording | None = None,
) -> Identified:
    """Identify from concatenated recordings and validate on another one."""
    method = method or Method2002()
    model = LagrangeCar(configuration, method.anti_roll)
    parts: list[Gathered2002] = []
    findings: list[Finding] = []
    for one in recordings:
        friction, found = _friction(one, configuration, method)
        parts.append(_gather(model, one, configuration, method, friction))
        findings += found
    if not parts:
        raise EstimationError('no recording was given')
    total = sum_of([part.information for part in parts])
    fit, selection = _fit(model, total, parts, configuration, method)
    result = _result(model, fit, parts, total, configuration, method)
    result.impossible, found = _impossible(model.names, fit)
    findings += found
    static = next((part.static for part in parts if part.static is not None), None)
    if validation is not None:
        braking = _gather(model, validation, configuration, method)
        result.validation = _validation(model, braking, fit, selection, configuration)
        result.extra['validation_excited'] = excited = _excited(result)
        findings += [*braking.signs, *_idle(excited, validation.label)]
        static = static or braking.static
    if static is not None:
        result.extra['static_mass'] = weighed = _weighed(static, result)
        findings.append(static_mass_finding(weighed))
    origins = tuple(origin for part in parts for origin in part.origins)
    return Identified(result, tuple(findings), model, origins)


def _fit(
    model: LagrangeCar,
    total: SpectralInformation,
    parts: Sequence[Gathered2002],
    configuration: CarDescription,
    method: Method2002,
) -> tuple[Fit, Selection]:
    problem = CarProblem(model, total)
    stop = configuration.disturbances or merged([b for part in parts for b in part.modes.bands])
    bands = fixed_cutoffs(method.cutoff_hz, method.cutoff_hz, stop).bands(total.frequency)
    selection = Selection(bands, np.ones(len(model.names), dtype=bool))
    fit = estimate(problem, selection)
    constant = _constant_errors(problem, fit, selection, configuration, parts)
    return replace(fit, covariance=fit.covariance + constant), selection


def _result(
    model: LagrangeCar,
    fit: Fit,
    parts: Sequence[Gathered2002],
    total: SpectralInformation,
    configuration: CarDescription,
    method: Method2002,
) -> IdentificationResult:
    table, equations = names_of_2006(), len(EQUATIONS_2002)
    every = np.ones(len(model.names), dtype=bool)
    found = solved(fit, total.samples, np.ones(equations, dtype=bool), every, [])
    return found.result(
        model.names,
        [unit(table[name][0]) for name in model.names],
        EQUATIONS_2002,
        a_priori_2002(configuration, model.names),
        system='car',
        input={
            'model': '2002',
            'recordings': [part.label for part in parts],
            'dof': 20,
            'seconds': total.seconds,
            'cutoff_hz': dict.fromkeys(EQUATIONS_2002, method.cutoff_hz),
            'anti_roll_bars': method.anti_roll,
            'camber': method.camber,
        },
    )


def _impossible(names: Sequence[str], fit: Fit) -> tuple[list[str], list[Finding]]:
    """Values that cannot exist, judged and told under the names of Venture 2006."""
    table = names_of_2006()
    known = [table[name] for name in names]
    sign = np.array([factor for _, factor in known])
    told = [name for name, _ in known], sign * fit.value, np.outer(sign, sign) * fit.covariance
    broken, found = impossible_values(*told)
    found += unequal_sides(*told)
    return [name for name, (other, _) in zip(names, known, strict=True) if other in broken], found


def _constant_errors(
    problem: CarProblem,
    fit: Fit,
    selection: Selection,
    configuration: CarDescription,
    parts: Sequence[Gathered2002],
) -> Array:
    """Covariance of the parameters by constant sensor errors, given or typical ones.

    Every recording has errors of its own: a ramp to the left and one to the right lean to opposite
    sides, and what the zeros of the travel sensors differ by looks like springs and bars.

    The equations are those of the chassis axes but for the attitude, which is small, and the yaw,
    over which an error of x and y only averages: taking it as constant is on the safe side.
    """
    inverse = solve(problem, fit.weights, selection.parameters)[1]
    constant = problem.model.signal_count - len(EQUATIONS_2002) - 1
    responses = constant_responses(
        problem,
        fit,
        inverse,
        constant,
        [(part.information.grams[:, :, constant], part.information.samples) for part in parts],
    )
    table = names_of_2006()
    named = {
        table[name][0]: table[name][1] * value
        for name, value in zip(problem.model.names, fit.value, strict=True)
    }
    value, names = np.array(list(named.values())), tuple(named)
    stated, usual = (
        equation_offsets(value, names, configuration, sizes)
        for sizes in offset_sizes(configuration)
    )
    cause = stated + usual
    order = [0, 1, 2, 5, 4, 3, 6, 7, 8, 9]  # psi, phi, theta are yaw, pitch, roll
    turned = cause[np.ix_(order, order)]
    return np.asarray(sum(one @ turned @ one.T for one in responses))


def _friction(
    recording: CarRecording, configuration: CarDescription, method: Method2002
) -> tuple[Processing, list[Finding]]:
    """How the friction of a recording is to be formed, and what the checks say of it."""
    if method.check:
        gathered, found = quick_identification(recording, configuration)
        return PLAIN if gathered is None else gathered.processing, found
    quick = CarMethod(bias_correction=False, check=False, calibrate=False)
    try:
        return gather_recordings([recording], configuration, quick).processing, []
    except EstimationError:
        return PLAIN, []


def _gather(
    model: LagrangeCar,
    recording: CarRecording,
    configuration: CarDescription,
    method: Method2002,
    friction: Processing = PLAIN,
) -> Gathered2002:
    """One recording; that which judges is taken by its motion sensors alone."""
    prepared, pieces = prepare_2002(recording, configuration, method, friction)
    return Gathered2002(
        gather(model, pieces, method.top_hz),
        static_loads([*prepared.pieces, *prepared.stands], configuration),
        recording.label,
        recording_origins(
            recording.label, prepared.poses, prepared.measured_extra, configuration, 20
        ),
        check_signs(max(prepared.pieces, key=len), recording.label),
        driveline_modes(recording),
    )


def prepare_2002(
    recording: CarRecording,
    configuration: CarDescription,
    method: Method2002,
    friction: Processing = PLAIN,
) -> tuple[Prepared, tuple[CarSamples, ...]]:
    """A recording, and its stretches with attitude and turned wheel wrenches."""
    noise = bias.sensor_noise(recording, configuration)
    prepared = prepare(
        recording,
        configuration,
        Processing(
            cutoff_hz=1.2 * method.top_hz,
            travel_noise=bias.travel_noise(noise),
            extension=friction.extension,
            surfaces=friction.surfaces,
        ),
    )
    usable, lost = lost_equations(prepared.missing_wrenches, prepared.missing_travels)
    if not usable.all():
        raise EstimationError(
            f'{recording.label}: the model of 2002 needs all ten equations; '
            + '; '.join(finding.text for finding in lost)
        )
    pieces = []
    for piece in prepared.pieces:
        turned = steered_wrenches(piece, configuration.geometry) if method.camber else piece
        try:
            pieces.append(with_attitude(turned, recording, configuration))
        except SignalError:
            continue  # shorter than the filter that joins ride heights and gyroscope
    if not pieces:
        longest = max(len(piece) / piece.rate for piece in prepared.pieces)
        raise EstimationError(
            f'{recording.label}: the attitude that the model of 2002 needs takes about 5 s off '
            f'both ends, and the longest stretch without gaps has {longest:.1f} s: record 20 s or '
            'more'
        )
    return prepared, tuple(pieces)


def steered_wrenches(piece: CarSamples, geometry: Geometry) -> CarSamples:
    """Wheel wrenches as the model's hubs feel them: at their nominal places, only steered.

    Camber, kingpin and the toe of the rear wheels are taken out, and what half track and wheelbase
    vary by is made up for by a moment: the model has no such joints, but the height of the centre
    of gravity follows from the roll moment.
    """
    joints = piece.joints
    steering = joints['steering'].position
    toe = np.where(np.array([False, False, True, True]), steering, 0.0)
    turn = hub_rotation(toe, joints['camber'].position, joints['kingpin'].position)
    force, moment = (
        np.einsum('njab,njb->nja', turn, piece.wrench[:, :, part : part + 3]) for part in (0, 3)
    )
    side = np.sign(geometry.wheel_y)
    moved = np.zeros_like(force)
    moved[:, :, 0] = joints['wheelbase'].position - np.array(geometry.wheel_x)
    moved[:, :, 1] = side * joints['half_track'].position - np.array(geometry.wheel_y)
    level = np.zeros_like(steering)
    # From base_link into the axes of the steered hub, where the wrench is given.
    steered = hub_rotation(np.where(toe == 0.0, steering, 0.0), level, level)
    moment = moment + np.cross(np.einsum('njba,njb->nja', steered, moved), force)
    return replace(piece, wrench=np.concatenate([force, moment], axis=2))


def a_priori_2002(configuration: CarDescription, names: Iterable[str]) -> Array:
    """A-priori values in the axes of Venture 2002."""
    table, known = names_of_2006(), configuration.a_priori
    return np.array([table[name][1] * known.get(table[name][0], np.nan) for name in names])


def _validation(
    model: LagrangeCar,
    braking: Gathered2002,
    fit: Fit,
    selection: Selection,
    configuration: CarDescription,
) -> Validation:
    information = braking.information
    problem = CarProblem(model, information)
    bands = selection.bands[:, : len(information.rows)]
    residual, measured = problem.squares(fit.value, bands)
    given = a_priori_2002(configuration, model.names)
    prior, _ = problem.squares(np.nan_to_num(given), bands)
    incomplete = problem.involving(selection.parameters & ~np.isfinite(given))
    return Validation(
        list(EQUATIONS_2002),
        np.sqrt(residual / information.samples),
        np.sqrt(residual / np.maximum(measured, 1e-300)),
        np.where(incomplete, np.nan, np.sqrt(prior / information.samples)),
        information.samples,
        0,
    )


def _excited(result: IdentificationResult) -> dict[str, bool]:
    """Which equations the validation run moves at all: braking has no lateral force."""
    assert result.validation is not None
    measured = result.validation.rms / np.maximum(result.validation.rms_relative, 1e-300)
    return {
        name: bool(one)
        for name, one in zip(EQUATIONS_2002, measured > SIGNAL * result.residual_rms, strict=True)
    }


def _idle(excited: Mapping[str, bool], label: str) -> list[Finding]:
    idle = [name for name, one in excited.items() if not one]
    if not idle:
        return []
    text = (
        'the validation run does not move these equations, their relative rms says '
        f'nothing: {" ".join(idle)}'
    )
    return [Finding('note', 'equations_not_validated', text, label)]


def _weighed(static: StaticLoads, result: IdentificationResult) -> dict[str, Any]:
    """Section 6.2: wheel loads at standstill less the unsprung masses, beside m6."""
    unsprung = sum(
        float(result.value[result.index(f'm{number}')]) for number in WHEEL_NUMBER.values()
    )
    return static.beside(float(result.value[result.index('m6')]), unsprung)
