"""From the fused state to messages."""

from __future__ import annotations

from typing import Any

from veh_identification.fusion.state import FusedState
from veh_identification.runtime.messages import header, new

ZERO = (0.0, 0.0, 0.0)


def fused_state_message(state: FusedState, world_frame: str, base_frame: str) -> Any:
    """veh_identification/msg/FusedState."""
    base, joints = state.base, state.joints
    return new(
        'veh_identification/msg/FusedState',
        header=header(state.stamp_ns, world_frame),
        child_frame_id=base_frame,
        pose_valid=base.pose_valid,
        orientation_valid=base.orientation_valid,
        twist_valid=base.twist_valid,
        acceleration_valid=base.acceleration_valid,
        pose=(base.position, base.orientation),
        twist=(base.velocity, base.angular_velocity),
        acceleration=(base.acceleration, base.angular_acceleration),
        gravity=base.gravity,
        joint_names=joints.names,
        joint_positions=joints.positions,
        joint_velocities=joints.velocities,
        joint_accelerations=joints.accelerations,
        joint_valid=joints.valid,
        wrench_names=state.wrench_names,
        wrenches=state.wrenches,
        wrench_valid=state.wrench_valid,
        channel_names=state.channel_names,
        channel_values=state.channel_values,
        channel_valid=state.channel_valid,
    )


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
