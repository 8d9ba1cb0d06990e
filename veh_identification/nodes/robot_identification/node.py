"""Node `robot_identification`: an arm's parameters while it moves, and a watch over its payload.

`veh-id identify robot` does the same offline.

Input: `joint_states` with position and effort of the URDF's joints. The estimate of all rows so
far is published each second on `~/parameters` (latched) with verdict and findings; both sides of
the equations on `~/reconstruction`. With the folder of an earlier identification (`result`) the
watch over the payload works from the first seconds on, else after `learn` seconds of motion. A
payload that is picked up or put down is logged, stands in `~/parameters` as `payload.mass` with
its deviation, and in the diagnostics.

A motion on `wanted` (trajectory_msgs/JointTrajectory with positions, velocities, accelerations) is
answered with the same motion and its joint torques on `~/feedforward`, and with the deviations of
the prediction as effort on `~/feedforward_deviation`: from `result`, or from the own estimate once
`learn` seconds have passed. The payload is not in them.

Diagnostics (1 Hz). WARN: no estimate yet, an estimate that still moves, parameters that the motion
does not excite. ERROR: no usable message for two seconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from veh_identification.errors import ParameterError, VehIdError
from veh_identification.nodes.identification.base import IdentificationNode, declare_identification
from veh_identification.nodes.joint_order import JointOrder
from veh_identification.nodes.wanted_motion import TRAJECTORY, motion_of, with_efforts
from veh_identification.runtime.cdr.fields import STAMP, FieldCallback
from veh_identification.runtime.graph import find_config
from veh_identification.runtime.interface import NANOSECONDS, Node
from veh_identification.runtime.messages import message_class
from veh_identification.runtime.parameters import parameter
from veh_identification.runtime.qos import SYSTEM_DEFAULT, QoS
from veh_identification.runtime.share import share_directory
from veh_identification.systems.humanoid.robot import load_robot
from veh_identification.systems.robot.configuration import load_configuration
from veh_identification.systems.robot.feedforward import feedforward, load_feedforward
from veh_identification.systems.robot.live.model import LiveOptions, RobotLive
from veh_identification.types import Array

QUEUE = 1000
#: Of parameter `lag` [s]. A slice of a check takes 0.09 s of a core (25 s of arm-free).
LAG = 0.3


@dataclass(frozen=True)
class RobotOptions:
    """Parameters of the node."""

    topic: str = parameter('joint_states', 'positions and efforts of the joints (JointState)')
    urdf: str = parameter(
        '', 'the robot: a file, or the name of one below config/; must be given', path=True
    )
    robot: str = parameter(
        'robot.yaml', 'effort, gains, gravity, friction: a file, or a name in config/', path=True
    )
    result: str = parameter(
        '', 'folder of an earlier `identify robot`: the payload is weighed against it', path=True
    )
    cutoff: float = parameter(
        20.0, 'of both sides of the equations, at most', unit='Hz', minimum=0.5, maximum=100.0
    )
    payload_link: str = parameter('', 'link that carries; empty: the last of the longest chain')
    memory: float = parameter(
        0.4, 'of rows that show the payload', unit='s', minimum=0.1, maximum=10.0
    )
    least_mass: float = parameter(0.1, 'that counts as a payload', unit='kg', minimum=0.001)
    learn: float = parameter(
        30.0, 'of motion after which the own estimate serves the watch', unit='s', minimum=1.0
    )
    wanted: str = parameter('wanted', 'motions whose torques are asked for (JointTrajectory)')
    reconstruction: bool = parameter(True, 'publish measured and predicted efforts')
    reliable_sensors: bool = parameter(False, 'subscribe reliably instead of best effort')
    file: str = parameter(
        '', 'where ~/save writes and ~/load reads the estimate (.npz)', path=True
    )


class RobotIdentification(IdentificationNode):
    """Hands positions and efforts to the live model."""

    model: RobotLive

    def __init__(self, node: Node) -> None:
        options, running = declare_identification(node, RobotOptions, LAG)
        self.options = options
        model = self._setup()
        model.warm_up()  # before subscribing: samples would have to wait
        self._answered = self._refused = 0
        self._order = JointOrder(model.joints)
        super().__init__(
            node,
            model,
            options,
            running,
            input_words=f'usable message on {options.topic}',
            file=options.file,
            reconstruction=options.reconstruction,
        )

    def _setup(self) -> RobotLive:
        o = self.options
        if not o.urdf:
            raise ParameterError('parameter urdf: the description of the robot must be given')
        live = LiveOptions(
            cutoff_hz=o.cutoff,
            memory=o.memory,
            least_mass=o.least_mass,
            payload_link=o.payload_link,
            learn=o.learn,
        )
        shipped = share_directory() / 'config' / o.urdf
        try:
            urdf = str(shipped) if shipped.is_file() else o.urdf
            configuration = load_configuration(find_config(o.robot))
            known = load_feedforward(o.result, urdf) if o.result else None
            return RobotLive(load_robot(urdf), configuration, live, known)
        except VehIdError as error:
            raise ParameterError(f'parameters urdf, robot, result: {error}') from error

    def subscribe(self) -> None:
        """Listen to the joints."""
        self._node.create_subscription(
            message_class('sensor_msgs/msg/JointState'),
            self.options.topic,
            FieldCallback((*STAMP, 'name', 'position[]', 'effort[]'), self._on_joints),
            QoS(depth=QUEUE, reliable=self.options.reliable_sensors),
        )

        self._node.create_subscription(
            message_class(TRAJECTORY), self.options.wanted, self._on_wanted, SYSTEM_DEFAULT
        )
        self._torques, self._deviations = (
            self._node.create_publisher(message_class(TRAJECTORY), f'~/{name}', SYSTEM_DEFAULT)
            for name in ('feedforward', 'feedforward_deviation')
        )

    def _on_wanted(self, msg: Any) -> None:
        if not self.enabled:
            return
        try:
            arm = self.model.identified()
            motion = motion_of(msg, arm.joints, self.options.wanted)
            made = feedforward(arm, *motion, where=f'{self.options.wanted}.points')
            torques, deviations = with_efforts(msg, arm.joints, motion, *made)
        except VehIdError as error:
            self._refused += 1
            self._node.get_logger().warning(f'no torques: {error}')
            return
        self._answered += 1
        self._torques.publish(torques)
        self._deviations.publish(deviations)

    def facts(self) -> dict[str, Any]:
        """Also the motions that came."""
        told = {'wanted_answered': self._answered, 'wanted_refused': self._refused}
        return {**super().facts(), **told}

    def _on_joints(self, fields: tuple[Any, ...]) -> None:
        if not self.enabled:
            return
        sec, nanosec, names, position, effort = fields
        sides = self._sides_of(tuple(names), np.array(position), np.array(effort))
        if sides is None:
            self.model.sensor.received += 1
            self.model.sensor.invalid += 1
            return
        stamp_ns = sec * NANOSECONDS + nanosec
        self.sample_comes(stamp_ns)
        if self.model.push(stamp_ns, *sides):
            _, word, found = self.model.monitor.events[-1]
            self._node.get_logger().info(
                f'payload {word}: {found.mass:.3g} +- {found.std:.2g} kg at {self.model.link}'
            )
            self.publish_estimate(stamp_ns)
        elif self.model.tick(0):  # at once: the message tells the samples that it stands on
            self.publish_estimate(stamp_ns)
        self.sample_came()

    def _sides_of(
        self, names: tuple[str, ...], position: Array, effort: Array
    ) -> tuple[Array, Array] | None:
        """Positions and efforts in the model's order; None where a joint is lacking."""
        found = self._order.places(names)
        if found is None or -1 in found[0]:
            missing = ', '.join(one for one in self.model.joints if one not in names)
            self._node.get_logger().warning(
                f'{self.options.topic}: a message lacks {missing}'
                if missing
                else f'{self.options.topic}: a message names a joint twice',
                throttle_duration_sec=60.0,
            )
            return None
        if len(position) != len(names) or len(effort) != len(names):
            return None
        order = list(found[0])
        return position[order], effort[order]
