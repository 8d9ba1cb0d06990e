"""Models of a car's sensors as its configuration describes them."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

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
from veh_identification.systems.vehicle.configuration import CORNERS, CarDescription
from veh_identification.systems.vehicle.model.stepper import FORWARD
from veh_identification.systems.vehicle.model.vehicle import Vehicle
from veh_identification.systems.vehicle.observer.belief import Belief
from veh_identification.systems.vehicle.observer.pseudo_sensors import (
    GroundContact,
    RearSlip,
    RoadContact,
    Standstill,
)
from veh_identification.systems.vehicle.observer.ride import SHAKEN, Ride
from veh_identification.systems.vehicle.observer.rolling_wheel import Give, RollingWheel
from veh_identification.systems.vehicle.observer.thesis import satellites
from veh_identification.systems.vehicle.recording.recording import Recording, Series
from veh_identification.systems.vehicle.recording.wheel_speeds import rolling
from veh_identification.types import Array

UNKNOWN_TYRE = 0.3  # of the slip of rear tyres, over what the configuration says
FEWEST = 20  # samples that tell a noise
FIX_DELAY = 0.5  # unknown delay of fixes over that of velocities, whose filters are longer
#: Vertical acceleration by crests and hollows of a road that nobody knows: deviation [m/s^2], time
#: [s]. Under braking and in bends its error would be taken for a tilt.
HEAVE = (0.2, 1.5)
LEAST_BIAS = (0.01, 0.05)  # of any IMU, with what 4 mrad of mounting add [rad/s, m/s^2]
LEAST_DELAY = 0.03  # by which a fix may be late [s]
ON_TIME = 0.005  # by which a fix is late as a rule, of receivers with corrections [s]
UNNOTICED = (0.002, 0.1, 0.02)  # bias of rates and forces, and delay
WHEELS_LATE = 0.01  # by which wheels may be late without a word [s]
#: By which an IMU may be mounted otherwise than described, with care and without [rad].
ASKEW = Belief(0.005, 0.05)
TURNED = Belief(0.005, 0.1)  # the same about its vertical axis
ARM = 0.02  # by which an antenna may be elsewhere than described [m]
GYRO_SCALE = 0.005  # share by which a gyroscope shows the yaw rate too large or small
SLIP_TIME = 3.0  # how long a driver holds pedals [s]
ROLLING_RADIUS = 1.0 / 3.0  # change of the rolling radius over that of the tyre's height


def self_calibrating(car: CarDescription, satellite_velocity: bool) -> CarDescription:
    """The car with biases to estimate: no IMU is without them, whatever its description says.

    On a known road the springs, not the accelerometer, tell the tilts: its bias matters little.
    Without a satellite velocity nothing tells a bias of the rates from forces that are unknown.
    """
    if car.observer.thesis:
        return car
    imu = car.sensors.imu
    gyroscope = imu.gyroscope_bias
    if satellite_velocity or car.road.unknown:
        gyroscope = max(gyroscope, LEAST_BIAS[0])
    accelerometer = imu.accelerometer_bias
    if car.road.unknown:
        accelerometer = max(accelerometer, LEAST_BIAS[1])
    imu = replace(imu, gyroscope_bias=gyroscope, accelerometer_bias=accelerometer)
    return replace(car, sensors=replace(car.sensors, imu=imu))


class Stated(NamedTuple):
    """What a description says of a sensor parameter: its value, how far off it may be, where."""

    value: float
    deviation: float
    where: str
    unit: str


def stated(car: CarDescription) -> dict[str, Stated]:
    """By the names of the parameters; smaller deviations than `UNNOTICED` matter to nobody."""
    imu, gps, wheels = car.sensors.imu, car.sensors.gps, car.sensors.wheels
    rate, force, delay = UNNOTICED
    place = 'sensors.imu.'
    found = {}
    for axis in 'xyz':
        found[f'gyroscope.bias_{axis}'] = Stated(
            0.0, max(rate, imu.gyroscope_bias), f'{place}gyroscope_bias', 'rad/s'
        )
        found[f'accelerometer.bias_{axis}'] = Stated(
            0.0, max(force, imu.accelerometer_bias), f'{place}accelerometer_bias', 'm/s^2'
        )
    found['gyroscope.scale_z'] = Stated(0.0, GYRO_SCALE, 'sensors.imu', 'of the rate')
    late = gps.velocity_delay_deviation
    fixes = FIX_DELAY * late if gps.delay_deviation is None else gps.delay_deviation
    found['gps.delay'] = Stated(0.0, max(delay, fixes), 'sensors.gps.delay', 's')
    found['gps_velocity.delay'] = Stated(0.0, max(delay, late), 'sensors.gps.velocity_delay', 's')
    found['wheels.delay'] = Stated(0.0, WHEELS_LATE, 'sensors.wheels.delay', 's')
    for axis in 'xy':
        found[f'gps.arm_{axis}'] = Stated(0.0, ARM, 'sensors.gps.position', 'm')
    for corner in CORNERS:
        found[f'wheel_{corner}.radius'] = Stated(
            car.geometry.wheel_radius, wheels.radius_deviation, 'geometry.wheel_radius', 'm'
        )
    return found


def make_sensors(
    car: CarDescription, vehicle: Vehicle, recording: Recording, satellite_velocity: bool
) -> list[Sensor]:
    """Models of the sensors that the recording holds, and the constraints of the model."""
    if car.observer.thesis:
        return [
            *_inertial(car, recording),
            *satellites(car, vehicle),
            *_wheels(car, vehicle, recording),
        ]
    return [
        *_inertial(car, recording),
        *_satellites(car, satellite_velocity),
        RearSlip(
            car.observer.slip_deviation,
            car.gravity,
            car.tyre.cornering,
            car.tyre.friction,
            minimum_speed=0.0 if rolling(car) else 1.0,
            unknown_tyre=UNKNOWN_TYRE if rolling(car) else 0.0,
            banked=car.road.unknown,
        ),
        GroundContact(felt=_tilting_felt(recording.gyro))
        if car.road.unknown
        else RoadContact(*car.observer.road_deviation),
        *_wheels(car, vehicle, recording),
    ]


def _tilting_felt(gyro: Series) -> bool:
    """Whether roll and pitch rate are measured, as far as can be seen before the start."""
    return bool(np.isfinite(gyro.value[:, :2]).any())


def measured_noise(series: Series, configured: float) -> Array:
    """Noise (3) of a sensor: what its first samples show, unless that is about as configured.

    Second differences hold noise and hardly any motion; their median leaves shocks out. A sensor
    at rest shows less than one that vibrates, so less than a third of the configured is not taken.
    """
    result = np.full(3, configured)
    if len(series) < FEWEST:
        return result
    second = np.abs(np.diff(series.value, 2, axis=0))
    told = np.isfinite(second).sum(axis=0) >= FEWEST - 2  # axes that are measured
    found = np.full(3, configured)
    found[told] = np.nanmedian(second[:, told], axis=0) / (0.6745 * np.sqrt(6.0))
    other = (found < 0.5 * configured) | (found > 2.0 * configured)
    result[other] = np.maximum(found[other], configured / 3.0)
    return result


def _rate(series: Series) -> float:
    """Samples a second."""
    if len(series) < 2:
        return 0.0
    return 1.0 / max(float(np.median(np.diff(series.time))), 1e-4)


def _inertial(car: CarDescription, recording: Recording) -> list[Sensor]:
    imu, road = car.sensors.imu, car.road
    rates = measured_noise(recording.gyro, imu.gyroscope)
    mounting = matrix_of_rpy(imu.rpy)
    # what an unknown road does to the body is noise to a model on a plane
    shake = road.shake if road.unknown else 0.0
    forces = np.hypot(imu.accelerometer, np.array(SHAKEN) * shake)
    if road.unknown:
        # white noise that tells as much in a second as an error that lasts
        lasting = np.sqrt(2.0 * HEAVE[0] ** 2 * HEAVE[1] * _rate(recording.gyro))
        forces[2] = np.hypot(forces[2], lasting)
    found = (
        Gyroscope(
            'gyroscope',
            'chassis',
            rates.tolist(),
            mounting=mounting,
            delay=imu.delay,
            bias_deviation=imu.gyroscope_bias,
            bias_walk=1e-8,
            in_body_axes=True,
            leak_deviation=ASKEW.usual if road.unknown else 0.0,
            scale_deviation=GYRO_SCALE if road.unknown else 0.0,
        ),
        Accelerometer(
            'accelerometer',
            'chassis',
            imu.position,
            forces.tolist(),
            (0.0, 0.0, -car.gravity if imu.gravity == 'present' else 0.0),
            mounting=mounting,
            delay=imu.delay,
            orientation_only=not car.observer.force_estimation,
            bias_deviation=imu.accelerometer_bias,
            bias_walk=1e-6,
            in_body_axes=True,
            turn_deviation=TURNED.usual if road.unknown else 0.0,
        ),
    )
    # what shakes the body lasts from sample to sample: of the accelerometer nothing is learnt
    found[0].learns = road.unknown
    return [*found]


def ride_of(car: CarDescription, recording: Recording) -> Ride | None:
    """What learns how an unknown road shakes the car."""
    if not (car.road.unknown and car.road.shake > 0.0 and len(recording.gyro)):
        return None
    return Ride(car.road.shake)


def fix_delay(car: CarDescription, satellite_velocity: bool) -> Belief | None:
    """By how much fixes may be late; None: as much as the description says.

    Beside the slow error of a plain receiver a small delay cannot be seen, nor where nothing
    but the fixes tells the speed over ground.
    """
    gps = car.sensors.gps
    if gps.delay_deviation is not None or gps.drift > 0.0 or not satellite_velocity:
        return None
    return Belief(ON_TIME, max(FIX_DELAY * gps.velocity_delay_deviation, LEAST_DELAY))


def _satellites(car: CarDescription, satellite_velocity: bool) -> list[Sensor]:
    gps = car.sensors.gps
    late = FIX_DELAY * gps.velocity_delay_deviation
    if gps.delay_deviation is not None:
        late = gps.delay_deviation
    elif (belief := fix_delay(car, satellite_velocity)) is not None:
        late = belief.widest
    return [
        GpsPosition(
            'gps',
            'chassis',
            gps.position,
            gps.deviation,
            delay=gps.delay,
            drift=(gps.drift, gps.drift_time),
            delay_deviation=late,
            arm_deviation=ARM if car.road.unknown else 0.0,
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


def _wheels(car: CarDescription, vehicle: Vehicle, recording: Recording) -> list[Sensor]:
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


def _rolling(car: CarDescription, vehicle: Vehicle) -> list[Sensor]:
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
            axle='front' if corner[0] == 'f' else 'rear',
        )
        for i, corner in enumerate(CORNERS)
    ]


def _give(car: CarDescription, corner: str) -> Give:
    """By what the tyre of a corner gives way."""
    all_wheels = 1.0 / (car.gravity * car.tyre.longitudinal)
    driven, drive = car.sensors.wheels.driven, all_wheels
    if driven != 'all':
        # one axle carries about half of the car and drives all of it
        drive = 2.0 * all_wheels if driven[0] == corner[0] else 0.0
    mass = car.chassis.mass + 4.0 * (car.wheel.mass + car.hub.mass)
    radius, wheelbase = car.geometry.wheel_radius, car.geometry.wheelbase
    # driving puts load on the rear wheels, braking on the front ones, which then roll on less
    # radius and turn faster
    high = mass * (car.chassis.centre[2] + radius)
    load = 0.5 * high / wheelbase
    less = ROLLING_RADIUS * load / (car.tyre.stiffness * radius)
    less = -less if corner[0] == 'f' else less
    # a bend moves load to the outer wheels, about half of it on either axle
    half_track = abs(car.geometry.centre(corner)[1])
    carried = 0.25 * mass * car.gravity
    lighter = 0.25 * high / (half_track * carried)
    return Give(
        drive + less,
        all_wheels + less,
        car.gravity,
        car.air.drag / mass,
        lighter if corner[1] == 'l' else -lighter,
        ROLLING_RADIUS * carried / (car.tyre.stiffness * radius),
    )
