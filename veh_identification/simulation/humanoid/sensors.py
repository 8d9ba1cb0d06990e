"""Sensors of the simulated humanoid: motion capture, encoders, force plates, ankle sensors."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from veh_identification.multibody.kinematics import body_motion
from veh_identification.multibody.tree import TreeModel
from veh_identification.orientations import matrix_of_rpy, quaternion_of_matrix
from veh_identification.runtime import messages
from veh_identification.simulation.humanoid.gait import SIDES
from veh_identification.simulation.humanoid.hopping import HoppingMotion
from veh_identification.simulation.humanoid.motion import HumanoidMotion, Sampled
from veh_identification.simulation.sensors import EPOCH_NS, Reading
from veh_identification.systems.humanoid.robot import Robot
from veh_identification.types import Array, Vector

AnyMotion = HumanoidMotion | HoppingMotion


@dataclass(frozen=True)
class HumanoidSensors:
    """Rates, noise and mounting. The plate is that of Ayusawa 2008: 0.7 N every 3 ms."""

    mocap_rate: float = 240.0
    joint_rate: float = 1000.0 / 3.0
    plate_rate: float = 1000.0 / 3.0
    sensor_rate: float = 500.0
    imu_rate: float = 400.0
    gyro_noise: float = 0.002  # rad/s
    accelerometer_noise: float = 0.03  # m/s^2
    position_noise: float = 0.0002  # m
    orientation_noise: float = 0.0008  # rad
    stamp_jitter: float = 0.0002  # s, between the stamp and the instant of measurement
    mocap_delay: float = 0.001  # s, by which its clock is late
    lost_share: float = 0.01  # of the motion capture's frames
    encoder_noise: float = 0.0002  # rad
    plate_resolution: float = 0.7  # N
    plate_noise: float = 0.35  # N
    plate_moment_noise: float = 0.03  # N m
    plate_offset: tuple[float, ...] = (0.15, -0.1, 0.2, 0.01, -0.008, 0.005)
    sensor_noise: float = 0.15  # N
    sensor_moment_noise: float = 0.006  # N m
    plate_position: Vector = (0.25, 0.05, 0.0)
    plate_yaw: float = 0.4
    plates: int = 1  # 2: one under each foot
    sensor_frame: str = 'ankle_sensor'  # or 'sole'
    mocap_gap: tuple[float, float] = (0.0, 0.0)  # s without any pose

    def scaled(self, noise: float) -> HumanoidSensors:
        """All noise, offsets and clock errors multiplied by `noise`."""
        names = (
            'position_noise',
            'orientation_noise',
            'stamp_jitter',
            'mocap_delay',
            'lost_share',
            'encoder_noise',
            'plate_resolution',
            'plate_noise',
            'plate_moment_noise',
            'sensor_noise',
            'sensor_moment_noise',
            'gyro_noise',
            'accelerometer_noise',
        )
        values: dict[str, Any] = {name: getattr(self, name) * noise for name in names}
        values['plate_offset'] = tuple(noise * value for value in self.plate_offset)
        return replace(self, **values)

    def plate_rotation(self) -> Array:
        """Plate axes in the world."""
        return matrix_of_rpy((0.0, 0.0, self.plate_yaw))


def readings(
    motion: AnyMotion, robot: Robot, sensors: HumanoidSensors, duration: float, seed: int
) -> Iterator[Reading]:
    """All messages of a recording in order of log time."""
    rng = np.random.default_rng(seed)
    streams = [
        _joint_states(motion, sensors, duration, rng.spawn(1)[0]),
        _base_pose(motion, sensors, duration, rng.spawn(1)[0]),
    ]
    for k in range(sensors.plates):
        sides = SIDES if sensors.plates == 1 else (SIDES[k],)
        streams.append(_plate(motion, sensors, duration, rng.spawn(1)[0], k, sides))
    streams.append(_imu(motion, sensors, duration, rng.spawn(1)[0]))
    feet = FootInertia(motion.model, robot, sensors)
    streams += [_foot(motion, feet, sensors, duration, rng.spawn(1)[0], side) for side in SIDES]
    yield Reading(EPOCH_NS, '/tf_static', _static(sensors))
    yield from heapq.merge(*streams, key=lambda reading: reading.log_ns)


def _times(
    rate: float, phase: float, duration: float, jitter: float, rng: np.random.Generator
) -> tuple[Array, NDArray[np.int64]]:
    """Instants of measurement and their stamps."""
    stamped = np.arange(phase, duration, 1.0 / rate)
    error = np.clip(jitter * rng.standard_normal(len(stamped)), -0.3 / rate, 0.3 / rate)
    return stamped + error, EPOCH_NS + np.round(stamped * 1e9).astype(np.int64)


def _joint_states(
    motion: AnyMotion, s: HumanoidSensors, duration: float, rng: np.random.Generator
) -> Iterator[Reading]:
    t, stamps = _times(s.joint_rate, 0.0007, duration, s.stamp_jitter, rng)
    q = motion.at(t).motion.q
    q = q + s.encoder_noise * rng.standard_normal(q.shape)
    names = list(motion.model.coordinate_names)
    for stamp, row in zip(stamps, q, strict=True):
        yield Reading(
            int(stamp),
            '/joint_states',
            messages.new(
                'sensor_msgs/msg/JointState',
                header=messages.header(int(stamp)),
                name=names,
                position=row,
            ),
        )


def _base_pose(
    motion: AnyMotion, s: HumanoidSensors, duration: float, rng: np.random.Generator
) -> Iterator[Reading]:
    t, stamps = _times(s.mocap_rate, 0.0019, duration, s.stamp_jitter, rng)
    state = motion.at(t - s.mocap_delay)
    position = state.position + s.position_noise * rng.standard_normal((len(t), 3))
    turn = Rotation.from_rotvec(s.orientation_noise * rng.standard_normal((len(t), 3)))
    quaternion = (Rotation.from_matrix(state.rotation) * turn).as_quat()
    lost = rng.uniform(size=len(t)) < s.lost_share
    lost |= (t >= s.mocap_gap[0]) & (t < s.mocap_gap[1])
    for k in np.flatnonzero(~lost):
        yield Reading(
            int(stamps[k]),
            '/base/pose',
            messages.new(
                'geometry_msgs/msg/PoseStamped',
                header=messages.header(int(stamps[k]), 'world'),
                pose={'position': position[k], 'orientation': quaternion[k]},
            ),
        )


def _imu(
    motion: AnyMotion, s: HumanoidSensors, duration: float, rng: np.random.Generator
) -> Iterator[Reading]:
    t, stamps = _times(s.imu_rate, 0.0011, duration, s.stamp_jitter, rng)
    m = motion.at(t).motion
    frame = motion.model.frame('imu_link')
    w, arm = m.base_angular_velocity, frame.translation
    force = (
        m.base_acceleration
        + np.cross(m.base_angular_acceleration, arm)
        + np.cross(w, np.cross(w, arm))
    ) @ frame.rotation
    force += s.accelerometer_noise * rng.standard_normal(force.shape)
    rate = w @ frame.rotation + s.gyro_noise * rng.standard_normal(force.shape)
    for k, stamp in enumerate(stamps):
        yield Reading(
            int(stamp),
            '/imu/data',
            messages.new(
                'sensor_msgs/msg/Imu',
                header=messages.header(int(stamp), 'imu_link'),
                orientation=(0.0, 0.0, 0.0, 1.0),
                orientation_covariance=[-1.0] + [0.0] * 8,
                angular_velocity=rate[k],
                linear_acceleration=force[k],
            ),
        )


def _plate(
    motion: AnyMotion,
    s: HumanoidSensors,
    duration: float,
    rng: np.random.Generator,
    index: int,
    sides: tuple[str, ...],
) -> Iterator[Reading]:
    t, stamps = _times(s.plate_rate, 0.0003 + 0.0004 * index, duration, s.stamp_jitter, rng)
    feet = motion.at(t).feet
    world = np.sum([feet[side] for side in sides], axis=0)
    local = plate_wrench(world, s)
    local = local + s.plate_offset
    local[:, :3] += s.plate_noise * rng.standard_normal((len(t), 3))
    local[:, 3:] += s.plate_moment_noise * rng.standard_normal((len(t), 3))
    if s.plate_resolution > 0.0:
        local[:, :3] = s.plate_resolution * np.round(local[:, :3] / s.plate_resolution)
    name = 'force_plate' if index == 0 else f'force_plate_{index + 1}'
    yield from _wrenches(f'/{name}/wrench', 'force_plate', stamps, local)


def plate_wrench(world: Array, s: HumanoidSensors) -> Array:
    """A wrench at the world origin as the plate shows it."""
    rotation, place = s.plate_rotation(), np.asarray(s.plate_position)
    force = world[:, :3]
    moment = world[:, 3:] - np.cross(place, force)
    return np.hstack([force @ rotation, moment @ rotation])


class FootInertia:
    """What lies beyond the ankle sensors, as one rigid body per foot in the ankle link's frame."""

    def __init__(self, model: TreeModel, robot: Robot, s: HumanoidSensors) -> None:
        self.model = model
        self.frames = {side: f'{side}_{s.sensor_frame}' for side in SIDES}
        rest = robot.cut_at(self.frames.values()).model()
        self.parameters = {
            side: model.parameters[self.body(side)]
            - rest.parameters[rest.frame(self.frames[side]).body]
            for side in SIDES
        }

    def body(self, side: str) -> int:
        """Index of the ankle link."""
        return self.model.frame(self.frames[side]).body

    def on_robot(self, state: Sampled, side: str) -> Array:
        """What the foot exerts on the robot (N, 6) at and along the sensor's frame."""
        body = self.body(side)
        bodies = body_motion(self.model, state.motion)
        p = self.parameters[side]
        a, w, wd = (
            array[:, body] for array in (bodies.acceleration, bodies.omega, bodies.omega_dot)
        )
        moment, inertia = p[1:4], p[[4, 5, 6, 5, 7, 8, 6, 8, 9]].reshape(3, 3)
        force = p[0] * a + np.cross(wd, moment) + np.cross(w, np.cross(w, moment))
        torque = wd @ inertia + np.cross(w, w @ inertia) + np.cross(moment, a)
        rotation = state.rotation @ bodies.orientation[:, body]
        place = state.position + np.einsum('nij,nj->ni', state.rotation, bodies.position[:, body])
        ground = state.feet[side]
        ground_force = np.einsum('nji,nj->ni', rotation, ground[:, :3])
        ground_moment = np.einsum(
            'nji,nj->ni', rotation, ground[:, 3:] - np.cross(place, ground[:, :3])
        )
        force, torque = ground_force - force, ground_moment - torque
        frame = self.model.frame(self.frames[side])
        torque = torque - np.cross(frame.translation, force)
        return np.hstack([force @ frame.rotation, torque @ frame.rotation])


