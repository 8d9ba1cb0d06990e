"""`identify car` without force-measuring wheels: from recordings to parameters and their sheet."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from veh_identification.errors import EstimationError
from veh_identification.findings import Finding
from veh_identification.identification import IdentificationResult, Validation
from veh_identification.identification.result import Solved
from veh_identification.signals.spread import spread
from veh_identification.systems.car.bicycle import model
from veh_identification.systems.car.bicycle.centre import (
    described_centre,
    front_share,
    is_described,
)
from veh_identification.systems.car.bicycle.errors import doubts, sensor_errors
from veh_identification.systems.car.bicycle.fit import (
    Fitted,
    Innovations,
    innovations_of,
    joined,
    maximise,
)
from veh_identification.systems.car.bicycle.longitudinal import (
    USUAL_MASS,
    Forward,
    fit_forward,
    rough_mass,
)
from veh_identification.systems.car.bicycle.signals import (
    RATE,
    HandlingSamples,
    Steering,
    block_numbers,
    handling_samples,
    told_columns,
)
from veh_identification.systems.car.bicycle.telling import (
    told_constants,
    told_course,
    told_delay,
    told_pitch,
    told_relaxation,
    told_torque,
)
from veh_identification.systems.car.bicycle.unknowns import (
    Known,
    Unknown,
    physical,
    prior_of,
    unknowns,
)
from veh_identification.systems.car.checks.channels import HEAVIEST, LIGHTEST
from veh_identification.systems.car.checks.plausibility import check_handling
from veh_identification.systems.car.configuration import CarDescription
from veh_identification.systems.car.origins import Origin, pose_origin
from veh_identification.systems.car.recording.reader import CarRecording, sensor_pose
from veh_identification.systems.car.tyres.contact import known_wheels, standing_radius
from veh_identification.types import Array, BoolArray

EQUATIONS = ('yaw_rate', 'roll_rate', 'side_force')
EQUATION_UNITS = ('rad/s', 'rad/s', 'm/s^2')
#: What shows over mass only, with its name where the mass is known.
OVER_MASS = {'Izz/m': 'Izz', 'Cf/m': 'Cf', 'Cr/m': 'Cr'}
UNITS = {'Izz': 'kg m^2', 'Cf': 'N/rad', 'Cr': 'N/rad', 'm': 'kg', 'Cx': 'N s^2/m^2'}
SHOWN = (
    'Izz/m',
    'Cf/m',
    'Cr/m',
    'cg_x',
    'sigma_f',
    'sigma_r',
    'roll_frequency',
    'roll_damping',
    'roll_gain',
    'steering_gain',
    'trail',
)
#: What a single track leaves out, relative, found on simulated cars (docs/car_accuracy.md).
LEFT_OUT = {
    'Izz/m': 0.008,
    'Cf/m': 0.008,
    'Cr/m': 0.008,
    'sigma_f': 0.08,
    'sigma_r': 0.08,
    'steering_gain': 0.006,
    'roll_frequency': 0.05,
    'roll_damping': 0.2,
    'roll_gain': 0.045,
}
#: How they change with the wheelbase that is described: the moments that turn the car have its
#: lever arms. Four simulated cars, 0.9 to 1.1 times: 2.0 to 2.3, -1.0 to -1.2, 1.0 to 1.1.
BY_WHEELBASE = {'Izz/m': 2.1, 'Cf/m': -1.1, 'Cr/m': 1.1}
#: Those of roll hold where the road makes no more than this share of the roll rate; they grow with
#: its power, since how a road tilts a car is only guessed: where it does so more than the steering
#: does, its guessed colour passes for that of the car.
ROLL, ROLL_BY_ROAD = ('roll_frequency', 'roll_damping', 'roll_gain'), 0.15
#: How many times as much it is where no roll rate tells what the road does (six everyday drives
#: and seven with sines and steps of the steering).
UNSEEN = {
    'sigma_f': 1.5,
    'sigma_r': 2.5,
    'roll_frequency': 2.0,
    'roll_damping': 4.0,
    'roll_gain': 3.0,
}
#: Settled by the description and usual values: their uncertainty enters, they are not estimated.
CONSIDERED = ('cg_x', 'trail', 'cross', 'steering_lead', 'air', 'roll_axis')
#: Shares of yaw and roll rate that may stay unexplained. Test manoeuvres on a rough road leave
#: 0.02 to 0.07 and 0.12 to 0.19, everyday drives 0.6 to 0.7 of the roll rate.
UNEXPLAINED_YAW, UNEXPLAINED_ROLL = 0.25, 0.4
LEAST_CORNERING = 0.4  # rms of the sideways acceleration that is needed [m/s^2]
#: Deviations of the steering's gain that are told, and share below which nothing is.
FAR, LEAST_GAIN = 2.0, 0.03
UNLIKE = 1.35  # a loaded car over the described one
WEIGHED_SHARE = 0.005  # deviation of the share of the weight on the front axle, by scales


@dataclass(frozen=True)
class HandlingMethod:
    """What is known beside the recordings and the description."""

    mass: float | None = None  # of the car as driven [kg]
    mass_std: float | None = None
    front_share: float | None = None  # of the weight, by scales
    check: bool = True


@dataclass(frozen=True, eq=False)
class Traces:
    """Measured and simulated yaw rate, roll rate and side force of one recording."""

    columns: list[int]  # of these those that are measured
    stamps_ns: Any
    measured: Array
    simulated: Array
    lasting: Array  # states at the end, constant errors of the sensors among them

    @property
    def equations(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(EQUATIONS[k] for k in self.columns)

    @property
    def units(self) -> tuple[str, ...]:
        """And their units."""
        return tuple(EQUATION_UNITS[k] for k in self.columns)


@dataclass(frozen=True, eq=False)
class HandlingIdentified:
    """What was found."""

    result: IdentificationResult
    findings: tuple[Finding, ...]
    origins: tuple[Origin, ...]
    shown: Traces
    quantities: Callable[[Array], Mapping[str, float]]  # of the parameters, for the sheet


def identify_handling(
    recordings: Iterable[CarRecording],
    config: CarDescription,
    method: HandlingMethod,
    validation: CarRecording | None = None,
) -> HandlingIdentified:
    """Fit the single-track car to all recordings and judge it on another one."""
    findings: list[Finding] = []
    origins: list[Origin] = []
    parts: list[HandlingSamples] = []
    for one in recordings:
        findings += _about(one, config, method)
        with _told_beside(findings):
            parts.append(handling_samples(one, config))
        origins += _origins(one, parts[-1], config)
    if not parts:
        raise EstimationError('no recording was given')
    with _told_beside(findings):
        _enough(parts)
    if method.check and not _bad(findings):
        findings += told_course(parts, config.topics['gps_velocity'])
        findings += told_pitch(parts, config.topics['imu'])
    forward = fit_forward(parts, config, method.front_share)
    mass = _mass(forward, method)
    weight = USUAL_MASS if mass is None else mass[0]
    parts = [_with_mass(one, config, weight) for one in parts]
    given = unknowns(_known(parts, config, method, None if mass is None else mass[0]))
    considered = np.array([one.name in CONSIDERED for one in given])
    with _told_beside(findings):
        fitted = maximise(_predictor(parts, given), prior_of(given), considered)
    if method.check and not _bad(findings):  # a cause that is known explains the rest
        findings += _sensor_errors(parts, given, fitted, config, considered)
    par = physical(given, fitted.value)
    judging = None
    if validation is not None:
        judging = _with_mass(handling_samples(validation, config), config, weight)
        findings += _about(validation, config, method)
    columns = _measured_by_all([*parts, *([] if judging is None else [judging])])
    driven = [traces(one, par, columns) for one in parts]
    unexplained = dict(zip(driven[0].equations, _unexplained(driven).tolist(), strict=True))
    result = _result(parts, given, fitted, forward, mass, driven)
    shown = driven[-1]
    if judging is not None:
        shown = traces(judging, par, columns)
        result.validation = _validation(shown)
    findings += _told(parts, forward, mass, method)
    if method.check:
        findings += told_steering(result, parts[0].steering)
        findings += _told_mass(parts, forward, config)
        if not _bad(findings):
            findings += told_delay(given, fitted, config.topics['gps_velocity'])
            findings += told_relaxation(
                given, fitted, config.topics['imu'], parts[0].steering.source
            )
            findings += told_constants([one.lasting for one in driven], config.topics)
    findings += [] if _bad(findings) else poor_fit(unexplained)
    findings.append(told_centre(result, config, method))
    length = config.geometry.wheelbase
    return HandlingIdentified(
        result,
        tuple(findings),
        tuple(origins),
        shown,
        lambda value: quantities(dict(zip(result.names, value, strict=True)), length),
    )


def _shown(parts: Sequence[HandlingSamples]) -> list[str]:
    """Unknowns that are told; those of roll unless something shows how the body leans.

    Without roll rate and gravity the antenna's sway alone tells them, as far as the others need.
    """
    leans = any(one.rolls or one.car[model.FELT] > 0.0 for one in parts)
    return [name for name in SHOWN if leans or name not in ROLL]


def _sensor_errors(
    parts: Sequence[HandlingSamples],
    given: tuple[Unknown, ...],
    fitted: Fitted,
    config: CarDescription,
    considered: BoolArray,
) -> list[Finding]:
    topics = config.topics
    speed = topics['gps_velocity' if parts[0].speed_source == 'satellites' else 'speed']
    return sensor_errors(
        parts,
        lambda changed: _predictor(changed, given),
        fitted,
        prior_of(given),
        doubts(topics['imu'], topics['joints'], speed, all(one.rolls for one in parts)),
        lambda changed: maximise(_predictor(changed, given), prior_of(given), considered),
    )


def _bad(findings: Sequence[Finding]) -> list[Finding]:
    return [one for one in findings if one.level == 'bad']


@contextmanager
def _told_beside(findings: Sequence[Finding]) -> Iterator[None]:
    """What the checks found stands first in a refusal: it is often why nothing is left."""
    try:
        yield
    except EstimationError as error:
        bad = [one.text for one in _bad(findings)]
        raise EstimationError('; '.join([*bad, str(error)])) from error


def _enough(parts: Sequence[HandlingSamples]) -> None:
    side = np.concatenate([one.measured[:, model.M_SIDE] for one in parts])
    lively = spread(side)
    if lively < LEAST_CORNERING:
        raise EstimationError(
            f'{parts[0].label}: the sideways acceleration varies by {lively:.2f} m/s^2 only '
            f'({LEAST_CORNERING} are needed); drive bends or steer sines of 0.2 to 2 Hz at 10 to '
            '25 m/s'
        )


def _about(one: CarRecording, config: CarDescription, method: HandlingMethod) -> list[Finding]:
    """What is wrong with a recording."""
    reports = (*one.reports, *one.further_reports)
    found = [*one.findings, *(finding for report in reports for finding in report.findings())]
    if method.check:
        found += check_handling(one, config)
    return found


def _origins(one: CarRecording, samples: HandlingSamples, config: CarDescription) -> list[Origin]:
    sensor, source = sensor_pose(config.sensors.imu, one)
    place = ' '.join(f'{x:g}' for x in sensor.position)
    return [
        (
            'pose of the inertial unit in base_link',
            f'x y z {place} m',
            pose_origin(config, 'imu', source, one.label),
        ),
        ('steering', samples.steering.source, one.label),
        ('forward speed', samples.speed_source, one.label),
        ('sideways speed', samples.sideways_source, one.label),
    ]


def _mass(forward: Forward | None, method: HandlingMethod) -> tuple[float, float] | None:
    """Mass and deviation, where they are known: given, by torque, or both."""
    told = []
    if method.mass is not None:
        told.append((method.mass, method.mass_std or 0.01 * method.mass))
    if forward is not None:
        told.append((float(forward.value[0]), float(np.sqrt(forward.covariance[0, 0]))))
    if not told:
        return None
    weight = np.array([1.0 / std**2 for _, std in told])
    value = float(weight @ [one for one, _ in told] / weight.sum())
    return value, float(weight.sum() ** -0.5)


def _with_mass(one: HandlingSamples, config: CarDescription, mass: float) -> HandlingSamples:
    """What follows from a mass: how the wheels' spin acts, and how high the wheel centres are."""
    car = one.car.copy()
    geometry = config.geometry
    if np.isfinite(one.radius):
        pressed = 0.25 * mass * config.gravity / known_wheels(config).stiffness
        car[model.HEIGHT] = standing_radius(one.radius, pressed)
    car[model.SPIN] = 4.0 * config.wheel.spin_inertia / (mass * geometry.wheel_radius)
    track = float(np.mean(geometry.half_track))
    car[model.TURNED] = car[model.SPIN] * track**2 / geometry.wheel_radius
    return replace(one, car=car)


