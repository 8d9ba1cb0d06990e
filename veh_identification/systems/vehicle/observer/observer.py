"""The errorEKF of the car: its sensors, its settings and where it starts."""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

from veh_identification.observation import ErrorEKFSettings, Sensor
from veh_identification.observation.sensors import (
    Accelerometer,
    CoordinateRateSensor,
    CoordinateSensor,
    GpsPosition,
    GpsVelocity,
    Gyroscope,
)
from veh_identification.systems.vehicle.configuration import CORNERS, Configuration
from veh_identification.systems.vehicle.model.stepper import FORWARD
from veh_identification.systems.vehicle.model.vehicle import Vehicle
from veh_identification.systems.vehicle.observer.observed import YAW, ObservedVehicle
from veh_identification.systems.vehicle.observer.pseudo_sensors.road_contact import RoadContact
from veh_identification.systems.vehicle.observer.pseudo_sensors.rolling import RollingWheel
from veh_identification.systems.vehicle.observer.pseudo_sensors.slip import RearSlip
from veh_identification.systems.vehicle.observer.pseudo_sensors.standstill import Standstill
from veh_identification.systems.vehicle.observer.start import Start, find_start
from veh_identification.systems.vehicle.observer.vehicle_filter import VehicleErrorEKF
from veh_identification.systems.vehicle.recording.reader import Recording
from veh_identification.systems.vehicle.recording.wheel_speeds import rolling
from veh_identification.types import Array

SLIP_RATE = 50.0
# Without torque or brake pressure the unknown force is as large as any the driver can ask for.
UNKNOWN_FORCE = 100.0
UNKNOWN_WHEEL = (300.0, 20.0)  # walk [rad^2/s^5] and start [rad/s^2] of a wheel's acceleration
# Rolling cars: densities of white acceleration and of its walk for position and yaw, and the
# deviations of acceleration and yaw acceleration at the start.
ROLLING_WHITE = (0.02, 3e-3)
ROLLING_WALK = (5.0, 0.05)
ROLLING_START = (1.0, 0.1)
ROLLING_RATES = (0.2, 0.05)  # deviations of speed and yaw rate there
SIDE_LEAK = 50.0  # [1/s] see `VehicleErrorEKF`
SLIP_TIME = 3.0  # how long a driver holds pedals [s]

__all__ = ['Start', 'find_start', 'make_filter', 'make_sensors', 'place', 'settings_of']


def make_sensors(car: Configuration, vehicle: Vehicle, recording: Recording) -> list[Sensor]:
    """Models of the sensors that the recording holds."""
    imu, gps, wheels = car.sensors.imu, car.sensors.gps, car.sensors.wheels
    mounting = Rotation.from_euler('xyz', imu.rpy).as_matrix()
    # what an unknown road does to the body is noise to a model on a plane
    road, unknown = car.road, car.road.unknown
    tilt, shake = (road.tilt_rate, road.shake) if unknown else (0.0, 0.0)
    slope = car.gravity**2 * road.slope_walk if unknown else 0.0
    rates = np.hypot(imu.gyroscope, [tilt, tilt, 0.0])
    forces = np.hypot(imu.accelerometer, np.array([0.5, 5.0, 5.0]) * shake)
    result: list[Sensor] = [
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
            bias_walk=1e-6 + slope,
            in_body_axes=True,
        ),
        GpsPosition(
            'gps',
            'chassis',
            gps.position,
            gps.deviation,
            delay=gps.delay,
            drift=(gps.drift, gps.drift_time),
            climb=road.climb if unknown else 0.0,
        ),
        GpsVelocity(
            'gps_velocity',
            'chassis',
            gps.position,
            gps.velocity,
            delay=gps.velocity_delay,
            delay_deviation=gps.velocity_delay_deviation,
        ),
        RearSlip(
            'rear_slip',
            car.observer.slip_deviation,
            car.gravity,
            car.tyre.cornering,
            car.tyre.friction,
            minimum_speed=0.0 if rolling(car) else 1.0,
        ),
        RoadContact('road', *car.observer.road_deviation),
    ]
    speed = wheels.speed
    if rolling(car) and len(recording.wheel_rate):
        result.append(Standstill())
        if recording.wheel_rate.variance is not None:
            speed = float(np.hypot(speed, np.sqrt(recording.wheel_rate.variance[0, 0])))
    for i, corner in enumerate(CORNERS):
        spin = int(vehicle.spins[i])
        if rolling(car) and len(recording.wheel_rate):
            result.append(
                RollingWheel(
                    f'wheel_{corner}',
                    car.geometry.centre(corner),
                    int(vehicle.spokes[i, FORWARD]),
                    car.geometry.wheel_radius,
                    speed,
                    (wheels.slip_of(corner), SLIP_TIME),
                    delay=wheels.delay,
                    radius_deviation=wheels.radius_deviation,
                    radius_walk=1e-10,
                )
            )
        elif len(recording.wheel_angle):
            result.append(
                CoordinateSensor(
                    f'wheel_{corner}',
                    spin,
                    wheels.deviation,
                    resolution=wheels.resolution,
                    counting=wheels.resolution > 0.0,
                    delay=wheels.delay,
                )
            )
        elif len(recording.wheel_rate):
            result.append(
                CoordinateRateSensor(f'wheel_{corner}', spin, wheels.speed, delay=wheels.delay)
            )
    return result


