"""What a fit of the single-track car says of the sensors that it has put right."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from veh_identification.findings import Finding
from veh_identification.systems.car.bicycle import model
from veh_identification.systems.car.bicycle.fit import Fitted
from veh_identification.systems.car.bicycle.signals import HandlingSamples
from veh_identification.systems.car.bicycle.unknowns import Unknown
from veh_identification.types import Array

#: Deviations of what was expected from which a delay of the satellites is told, and seconds.
FAR, LEAST_DELAY = 3.0, 0.05
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