def _known(
    parts: Sequence[HandlingSamples],
    config: CarDescription,
    method: HandlingMethod,
    mass: float | None = None,
) -> Known:
    length = config.geometry.wheelbase
    centre = front_share(config, method.front_share, mass) * length
    deviation = 0.1 * length
    if method.front_share is not None:
        deviation = WEIGHED_SHARE * length
    elif is_described(config):
        _, deviation = described_centre(config, mass)
    gps = config.sensors.gps
    return Known(
        length,
        centre,
        deviation,
        max(one.steering.gain_deviation for one in parts),
        0.002,
        max(gps.velocity_delay_deviation, 0.01),
        _by_air(config),
    )


def _by_air(config: CarDescription) -> float:
    """Share of the weight that the drag moves to the rear axle at the speed of the model."""
    high = config.air.point[2] + config.geometry.wheel_radius
    moment = config.air.drag * model.AIR_SPEED**2 * high
    weight = (config.a_priori.get('Mc') or USUAL_MASS) * config.gravity
    return float(moment / (weight * config.geometry.wheelbase))


def _predictor(
    parts: Sequence[HandlingSamples], given: tuple[Unknown, ...]
) -> Callable[[Array], Innovations]:
    blocks = [block_numbers(one) for one in parts]
    nothing = np.zeros((0, model.STATES))

    def predict(search: Array) -> Innovations:
        par = physical(given, search)
        found = []
        for one, block in zip(parts, blocks, strict=True):
            out = np.empty((len(one), 2, model.OUTPUTS))
            model.filtered(par, one.car, one.inputs, one.measured, 1.0 / RATE, out, nothing)
            found.append(innovations_of(out, block))
        return joined(found)

    return predict


