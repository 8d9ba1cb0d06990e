"""Which sensors are on time: satellites and wheels against the inertial unit.

The inertial unit is the clock of the state, but tells little of time: slips and tilts that come
with braking look like a delay of all others. So wheels count as on time until the satellites
contradict them, and nothing is ever measured after its stamp: satellites that seem early are on
time, and what the state followed instead is late.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import Enum

import numpy as np

from veh_identification.systems.vehicle.observer.belief import Belief, Told, told_alone
from veh_identification.types import Array

#: Delays that are never negative, and that of the wheels, as parameters of the filter.
SATELLITES = ('gps.delay', 'gps_velocity.delay')
WHEELS = 'wheels.delay'
SURE = 4.0  # deviations
#: Satellites that are early by more, and wheels that are later than they, make wheels late [s].
TOO_EARLY = 0.008
#: An inertial unit that is late by more is so; less may be slips and tilts that come with braking,
#: which told up to 9 ms on drives without any delay [s].
LATE_UNIT = 0.012
#: Without satellites, wheels are late beyond so many deviations of being on time.
NOT_ON_TIME = 3.0
UNKNOWN_DELAY = 0.03  # [s]
ON_TIME = 0.0005  # of a satellite after all others were found to agree with it [s]


class Late(Enum):
    """Who is late."""

    NOBODY = 'nobody'
    WHEELS = 'wheels'
    UNIT = 'inertial unit'


@dataclass
class Clock:
    """Who was found to be late."""

    late: Late = Late.NOBODY
    told: Told = Told()  # of the inertial unit, when it was found to be late
    fixes_late: bool = False
    #: What `not_before` said of fixes, velocities and wheels: information, and its mean times it.
    said: Array = field(default_factory=lambda: np.zeros((2, 3)))


def without(said: Array, delays: Array, covariance: Array) -> tuple[Array, Array]:
    """Delays (3) and their covariance as if nothing had been said of them, see `Clock`."""
    if not said[0].any():
        return delays, covariance
    certain = np.linalg.inv(covariance)
    left = certain - np.diag(said[0])
    if not np.linalg.eigvalsh(left)[0] > 0.0:  # nothing else is known of one of them
        return delays, covariance
    free = np.linalg.inv(left)
    return np.asarray(free @ (certain @ delays - said[1])), np.asarray(free)


def told_of_unit(delays: Array, covariance: Array, believed: Array) -> Told:
    """How late the inertial unit is against the wheels [s].

    By the delays of fixes, velocities and wheels (3) and their covariance, without the deviations
    that were `believed` of them before anything was measured.
    """
    certain = np.linalg.inv(covariance)
    measured = certain - np.diag(believed**-2.0)
    if not np.linalg.eigvalsh(measured)[0] > 0.0:
        return Told()
    alone = np.linalg.inv(measured)
    return Told(-float((alone @ certain @ delays)[2]), math.sqrt(float(alone[2, 2])))


def is_late(unit: Told) -> bool:
    """Whether it is so by more than may be something else."""
    return unit.value > max(LATE_UNIT, SURE * unit.deviation)


def who_is_late(delays: Array, covariance: Array, believed: Array) -> Late:
    """By the delays of fixes, velocities and wheels (3) against the inertial unit.

    `believed`: see `told_of_unit`.
    """
    variance, wheels = np.diag(covariance), delays[2]
    apart = variance[:2] + variance[2] - 2.0 * covariance[2, :2]
    early = delays[:2] < -np.maximum(TOO_EARLY, SURE * np.sqrt(np.maximum(variance[:2], 0.0)))
    later = wheels - delays[:2] > np.maximum(TOO_EARLY, SURE * np.sqrt(np.maximum(apart, 0.0)))
    if (early & later).any():
        return Late.WHEELS
    if is_late(told_of_unit(delays, covariance, believed)):
        return Late.UNIT
    return Late.NOBODY


def fixes_late(delays: Array, covariance: Array, belief: Belief) -> bool:
    """Whether fixes are surely later than those of receivers that stamp well.

    By their delay, or against that of the velocities (2), which measure no earlier than they say.
    """
    told = told_alone(float(delays[0]), float(covariance[0, 0]), belief.usual)
    apart = covariance[0, 0] + covariance[1, 1] - 2.0 * covariance[0, 1]
    return any(
        late > max(2.0 * belief.usual, SURE * deviation)
        for late, deviation in (
            told,
            (float(delays[0] - delays[1]), math.sqrt(max(float(apart), 0.0))),
        )
    )


def not_before(value: float, variance: float) -> tuple[float, float] | None:
    """Mean and variance of a delay that cannot be negative; None: it does not seem to be.

    Those of the part of its Gaussian above zero. Asked of an estimate that is no more than a
    deviation early, it would say the same thing again and again; of one that may still turn out
    to be `TOO_EARLY`, it would hide that others are late.
    """
    deviation = math.sqrt(max(variance, 0.0))
    if not value < -deviation < 0.0 or value - 2.0 * deviation < -TOO_EARLY:
        return None
    early = -value / deviation
    above = 0.5 * math.erfc(early / math.sqrt(2.0))
    if above < 1e-12:  # that far out the part above zero is exponential
        return deviation / early, (deviation / early) ** 2
    peak = math.exp(-0.5 * early**2) / math.sqrt(2.0 * math.pi) / above
    return value + deviation * peak, variance * (1.0 + early * peak - peak**2)


def told_again(P: Array, state: int, value: float, mean: float, variance: float) -> Array:
    """Errors of all states when one of them, which was `value`, is known better; changes P."""
    gain = P[:, state] / P[state, state]
    P -= np.outer(gain, gain) * (float(P[state, state]) - variance)
    return np.asarray(gain * (mean - value))


def first_satellite(delays: Array, covariance: Array) -> int:
    """Which one is on time: the fixes, which say the place, unless velocities are earlier."""
    apart = covariance[0, 0] + covariance[1, 1] - 2.0 * covariance[0, 1]
    return int(delays[1] < delays[0] - math.sqrt(max(float(apart), 0.0)))


def count_from(P: Array, later: Array, state: int, value: float, deviation: float) -> Array:
    """Errors of the whole state when one delay is zero, to a deviation; changes P.

    The time of the state becomes unknown first. `later`: how the state changes with it; `state`:
    where the delay is, `value`: what it was.
    """
    P += UNKNOWN_DELAY**2 * np.outer(later, later)
    gain = P[:, state] / (P[state, state] + deviation**2)
    P -= np.outer(gain, P[state])
    return np.asarray(-value * gain)
