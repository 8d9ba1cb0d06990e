"""What a fit of the single-track car says of the sensors that it has put right."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from veh_identification.findings import Finding
from veh_identification.systems.car.bicycle import model
from veh_identification.systems.car.bicycle.fit import Fitted
from veh_identification.systems.car.bicycle.signals import HandlingSamples
from veh_identification.systems.car.bicycle.unknowns import Unknown
from veh_identification.types import Array

#: Deviations of what was expected from which a delay of the satellites is told, and seconds.
FAR, LEAST_DELAY = 3.0, 0.05
#: Relaxation lengths of tyres (m): a usual one, and those that no car has; deviations by which it
#: must be beyond; speed of a usual test (m/s).
USUAL_RELAXATION, SURELY, USUAL_SPEED = 0.5, 2.0, 20.0
SHORTEST_RELAXATION, LONGEST_RELAXATION = 0.14, 1.2
#: Deviations of usual constant errors (`model.START`) from which one is told.
UNUSUAL = 2.0
#: Radians of nose up in the mean of a drive that no road has, beside what satellites see it climb.
PITCHED = 0.1
#: Correlation of torque and forward acceleration that tells a wrong sign.
AGAINST = -0.5
#: Velocities above this speed (m/s), so far apart (s), so many of them, and the correlation that
#: tells which way they turn.
FAST, APART, FEWEST, MIRRORED = 5.0, 1.0, 20, 0.7


def told_delay(given: Sequence[Unknown], fitted: Fitted, topic: str) -> list[Finding]:
    """Satellites that tell later than the description allows for."""
    k = [one.name for one in given].index('velocity_delay')
    delay, expected = float(fitted.value[k]), given[k].deviation
    std = float(np.sqrt(fitted.covariance[k, k]))
    if abs(delay) < max(LEAST_DELAY, FAR * float(np.hypot(expected, std))):
        return []
    word = 'late' if delay > 0.0 else 'early'
    text = (
        f'{topic}: velocities are told {1e3 * abs(delay):.0f} +- {1e3 * std:.0f} ms {word} beside '
        'the other sensors: that was applied; give sensors.gps.velocity_delay, or put its stamps '
        'right'
    )
    return [Finding('warn', 'velocity_delay', text, topic)]


def told_relaxation(
    given: Sequence[Unknown], fitted: Fitted, topic: str, steering: str
) -> list[Finding]:
    """Front tyres that answer as late or as soon as none do: it is the sensors that are late.

    A filter inside the inertial unit delays yaw rate and sideways force as a long relaxation of
    the front tyres does, which the fit takes it for; steering that is late shortens it.
    """
    k = [one.name for one in given].index('sigma_f')
    length, std = float(np.exp(fitted.value[k])), float(np.sqrt(fitted.covariance[k, k]))
    late = 1e3 * (USUAL_RELAXATION - length) / USUAL_SPEED
    if np.log(SHORTEST_RELAXATION / length) > SURELY * std:
        text = (
            f'{steering}: the front tyres seem to answer within {length:.2f} m, usual ones within '
            f'0.2 to 0.9 m: rather the steering is told {late:.0f} ms or more too late beside '
            f'{topic}, or that is too early: look at delays and stamps'
        )
        return [Finding('bad', 'delay', text, steering, size=SHORTEST_RELAXATION / length)]
    if np.log(length / LONGEST_RELAXATION) < SURELY * std:
        return []
    text = (
        f'{topic}: the front tyres seem to have a relaxation length of {length:.1f} m, usual ones '
        f'0.2 to 0.9 m: rather the inertial unit is smoothed or late by some '
        f'{-late:.0f} ms beside the steering: look at '
        'its filter (bandwidth) and its delay'
    )
    return [Finding('bad', 'delay', text, topic, size=length / LONGEST_RELAXATION)]


@dataclass(frozen=True)
class _Constant:
    """A constant error that the filter estimates: its state, what it is of, and where."""

    state: int
    name: str
    unit: str
    topic: str
    field: str
    cure: str
    code: str = 'offset'


_ZERO = 'take off what it shows at rest'
CONSTANTS = (
    _Constant(
        model.B_YAW, 'the yaw rate', 'rad/s', 'imu', 'angular_velocity.z', _ZERO, 'gyro_zero'
    ),
    _Constant(
        model.B_ROLL, 'the roll rate', 'rad/s', 'imu', 'angular_velocity.x', _ZERO, 'gyro_zero'
    ),
    _Constant(
        model.B_SIDE,
        'the sideways force',
        'm/s^2',
        'imu',
        'linear_acceleration.y',
        'look at its zero, and at how the unit is rolled (its rpy or its transform)',
    ),
    _Constant(
        model.STEER,
        'the angle of the road wheels',
        'rad',
        'joints',
        'position',
        'look at the zero of the steering (sensors.rack.offset)',
    ),
)


def told_constants(lasting: Sequence[Array], topics: Mapping[str, str]) -> list[Finding]:
    """Constant errors of sensors far beyond usual ones, by the filter's states of each drive."""
    found = []
    for one in CONSTANTS:
        size = max((float(states[one.state]) for states in lasting), key=abs)
        if abs(size) < UNUSUAL * model.START[one.state]:
            continue
        where = f'{topics[one.topic]} {one.field}'
        text = (
            f'{where}: {one.name} is {size:+.2g} {one.unit} off its zero, which the fit takes '
            f'off; {one.cure}'
        )
        found.append(Finding('warn', one.code, text, where, size=abs(size)))
    return found