def _result(
    parts: Sequence[HandlingSamples],
    given: tuple[Unknown, ...],
    fitted: Fitted,
    forward: Forward | None,
    mass: tuple[float, float] | None,
    driven: Sequence[Traces],
) -> IdentificationResult:
    """The shown parameters; over mass, or times the mass where that is known."""
    left = dict(zip(driven[0].equations, _unexplained(driven).tolist(), strict=True))
    names, told = [one.name for one in given], _shown(parts)
    places = [names.index(name) for name in told]
    value = physical(given, fitted.value)[places]
    scale = np.array([value[k] if given[p].positive else 1.0 for k, p in enumerate(places)])
    covariance = fitted.covariance[np.ix_(places, places)] * np.outer(scale, scale)
    by_road = left.get('roll_rate', np.nan)  # what the steering does not explain
    covariance += _left_out(told, value, by_road, parts[0].steering.gain_deviation)
    shown, units = list(told), [given[p].unit for p in places]
    if mass is not None:
        turn = np.diag([mass[0] if name in OVER_MASS else 1.0 for name in told])
        by_mass = np.array(
            [v if n in OVER_MASS else 0.0 for n, v in zip(told, value, strict=True)]
        )
        value = turn @ value
        covariance = turn @ covariance @ turn.T + mass[1] ** 2 * np.outer(by_mass, by_mass)
        shown = ['m', *(OVER_MASS.get(name, name) for name in told)]
        units = [
            'kg',
            *(UNITS.get(OVER_MASS.get(n, n), u) for n, u in zip(told, units, strict=True)),
        ]
        value = np.concatenate([[mass[0]], value])
        beside = mass[1] ** 2 * by_mass
        covariance = np.block(
            [[np.array([[mass[1] ** 2]]), beside[None]], [beside[:, None], covariance]]
        )
    if forward is not None:
        shown += ['Cx', 'rolling']
        units += ['N s^2/m^2', '']
        value = np.concatenate([value, forward.value[1:]])
        wide = np.zeros((len(shown), len(shown)))
        wide[:-2, :-2], wide[-2:, -2:] = covariance, forward.covariance[1:, 1:]
        covariance = wide
    rms, relative = _residuals(driven), np.array([*left.values()])
    error, spread = fitted.innovations.error, fitted.innovations.variance
    return Solved(
        value,
        covariance,
        rms.copy(),
        rms,
        relative,
        'prediction error',
        sum(len(one) for one in parts),
        0,
        fitted.condition_number,
        {
            'model': 'innovations of a Kalman filter; deviations by blocks of 5 s',
            'normalised_innovations': float(np.mean(np.square(error) / spread)),
            'steps': fitted.steps,
        },
    ).result(
        shown,
        units,
        driven[0].equations,
        system='car',
        input={
            'model': 'handling',
            'recordings': [one.label for one in parts],
            'seconds': sum(len(one) for one in parts) / RATE,
            'steering': parts[0].steering.source,
            'speed': parts[0].speed_source,
            'sideways_speed': parts[0].sideways_source,
            'mass': 'unknown' if mass is None else 'given or by torque',
            'cutoff_hz': dict.fromkeys(driven[0].equations, 1.9),
        },
    )