def _foot(
    motion: AnyMotion,
    feet: FootInertia,
    s: HumanoidSensors,
    duration: float,
    rng: np.random.Generator,
    side: str,
) -> Iterator[Reading]:
    t, stamps = _times(s.sensor_rate, 0.0005, duration, s.stamp_jitter, rng)
    local = feet.on_robot(motion.at(t), side)
    local[:, :3] += s.sensor_noise * rng.standard_normal((len(t), 3))
    local[:, 3:] += s.sensor_moment_noise * rng.standard_normal((len(t), 3))
    yield from _wrenches(f'/{side}_foot/wrench', feet.frames[side], stamps, local)


def _wrenches(
    topic: str, frame: str, stamps: NDArray[np.int64], values: Array
) -> Iterator[Reading]:
    for stamp, row in zip(stamps, values, strict=True):
        yield Reading(
            int(stamp),
            topic,
            messages.new(
                'geometry_msgs/msg/WrenchStamped',
                header=messages.header(int(stamp), frame),
                wrench={'force': row[:3], 'torque': row[3:]},
            ),
        )


def _static(s: HumanoidSensors) -> Any:
    quaternion = quaternion_of_matrix(s.plate_rotation())
    return messages.new(
        'tf2_msgs/msg/TFMessage',
        transforms=[
            {
                'header': messages.header(EPOCH_NS, 'world'),
                'child_frame_id': 'force_plate',
                'transform': {'translation': s.plate_position, 'rotation': quaternion},
            }
        ],
    )
