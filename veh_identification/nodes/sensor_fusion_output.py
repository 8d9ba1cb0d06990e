"""From the fused state to messages."""

from __future__ import annotations

from typing import Any

import numpy as np

from veh_identification.fusion.state import FusedState
from veh_identification.runtime.messages import NANOSECONDS, backend_name, header, new

ZERO = (0.0, 0.0, 0.0)


class FusedStateWriter:
    """Fills one veh_identification/msg/FusedState again and again.

    Only numbers change from state to state; to make all the nested messages anew would cost more
    than the estimation. Publishers serialise before they return, so one message serves them all.
    """

    def __init__(self, world_frame: str, base_frame: str) -> None:
        self._message = new(
            'veh_identification/msg/FusedState',
            header=header(0, world_frame),
            child_frame_id=base_frame,
        )
        # rosidl's setters take lists (and make an array.array of numbers themselves), rosbags'
        # dataclasses hold numpy arrays.
        self._plain = backend_name() == 'ros'
        m = self._message
        pose, twist, acceleration = m.pose, m.twist, m.acceleration
        self._vectors = (
            pose.position, twist.linear, twist.angular, acceleration.linear, acceleration.angular,
            m.gravity,
        )  # fmt: skip
        # What the message holds of the instruments: of those that never spoke it stays the same.
        self._wrenches: Any = None
        self._channels: Any = None

    def __call__(self, state: FusedState) -> Any:
        """The message of a state; it stays valid until the next call."""
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
            p.x, p.y, p.z, q.x, q.y, q.z, q.w, v.x, v.y, v.z, w.x, w.y, w.z,
            a.x, a.y, a.z, b.x, b.y, b.z, g.x, g.y, g.z,
        ) = base.row.tolist()  # fmt: skip
        m.joint_names = joints.names
        values: Any = joints.values
        flags: Any = joints.flags
        if self._plain:
            values, flags = values.tolist(), flags.tolist()
        m.joint_positions = values[0]
        m.joint_velocities = values[1]
        m.joint_accelerations = values[2]
        m.joint_valid = flags
        if state.wrenches is not self._wrenches or state.channel_values is not self._channels:
            self._set_instruments(m, state)
        return m

    def _set_instruments(self, m: Any, state: FusedState) -> None:
        self._wrenches, self._channels = state.wrenches, state.channel_values
        m.wrench_names, m.channel_names = state.wrench_names, state.channel_names
        if len(m.wrenches) != len(state.wrenches):
            m.wrenches = [new('geometry_msgs/msg/Wrench') for _ in state.wrenches]
        for wrench, (force, torque) in zip(m.wrenches, state.wrenches, strict=True):
            f, t = wrench.force, wrench.torque
            f.x, f.y, f.z = force
            t.x, t.y, t.z = torque
        if self._plain:
            m.wrench_valid, m.channel_valid = state.wrench_valid, state.channel_valid
            m.channel_values = state.channel_values.tolist()
        else:
            m.wrench_valid = np.array(state.wrench_valid, np.bool_)
            m.channel_valid = np.array(state.channel_valid, np.bool_)
            m.channel_values = state.channel_values


def odometry_message(state: FusedState, world_frame: str, base_frame: str) -> Any:
    """nav_msgs/msg/Odometry with the pose in the world and the twist in the base link."""
    base = state.base
    return new(
        'nav_msgs/msg/Odometry',
        header=header(state.stamp_ns, world_frame),
        child_frame_id=base_frame,
        pose={'pose': (base.position, base.orientation)},
        twist={'twist': (base.velocity, base.angular_velocity)},
    )


def transform_message(state: FusedState, world_frame: str, base_frame: str) -> Any:
    """tf2_msgs/msg/TFMessage: the base link in the world."""
    transform = new(
        'geometry_msgs/msg/TransformStamped',
        header=header(state.stamp_ns, world_frame),
        child_frame_id=base_frame,
        transform=(state.base.position, state.base.orientation),
    )
    return new('tf2_msgs/msg/TFMessage', transforms=[transform])