def _left_out(
    names: Sequence[str], value: Array, roll_by_road: float, gain_deviation: float
) -> Array:
    """Covariance of the shown parameters by what a single track leaves out.

    And by a wheelbase that may be wrong: a steering gain that is further off than the steering is
    known for (`gain_deviation`) looks just like that. `roll_by_road`: NaN where nobody measures
    the roll rate.
    """
    share = np.array([LEFT_OUT.get(name, 0.0) for name in names])
    if np.isnan(roll_by_road):
        share *= [UNSEEN.get(name, 1.0) for name in names]
    else:
        rough = max(1.0, (roll_by_road / ROLL_BY_ROAD) ** 2)
        share *= [rough if name in ROLL else 1.0 for name in names]
    far = (float(value[names.index('steering_gain')]) - 1.0) ** 2 - gain_deviation**2
    doubt = max(0.0, far) ** 0.5 * np.array([BY_WHEELBASE.get(name, 0.0) for name in names])
    spread = np.column_stack([np.diag(share), doubt])  # one wheelbase moves them all
    if 'roll_gain' in names:
        # a roll inertia that is taken wrongly scales the gain as the square of the frequency
        frequency, gain = names.index('roll_frequency'), names.index('roll_gain')
        spread[gain, frequency] = 2.0 * share[frequency]
    scaled = value[:, None] * spread
    return np.asarray(scaled @ scaled.T)


