"""The four-bar linkage's side of the node `error_ekf`."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from veh_identification.errors import EstimationError, ParameterError, VehIdError
from veh_identification.findings import Finding
from veh_identification.nodes.error_ekf.options import ErrorEkfOptions
from veh_identification.observation.streaming import OnlineObserver, OnlineOptions
from veh_identification.runtime.cdr.fields import STAMP, FieldCallback
from veh_identification.runtime.graph import find_config
from veh_identification.runtime.interface import NANOSECONDS, Node
from veh_identification.runtime.messages import message_class
from veh_identification.runtime.qos import SYSTEM_DEFAULT, QoS
from veh_identification.systems.four_bar.model import load
from veh_identification.systems.four_bar.online import FourBarSession, FourBarSystem
from veh_identification.systems.four_bar.results import joints_message


class LinkageFace:
    """A four-bar linkage as the node shows it."""

    def __init__(
        self, node: Node, options: ErrorEkfOptions, say: Callable[[Finding], None]
    ) -> None:
        self._node, self.options = node, options
        try:
            setup = load(find_config(options.model) if options.model else None)
            self.system = FourBarSystem(setup, say=say)
        except VehIdError as error:
            raise ParameterError(f'parameter model: {error}') from error
        self.delays_ns = {'crank': 0, 'torque': 0}
        topic, timeout = options.topics.joints, options.timeout
        self.streams: dict[str, tuple[str, float, tuple[str, ...]]] = {
            'crank': (topic, timeout.joints, ('encoder',)),
            'torque': (topic, timeout.inputs, ()),
        }
        self.essential = ('crank',)

    def warm_up(self) -> None:
        """Compile everything on a linkage of its own."""
        system = FourBarSystem(self.system.setup, say=lambda finding: None)
        observer = OnlineObserver(
            system,
            OnlineOptions(lag=0.004, window=0.02, settle=0.01),
            lambda session, end_ns, found: None,
        )
        for k in range(20):
            late = 8 if k == 15 else 0
            observer.push('crank', NANOSECONDS + (k - late) * 2_000_000 + k, (1.0,))
            observer.poll()

    def subscribe(
        self,
        push: Callable[[str, int, tuple[float, ...]], None],
        refuse: Callable[[str, str], None],
        qos: QoS,
    ) -> None:
        """Listen to the encoder."""
        self._push, self._refuse = push, refuse
        self._node.create_subscription(
            message_class('sensor_msgs/msg/JointState'),
            self.options.topics.joints,
            FieldCallback((*STAMP, 'name', 'position[]', 'effort[]'), self._on_joints),
            qos,
        )

    def _on_joints(self, fields: tuple[Any, ...]) -> None:
        sec, nanosec, names, position, effort = fields
        stamp_ns = sec * NANOSECONDS + nanosec
        if stamp_ns <= 0:
            self._refuse('crank', 'zero stamp')
        elif 'crank' not in names:
            self._refuse('crank', 'no crank in the message')
        else:
            k = names.index('crank')
            angle = position[k] if len(position) == len(names) else math.nan
            torque = effort[k] if len(effort) == len(names) else math.nan
            if math.isfinite(angle):
                self._push('crank', stamp_ns, (angle,))
                if math.isfinite(torque):
                    self._push('torque', stamp_ns, (torque,))
            else:
                self._refuse('crank', 'NaN, infinite or without a position')

    def checks(self) -> list[Finding]:
        """A crank has no one else to be compared with."""
        return []

    def advertise(self) -> None:
        """Make the publisher."""
        self._joints = self._node.create_publisher(
            message_class('sensor_msgs/msg/JointState'), 'joint_states/observed', SYSTEM_DEFAULT
        )

    def publish(self, session: FourBarSession, stamp_ns: int, step: int) -> None:
        """The estimate after a step: points 1 and 2 and the crank."""
        if not math.isfinite(float(session.model.q.sum() + session.model.qd.sum())):
            raise EstimationError('the observed state is no number any more')
        if step % self.options.odometry_every == 0:
            self._joints.publish(joints_message(stamp_ns, session.model.q, session.model.qd))
