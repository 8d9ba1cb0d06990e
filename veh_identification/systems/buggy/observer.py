"""The errorEKF of the car: its sensors, its settings and where it starts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import trapezoid
from scipy.spatial.transform import Rotation

from veh_identification.observation import ErrorEKF, ErrorEKFSettings, Sensor
from veh_identification.observation.sensors import (
    Accelerometer,
    CoordinateRateSensor,
    CoordinateSensor,
    GpsPosition,
    GpsVelocity,
    Gyroscope,
    RollingWheelRate,
)
from veh_identification.systems.buggy.configuration import CORNERS, Configuration
from veh_identification.systems.buggy.observed import ObservedVehicle
from veh_identification.systems.buggy.recording import Recording
from veh_identification.systems.buggy.road import road_height
from veh_identification.systems.buggy.road_contact import RoadContact
from veh_identification.systems.buggy.slip import RearSlip
from veh_identification.systems.buggy.vehicle import Vehicle

Array = NDArray[np.float64]
SLIP_RATE = 50.0
# Without torque or brake pressure the unknown force is as large as any the driver can ask for.
UNKNOWN_FORCE = 100.0
UNKNOWN_WHEEL = (300.0, 20.0)  # walk [rad^2/s^5] and start [rad/s^2] of a wheel's acceleration
MOVING = 1.0  # course means heading above this speed [m/s]


@dataclass(frozen=True)
class Start:
    """Where the observer starts and how sure that is."""

    position: Array
    yaw: float
    velocity: Array
    yaw_rate: float
    position_deviation: float
    yaw_deviation: float
    rack: float


def make_sensors(car: Configuration, vehicle: Vehicle, recording: Recording) -> list[Sensor]:
    """Models of the sensors that the recording holds."""
    imu, gps, wheels = car.sensors.imu, car.sensors.gps, car.sensors.wheels
    mounting = Rotation.from_euler('xyz', imu.rpy).as_matrix()
    result: list[Sensor] = [
        Gyroscope('gyroscope', 'chassis', imu.gyroscope, mounting=mounting, delay=imu.delay,
                  bias_deviation=imu.gyroscope_bias, bias_walk=1e-8),
        Accelerometer('accelerometer', 'chassis', imu.position, imu.accelerometer,
                      (0.0, 0.0, -car.gravity), mounting=mounting, delay=imu.delay,
                      orientation_only=not car.observer.force_estimation,
                      bias_deviation=imu.accelerometer_bias, bias_walk=1e-6),
        GpsPosition('gps', 'chassis', gps.position, gps.deviation, delay=gps.delay),
        GpsVelocity('gps_velocity', 'chassis', gps.position, gps.velocity,
                    delay=gps.velocity_delay),
        RearSlip('rear_slip', car.observer.slip_deviation, car.gravity, car.tyre.cornering,
                 car.tyre.friction),
        RoadContact('road', *car.observer.road_deviation)]
    for i, corner in enumerate(CORNERS):
        spin = int(vehicle.spins[i])
        if len(recording.wheel_angle):
            result.append(CoordinateSensor(
                f'wheel_{corner}', spin, wheels.deviation, resolution=wheels.resolution,
                counting=wheels.resolution > 0.0, delay=wheels.delay))
        elif len(recording.wheel_rate) and wheels.radius_deviation > 0.0:
            result.append(RollingWheelRate(
                f'wheel_{corner}', 'chassis', car.geometry.centre(corner),
                car.geometry.wheel_radius, wheels.speed, delay=wheels.delay,
                radius_deviation=wheels.radius_deviation, radius_walk=1e-10))
        elif len(recording.wheel_rate):
            result.append(CoordinateRateSensor(f'wheel_{corner}', spin, wheels.speed,
                                               delay=wheels.delay))
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
    acceleration = _spread(o.acceleration_deviation)
    if not len(recording.torque) or not len(recording.pressure):
        force[:2] *= UNKNOWN_FORCE
        acceleration[:2] *= 5.0
        # torque that drives or brakes a wheel shows as an acceleration of the wheel itself
        force[6:], acceleration[6:] = UNKNOWN_WHEEL
    if not len(recording.rack):
        force[3] *= UNKNOWN_FORCE
        acceleration[3] *= 10.0
    return ErrorEKFSettings(
        position_deviation=deviation, velocity_deviation=_spread(o.velocity_deviation),
        acceleration_noise=_spread(o.acceleration_noise), force_estimation=o.force_estimation,
        acceleration_deviation=acceleration, force_noise=force,
        gate_probability=o.gate_probability)


def find_start(car: Configuration, recording: Recording) -> Start:
    """Pose and velocity at the first message, from configuration, fixes, course and gyro."""
    o = car.observer
    gyro = recording.gyro
    velocity, yaw_rate = np.zeros(2), 0.0
    yaw, yaw_deviation = o.initial_yaw, float(o.position_deviation[2])
    course = recording.velocity
    if len(course):
        velocity = np.median(course.value[:5], axis=0)
        if np.hypot(*velocity) < max(MOVING, 3.0 * car.sensors.gps.velocity):
            velocity = np.zeros(2)
        speed = np.hypot(course.value[:, 0], course.value[:, 1])
        moving = np.flatnonzero(speed > max(MOVING, 15.0 * car.sensors.gps.velocity))
        if yaw is None and moving.size:
            k = int(moving[0])
            until = gyro.time <= course.time[k] - car.sensors.gps.velocity_delay
            turned = (float(trapezoid(gyro.value[until, 2], gyro.time[until]))
                      if len(gyro) else 0.0)
            yaw = float(np.arctan2(course.value[k, 1], course.value[k, 0])) - turned
            yaw_deviation = max(0.1, car.sensors.gps.velocity / speed[k])
    if yaw is None:
        recording.notes.append('heading at the start is unknown: east is assumed')
        yaw, yaw_deviation = 0.0, 1.0
    if len(gyro):
        yaw_rate = float(np.median(gyro.value[:5, 2])) if np.any(velocity) else 0.0
    position, deviation = np.zeros(2), float(o.position_deviation[0])
    if len(recording.fix):
        lever = np.array(car.sensors.gps.position)
        co, si = np.cos(yaw), np.sin(yaw)
        arm = np.array([co * lever[0] - si * lever[1], si * lever[0] + co * lever[1]])
        first = recording.fix.value[0, :2] - arm - velocity * recording.fix.time[0]
        # a start that the configuration knows counts as long as the first fix agrees with it
        spread = max(car.sensors.gps.deviation, float(np.sqrt(
            recording.fix.variance[0, 0] if recording.fix.variance is not None else 0.0)))
        if o.initial_yaw is None or np.hypot(*first) > max(1.0, 5.0 * spread):
            position, deviation = first, spread
    height = road_height(car.road.table(), position[0], position[1])[0]
    place = np.array([*position, height + car.geometry.wheel_radius])
    rack = float(np.mean(recording.rack.value[:10])) if len(recording.rack) else 0.0
    return Start(place, yaw, velocity, yaw_rate, deviation, yaw_deviation, rack)


def place(vehicle: Vehicle, start: Start) -> None:
    """Put a vehicle at the start."""
    forward = float(start.velocity @ [np.cos(start.yaw), np.sin(start.yaw)])
    vehicle.place(start.position, start.yaw, forward, start.velocity, start.yaw_rate, start.rack)


def make_filter(car: Configuration, recording: Recording, start: Start) -> ErrorEKF:
    """errorEKF-FE (or errorEKF) over the car, at its start."""
    vehicle = Vehicle(car)
    observed = ObservedVehicle(vehicle)
    place(vehicle, start)
    return ErrorEKF(observed, make_sensors(car, vehicle, recording),
                    settings_of(car, recording, start))