def _measured_by_all(parts: Sequence[HandlingSamples]) -> list[int]:
    """Columns of yaw rate, roll rate and sideways force that every recording has."""
    known = [set(told_columns(one.measured)) for one in parts]
    return sorted(set.intersection(*known))


def traces(one: HandlingSamples, par: Array, columns: list[int]) -> Traces:
    """What the car measured, and what steering and speed alone make of it."""
    states = np.empty((len(one), model.STATES))
    out = np.empty((len(one), 2, model.OUTPUTS))
    model.filtered(par, one.car, one.inputs, one.measured, 1.0 / RATE, out, states)
    simulated = np.empty((len(one), 3))
    model.simulated(par, one.car, one.inputs, states, 1.0 / RATE, simulated)
    rows = np.flatnonzero(np.isfinite(one.measured[:, columns]).all(axis=1))
    stamps = one.epoch_ns + np.rint(1e9 * one.time[rows]).astype(np.int64)
    measured = one.measured[rows][:, columns]
    return Traces(columns, stamps, measured, simulated[rows][:, columns], states[-1])


def _unexplained(shown: Sequence[Traces]) -> Array:
    """Share of each signal that steering and speed alone do not explain."""
    error = np.concatenate([one.measured - one.simulated for one in shown])
    measured = np.concatenate([one.measured for one in shown])
    missed, size = np.mean(np.square(error), axis=0), np.mean(np.square(measured), axis=0)
    # of a signal that is nothing at all nothing is explained
    return np.sqrt(np.divide(missed, size, out=np.ones_like(missed), where=size > 0.0))


