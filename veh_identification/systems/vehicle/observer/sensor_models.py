"""Models of a car's sensors as its configuration describes them."""

from __future__ import annotations

import numpy as np

from veh_identification.observation import Sensor
from veh_identification.observation.sensors import (
    Accelerometer,
    CoordinateRateSensor,
    CoordinateSensor,
    GpsPosition,
    GpsVelocity,
    Gyroscope,
)
from veh_identification.orientations import matrix_of_rpy
from veh_identification.systems.vehicle.configuration import CORNERS, Configuration
from veh_identification.systems.vehicle.model.stepper import FORWARD
from veh_identification.systems.vehicle.model.vehicle import Vehicle
from veh_identification.systems.vehicle.observer.pseudo_sensors import (
    GroundContact,
    RearSlip,
    RoadContact,
    Standstill,
)
from veh_identification.systems.vehicle.observer.rolling_wheel import RollingWheel
from veh_identification.systems.vehicle.recording.recording import Recording, Series
from veh_identification.systems.vehicle.recording.wheel_speeds import rolling
from veh_identification.types import Array

UNKNOWN_TYRE = 0.3  # of the slip of rear tyres, over what the configuration says
FEWEST = 20  # samples that tell a noise
FIX_DELAY = 0.5  # unknown delay of fixes over that of velocities, whose filters are longer
SHAKEN = (0.15, 1.0, 0.6)  # share of a shaking body along, across and up
SLIP_TIME = 3.0  # how long a driver holds pedals [s]


def make_sensors(car: Configuration, vehicle: Vehicle, recording: Recording) -> list[Sensor]:
    """Models of the sensors that the recording holds, and the constraints of the model."""
    return [
        *_inertial(car, recording),
        *_satellites(car),
        RearSlip(
            car.observer.slip_deviation,
            car.gravity,
            car.tyre.cornering,
            car.tyre.friction,
            minimum_speed=0.0 if rolling(car) else 1.0,
            unknown_tyre=UNKNOWN_TYRE if rolling(car) else 0.0,
        ),
        GroundContact() if car.road.unknown else RoadContact(*car.observer.road_deviation),
        *_wheels(car, vehicle, recording),
    ]


def measured_noise(series: Series, configured: float) -> Array:
    """Noise (3) of a sensor: what its first samples show, unless that is about as configured.

    Second differences hold noise and hardly any motion; their median leaves shocks out. A sensor
    at rest shows less than one that vibrates, so less than a third of the configured is not taken.
    """
    result = np.full(3, configured)
    if len(series) < FEWEST:
        return result
    second = np.diff(series.value, 2, axis=0)
    found = np.median(np.abs(second), axis=0) / (0.6745 * np.sqrt(6.0))
    other = (found < 0.5 * configured) | (found > 2.0 * configured)
    result[other] = np.maximum(found[other], configured / 3.0)
    return result


def _inertial(car: Configuration, recording: Recording) -> list[Sensor]:
    imu, road = car.sensors.imu, car.road
    rates = measured_noise(recording.gyro, imu.gyroscope)
    mounting = matrix_of_rpy(imu.rpy)
    # what an unknown road does to the body is noise to a model on a plane
    shake = road.shake if road.unknown else 0.0
    forces = np.hypot(imu.accelerometer, np.array(SHAKEN) * shake)
    return [
        Gyroscope(
            'gyroscope',
            'chassis',
            rates.tolist(),
            mounting=mounting,
            delay=imu.delay,
            bias_deviation=imu.gyroscope_bias,
            bias_walk=1e-8,
            in_body_axes=True,
        ),
        Accelerometer(
            'accelerometer',
            'chassis',
            imu.position,
            forces.tolist(),
            (0.0, 0.0, -car.gravity),
            mounting=mounting,
            delay=imu.delay,
            orientation_only=not car.observer.force_estimation,
            bias_deviation=imu.accelerometer_bias,
            bias_walk=1e-6,
            in_body_axes=True,
        ),
    ]


def _satellites(car: Configuration) -> list[Sensor]:
    gps = car.sensors.gps
    return [
        GpsPosition(
            'gps',
            'chassis',
            gps.position,
            gps.deviation,
            delay=gps.delay,
            drift=(gps.drift, gps.drift_time),
            delay_deviation=FIX_DELAY * gps.velocity_delay_deviation,
        ),
        GpsVelocity(
            'gps_velocity',
            'chassis',
            gps.position,
            gps.velocity,
            delay=gps.velocity_delay,
            delay_deviation=gps.velocity_delay_deviation,
        ),
    ]


def _wheels(car: Configuration, vehicle: Vehicle, recording: Recording) -> list[Sensor]:
    """Wheels that roll, counted angles, or speeds, whichever car and recording have."""
    wheels, rates = car.sensors.wheels, recording.wheel_rate
    spins = dict(zip(CORNERS, vehicle.spins.tolist(), strict=True))
    if rolling(car) and len(rates):
        return [Standstill(), *_rolling(car, vehicle)]
    if len(recording.wheel_angle):
        return [
            CoordinateSensor(
                f'wheel_{corner}',
                spin,
                wheels.deviation,
                resolution=wheels.resolution,
                counting=wheels.resolution > 0.0,
                delay=wheels.delay,
            )
            for corner, spin in spins.items()
        ]
    if len(rates):
        return [
            CoordinateRateSensor(f'wheel_{corner}', spin, wheels.speed, delay=wheels.delay)
            for corner, spin in spins.items()
        ]
    return []


def _rolling(car: Configuration, vehicle: Vehicle) -> list[Sensor]:
    wheels = car.sensors.wheels
    return [
        RollingWheel(
            f'wheel_{corner}',
            car.geometry.centre(corner),
            int(vehicle.spokes[i, FORWARD]),
            car.geometry.wheel_radius,
            wheels.speed,
            (wheels.slip_of(corner), SLIP_TIME),
            delay=wheels.delay,
            radius_deviation=wheels.radius_deviation,
            radius_walk=1e-10,
            give=_give(car, corner),
        )
        for i, corner in enumerate(CORNERS)
    ]


def _give(car: Configuration, corner: str) -> tuple[float, float]:
    """Slip of a tyre over the acceleration of the car [s^2/m], driven and braked."""
    all_wheels = 1.0 / (car.gravity * car.tyre.longitudinal)
    driven = car.sensors.wheels.driven
    if driven == 'all':
        return all_wheels, all_wheels
    # one axle carries about half of the car and drives all of it
    return (2.0 * all_wheels if driven[0] == corner[0] else 0.0), all_wheels
