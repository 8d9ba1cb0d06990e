"""Which sensors are on time: satellites and wheels against the inertial unit.

The inertial unit is the clock of the state, but tells little of time: slips and tilts that come
with braking look like a delay of all others. So wheels count as on time until the satellites
contradict them, and nothing is ever measured after its stamp: satellites that seem early are on
time, and what the state followed instead is late.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum

import numpy as np

from veh_identification.systems.vehicle.observer.belief import Told, told_alone
from veh_identification.systems.vehicle.observer.rolling_wheel import LATE
from veh_identification.types import Array

#: Delays that are never negative, and that of the wheels, as parameters of the filter.
SATELLITES = ('gps.delay', 'gps_velocity.delay')
WHEELS = 'wheels.delay'
SURE = 4.0  # deviations
#: Satellites that are early by more, and wheels that are later than they, make wheels late [s].
TOO_EARLY = 0.008
#: An inertial unit that is late by more is so; less may be slips and tilts that come with braking,
#: which told up to 12 ms on drives without any delay [s].
LATE_UNIT = 0.015
#: Without satellites, wheels are late beyond so many deviations of being on time.
NOT_ON_TIME = 3.0
UNKNOWN_DELAY = 0.03  # [s]
LOOK = 1.0  # how often that is looked at [s]
ON_TIME = 0.0005  # of a satellite after all others were found to agree with it [s]


class Late(Enum):
    """Who is late."""

    NOBODY = 'nobody'
    WHEELS = 'wheels'
    UNIT = 'inertial unit'


@dataclass
class Clock:
    """Who was found to be late, and when that was looked at last."""

    late: Late = Late.NOBODY
    looked: float = -math.inf
    told: Told = Told()  # of the inertial unit, when it was found to be late


def told_of_unit(wheels: float, variance: float) -> Told:
    """How late the inertial unit is against the wheels [s], by their delay and its variance."""
    told = told_alone(wheels, variance, LATE)
    return Told(-told.value, told.deviation)


def is_late(unit: Told) -> bool:
    """Whether it is so by more than may be something else."""
    return unit.value > max(LATE_UNIT, SURE * unit.deviation)


def who_is_late(delays: Array, covariance: Array) -> Late:
    """By the delays of fixes, velocities and wheels (3) against the inertial unit."""
    variance, wheels = np.diag(covariance), delays[2]
    apart = variance[:2] + variance[2] - 2.0 * covariance[2, :2]
    early = delays[:2] < -np.maximum(TOO_EARLY, SURE * np.sqrt(np.maximum(variance[:2], 0.0)))
    later = wheels - delays[:2] > np.maximum(TOO_EARLY, SURE * np.sqrt(np.maximum(apart, 0.0)))
    if (early & later).any():
        return Late.WHEELS
    if is_late(told_of_unit(float(wheels), float(variance[2]))):
        return Late.UNIT
    return Late.NOBODY


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