def _residuals(shown: Sequence[Traces]) -> Array:
    """Of the simulation."""
    error = np.concatenate([one.measured - one.simulated for one in shown])
    return np.asarray(np.sqrt(np.mean(np.square(error), axis=0)))


def _validation(shown: Traces) -> Validation:
    rms = np.sqrt(np.mean(np.square(shown.measured - shown.simulated), axis=0))
    whole = np.sqrt(np.mean(np.square(shown.measured), axis=0))
    return Validation(list(shown.equations), rms, rms / whole, None, len(shown.measured), 0)


def _rates(samples: HandlingSamples) -> str:
    return 'yaw and roll rate' if samples.rolls else 'yaw rate (nobody tells the roll rate)'


def single_track(samples: HandlingSamples) -> Finding:
    """Which model is taken, and from what."""
    return Finding(
        'note',
        'without_wheel_forces',
        'no wheel forces are recorded: a single-track car with roll is identified from '
        f'{samples.steering.source}, {_rates(samples)}, side force, speed by '
        f'{samples.speed_source} and sideways speed by {samples.sideways_source}',
        samples.label,
    )


def _told(
    parts: Sequence[HandlingSamples],
    forward: Forward | None,
    mass: tuple[float, float] | None,
    method: HandlingMethod,
) -> list[Finding]:
    """Which model was chosen, and what cannot be told apart."""
    label = parts[0].label
    found = [single_track(parts[0])]
    if mass is None:
        text = (
            'without mass or drive torque only ratios to the mass show (Izz/m, Cf/m, Cr/m): give '
            '--mass, or record the torque as effort of the wheels'
        )
        found.append(Finding('note', 'only_ratios', text, label))
    if forward is not None and method.mass is not None:
        std = np.hypot(np.sqrt(forward.covariance[0, 0]), method.mass_std or 0.01 * method.mass)
        apart = (forward.value[0] - method.mass) / std
        if abs(apart) > 3.0:
            text = (
                f'the torque says {forward.value[0]:.0f} kg, --mass {method.mass:.0f} kg: '
                f'{abs(apart):.1f} deviations apart; one of them is wrong'
            )
            found.append(Finding('bad', 'masses_disagree', text, label))
    if parts[0].sideways_source == 'nothing':
        text = (
            'no sideways speed (gps/vel or an optical sensor): the axles are told apart by the '
            'phase of their response alone'
        )
        found.append(Finding('warn', 'no_sideways_speed', text, label))
    return found


def told_steering(result: IdentificationResult, steering: Steering) -> list[Finding]:
    """Steering whose gain is far from what the description says."""
    place = result.index('steering_gain')
    gain, std = result.value[place], result.std[place]
    if abs(gain - 1.0) < max(LEAST_GAIN, FAR * np.hypot(steering.gain_deviation, std)):
        return []
    text = (
        f'the road wheels turn {gain:.2f} +- {std:.2f} times as far as {steering.source} say: '
        'that was applied, but look at sensors.rack.steering_ratio, the unit of the angle and the '
        'wheelbase; deviations of Izz, Cf and Cr allow for one that is wrong by as much'
    )
    return [Finding('warn', 'steering_ratio', text)]


def _told_mass(
    parts: Sequence[HandlingSamples], forward: Forward | None, config: CarDescription
) -> list[Finding]:
    """A drive torque that this car cannot have, also where it acts too shortly to tell a mass."""
    if forward is not None:
        return told_mass(forward.value[0], config)
    rough = rough_mass(parts, config)
    return told_torque(parts) or ([] if rough is None else told_mass(rough, config))


def told_mass(mass: float, config: CarDescription) -> list[Finding]:
    """A mass by the drive torque that this car cannot have: the torque is in doubt."""
    known = config.a_priori
    described = sum(known.get(name, 0.0) for name in ('Mc', 'M1', 'M2', 'M3', 'M4'))
    low, high = (LIGHTEST, HEAVIEST)
    if known.get('Mc'):
        low, high = described / UNLIKE, described * UNLIKE
    if low <= mass <= high:
        return []
    beside = f'the description {described:.0f} kg' if known.get('Mc') else 'cars 250 to 8000 kg'
    text = (
        f'the drive torque says {mass:.0f} kg, {beside}: look at the unit and sign of the effort '
        'of wheel_*, at gears between motor and wheel, and whether every driven wheel tells its '
        'own; or give --mass'
    )
    return [Finding('bad', 'mass_by_torque', text)]


