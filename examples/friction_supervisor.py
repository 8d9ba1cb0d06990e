#!/usr/bin/env python3
"""A controller's view of the observer: how much of the tyres' grip is in use?

A plain rclpy script, in no package: `python3 friction_supervisor.py --ros-args -p friction:=0.8`.
It shows what a control stack has to do with the topics of `error_ekf` and `car_identification`:

- state (`odometry/observed`) only with its covariance and its age,
- tyre forces (`error_ekf/virtual_sensors`) only while the observer is `running`,
- the mass (`car_identification/parameters`), to check the forces, while its verdict is not no,
- and a safe answer (the whole grip counts as used) whenever one of them fails.

Published: `grip/used` (std_msgs/Float64), 0 to 1, that of the most loaded wheel, 50 times
a second.
"""

from __future__ import annotations

import math
from contextlib import suppress
from typing import Any

import rclpy
from nav_msgs.msg import Odometry
from rclpy.duration import Duration
from rclpy.executors import ExternalShutdownException
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, qos_profile_sensor_data
from rclpy.time import Time
from std_msgs.msg import Float64

from veh_identification.msg import ObserverStatus, ParameterEstimates, VirtualSensors

#: Older than this is not a state to control with: the observer publishes 100 times a second.
OLDEST = Duration(seconds=0.1)
#: Deviation of the speed beyond which nothing is decided [m/s].
LARGEST_DEVIATION = 0.5


class FrictionSupervisor(Node):
    """Keeps the newest of each topic and decides on a timer."""

    def __init__(self) -> None:
        super().__init__('friction_supervisor')
        self.friction = self.declare_parameter('friction', 0.9).value
        self.state: Odometry | None = None
        self.forces: VirtualSensors | None = None
        self.running = False
        self.mass = math.nan
        self.reason = ''
        latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        subscribe = self.create_subscription
        subscribe(Odometry, 'odometry/observed', self.on_state, qos_profile_sensor_data)
        subscribe(VirtualSensors, 'error_ekf/virtual_sensors', self.on_forces, 10)
        subscribe(ObserverStatus, 'error_ekf/status', self.on_status, 10)
        subscribe(ParameterEstimates, 'car_identification/parameters', self.on_mass, latched)
        self.used = self.create_publisher(Float64, 'grip/used', 10)
        self.create_timer(0.02, self.decide)

    def on_state(self, message: Odometry) -> None:
        """Pose and velocity with their covariance."""
        self.state = message

    def on_forces(self, message: VirtualSensors) -> None:
        """Tyre forces."""
        self.forces = message

    def on_status(self, message: ObserverStatus) -> None:
        """Does the observer run?"""
        self.running = message.mode == 'running'

    def on_mass(self, message: ParameterEstimates) -> None:
        """The mass of the body, while it may be used."""
        known = {one.name: one for one in message.parameters}
        usable = message.verdict in ('yes', 'care') and 'Mc' in known
        self.mass = known['Mc'].value if usable else math.nan

    def trouble(self) -> str:
        """Why the observer cannot be used now; empty when it can."""
        if self.state is None or self.forces is None or not self.running:
            return 'the observer does not run'
        if self.get_clock().now() - Time.from_msg(self.state.header.stamp) > OLDEST:
            return 'the state is old'
        carried = sum(one.z for one in self.forces.tyre_forces)
        # Gross disagreement only: hills and bumps change the load a little.
        if abs(carried - 9.81 * self.mass) > 0.5 * 9.81 * self.mass:
            return f'the tyres carry {carried:.0f} N, which is not the car of the identification'
        deviation = math.sqrt(self.state.twist.covariance[0])
        if not deviation <= LARGEST_DEVIATION:
            return f'the speed is known to {deviation:.2f} m/s only'
        return ''

    def decide(self) -> None:
        """Publish the share of the grip in use, all of it while there is trouble."""
        reason = self.trouble()
        if reason != self.reason:
            self.get_logger().warning(reason or 'the observer is back')
            self.reason = reason
        used = 1.0 if reason or self.forces is None else grip_used(self.forces, self.friction)
        self.used.publish(Float64(data=used))


def grip_used(forces: Any, friction: float) -> float:
    """Horizontal force over what the road gives, the largest of the wheels on the ground."""
    shares = [
        math.hypot(one.x, one.y) / (friction * one.z) for one in forces.tyre_forces if one.z > 1.0
    ]
    return min(max(shares, default=1.0), 1.0)


def main() -> None:
    """Run until Ctrl-C."""
    rclpy.init()
    with suppress(KeyboardInterrupt, ExternalShutdownException):
        rclpy.spin(FrictionSupervisor())


if __name__ == '__main__':
    main()