def _spread(values: tuple[float, float, float, float, float]) -> Array:
    """From (position, height, yaw, tilt, wheel) to the ten observed coordinates."""
    position, height, yaw, tilt, wheel = values
    return np.array([position, position, height, yaw, tilt, tilt] + [wheel] * 4)


def settings_of(car: Configuration, recording: Recording, start: Start) -> ErrorEKFSettings:
    """Noise settings; unknown inputs make the force walk faster."""
    o = car.observer
    deviation, force = _spread(o.position_deviation), _spread(o.force_noise)
    deviation[:2], deviation[3] = start.position_deviation, start.yaw_deviation
    acceleration, white = _spread(o.acceleration_deviation), _spread(o.acceleration_noise)
    rates = _spread(o.velocity_deviation)
    if not len(recording.torque) or not len(recording.pressure):
        force[:2] *= UNKNOWN_FORCE
        acceleration[:2] *= 5.0
        # torque that drives or brakes a wheel shows as an acceleration of the wheel itself
        force[6:], acceleration[6:] = UNKNOWN_WHEEL
    if not len(recording.rack):
        force[3] *= UNKNOWN_FORCE
        acceleration[3] *= 10.0
    if rolling(car):
        white[:2], white[YAW] = ROLLING_WHITE
        force[:2], force[YAW] = ROLLING_WALK
        acceleration[:2], acceleration[YAW] = ROLLING_START
        rates[:2], rates[YAW] = ROLLING_RATES
        # nothing measures the wheels' own coordinates: they follow the model
        white[6:], force[6:], acceleration[6:] = 0.0, 0.0, 0.0
    return ErrorEKFSettings(
        position_deviation=deviation,
        velocity_deviation=rates,
        acceleration_noise=white,
        force_estimation=o.force_estimation,
        acceleration_deviation=acceleration,
        force_noise=force,
        gate_probability=o.gate_probability,
    )


def place(vehicle: Vehicle, start: Start) -> None:
    """Put a vehicle at the start."""
    forward = float(start.velocity @ [np.cos(start.yaw), np.sin(start.yaw)])
    vehicle.place(start.position, start.yaw, forward, start.velocity, start.yaw_rate, start.rack)


def make_filter(car: Configuration, recording: Recording, start: Start) -> VehicleErrorEKF:
    """errorEKF-FE (or errorEKF) over the car, at its start."""
    vehicle = Vehicle(car)
    observed = ObservedVehicle(vehicle)
    place(vehicle, start)
    filter_ = VehicleErrorEKF(
        observed,
        make_sensors(car, vehicle, recording),
        settings_of(car, recording, start),
        car.sensors.gps.position,
        leak=SIDE_LEAK if rolling(car) else 0.0,
    )
    if car.sensors.imu.gyroscope_bias > 0.0:
        known = [
            car.sensors.imu.gyroscope_bias,
            car.sensors.imu.gyroscope_bias,
            start.gyro_bias_deviation or car.sensors.imu.gyroscope_bias,
        ]
        for axis, deviation, value in zip('xyz', known, start.gyro_bias, strict=True):
            filter_.set_parameter(f'gyroscope.bias_{axis}', float(value), deviation)
    return filter_
