"""Quality of service, descriptors and message types of ours as rclpy's."""

from __future__ import annotations

import sys
from typing import Any

import rclpy.qos
from rcl_interfaces.msg import FloatingPointRange, IntegerRange
from rcl_interfaces.msg import ParameterDescriptor as RosDescriptor

from veh_identification.runtime.messages import Backend
from veh_identification.runtime.parameters import ParameterDescriptor
from veh_identification.runtime.qos import QoS, as_qos

_LARGEST = sys.float_info.max
_LARGEST_INTEGER = 2**63 - 1


def ros_qos(profile: QoS | int) -> rclpy.qos.QoSProfile:
    """Our quality of service as rclpy's."""
    qos = as_qos(profile)
    return rclpy.qos.QoSProfile(
        depth=qos.depth,
        reliability=(
            rclpy.qos.ReliabilityPolicy.RELIABLE
            if qos.reliable
            else rclpy.qos.ReliabilityPolicy.BEST_EFFORT
        ),
        durability=(
            rclpy.qos.DurabilityPolicy.TRANSIENT_LOCAL
            if qos.transient_local
            else rclpy.qos.DurabilityPolicy.VOLATILE
        ),
    )


def ros_descriptor(descriptor: ParameterDescriptor, default: Any) -> RosDescriptor:
    """Our descriptor as rcl_interfaces'."""
    text = descriptor.description
    if descriptor.unit:
        text += f' [{descriptor.unit}]'
    limits: dict[str, Any] = {}
    if descriptor.minimum is not None or descriptor.maximum is not None:
        low, high = descriptor.minimum, descriptor.maximum
        if isinstance(default, float):
            limits['floating_point_range'] = [
                FloatingPointRange(
                    from_value=float(-_LARGEST if low is None else low),
                    to_value=float(_LARGEST if high is None else high),
                )
            ]
        elif isinstance(default, int) and not isinstance(default, bool):
            limits['integer_range'] = [
                IntegerRange(
                    from_value=int(-_LARGEST_INTEGER if low is None else low),
                    to_value=int(_LARGEST_INTEGER if high is None else high),
                )
            ]
    return RosDescriptor(
        description=text,
        read_only=descriptor.read_only,
        additional_constraints=(
            f'one of {", ".join(descriptor.choices)}' if descriptor.choices else ''
        ),
        # An empty list has no type in ROS, and people write 100 where 100.0 is meant.
        dynamic_typing=default == [] or isinstance(default, (float, list)),
        **limits,
    )


def same_definition(type_name: str, ours: Backend, theirs: Backend) -> bool:
    """Whether two sources of message classes have the same fields of a type, down to the last.

    Definitions change between distributions (sensor_msgs/Range grew a field); bytes of one must
    not be read by the other.
    """
    fields = ours.field_types(type_name)
    if list(fields.items()) != list(theirs.field_types(type_name).items()):
        return False
    inner = {kind.partition('[')[0] for kind in fields.values() if '/' in kind}
    return all(same_definition(kind, ours, theirs) for kind in inner)
