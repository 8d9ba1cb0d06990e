"""The `ros` engine: rclpy itself behind the node interface. Only this folder imports rclpy."""

from veh_identification.runtime.ros.engine import command_line, main, run_node
from veh_identification.runtime.ros.loop import Loop
from veh_identification.runtime.ros.node import RosNode
from veh_identification.runtime.ros.translation import ros_descriptor, ros_qos

__all__ = ['Loop', 'RosNode', 'command_line', 'main', 'ros_descriptor', 'ros_qos', 'run_node']