def told_pitch(parts: Sequence[HandlingSamples], topic: str) -> list[Finding]:
    """Gravity in the forward force all along the way: the unit is pitched, not the road."""
    nose = float(np.mean(np.concatenate([one.inputs[:, model.I_NOSE] for one in parts])))
    pitch = nose - _climbed(parts)
    if abs(pitch) < PITCHED:
        return []
    text = (
        f'{topic}: the forward force holds gravity as if the nose were {np.degrees(pitch):+.1f} '
        'degrees up throughout, beyond what the road climbs: the unit is pitched against the pose '
        'given for it (its rpy or its transform)'
    )
    return [Finding('bad', 'imu_turned', text, f'{topic} linear_acceleration', size=abs(pitch))]


def _climbed(parts: Sequence[HandlingSamples]) -> float:
    """Slope of the road in the mean, by the altitudes of satellites; zero without any."""
    climbed = way = 0.0
    for one in parts:
        rows = np.flatnonzero(np.isfinite(one.altitude))
        if len(rows) < 2:
            continue
        climbed += float(one.altitude[rows[-1]] - one.altitude[rows[0]])
        speed = one.inputs[rows[0] : rows[-1], model.I_SPEED]
        way += float(speed.mean() * (one.time[rows[-1]] - one.time[rows[0]]))
    return climbed / way if way > 0.0 else 0.0


def told_torque(parts: Sequence[HandlingSamples]) -> list[Finding]:
    """A drive torque that grows where the car slows down."""
    torque = np.concatenate([one.torque for one in parts])
    forward = np.concatenate([one.forward for one in parts])
    good = np.isfinite(torque + forward)
    if good.sum() < 2 or not (torque[good].std() > 0.0 and forward[good].std() > 0.0):
        return []
    alike = float(np.corrcoef(torque[good], forward[good])[0, 1])
    if alike > AGAINST:
        return []
    text = (
        f'the drive torque goes against the forward acceleration (correlation {alike:.2f}): the '
        'effort of wheel_* has the wrong sign, so that it tells no mass'
    )
    return [Finding('bad', 'mass_by_torque', text, parts[0].label)]


def told_course(parts: Sequence[HandlingSamples], topic: str) -> list[Finding]:
    """Satellites that turn the other way round than yaw rate and sideways force agree upon."""
    turned = np.concatenate([_turns(one) for one in parts])
    felt = np.concatenate([_felt(one) for one in parts])
    if len(turned) < FEWEST or len(felt) < FEWEST:
        return []
    course, force = (float(np.corrcoef(one.T)[0, 1]) for one in (turned, felt))
    if not (course < -MIRRORED and force > MIRRORED):
        return []
    text = (
        f'{topic}: the velocities turn the other way round than the car does (correlation '
        f'{course:.2f}): x (east) and y (north) seem to be exchanged, or one of them has the '
        'wrong sign'
    )
    return [Finding('bad', 'exchanged', text, f'{topic} twist.linear')]


def _turns(one: HandlingSamples) -> Array:
    """Turns (n, 2) from one second to the next, by satellites and by the yaw rate."""
    yaw = np.nan_to_num(one.measured[:, model.M_YAW])
    heading = np.concatenate([[0.0], np.cumsum(yaw[:-1] * np.diff(one.time))])
    velocity = one.measured[:, model.M_EAST] + 1j * one.measured[:, model.M_NORTH]
    rows = np.flatnonzero(np.isfinite(velocity) & (np.abs(velocity) > FAST))
    if len(rows) < 2:
        return np.empty((0, 2))
    # Over less than a second noise turns them as much as the car does.
    rows = rows[:: max(1, round(APART / float(np.median(np.diff(one.time[rows])))))]
    moved = np.angle(velocity[rows[1:]] * velocity[rows[:-1]].conj())
    near = np.diff(one.time[rows]) < 2.0 * APART
    return np.column_stack([moved, np.diff(heading[rows])])[near]


def _felt(one: HandlingSamples) -> Array:
    """Sideways force (n, 2), as it is measured and as speed times yaw rate."""
    both = np.column_stack(
        [
            one.measured[:, model.M_SIDE],
            one.inputs[:, model.I_SPEED] * one.measured[:, model.M_YAW],
        ]
    )
    return np.asarray(both[np.isfinite(both).all(axis=1)])
