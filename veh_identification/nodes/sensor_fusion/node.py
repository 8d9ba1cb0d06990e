"""Node `sensor_fusion`: all sensors at their own rates, delays and frames into `fused/state`.

The estimate depends on header stamps and data only (see `fusion.core`); the node clock serves the
1 Hz diagnostics alone. Topics, parameters and the reasons for WARN and ERROR: docs and the
descriptors in `fusion.options`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

import numpy as np

from veh_identification.errors import EstimationError, ParameterError
from veh_identification.findings import Finding
from veh_identification.fusion.core import FusionCore
from veh_identification.fusion.options import FusionOptions
from veh_identification.fusion.sensor_options import ChannelOptions, WrenchOptions
from veh_identification.nodes.checkpoint import Checkpoint, CheckpointOptions, identity_of
from veh_identification.nodes.findings import FindingLog, load_of
from veh_identification.nodes.guard import GuardedNode
from veh_identification.nodes.sensor_fusion import input as inputs
from veh_identification.nodes.sensor_fusion.found_wrenches import FoundWrenches
from veh_identification.nodes.sensor_fusion.output import (
    FusedStateWriter,
    TransformWriter,
    continuous_writer,
    odometry_writer,
)
from veh_identification.nodes.sensor_fusion.report import FusionReport
from veh_identification.nodes.sensor_fusion.steady_frames import SteadyFrames
from veh_identification.nodes.services import create_services, create_trigger
from veh_identification.runtime.cdr.fields import FieldCallback
from veh_identification.runtime.interface import NANOSECONDS, Node
from veh_identification.runtime.messages import message_class
from veh_identification.runtime.parameters import declare, refuse_unknown
from veh_identification.runtime.qos import SENSOR_DATA, STATIC_TF, SYSTEM_DEFAULT
from veh_identification.runtime.transforms import clean

REPORT_PERIOD = 1.0
#: Frame names of senders that are told; who changes his name for ever is told no more.
MOST_TOLD = 50
#: Lists of joints (one for each sender) that are followed.
MOST_GROUPS = 32


class SensorFusion:
    """Joins IMU, GNSS, odometry, speed sensor, encoders, motion capture and wrenches."""

    def __init__(self, node: Node) -> None:
        self._guard = GuardedNode(node, self._put_back)
        node = self._node = cast(Node, self._guard)
        options = declare(node, FusionOptions)
        checkpoint = declare(node, CheckpointOptions, 'checkpoint')
        wrenches = {n: declare(node, WrenchOptions, n) for n in options.wrench_sensors if n}
        ranges = {n: declare(node, ChannelOptions, n) for n in options.range_sensors if n}
        pressures = {n: declare(node, ChannelOptions, n) for n in options.pressure_sensors if n}
        refuse_unknown(node)
        topics = {n: o.topic for group in (wrenches, ranges, pressures) for n, o in group.items()}
        for name, topic in topics.items():
            if not topic:
                raise ParameterError(f'parameter {name}.topic: sensor {name} has no topic')
        self.options = options
        self._world = options.world_frame or ('world' if options.mocap.topic else 'odom')
        self.core = FusionCore(
            replace(options, world_frame=self._world), wrenches, {**ranges, **pressures}
        )
        self.enabled = True
        self._frames = SteadyFrames()
        self._frames_told: set[tuple[str, str]] = set()
        self._qos = SENSOR_DATA.with_reliability(options.reliable_sensors)
        self._joint_parser = inputs.JointParser(
            [n for n in options.joints.names if n], options.joints.use_velocity
        )
        self._create_outputs()
        self._create_writers()
        self.checkpoint = Checkpoint(
            node, checkpoint, identity_of(options), self._state, self.core.restore
        )
        self._create_inputs(wrenches, ranges, pressures)
        self._found: FoundWrenches | None = None
        if options.find_wrenches and not wrenches:
            self._found = FoundWrenches(
                self.core,
                node.get_topic_names_and_types,
                self._listen,
                self._found_receiver,
                posed=bool(options.mocap.topic),
            )
            self._found.look(node.get_namespace())
        self.report = FusionReport(self.core, node.get_load())
        self._log = FindingLog(node.get_logger())
        node.create_timer(REPORT_PERIOD, self._on_report)
        create_services(node, reset=self._reset, enable=self._enable)
        create_trigger(node, '~/set_datum', self._set_datum)

    # Set-up -------------------------------------------------------------------------------------

    def _create_outputs(self) -> None:
        node, options = self._node, self.options
        publisher = node.create_publisher
        self._state_publisher = publisher(
            message_class('veh_identification/msg/FusedState'), 'fused/state', SYSTEM_DEFAULT
        )
        self._odometry_publisher = self._tf_publisher = self._continuous_publisher = None
        if options.publish_odometry:
            self._odometry_publisher = publisher(
                message_class('nav_msgs/msg/Odometry'), 'odometry/fused', SYSTEM_DEFAULT
            )
        if options.odom_frame:
            self._continuous_publisher = publisher(
                message_class('nav_msgs/msg/Odometry'), 'odometry/continuous', SYSTEM_DEFAULT
            )
        if options.publish_tf:
            self._tf_publisher = publisher(
                message_class('tf2_msgs/msg/TFMessage'), '/tf', SYSTEM_DEFAULT
            )
        self._diagnostics_publisher = publisher(
            message_class('diagnostic_msgs/msg/DiagnosticArray'), '/diagnostics', SYSTEM_DEFAULT
        )
        self._status_publisher = publisher(
            message_class('veh_identification/msg/ObserverStatus'), '~/status', SYSTEM_DEFAULT
        )

    def _create_writers(self) -> None:
        o = self.options
        self._fill_message = FusedStateWriter(self._world, o.base_frame)
        self._fill_odometry = odometry_writer(self._world, o.base_frame)
        self._fill_continuous = continuous_writer(o.odom_frame, o.base_frame)
        self._fill_transform = TransformWriter(self._world, o.odom_frame, o.base_frame)

    def _create_inputs(
        self,
        wrenches: dict[str, WrenchOptions],
        ranges: dict[str, ChannelOptions],
        pressures: dict[str, ChannelOptions],
    ) -> None:
        o = self.options
        self._subscribe('imu', o.imu.topic, inputs.imu_input(o.imu))
        self._subscribe(
            'gnss', o.gnss.topic, inputs.gnss_input(o.gnss, self.core.records.get('gnss'))
        )
        for name, sensor in (('gnss_velocity', o.gnss_velocity), ('speed', o.speed)):
            kind = inputs.twist_input(sensor.message, o.max_speed)
            self._subscribe(name, sensor.topic, kind)
        kind = inputs.twist_input(o.odometry.message, o.max_speed, yaw_rate=True)
        self._subscribe('odometry', o.odometry.topic, kind)
        self._subscribe('mocap', o.mocap.topic, inputs.pose_input(o.mocap.max_distance))
        for name, wrench in wrenches.items():
            self._subscribe(name, wrench.topic, inputs.WRENCH)
        for name, channel in ranges.items():
            self._subscribe(name, channel.topic, inputs.RANGE)
        for name, channel in pressures.items():
            self._subscribe(name, channel.topic, inputs.PRESSURE)
        create = self._node.create_subscription
        if o.joints.topic:
            callback = FieldCallback(inputs.JOINT_FIELDS, self._on_joints)
            create(message_class(inputs.JOINTS), o.joints.topic, callback, self._qos)
        transforms = message_class('tf2_msgs/msg/TFMessage')
        create(transforms, '/tf_static', self._on_static_transforms, STATIC_TF)

    def _subscribe(self, name: str, topic: str, kind: inputs.Input) -> None:
        if topic:
            callback = FieldCallback(kind.fields, self._receiver(name, kind.parse))
            cls = message_class(kind.typename)
            self._node.create_subscription(cls, topic, callback, self._qos)

    def _listen(self, topic: str, receive: Callable[[tuple[Any, ...]], None]) -> None:
        """To a wrench that nobody named."""

        def take(fields: tuple[Any, ...]) -> None:
            if not self.enabled:
                return
            receive(fields)
            if self._found is not None and self._found.undecided:
                self._choose_wrenches()

        kind = inputs.WRENCH
        cls = message_class(kind.typename)
        self._node.create_subscription(cls, topic, FieldCallback(kind.fields, take), self._qos)

    def _found_receiver(self, name: str, frame: str) -> Callable[[tuple[Any, ...]], None]:
        self._frames.of[name] = frame
        return self._receiver(name, inputs.WRENCH.parse)

    def _choose_wrenches(self) -> None:
        if self._found is not None:
            self._publish_ready()
            self._found.choose(self._world)

    def _name_world(self, frame: str) -> None:
        """The world is where captured poses are, unless a parameter says it."""
        if not self.options.world_frame and frame and frame != self._world:
            self.core.set_world(self._world, frame)
            self._world = frame
            self._create_writers()
            self._choose_wrenches()

    # Input --------------------------------------------------------------------------------------

    def _receiver(self, name: str, parse: inputs.Parser) -> Callable[[tuple[Any, ...]], None]:
        core = self.core
        record = core.records[name]
        frame_ids = self._frames.of
        # Straight to the merge: this runs for every sample of every sensor.
        push, delay = core.merge.push, core.delays[name]

        def receive(fields: tuple[Any, ...]) -> None:
            if not self.enabled:
                return
            record.received += 1
            stamp_ns = fields[0] * NANOSECONDS + fields[1]
            if stamp_ns <= 0:
                record.refuse('zero stamp')
                return
            values = parse(fields)
            if type(values) is str:
                record.refuse(values)
                return
            if frame_ids.get(name) != fields[2]:
                self._set_frame(name, fields[2])
                self.checkpoint.arrived(stamp_ns)
            if push(name, stamp_ns - delay, values):  # type: ignore[arg-type]
                self._publish_ready()

        return receive

    def _set_frame(self, name: str, frame_id: str) -> None:
        """The first frame of a sensor tells where it sits; a later other one is only noted.

        Unless it stays: then the first one was wrong.
        """
        first = self._frames.of.get(name)
        if self._frames.believed(name, frame_id, self.core.records[name].received):
            self._publish_ready()
            self.core.set_frame_id(name, frame_id)
            if name == 'mocap':
                self._name_world(clean(frame_id))
        elif (name, frame_id) not in self._frames_told and len(self._frames_told) < MOST_TOLD:
            self._frames_told.add((name, frame_id))
            self._node.get_logger().warning(
                f'{name}: frame_id changed from {first!r} to {frame_id!r}; the first one is used'
            )

    def _on_joints(self, fields: tuple[Any, ...]) -> None:
        if not self.enabled:
            return
        core = self.core
        record = core.records['joints']
        record.received += 1
        sec, nanosec, names, positions, velocities = fields
        stamp_ns = sec * NANOSECONDS + nanosec
        if stamp_ns <= 0:
            record.refuse('zero stamp')
            return
        found = self._joint_parser.measured(names, positions, velocities)
        if isinstance(found, str):
            record.skip(found) if found == 'no wanted joint' else record.refuse(found)
            return
        record.received += len(found) - 1
        for layout, values in found:
            key = layout.key
            if key not in core.joints.groups:
                if len(core.joints.groups) >= MOST_GROUPS:
                    record.refuse('more lists of joints than are followed')
                    continue
                self._publish_ready()
                core.add_joint_group(key, layout.names, layout.has_position, layout.has_velocity)
            if core.push('joints', stamp_ns, values, key):
                self._publish_ready()

    def _on_static_transforms(self, msg: Any) -> None:
        self._publish_ready()
        for text in self.core.frames.take(msg):
            self._node.get_logger().error(text)
        self._choose_wrenches()

    # Output -------------------------------------------------------------------------------------

    def _publish_ready(self) -> None:
        """Use what has been merged. Samples wait until a state is due: whatever else looks at the
        estimate, or changes how samples are understood, calls this first.
        """
        for state in self.core.poll():
            if not np.isfinite(state.base.row).all():
                # Contained by the guard: counted, said, and the fusion starts over.
                raise EstimationError('the fused state is no number any more')
            self._state_publisher.publish(self._fill_message(state))
            if state.base.pose_valid and self._odometry_publisher is not None:
                self._odometry_publisher.publish(self._fill_odometry(state))
            if state.continuous is not None and self._continuous_publisher is not None:
                self._continuous_publisher.publish(self._fill_continuous(state))
            if self._tf_publisher is not None:
                transforms = self._fill_transform(state)
                if transforms is not None:
                    self._tf_publisher.publish(transforms)

    def _on_report(self) -> None:
        self._publish_ready()
        now_ns = self._node.get_clock().now().nanoseconds
        load, loaded = load_of(self._node)
        self.report.load = {**load, **self.checkpoint.facts()}
        if 'joints' in self.core.records:
            self.core.records['joints'].unmeasured = self._joint_parser.unmeasured
        self.report.update(
            now_ns, self.enabled, [*loaded, *self._guard.findings(), *self._find_wrenches()]
        )
        self._log.tell(self.report.findings)
        name = self._node.get_name()
        self._diagnostics_publisher.publish(self.report.diagnostics(now_ns, name))
        self._status_publisher.publish(self.report.status(now_ns, self._world))
        self._guard.reported()

    def _find_wrenches(self) -> list[Finding]:
        """Look for topics that are new; what was found so far."""
        if self._found is None:
            return []
        self._found.look(self._node.get_namespace())
        self._found.report(self._world)
        return self._found.findings()

    # Services -----------------------------------------------------------------------------------

    def finish(self) -> None:
        """The input is over: keep what is known."""
        self.checkpoint.finish()

    def _state(self) -> dict[str, Any]:
        self._publish_ready()
        self.checkpoint.arrived(self.core.last_stamp)
        return self.core.state()

    def _put_back(self) -> str:
        """After a failure, which may have left the filter half-way between two states."""
        self._start_over()
        return 'the fusion starts over; biases and datum are kept'

    def _reset(self) -> str:
        self._publish_ready()
        self.checkpoint.forget()
        self._start_over()
        return 'the fusion starts over; biases and datum are kept'

    def _enable(self, on: bool) -> None:
        self._publish_ready()
        if on and not self.enabled:
            self._start_over()
        self.enabled = on

    def _start_over(self) -> None:
        for key, count in self.core.merge.waiting().items():
            for _ in range(count):
                self.core.records[key.partition(':')[0]].skip('forgotten by a reset')
        self.core.reset()

    def _set_datum(self) -> str:
        self._publish_ready()
        if not self.options.gnss.topic:
            raise ParameterError('no GNSS topic is configured (gnss.topic)')
        self.core.satellites.request_datum()
        return 'the next valid fix becomes the datum'
