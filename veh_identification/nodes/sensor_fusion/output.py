"""From the fused state to messages."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from operator import is_
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veh_identification.fusion.kernels.output import MOTION_SIZE
from veh_identification.fusion.state import FusedState
from veh_identification.runtime.messages import (
    NANOSECONDS,
    header,
    new,
    rosbags_backend,
    serialize,
)
from veh_identification.runtime.messages.rows import PACK_STAMP, RowWriter
from veh_identification.types import Array

TYPE = 'veh_identification/msg/FusedState'
PACK_FLAGS = struct.Struct('<4?').pack_into


class FusedStateWriter:
    """From states to what is published: serialised messages.

    Only numbers change from state to state. To fill all the nested messages and to serialise them
    would cost more than the estimation, so the numbers go straight to their places in the bytes of
    a message before, as long as the structure (names of the joints) stays.
    """

    def __init__(self, world_frame: str, base_frame: str) -> None:
        self._message = new(TYPE, header=header(0, world_frame), child_frame_id=base_frame)
        m = self._message
        pose, twist, acceleration = m.pose, m.twist, m.acceleration
        self._vectors = (
            pose.position,
            twist.linear,
            twist.angular,
            acceleration.linear,
            acceleration.angular,
            m.gravity,
        )
        self._bytes: StateBytes | None = None
        self._names: tuple[list[str], ...] = ()

    def __call__(self, state: FusedState) -> Any:
        """What to publish of a state."""
        names = (state.joints.names, state.wrench_names, state.wrench_frames)
        if self._bytes is not None and all(map(is_, names, self._names)):
            return self._bytes.fill(state)
        message = self._fill(state)
        payload = serialize(message)
        self._names = names
        self._bytes = StateBytes.of(payload)
        return payload

    def _fill(self, state: FusedState) -> Any:
        m, base, joints = self._message, state.base, state.joints
        stamp = m.header.stamp
        stamp.sec, stamp.nanosec = divmod(state.stamp_ns, NANOSECONDS)
        m.pose_valid = base.pose_valid
        m.orientation_valid = base.orientation_valid
        m.twist_valid = base.twist_valid
        m.acceleration_valid = base.acceleration_valid
        p, v, w, a, b, g = self._vectors
        q = m.pose.orientation
        (
            p.x,
            p.y,
            p.z,
            q.x,
            q.y,
            q.z,
            q.w,
            v.x,
            v.y,
            v.z,
            w.x,
            w.y,
            w.z,
            a.x,
            a.y,
            a.z,
            b.x,
            b.y,
            b.z,
            g.x,
            g.y,
            g.z,
        ) = base.row.tolist()
        m.joint_names = joints.names
        m.joint_positions = joints.values[0]
        m.joint_velocities = joints.values[1]
        m.joint_accelerations = joints.values[2]
        m.joint_valid = joints.flags
        self._fill_instruments(m, state)
        return m

    def _fill_instruments(self, m: Any, state: FusedState) -> None:
        m.wrench_names, m.channel_names = state.wrench_names, state.channel_names
        m.wrench_frames = state.wrench_frames
        if len(m.wrenches) != len(state.wrenches):
            m.wrenches = [new('geometry_msgs/msg/Wrench') for _ in state.wrenches]
        for wrench, (force, torque) in zip(m.wrenches, state.wrenches, strict=True):
            f, t = wrench.force, wrench.torque
            f.x, f.y, f.z = force
            t.x, t.y, t.z = torque
        m.wrench_valid = np.array(state.wrench_valid, np.bool_)
        m.channel_valid = np.array(state.channel_valid, np.bool_)
        m.channel_values = state.channel_values


class StateBytes:
    """A serialised veh_identification/msg/FusedState and the places of its numbers."""

    def __init__(self, payload: bytes, leaves: Mapping[str, Any]) -> None:
        self._buffer = buffer = bytearray(payload)
        self._stamp = leaves['header.stamp.sec'].begin
        self._flags = leaves['pose_valid'].begin

        def numbers(first: str, count: int) -> Array:
            return np.frombuffer(buffer, '<f8', count, leaves[first].begin)

        def flags(name: str) -> NDArray[np.bool_]:
            piece = leaves[name]
            return np.frombuffer(buffer, np.bool_, piece.length, piece.begin)

        self._base = numbers('pose.position.x', MOTION_SIZE)
        places = [leaves[f'joint_{name}'] for name in ('positions', 'velocities', 'accelerations')]
        self._joints = [np.frombuffer(buffer, '<f8', p.length, p.begin) for p in places]
        self._joint_flags = flags('joint_valid')
        self._wrench_flags, self._channel_flags = flags('wrench_valid'), flags('channel_valid')
        self._channels = numbers('channel_values', len(self._channel_flags))
        count = len(self._wrench_flags)
        first = 'wrenches[0].force.x' if count else 'channel_values'
        self._wrenches = numbers(first, 6 * count).reshape(count, 2, 3)
        # What the bytes hold of the instruments: of those that never spoke it stays the same.
        self._last_wrenches: Any = None
        self._last_channels: Any = None

    @classmethod
    def of(cls, payload: bytes) -> StateBytes | None:
        """None for a message that is too long for it."""
        plan = rosbags_backend().templates(TYPE).plan(payload)
        return None if plan is None else cls(payload, plan.leaves)

    def fill(self, state: FusedState) -> bytes:
        """The message of a state with the same names."""
        buffer, base, joints = self._buffer, state.base, state.joints
        PACK_STAMP(buffer, self._stamp, *divmod(state.stamp_ns, NANOSECONDS))
        PACK_FLAGS(
            buffer,
            self._flags,
            base.pose_valid,
            base.orientation_valid,
            base.twist_valid,
            base.acceleration_valid,
        )
        self._base[:] = base.row
        positions, velocities, accelerations = self._joints
        positions[:], velocities[:], accelerations[:] = joints.values
        self._joint_flags[:] = joints.flags
        if (
            state.wrenches is not self._last_wrenches
            or state.channel_values is not self._last_channels
        ):
            self._last_wrenches, self._last_channels = state.wrenches, state.channel_values
            if state.wrenches:
                self._wrenches[:] = state.wrenches
            self._wrench_flags[:] = state.wrench_valid
            self._channels[:] = state.channel_values
            self._channel_flags[:] = state.channel_valid
        return bytes(buffer)


POSE, TWIST = slice(0, 7), slice(7, 13)
Numbers = Callable[[FusedState], Array]


def _pose(state: FusedState) -> Array:
    return state.base.row[POSE]


def _twist(state: FusedState) -> Array:
    return state.base.row[TWIST]


def _pose_covariance(state: FusedState) -> Array:
    return state.base.covariance[:36]


def _twist_covariance(state: FusedState) -> Array:
    return state.base.covariance[36:]


def _continuous(first: int, last: int) -> Numbers:
    def take(state: FusedState) -> Array:
        assert state.continuous is not None
        return state.continuous[first:last]

    return take


def _odometry(
    frames: tuple[str, str], pose: Numbers, covariance: Numbers
) -> RowWriter[FusedState]:
    """nav_msgs/msg/Odometry with the pose in the first frame and the twist in the second."""

    def make(state: FusedState) -> Any:
        numbers, twist = pose(state).tolist(), _twist(state).tolist()
        return new(
            'nav_msgs/msg/Odometry',
            header=header(state.stamp_ns, frames[0]),
            child_frame_id=frames[1],
            pose={
                'pose': (tuple(numbers[:3]), tuple(numbers[3:])),
                'covariance': covariance(state).tolist(),
            },
            twist={
                'twist': (tuple(twist[:3]), tuple(twist[3:])),
                'covariance': _twist_covariance(state).tolist(),
            },
        )

    runs = {
        'pose.pose.position.x': (7, pose),
        'pose.covariance': (36, covariance),
        'twist.twist.linear.x': (6, _twist),
        'twist.covariance': (36, _twist_covariance),
    }
    return RowWriter(make, ['header.stamp'], runs)


def odometry_writer(world_frame: str, base_frame: str) -> RowWriter[FusedState]:
    """nav_msgs/msg/Odometry of states: the corrected pose and its covariance."""
    return _odometry((world_frame, base_frame), _pose, _pose_covariance)


def continuous_writer(odom_frame: str, base_frame: str) -> RowWriter[FusedState]:
    """nav_msgs/msg/Odometry of states: the pose that never jumps."""
    return _odometry((odom_frame, base_frame), _continuous(0, 7), _continuous(7, 43))


def transform_writer(*links: tuple[str, str, Numbers]) -> RowWriter[FusedState]:
    """tf2_msgs/msg/TFMessage of states; each link: parent, child, pose of the child."""

    def make(state: FusedState) -> Any:
        transforms = []
        for parent, child, numbers in links:
            pose = numbers(state).tolist()
            transforms.append(
                new(
                    'geometry_msgs/msg/TransformStamped',
                    header=header(state.stamp_ns, parent),
                    child_frame_id=child,
                    transform=(tuple(pose[:3]), tuple(pose[3:])),
                )
            )
        return new('tf2_msgs/msg/TFMessage', transforms=transforms)

    places = range(len(links))
    return RowWriter(
        make,
        [f'transforms[{k}].header.stamp' for k in places],
        {f'transforms[{k}].transform.translation.x': (7, links[k][2]) for k in places},
    )


class TransformWriter:
    """/tf of states: the base link in the world, or over the continuous frame (REP-105)."""

    def __init__(self, world_frame: str, odom_frame: str, base_frame: str) -> None:
        rolling = (odom_frame, base_frame, _continuous(0, 7))
        self._over_odom = bool(odom_frame)
        self._direct = transform_writer((world_frame, base_frame, _pose))
        self._rolling = transform_writer(rolling)
        self._both = transform_writer((world_frame, odom_frame, _continuous(43, 50)), rolling)

    def __call__(self, state: FusedState) -> Any:
        """What to publish of a state; None when nothing is known."""
        if not self._over_odom:
            return self._direct(state) if state.base.pose_valid else None
        if state.continuous is None:
            return None
        return self._both(state) if state.base.pose_valid else self._rolling(state)
