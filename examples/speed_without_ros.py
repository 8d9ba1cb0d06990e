#!/usr/bin/env python3
"""The observer's state in a program of one's own, without ROS: is the speed to be relied on?

    veh-id router                                                        # terminal 1
    veh-id run error_ekf --engine zenoh --config error_ekf.yaml          # terminal 2
    python3 examples/speed_without_ros.py                                # terminal 3

With a recording instead of a car: `veh-id play BAG --clock`, the node with `-p use_sim_time:=true`
and this program with `--sim-time`, so that all three have the time of the recording.

Published: `speed/usable` (std_msgs/Float64), 20 times a second: the speed in m/s, NaN while it is
not to be relied on (no observer, old, not sure enough), with the reason in the log.
"""

from __future__ import annotations

import math
import sys
from typing import Any

from veh_identification.runtime.interface import Node
from veh_identification.runtime.messages import message_class, new, stamp_ns
from veh_identification.runtime.qos import SENSOR_DATA
from veh_identification.runtime.zenoh import ZenohEngine

#: Older than this is not a state to control with [s].
OLDEST = 0.1
#: Deviation of the speed beyond which nothing is decided [m/s].
LARGEST_DEVIATION = 0.5
FLOAT = 'std_msgs/msg/Float64'


class UsableSpeed:
    """Keeps the newest of each topic and decides on a timer; runs on any engine."""

    def __init__(self, node: Node) -> None:
        self.node = node
        self.state: Any = None
        self.running = False
        self.reason = ''
        subscribe = node.create_subscription
        odometry = message_class('nav_msgs/msg/Odometry')
        subscribe(odometry, 'odometry/observed', self.on_state, SENSOR_DATA)
        status = message_class('veh_identification/msg/ObserverStatus')
        subscribe(status, 'error_ekf/status', self.on_status, 10)
        self.speed = node.create_publisher(message_class(FLOAT), 'speed/usable', 10)
        node.create_timer(0.05, self.decide)

    def on_state(self, message: Any) -> None:
        """Pose and velocity with their covariance."""
        self.state = message

    def on_status(self, message: Any) -> None:
        """Does the observer run?"""
        self.running = message.mode == 'running'

    def trouble(self) -> str:
        """Why the speed cannot be used now; empty when it can."""
        if self.state is None or not self.running:
            return 'the observer does not run'
        age = 1e-9 * (self.node.get_clock().now().nanoseconds - stamp_ns(self.state))
        if age > OLDEST:
            return f'the state is {age:.2g} s old'
        deviation = math.sqrt(self.state.twist.covariance[0])
        if not deviation <= LARGEST_DEVIATION:
            return f'the speed is known to {deviation:.2f} m/s only'
        return ''

    def decide(self) -> None:
        """Publish the speed, or that there is none."""
        reason = self.trouble()
        if (reason == '') != (self.reason == ''):
            self.node.get_logger().info(reason or 'the speed is to be relied on')
        self.reason = reason
        speed = math.nan if reason else self.state.twist.twist.linear.x
        self.speed.publish(new(FLOAT, data=speed))


def main() -> None:
    """Run until Ctrl-C."""
    parameters = {'use_sim_time': '--sim-time' in sys.argv[1:]}
    with ZenohEngine() as engine:
        UsableSpeed(engine.create_node('usable_speed', parameters=parameters))
        engine.spin()


if __name__ == '__main__':
    main()
