"""Turns a known body motion into sensor messages with noise, bias, lever arms and own stamps."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from veh_identification.fusion.geodesy import Datum, LocalFrame
from veh_identification.runtime import messages
from veh_identification.simulation.drive import BodyMotion, Drive
from veh_identification.types import Array

#: Simulated recordings start here (November 2023), so that stamps look like real ones.
EPOCH_NS = 1_700_000_000_000_000_000
CORNERS = ('fl', 'fr', 'rl', 'rr')


@dataclass(frozen=True)
class DriveSensors:
    """Rates, noise and mounting of the sensors of the simulated drive."""

    imu_rate: float = 200.0
    gnss_rate: float = 10.0
    speed_rate: float = 50.0
    encoder_rate: float = 100.0
    gyro_noise: float = 0.002  # rad/s
    accelerometer_noise: float = 0.03  # m/s^2
    gyro_bias: tuple[float, float, float] = (0.01, -0.006, 0.004)
    accelerometer_bias: tuple[float, float, float] = (0.05, -0.03, 0.08)
    position_noise: tuple[float, float, float] = (0.3, 0.3, 0.6)
    velocity_noise: float = 0.05
    speed_noise: float = 0.02
    suspension_noise: float = 0.0005
    imu_position: tuple[float, float, float] = (1.2, 0.1, 0.4)
    antenna_position: tuple[float, float, float] = (0.8, 0.0, 1.3)
    speed_sensor_position: tuple[float, float, float] = (2.5, 0.0, -0.1)
    wheelbase: float = 2.7
    half_track: float = 0.75
    wheel_radius: float = 0.31
    datum: Datum = Datum(47.2, 6.0, 320.0)

    def scaled(self, noise: float) -> DriveSensors:
        """All noise and all biases multiplied by `noise`."""

        def times(values: tuple[float, float, float]) -> tuple[float, float, float]:
            return (values[0] * noise, values[1] * noise, values[2] * noise)

        return replace(
            self,
            gyro_noise=self.gyro_noise * noise,
            accelerometer_noise=self.accelerometer_noise * noise,
            gyro_bias=times(self.gyro_bias),
            accelerometer_bias=times(self.accelerometer_bias),
            position_noise=times(self.position_noise),
            velocity_noise=self.velocity_noise * noise,
            speed_noise=self.speed_noise * noise,
            suspension_noise=self.suspension_noise * noise,
        )


@dataclass(frozen=True)
class Reading:
    """One message with the time at which a recorder would have received it."""

    log_ns: int
    topic: str
    message: Any


def simulate_drive(
    drive: Drive, sensors: DriveSensors, duration: float, seed: int
) -> Iterator[Reading]:
    """All messages of a drive in order of log time."""
    generator = np.random.default_rng(seed)
    streams = [
        _stream(make, rate, phase, duration, drive, sensors, generator.spawn(1)[0])
        for make, rate, phase in (
            (_imu, sensors.imu_rate, 0.0003),
            (_fix, sensors.gnss_rate, 0.0211),
            (_gnss_velocity, sensors.gnss_rate, 0.0213),
            (_speed, sensors.speed_rate, 0.0047),
            (_encoders, sensors.encoder_rate, 0.0021),
            (_truth, 100.0, 0.0),
        )
    ]
    yield Reading(EPOCH_NS, '/tf_static', _static_transforms(sensors))
    yield from heapq.merge(*streams, key=lambda reading: reading.log_ns)


def _stream(
    make: Callable[[BodyMotion, DriveSensors, np.random.Generator, Any], Iterator[Any]],
    rate: float,
    phase: float,
    duration: float,
    drive: Drive,
    sensors: DriveSensors,
    generator: np.random.Generator,
) -> Iterator[Reading]:
    t = np.arange(phase, duration, 1.0 / rate)
    stamps = EPOCH_NS + np.round(t * 1e9).astype(np.int64)
    # What a driver and a network add between measuring and recording; never reordering a topic.
    latency = np.round(generator.uniform(0.2e-3, 1.2e-3, len(t)) * 1e9).astype(np.int64)
    log = np.maximum.accumulate(stamps + latency)
    for log_ns, (topic, message) in zip(
        log, make(drive.at(t), sensors, generator, stamps), strict=True
    ):
        yield Reading(int(log_ns), topic, message)


def velocity_at(motion: BodyMotion, position: tuple[float, float, float]) -> Array:
    """Velocity of a point fixed to the body, in base axes."""
    return motion.velocity + np.cross(motion.angular_velocity, np.asarray(position))


def specific_force_at(motion: BodyMotion, position: tuple[float, float, float]) -> Array:
    """What an ideal accelerometer fixed to the body shows, in base axes (REP-145)."""
    arm = np.asarray(position)
    omega = motion.angular_velocity
    return (
        motion.acceleration
        - motion.gravity
        + np.cross(motion.angular_acceleration, arm)
        + np.cross(omega, np.cross(omega, arm))
    )


def _imu(
    motion: BodyMotion, sensors: DriveSensors, generator: np.random.Generator, stamps: Any
) -> Iterator[Any]:
    shape = motion.angular_velocity.shape
    rates = motion.angular_velocity + sensors.gyro_bias
    rates = rates + sensors.gyro_noise * generator.standard_normal(shape)
    force = specific_force_at(motion, sensors.imu_position) + sensors.accelerometer_bias
    force = force + sensors.accelerometer_noise * generator.standard_normal(shape)
    no_orientation = [-1.0] + [0.0] * 8  # REP-145: no orientation estimate
    rate_covariance = np.eye(3).ravel() * max(sensors.gyro_noise, 1e-6) ** 2
    force_covariance = np.eye(3).ravel() * max(sensors.accelerometer_noise, 1e-6) ** 2
    for stamp, rate, specific in zip(stamps, rates, force, strict=True):
        yield (
            '/imu/data',
            messages.new(
                'sensor_msgs/msg/Imu',
                header=messages.header(stamp, 'imu_link'),
                orientation=(0.0, 0.0, 0.0, 1.0),
                orientation_covariance=no_orientation,
                angular_velocity=rate,
                angular_velocity_covariance=rate_covariance,
                linear_acceleration=specific,
                linear_acceleration_covariance=force_covariance,
            ),
        )


def _fix(
    motion: BodyMotion, sensors: DriveSensors, generator: np.random.Generator, stamps: Any
) -> Iterator[Any]:
    antenna = motion.position + motion.rotation @ np.asarray(sensors.antenna_position)
    antenna = antenna + sensors.position_noise * generator.standard_normal(antenna.shape)
    frame = LocalFrame(sensors.datum)
    covariance = np.diag(np.maximum(sensors.position_noise, 1e-6)).ravel() ** 2
    for stamp, point in zip(stamps, antenna, strict=True):
        latitude, longitude, altitude = frame.to_geodetic(*point)
        yield (
            '/gps/fix',
            messages.new(
                'sensor_msgs/msg/NavSatFix',
                header=messages.header(stamp, 'gps_link'),
                status={'status': 0, 'service': 1},
                latitude=latitude,
                longitude=longitude,
                altitude=altitude,
                position_covariance=covariance,
                position_covariance_type=2,
            ),
        )


def _gnss_velocity(
    motion: BodyMotion, sensors: DriveSensors, generator: np.random.Generator, stamps: Any
) -> Iterator[Any]:
    velocity = velocity_at(motion, sensors.antenna_position)
    world = np.einsum('nij,nj->ni', motion.rotation, velocity)
    world = world + sensors.velocity_noise * generator.standard_normal(world.shape)
    for stamp, vector in zip(stamps, world, strict=True):
        yield '/gps/vel', _twist(stamp, 'odom', vector)


def _speed(
    motion: BodyMotion, sensors: DriveSensors, generator: np.random.Generator, stamps: Any
) -> Iterator[Any]:
    velocity = velocity_at(motion, sensors.speed_sensor_position)
    velocity = velocity + sensors.speed_noise * generator.standard_normal(velocity.shape)
    velocity[:, 2] = 0.0  # an optical speed sensor sees the road plane only
    for stamp, vector in zip(stamps, velocity, strict=True):
        yield '/correvit/velocity', _twist(stamp, 'base_link', vector)


def _twist(stamp: int, frame: str, linear: Array) -> Any:
    return messages.new(
        'geometry_msgs/msg/TwistStamped',
        header=messages.header(stamp, frame),
        twist={'linear': linear},
    )


def _encoders(
    motion: BodyMotion, sensors: DriveSensors, generator: np.random.Generator, stamps: Any
) -> Iterator[Any]:
    """Wheel angles, steering and suspension travel that fit the body's motion."""
    names = [f'{kind}_{corner}' for kind in ('wheel', 'suspension') for corner in CORNERS]
    speed, yaw_rate = motion.velocity[:, 0], motion.angular_velocity[:, 2]
    step = np.diff(motion.t, prepend=motion.t[0])
    heave = motion.position[:, 2]
    roll_pitch = Rotation.from_matrix(motion.rotation).as_euler('ZYX')[:, [2, 1]]
    wheels, travel = [], []
    for corner in CORNERS:
        y = sensors.half_track if corner.endswith('l') else -sensors.half_track
        x = sensors.wheelbase if corner.startswith('f') else 0.0
        wheels.append(np.cumsum(step * (speed - yaw_rate * y)) / sensors.wheel_radius)
        lift = heave + roll_pitch[:, 0] * y - roll_pitch[:, 1] * x
        travel.append(-lift + sensors.suspension_noise * generator.standard_normal(len(lift)))
    positions = np.stack(wheels + travel, axis=-1)
    for stamp, row in zip(stamps, positions, strict=True):
        yield (
            '/joint_states',
            messages.new(
                'sensor_msgs/msg/JointState',
                header=messages.header(stamp, ''),
                name=names,
                position=row,
            ),
        )


def _truth(
    motion: BodyMotion, sensors: DriveSensors, generator: np.random.Generator, stamps: Any
) -> Iterator[Any]:
    quaternions = Rotation.from_matrix(motion.rotation).as_quat()
    for index, stamp in enumerate(stamps):
        yield (
            '/truth/odom',
            messages.new(
                'nav_msgs/msg/Odometry',
                header=messages.header(stamp, 'odom'),
                child_frame_id='base_link',
                pose={
                    'pose': {'position': motion.position[index], 'orientation': quaternions[index]}
                },
                twist={
                    'twist': {
                        'linear': motion.velocity[index],
                        'angular': motion.angular_velocity[index],
                    }
                },
            ),
        )


def _static_transforms(sensors: DriveSensors) -> Any:
    frames = {
        'imu_link': sensors.imu_position,
        'gps_link': sensors.antenna_position,
        'correvit_link': sensors.speed_sensor_position,
    }
    return messages.new(
        'tf2_msgs/msg/TFMessage',
        transforms=[
            {
                'header': messages.header(EPOCH_NS, 'base_link'),
                'child_frame_id': name,
                'transform': {'translation': position, 'rotation': (0.0, 0.0, 0.0, 1.0)},
            }
            for name, position in frames.items()
        ],
    )
