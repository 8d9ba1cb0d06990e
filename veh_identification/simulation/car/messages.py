"""The simulated car's sensor streams as ROS messages in order of log time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from veh_identification.orientations import quaternion_of_matrix
from veh_identification.runtime import messages
from veh_identification.simulation.car.run import CarRecord
from veh_identification.simulation.car.satellites import ANTENNA
from veh_identification.simulation.car.sensors import Stream, interpolate
from veh_identification.simulation.sensors import EPOCH_NS, Reading
from veh_identification.systems.car.configuration import CarDescription
from veh_identification.systems.car.parameters import CORNERS
from veh_identification.types import Array

Maker = Callable[[int, Array], Any]
#: Messages of the truth a second.
TRUTH_RATE = 100.0


def readings(
    streams: Sequence[Stream], makers: dict[int, Maker] | None = None
) -> Iterator[Reading]:
    """Messages of all streams, sorted by log time (streams in their order at equal times)."""
    makers = makers or {}
    logged = np.concatenate([stream.logged for stream in streams])
    which = np.repeat(np.arange(len(streams)), [len(stream.stamps) for stream in streams])
    place = np.concatenate([np.arange(len(stream.stamps)) for stream in streams])
    build = [makers.get(k) or maker(stream) for k, stream in enumerate(streams)]
    nanoseconds = [EPOCH_NS + np.round(stream.stamps * 1e9).astype(np.int64) for stream in streams]
    for order in np.argsort(logged, kind='stable'):
        k, n = which[order], place[order]
        stream = streams[k]
        message = build[k](int(nanoseconds[k][n]), stream.values[n])
        yield Reading(EPOCH_NS + round(logged[order] * 1e9), f'/{stream.topic}', message)


def maker(stream: Stream) -> Maker:
    """Function that makes one message of a stream from stamp and values."""
    return _MAKERS[stream.kind](stream)


def _imu(stream: Stream) -> Maker:
    no_orientation = np.zeros(9)
    no_orientation[0] = -1.0

    def make(stamp: int, v: Array) -> Any:
        return messages.new(
            'sensor_msgs/msg/Imu',
            header=messages.header(stamp, 'imu_link'),
            orientation_covariance=no_orientation,
            angular_velocity=v[:3],
            linear_acceleration=v[3:],
        )

    return make


def _speed(stream: Stream) -> Maker:
    def make(stamp: int, v: Array) -> Any:
        return messages.new(
            'geometry_msgs/msg/TwistStamped',
            header=messages.header(stamp, 'base_link'),
            twist={'linear': (v[0], v[1], 0.0)},
        )

    return make


def _joints(stream: Stream) -> Maker:
    names, frame = list(stream.names), ''

    def make(stamp: int, v: Array) -> Any:
        return messages.new(
            'sensor_msgs/msg/JointState',
            header=messages.header(stamp, frame),
            name=names,
            position=v,
        )

    return make


def _wrench(stream: Stream) -> Maker:
    frame = 'hub_' + stream.topic.split('/')[0].rpartition('_')[2]

    def make(stamp: int, v: Array) -> Any:
        return messages.new(
            'geometry_msgs/msg/WrenchStamped',
            header=messages.header(stamp, frame),
            wrench={'force': v[:3], 'torque': v[3:]},
        )

    return make


def _range(stream: Stream) -> Maker:
    def make(stamp: int, v: Array) -> Any:
        return messages.new(
            'sensor_msgs/msg/Range',
            header=messages.header(stamp, f'{stream.topic}_link'),
            radiation_type=1,
            field_of_view=0.001,
            min_range=0.05,
            max_range=1.0,
            range=v[0],
        )

    return make


_MAKERS: dict[str, Callable[[Stream], Maker]] = {
    'imu': _imu,
    'speed': _speed,
    'suspension': _joints,
    'steering': _joints,
    'wheel_angle': _joints,
    'axle': _joints,
    'wheel_force': _wrench,
    'ride_height': _range,
}


def truth_streams(record: CarRecord, duration: float) -> tuple[list[Stream], dict[int, Maker]]:
    """`truth/odom` and `truth/joint_states`, exact, with how to make their messages."""
    stamps = np.arange(0.0, duration, 1.0 / TRUTH_RATE)
    start = record.t[0]
    body = interpolate(
        start,
        np.hstack([record.position, record.quaternion, record.velocity, record.omega]),
        stamps,
    )
    body[:, 3:7] /= np.linalg.norm(body[:, 3:7], axis=1, keepdims=True)
    names, positions, rates = truth_joints(record)
    joints = interpolate(start, np.hstack([positions, rates]), stamps)
    none = np.zeros(0)
    streams = [
        Stream('truth/odom', 'truth', (), stamps, stamps, body, none),
        Stream('truth/joint_states', 'truth', names, stamps, stamps, joints, none),
    ]
    return streams, {0: odometry, 1: truth_joint_states(names)}


def odometry(stamp: int, v: Array) -> Any:
    """Message of position, quaternion, velocity and angular velocity (13 values)."""
    return messages.new(
        'nav_msgs/msg/Odometry',
        header=messages.header(stamp, 'odom'),
        child_frame_id='base_link',
        pose={'pose': {'position': v[:3], 'orientation': v[3:7]}},
        twist={'twist': {'linear': v[7:10], 'angular': v[10:13]}},
    )


def truth_joint_states(names: tuple[str, ...]) -> Maker:
    """Maker of joint messages from positions, which velocities may follow."""

    def make(stamp: int, v: Array) -> Any:
        return messages.new(
            'sensor_msgs/msg/JointState',
            header=messages.header(stamp, ''),
            name=list(names),
            position=v[: len(names)],
            velocity=v[len(names) :],
        )

    return make


def truth_joints(record: CarRecord) -> tuple[tuple[str, ...], Array, Array]:
    """Names, positions and velocities (N, 32) of all joints of the 38-dof model."""
    side = np.array([1.0, -1.0, 1.0, -1.0])
    axles, axle_rates = record.axles, record.axle_rates
    step = record.t[1] - record.t[0]
    deflection = record.tyre[:, :, 0]
    parts = {
        'suspension': (record.travel, record.travel_rate),
        'steering': (axles[:, :, 2], axle_rates[:, :, 2]),
        'wheel': (record.wheel_angle, record.wheel_rate),
        'half_track': (side * axles[:, :, 1], side * axle_rates[:, :, 1]),
        'wheelbase': (axles[:, :, 0], axle_rates[:, :, 0]),
        'camber': (axles[:, :, 3], axle_rates[:, :, 3]),
        'kingpin': (axles[:, :, 4], axle_rates[:, :, 4]),
        'tyre': (deflection, np.gradient(deflection, step, axis=0)),
    }
    names = tuple(f'{kind}_{corner}' for kind in parts for corner in CORNERS)
    return (
        names,
        np.hstack([position for position, _ in parts.values()]),
        np.hstack([rate for _, rate in parts.values()]),
    )


def static_transforms(configuration: CarDescription) -> Any:
    """`/tf_static`: where the sensors are on `base_link`."""
    geometry, sensors = configuration.geometry, configuration.sensors
    poses = {
        'imu_link': (sensors.imu.position, sensors.imu.matrix),
        'correvit_link': (sensors.speed.position, sensors.speed.matrix),
        'gps_link': (ANTENNA, np.eye(3)),
    }
    for i, corner in enumerate(CORNERS):
        place = (geometry.wheel_x[i], geometry.wheel_y[i], 0.0)
        poses[f'ride_height_{corner}_link'] = (place, np.eye(3))
    return messages.new(
        'tf2_msgs/msg/TFMessage',
        transforms=[
            {
                'header': messages.header(EPOCH_NS, 'base_link'),
                'child_frame_id': name,
                'transform': {
                    'translation': position,
                    'rotation': quaternion_of_matrix(rotation),
                },
            }
            for name, (position, rotation) in poses.items()
        ],
    )