def told_centre(
    result: IdentificationResult, config: CarDescription, method: HandlingMethod
) -> Finding:
    """Where the centre of gravity comes from, and what its doubt costs.

    Motion alone hardly tells it: by the sideways velocity, the yaw rate and the sideways force of
    a linear single track it is 0 / 0 where Izz = m a b, as nearly every car has it.
    """
    place, length = result.index('cg_x'), config.geometry.wheelbase
    centre, std = float(result.value[place]), float(result.std[place])
    if method.front_share is not None:
        source, cure = 'by --front-share', ''
    else:
        source = 'by the description' if is_described(config) else 'as usual cars have it'
        left = _by_centre(result, WEIGHED_SHARE * length)
        cure = f'; weigh the axles and give --front-share, which leaves {left}'
    text = (
        f'cg_x is taken as {centre:.3f} +- {std:.3f} m {source}, since motion alone tells only '
        f'load share over stiffness of each axle: {_by_centre(result, std)} are in doubt by it'
        f'{cure}'
    )
    return Finding('note', 'centre_taken', text)


def _by_centre(result: IdentificationResult, std: float) -> str:
    """What an error of the centre of gravity makes of the stiffness of each axle."""
    place = result.index('cg_x')
    found = []
    for axle in ('Cf', 'Cr'):
        k = result.index(axle if axle in result.names else f'{axle}/m')
        slope = result.covariance[k, place] / result.covariance[place, place]
        found.append(f'{100.0 * std * abs(slope / result.value[k]):.1f} % of {axle}')
    return ' and '.join(found)


def poor_fit(unexplained: Mapping[str, float]) -> list[Finding]:
    """Does steering explain the motion at all, or the road?"""
    yaw, roll = unexplained['yaw_rate'], unexplained.get('roll_rate', 0.0)
    if yaw > UNEXPLAINED_YAW:
        text = (
            f'steering and speed leave {100 * yaw:.0f} % of the yaw rate unexplained: look for a '
            'wrong sign, unit or ratio of the steering, or another wheelbase'
        )
        return [Finding('bad', 'poor_fit', text)]
    if roll > UNEXPLAINED_ROLL:
        text = (
            f'the road moves the body more than steering does ({100 * roll:.0f} % of the roll '
            'rate is not explained by it): everyday driving tells inertia, stiffness and '
            'relaxation too little, and they may be off by more than their deviations say; record '
            'sines of 0.2 to 2 Hz and steps of the steering at 10 to 30 m/s'
        )
        return [Finding('bad', 'weakly_excited', text)]
    return []


def quantities(p: Mapping[str, float], length: float) -> dict[str, float]:
    """What engineers ask for, of the parameters."""
    over = p.get('m', 1.0) if 'Izz' in p else 1.0
    front, rear = (p.get(name, p.get(f'{name}/m', np.nan)) / over for name in ('Cf', 'Cr'))
    inertia = p.get('Izz', p.get('Izz/m', np.nan)) / over
    share = p['cg_x'] / length
    to_degrees = float(np.degrees(1.0)) * 9.80665
    behind = p['trail'] / length  # forces act behind the wheels, which loads the front axle
    compliance = (share + behind) / front, (1.0 - share - behind) / rear
    understeer = compliance[0] - compliance[1]
    found = {
        'front_share': 100.0 * share,
        'yaw_radius': float(np.sqrt(inertia)),
        'compliance_front': to_degrees * compliance[0],
        'compliance_rear': to_degrees * compliance[1],
        'understeer_gradient': to_degrees * understeer,
    }
    if 'roll_gain' in p:
        found['roll_gradient'] = to_degrees * p['roll_gain'] / p['roll_frequency'] ** 2
        found['roll_hz'] = p['roll_frequency'] / (2.0 * np.pi)
    if understeer > 0.0:
        found['characteristic_speed'] = float(np.sqrt(length / understeer))
    return found
