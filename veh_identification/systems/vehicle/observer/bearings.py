"""Place and heading of a car of which they are not known: found from fixes and courses."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from veh_identification.errors import EstimationError
from veh_identification.observation import Measurement
from veh_identification.observation.sequential import wrap_angle
from veh_identification.systems.vehicle.observer.car_filter import CarFilter
from veh_identification.systems.vehicle.observer.observed import YAW, turn_forces
from veh_identification.types import Array

ALIGN_SPEED = 1.0  # course means heading above this speed [m/s]
SPEED_NOISE = 0.3  # of satellite velocities, as far as the course is concerned [m/s]
ALIGN_DISTANCE = 5.0  # and between fixes so far apart [m]
SIDESLIP = 0.05  # how far course and heading may differ [rad]
LARGEST_TURN = 0.2  # of the car in one correction [rad]
#: Of a car that does not know that it moves so many velocities in a row must say so; and fixes
#: within so many seconds, which go on so far [m]: one may be a reflection, and those of a parked
#: car wander.
IN_A_ROW, ANCHORED, FURTHER = 3, 5.0, 2.5
FOUND_PLACE = 3.0  # deviation of a place that the first fix set [m]


@dataclass
class Bearings:
    """What is known of place and heading so far."""

    placed: bool
    aligned: bool
    confirmed: bool = False  # a course over ground has agreed with the heading
    found: float | None = None  # when a heading was found of which nothing was known [s]
    anchor: tuple[float, float] | None = None  # the fix from which a direction is awaited
    anchored: float = 0.0  # when that was [s]
    away: tuple[float, float] | None = None  # the first of the last fixes, all far from it
    speeds: int = 0  # velocities in a row that say that the car moves


def find(filter_: CarFilter, measurement: Measurement) -> None:
    """Take place or heading, as far as they are not known, from a measurement of satellites."""
    value, bearings = measurement.value, filter_.bearings
    if measurement.sensor not in ('gps', 'gps_velocity') or not np.all(np.isfinite(value)):
        return
    moves = abs(_forward(filter_)) > 0.5 * ALIGN_SPEED
    if measurement.sensor == 'gps_velocity':
        speed = float(np.hypot(value[0], value[1]))
        bearings.speeds = bearings.speeds + 1 if speed > ALIGN_SPEED else 0
        if bearings.speeds >= (1 if moves else IN_A_ROW):
            _turn_to(filter_, value, float(np.hypot(SIDESLIP, SPEED_NOISE / speed)), speed)
        return
    if not bearings.placed:
        _set_place(filter_, value)
    step = _step(bearings, measurement, moves)
    if step is not None:
        _turn_to(filter_, step, 4.0 * SIDESLIP, 0.0)


def _step(bearings: Bearings, measurement: Measurement, moves: bool) -> Array | None:
    """From the anchor to a fix that shows in which direction the car went; None: none does yet."""
    fix = measurement.value[:2]
    here = float(fix[0]), float(fix[1])
    old = not moves and measurement.time - bearings.anchored > ANCHORED
    if bearings.anchor is None or old:
        bearings.anchor, bearings.anchored = here, measurement.time
    step = fix - np.array(bearings.anchor)
    if np.hypot(step[0], step[1]) <= ALIGN_DISTANCE:
        bearings.away = None
        return None
    if bearings.away is None:
        bearings.away = here
    further = fix - np.array(bearings.away)
    return step if moves or np.hypot(further[0], further[1]) > FURTHER else None


def _forward(filter_: CarFilter) -> float:
    """Speed along the car, as its wheels tell it [m/s]."""
    frame = filter_.vehicle.frame()
    return float(frame[0, 3:5] @ frame[1, 0:2])


def _set_place(filter_: CarFilter, fix: Array) -> None:
    """Put the antenna where the fix is."""
    frame = filter_.vehicle.frame()
    delta = np.zeros(filter_.model.size)
    delta[:2] = fix[:2] - frame[0, 0:2] - filter_.antenna @ frame[0, 3:12].reshape(3, 3)[:, :2]
    if _shift(filter_, delta, np.zeros(filter_.model.size)):
        filter_.bearings.placed = True
        for state in (0, 1):
            filter_.forget(state, FOUND_PLACE**2)


def _turn_to(filter_: CarFilter, course: Array, deviation: float, speed: float) -> None:
    """Turn the model and its velocity to the direction in which satellites see it move.

    With the `speed` of the antenna its course is taken apart from that of the car.
    """
    if filter_.bearings.aligned:
        return
    turn = turn_wanted(filter_, course, speed)
    if not _turn(filter_, turn):
        return
    n = filter_.model.size
    if speed:
        frame = filter_.vehicle.frame()
        arm = filter_.antenna @ frame[1, 3:12].reshape(3, 3)[:, :2]
        change = np.zeros(n)
        change[:2] = course[:2] - arm - frame[1, 0:2]
        _shift(filter_, np.zeros(n), change)
    filter_.bearings.aligned, filter_.bearings.found = True, filter_.time
    filter_.forget(YAW, deviation**2)
    # what was along east and north before meant other directions
    blocks = (0, n, 2 * n)[: filter_.orders]
    for state in [b + axis for b in blocks for axis in (0, 1)]:
        filter_.forget(state, float(filter_.P[state, state]) + FOUND_PLACE**2)


def turn_wanted(filter_: CarFilter, course: Array, speed: float) -> float:
    """From the heading of the model to the one that a direction of motion wants [rad]."""
    frame = filter_.vehicle.frame()
    forward = _forward(filter_)
    swing = float(frame[0, 6:9] @ frame[1, 3:6]) * float(filter_.antenna[0]) if speed else 0.0
    if abs(forward) < 0.5 * ALIGN_SPEED:  # no wheels that would know
        forward, swing = 1.0, 0.0
    yaw = float(np.arctan2(frame[0, 4], frame[0, 3]))
    target = float(np.arctan2(course[1], course[0]) - np.arctan2(swing, forward))
    return float(wrap_angle(target - yaw))


def _turn(filter_: CarFilter, angle: float) -> bool:
    """Turn the car with its velocity, in parts that the position problem can follow.

    Estimated forces turn with it: what one ahead does to the pitch of the body stays with the
    body, and would be left of a force that is taken off in another direction.
    """
    parts = max(1, int(np.ceil(abs(angle) / LARGEST_TURN)))
    co, si = np.cos(angle / parts), np.sin(angle / parts)
    n = filter_.model.size
    for _ in range(parts):
        velocity = filter_.vehicle.frame()[1, 0:2]
        delta, rate = np.zeros(n), np.zeros(n)
        delta[YAW] = angle / parts
        rate[:2] = np.array([[co, -si], [si, co]]) @ velocity - velocity
        if not _shift(filter_, delta, rate):
            return False
        turn_forces(filter_.vehicle.model.force_error, angle / parts)
    return True


def _shift(filter_: CarFilter, delta: Array, rate: Array) -> bool:
    try:
        filter_.model.correct(delta, rate, np.zeros(delta.size) if filter_.orders == 3 else None)
    except EstimationError:
        return False
    return True
