"""A planar mechanism's side of the node `error_ekf`."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
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
from veh_identification.systems import registry
from veh_identification.systems.mechanism.agreement.check import check_agreement
from veh_identification.systems.mechanism.agreement.heard import LastSeconds
from veh_identification.systems.mechanism.online import MechanismSession, MechanismSystem
from veh_identification.systems.mechanism.results import joints_message
from veh_identification.systems.mechanism.streams import (
    JOINT_STATE,
    JOINTS,
    TopicStream,
    delays_ns,
    joint_streams,
    possible,
    topic_streams,
)
from veh_identification.systems.mechanism.system import warm_up

Fields = tuple[Any, ...]


class MechanismFace:
    """A mechanism, or the four-bar linkage, as the node shows it."""

    def __init__(
        self, node: Node, options: ErrorEkfOptions, say: Callable[[Finding], None]
    ) -> None:
        self._node, self.options = node, options
        try:
            path = find_config(options.model) if options.model else None
            system = registry.find('observe', options.system)
            self.system: MechanismSystem = system.live(system.configure(path))
            self.system.say = say
        except VehIdError as error:
            raise ParameterError(f'parameter model: {error}') from error
        description = self.description = self.system.description
        self.delays_ns = delays_ns(description)
        topic, timeout = options.topics.joints or JOINTS, options.timeout
        self._by_joint, self._by_topic = joint_streams(description), topic_streams(description)
        self.streams: dict[str, tuple[str, float, tuple[str, ...]]] = {
            one.name: (
                topic,
                timeout.inputs if one.drives else timeout.joints,
                () if one.drives else (one.name,),
            )
            for one in self._by_joint
            if one.drives or one.name in self.system.sensors
        }
        self.streams |= {
            one.name: (one.topic, timeout.imu, (one.name,))
            for one in self._by_topic
            if one.name in self.system.sensors
        }
        self._last = LastSeconds((*self.system.sensors, *description.drives))
        self.essential = tuple(name for name in self.streams if name in self.system.sensors)

    def warm_up(self) -> None:
        """Compile everything on a mechanism of its own."""
        warm_up(self.description)
        system = MechanismSystem(self.description, say=lambda finding: None)
        observer = OnlineObserver(
            system,
            OnlineOptions(lag=0.004, window=0.02, settle=0.01),
            lambda session, end_ns, found: None,
        )
        first = next((one for one in self._by_joint if not one.drives), None)
        if first is None:
            return
        column = system.built.columns[str(self.description.sensors[first.name].coordinate)]
        value = float(system.built.model.q[column]) if first.field == 'position' else 0.0
        for k in range(20):
            late = 8 if k == 15 else 0
            observer.push(first.name, NANOSECONDS + (k - late) * 2_000_000 + k, (value,))
            observer.poll()

    def subscribe(
        self,
        push: Callable[[str, int, tuple[float, ...]], None],
        refuse: Callable[[str, str], None],
        qos: QoS,
    ) -> None:
        """Listen to the sensors."""

        def noted(name: str, stamp_ns: int, values: tuple[float, ...]) -> None:
            self._last.take(name, stamp_ns - self.delays_ns[name], values)
            push(name, stamp_ns, values)

        self._push, self._refuse = noted, refuse
        create = self._node.create_subscription
        if self._by_joint:
            fields = (*STAMP, 'name', 'position[]', 'velocity[]', 'effort[]')
            create(
                message_class(JOINT_STATE),
                self.options.topics.joints,
                FieldCallback(fields, self._on_joints),
                qos,
            )
        for one in self._by_topic:
            if one.name in self.streams:
                receive = FieldCallback((*STAMP, *one.fields), partial(self._on_topic, one))
                create(message_class(one.typename), one.topic, receive, qos)

    def _on_joints(self, fields: Fields) -> None:
        sec, nanosec, names = fields[:3]
        columns = dict(zip(('position', 'velocity', 'effort'), fields[3:], strict=True))
        stamp_ns = sec * NANOSECONDS + nanosec
        used = False
        for one in self._by_joint:
            if one.name not in self.streams:
                continue
            values = columns[one.field]
            there = one.joint in names and len(values) == len(names)
            value = values[names.index(one.joint)] if there else math.nan
            if stamp_ns <= 0:
                if not one.drives:
                    self._refuse(one.name, 'zero stamp')
            elif possible((value,)):
                used = True
                self._push(one.name, stamp_ns, (float(value),))
            elif there and not one.drives and not math.isnan(value):
                self._refuse(one.name, 'infinite or beyond what can be')
        if not used and stamp_ns > 0:
            for one in self._by_joint:
                if one.name in self.streams and not one.drives:
                    self._refuse(one.name, f'no {one.field} of {one.joint} in the message')

    def _on_topic(self, stream: TopicStream, fields: Fields) -> None:
        stamp_ns = int(fields[0] * NANOSECONDS + fields[1])
        values = stream.values(fields[2:])
        if stamp_ns <= 0:
            self._refuse(stream.name, 'zero stamp')
        elif values is None:
            self._refuse(stream.name, 'NaN, infinite, beyond what can be or not measured')
        else:
            self._push(stream.name, stamp_ns, values)

    def checks(self) -> Callable[[], list[Finding]]:
        """A comparison of the sensors with each other, by the last seconds as they are now."""
        now, description = self._last.copied(), self.description
        return lambda: check_agreement(now.items(), description)

    def advertise(self) -> None:
        """Make the publisher."""
        self._joints = self._node.create_publisher(
            message_class(JOINT_STATE), 'joint_states/observed', SYSTEM_DEFAULT
        )

    def publish(self, session: MechanismSession, stamp_ns: int, step: int) -> None:
        """The estimate after a step: points and coordinates."""
        model = session.model
        if not math.isfinite(float(model.q.sum() + model.qd.sum())):
            raise EstimationError('the observed state is no number any more')
        if step % self.options.odometry_every == 0:
            message = joints_message(session.mechanism, stamp_ns, model.q, model.qd)
            self._joints.publish(message)
