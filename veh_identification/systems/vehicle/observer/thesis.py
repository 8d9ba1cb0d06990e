"""The observer of the thesis as it stands in chapter 4: a switch beside ours.

The course over ground is taken for the yaw angle (96), fixes move the chassis without turning it
(89: "grabbed by the chassis"), the start is known, and nothing is estimated but the 20 states of
(79): no biases, delays, radii or forces, no constraints of tyres and road, no gate.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from veh_identification.errors import UsageError
from veh_identification.observation import Measurement, Sensor
from veh_identification.observation.protocols import Model, Parameter, Reading
from veh_identification.observation.sensors import CoordinateSensor, GpsPosition, GpsVelocity
from veh_identification.systems.vehicle.configuration import CarDescription
from veh_identification.systems.vehicle.model.vehicle import Vehicle
from veh_identification.types import Array

COURSE = 'course'
MINIMUM_SPEED = 1.0  # below it the course is none [m/s]
PLACE = 3  # columns of x, y, z, the first of the observed coordinates
#: White acceleration of position, height, yaw, tilt and wheel angles: the thesis says of its own
#: only that it is in the accelerations. Ours cover the friction that Table 4 leaves out.
NOISE = (0.1, 1e-2, 1e-3, 2e-3, 1.0)


def thesis_car(car: CarDescription) -> CarDescription:
    """The car as the thesis observes it."""
    observer = car.observer
    if observer.initial_yaw is None or car.datum is None:
        raise UsageError(
            'the observer of the thesis knows its start: give observer.initial_yaw and datum in '
            'the configuration'
        )
    changed = replace(observer, thesis=True, force_estimation=False, acceleration_noise=NOISE)
    return replace(car, observer=changed)


class ChassisPosition:
    """Antenna position (84) whose Jacobian knows the place of the chassis only (88), (89)."""

    name = 'gps'
    size = 3
    wrap = False
    order = 0
    absolute = True

    def __init__(self, inner: GpsPosition) -> None:
        self._inner, self.delay = inner, inner.delay
        self.parameters: tuple[Parameter, ...] = ()

    def linearise(self, model: Model, parameters: Array, reading: Reading) -> None:
        """Fill the reading."""
        self._inner.linearise(model, parameters, reading)
        reading.z[:, PLACE:] = 0.0


def satellites(car: CarDescription, vehicle: Vehicle) -> list[Sensor]:
    """Position, velocity (94) and course of the receiver."""
    gps = car.sensors.gps
    antenna = gps.position
    return [
        ChassisPosition(GpsPosition('gps', 'chassis', antenna, gps.deviation, delay=gps.delay)),
        GpsVelocity('gps_velocity', 'chassis', antenna, gps.velocity, delay=gps.velocity_delay),
        CoordinateSensor(
            COURSE,
            vehicle.model.names.index('yaw'),
            gps.velocity / MINIMUM_SPEED,
            wrap=True,
            delay=gps.velocity_delay,
        ),
    ]


def course_of(car: CarDescription, time: float, velocity: tuple[float, ...]) -> list[Measurement]:
    """The course as if it were yaw, where the speed is enough for one (section 4.2.4)."""
    speed = math.hypot(velocity[0], velocity[1])
    if not speed > MINIMUM_SPEED:
        return []
    angle = math.atan2(velocity[1], velocity[0])
    variance = (car.sensors.gps.velocity / speed) ** 2
    return [Measurement(COURSE, time, np.array([angle]), np.array([variance]))]
