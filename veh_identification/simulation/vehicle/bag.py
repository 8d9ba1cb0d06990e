"""Scenarios buggy-straight, buggy-circle and buggy-parking: truth and sensors into a bag."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, replace
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from veh_identification.fusion.geodesy import Datum, LocalFrame
from veh_identification.observation.sensors import count_angle
from veh_identification.orientations import matrix_of_rpy, quaternion_of_rpy
from veh_identification.runtime import messages
from veh_identification.runtime.bags import BagWriter
from veh_identification.runtime.share import share_directory
from veh_identification.simulation.sensors import EPOCH_NS
from veh_identification.simulation.vehicle.drive import (
    SAMPLE_RATE,
    Manoeuvre,
    Truth,
    circle,
    parking,
    simulate_truth,
    straight,
    true_car,
)
from veh_identification.systems.vehicle.configuration import CORNERS, CarDescription
from veh_identification.systems.vehicle.loading import load
from veh_identification.types import Array, Progress

DEFAULT_DATUM = (43.493992, -8.24706, 20.0)
TRUTH_RATE = 100.0
Message = tuple[int, int, str, Any]


def stamp_of(time: float) -> int:
    """Stamp of a simulated time."""
    return EPOCH_NS + round(time * 1e9)


def _rotations(truth: Truth) -> Array:
    """Base to odom (N, 3, 3)."""
    return np.swapaxes(truth.frame[:, 0, 3:12].reshape(-1, 3, 3), 1, 2)


def body_rates(frame: Array) -> Array:
    """Angular velocity in base axes (N, 3) from frames (N, 3, 12)."""
    e, d = frame[:, 0, 3:12].reshape(-1, 3, 3), frame[:, 1, 3:12].reshape(-1, 3, 3)
    return np.stack(
        [
            np.sum(e[:, 2] * d[:, 1], axis=1),
            np.sum(e[:, 0] * d[:, 2], axis=1),
            np.sum(e[:, 1] * d[:, 0], axis=1),
        ],
        axis=1,
    )


def point_motion(frame: Array, place: tuple[float, float, float], level: int) -> Array:
    """Position, velocity or acceleration (N, 3) of a chassis point in odom."""
    blocks = frame[:, level].reshape(-1, 4, 3)
    return np.asarray(blocks[:, 0] + np.einsum('nij,i->nj', blocks[:, 1:], np.array(place)))


def _imu(
    truth: Truth, car: CarDescription, noise: float, generator: np.random.Generator
) -> Iterator[Message]:
    imu = car.sensors.imu
    mounting = matrix_of_rpy(imu.rpy)
    force = point_motion(truth.frame, imu.position, 2) + [0.0, 0.0, car.gravity]
    force = np.einsum('nji,nj->ni', _rotations(truth), force) @ mounting
    rates = body_rates(truth.frame) @ mounting
    force = force + noise * imu.accelerometer * generator.standard_normal(force.shape)
    rates = rates + noise * imu.gyroscope * generator.standard_normal(rates.shape)
    covariances = [
        np.eye(3).ravel() * max(d * noise, 1e-6) ** 2 for d in (imu.gyroscope, imu.accelerometer)
    ]
    for time, rate, specific in zip(truth.time, rates, force, strict=True):
        stamp = stamp_of(time)
        yield (
            stamp,
            0,
            'imu/data',
            messages.new(
                'sensor_msgs/msg/Imu',
                header=messages.header(stamp, 'imu_link'),
                orientation_covariance=[-1.0] + [0.0] * 8,
                angular_velocity=rate,
                angular_velocity_covariance=covariances[0],
                linear_acceleration=specific,
                linear_acceleration_covariance=covariances[1],
            ),
        )


def _every(truth: Truth, rate: float) -> slice:
    step = max(1, round(SAMPLE_RATE / rate))
    return slice(step - 1, None, step)


def _gps(
    truth: Truth, car: CarDescription, noise: float, generator: np.random.Generator
) -> Iterator[Message]:
    gps, chosen = car.sensors.gps, _every(truth, car.sensors.gps.rate)
    frame = LocalFrame(Datum(*(car.datum or DEFAULT_DATUM)))
    position = point_motion(truth.frame[chosen], gps.position, 0)
    velocity = point_motion(truth.frame[chosen], gps.position, 1)
    position = position + noise * gps.deviation * generator.standard_normal(position.shape)
    velocity = velocity + noise * gps.velocity * generator.standard_normal(velocity.shape)
    covariance = np.eye(3).ravel() * max(gps.deviation * noise, 1e-4) ** 2
    for time, place, speed in zip(truth.time[chosen], position, velocity, strict=True):
        stamp = stamp_of(time)
        latitude, longitude, altitude = frame.to_geodetic(*place)
        yield (
            stamp,
            1,
            'gps/fix',
            messages.new(
                'sensor_msgs/msg/NavSatFix',
                header=messages.header(stamp, 'gps_link'),
                status={'status': 2, 'service': 1},
                latitude=latitude,
                longitude=longitude,
                altitude=altitude,
                position_covariance=covariance,
                position_covariance_type=2,
            ),
        )
        yield (
            stamp,
            2,
            'gps/vel',
            messages.new(
                'geometry_msgs/msg/TwistStamped',
                header=messages.header(stamp, 'odom'),
                twist={'linear': (speed[0], speed[1], 0.0)},
            ),
        )


def _joints(
    truth: Truth, car: CarDescription, noise: float, generator: np.random.Generator
) -> Iterator[Message]:
    sensors = car.sensors
    wheels = truth.wheel + noise * sensors.wheels.deviation * generator.standard_normal(
        truth.wheel.shape
    )
    if noise > 0.0 and sensors.wheels.resolution > 0.0:
        wheels = count_angle(wheels, sensors.wheels.resolution)
    rack = truth.rack + noise * sensors.rack.deviation * generator.standard_normal(
        truth.rack.shape
    )
    torque = truth.torque.copy()
    torque[:, 2:] += (
        noise * sensors.torque.deviation * generator.standard_normal(torque[:, 2:].shape)
    )
    names = [*(f'wheel_{c}' for c in CORNERS), 'steering_rack']
    for k, time in enumerate(truth.time):
        stamp = stamp_of(time)
        yield (
            stamp,
            3,
            'joint_states',
            messages.new(
                'sensor_msgs/msg/JointState',
                header=messages.header(stamp, ''),
                name=names,
                position=[*wheels[k], rack[k]],
                effort=[*torque[k], 0.0],
            ),
        )


def _pressure(
    truth: Truth, car: CarDescription, noise: float, generator: np.random.Generator
) -> Iterator[Message]:
    chosen = _every(truth, car.sensors.pressure.rate)
    values = truth.pressure[chosen]
    values = values + noise * car.sensors.pressure.deviation * generator.standard_normal(
        values.shape
    )
    for time, value in zip(truth.time[chosen], values, strict=True):
        stamp = stamp_of(time)
        yield (
            stamp,
            4,
            'brake/pressure',
            messages.new(
                'sensor_msgs/msg/FluidPressure',
                header=messages.header(stamp, 'brake'),
                fluid_pressure=max(0.0, value),
                variance=(noise * car.sensors.pressure.deviation) ** 2,
            ),
        )


def _truth(truth: Truth) -> Iterator[Message]:
    chosen = _every(truth, TRUTH_RATE)
    rotations = _rotations(truth)[chosen]
    quaternions = Rotation.from_matrix(rotations).as_quat()
    frame = truth.frame[chosen]
    velocity = np.einsum('nji,nj->ni', rotations, frame[:, 1, 0:3])
    rates = body_rates(frame)
    names = [*(f'wheel_{c}' for c in CORNERS), *(f'stroke_{c}' for c in CORNERS), 'steering_rack']
    for k, index in enumerate(np.arange(truth.time.size)[chosen]):
        stamp = stamp_of(truth.time[index])
        yield (
            stamp,
            5,
            'truth/odom',
            messages.new(
                'nav_msgs/msg/Odometry',
                header=messages.header(stamp, 'odom'),
                child_frame_id='base_link',
                pose={'pose': {'position': frame[k, 0, 0:3], 'orientation': quaternions[k]}},
                twist={'twist': {'linear': velocity[k], 'angular': rates[k]}},
            ),
        )
        yield (
            stamp,
            6,
            'truth/joint_states',
            messages.new(
                'sensor_msgs/msg/JointState',
                header=messages.header(stamp, ''),
                name=names,
                position=[*truth.wheel[index], *truth.stroke[index], truth.rack[index]],
                velocity=[*truth.wheel_rate[index], *([0.0] * 5)],
            ),
        )


def _static(car: CarDescription) -> Any:
    places = {
        'imu_link': (car.sensors.imu.position, car.sensors.imu.rpy),
        'gps_link': (car.sensors.gps.position, (0.0, 0.0, 0.0)),
    }
    return messages.new(
        'tf2_msgs/msg/TFMessage',
        transforms=[
            {
                'header': messages.header(EPOCH_NS, 'base_link'),
                'child_frame_id': name,
                'transform': {
                    'translation': position,
                    'rotation': quaternion_of_rpy(rpy),
                },
            }
            for name, (position, rpy) in places.items()
        ],
    )


def write_truth(
    writer: BagWriter, truth: Truth, car: CarDescription, seed: int, noise: float
) -> None:
    """All messages of a run, ordered by stamp."""
    generators = np.random.default_rng(seed).spawn(4)
    collected: list[Message] = [*_truth(truth)]
    for make, generator in zip((_imu, _gps, _joints, _pressure), generators, strict=True):
        collected += make(truth, car, noise, generator)
    collected.sort(key=lambda item: item[:2])
    writer.write_message('/tf_static', _static(car), EPOCH_NS)
    for stamp, _, topic, message in collected:
        writer.write_message(topic, message, stamp)


def _write(
    writer: BagWriter,
    car: CarDescription,
    manoeuvre: Manoeuvre,
    duration: float,
    seed: int,
    noise: float,
    progress: Progress,
    fix_noise: float = 0.0,
) -> dict[str, Any]:
    real = true_car(car, noise > 0.0, seed)
    truth = simulate_truth(real, manoeuvre, duration, progress)
    if fix_noise > 0.0:
        gps = replace(
            car.sensors.gps, deviation=float(np.hypot(car.sensors.gps.deviation, fix_noise))
        )
        car = replace(car, sensors=replace(car.sensors, gps=gps))
    write_truth(writer, truth, car, seed, noise)
    return {
        'true_tyre': asdict(real.tyre),
        'model_tyre': asdict(car.tyre),
        'road': asdict(real.road),
        'datum': list(car.datum or DEFAULT_DATUM),
        'sensors': asdict(car.sensors),
    }


def write_straight(
    writer: BagWriter, duration: float, seed: int, noise: float, progress: Progress
) -> dict[str, Any]:
    """Acceleration in a straight line (Table 4, first row)."""
    return _write(writer, load(), straight(), duration, seed, noise, progress)


def write_circle(
    writer: BagWriter, duration: float, seed: int, noise: float, progress: Progress
) -> dict[str, Any]:
    """Acceleration in a left turn (Table 4, second row)."""
    return _write(writer, load(), circle(), duration, seed, noise, progress)


def write_parking(
    writer: BagWriter, duration: float, seed: int, noise: float, progress: Progress
) -> dict[str, Any]:
    """Three clockwise turns on uneven ground (section 5.2)."""
    car = load(share_directory() / 'config' / 'buggy_parking.yaml')
    return _write(writer, car, parking(duration), duration, seed, noise, progress)


def write_noisy_parking(
    writer: BagWriter, duration: float, seed: int, noise: float, progress: Progress
) -> dict[str, Any]:
    """The same with white noise of 1 m^2 on the fixes (section 5.2.2, Table 8)."""
    car = load(share_directory() / 'config' / 'buggy_parking.yaml')
    return _write(writer, car, parking(duration), duration, seed, noise, progress, fix_noise=1.0)
