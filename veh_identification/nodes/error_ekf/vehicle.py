"""The car's side of the node `error_ekf`: messages in, samples to the observer, estimates out."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from veh_identification.errors import ParameterError, VehIdError
from veh_identification.findings import Finding
from veh_identification.fusion.geodesy import is_plausible_fix
from veh_identification.nodes.error_ekf.options import ErrorEkfOptions
from veh_identification.runtime.graph import find_config
from veh_identification.runtime.interface import NANOSECONDS, Node
from veh_identification.runtime.messages import message_class
from veh_identification.runtime.qos import STATIC_TF, SYSTEM_DEFAULT, QoS
from veh_identification.systems.vehicle.configuration import CORNERS
from veh_identification.systems.vehicle.loading import load
from veh_identification.systems.vehicle.model.vehicle import Vehicle
from veh_identification.systems.vehicle.observer.estimate import joints, odometry, virtual_sensors
from veh_identification.systems.vehicle.observer.online import VehicleSession, VehicleSystem
from veh_identification.systems.vehicle.observer.warm_up import warm_up
from veh_identification.systems.vehicle.recording.bag_tables import STEERING
from veh_identification.systems.vehicle.recording.reader import (
    NOT_MEASURED,
    rack_travel,
    steering_finding,
)
from veh_identification.systems.vehicle.recording.samples import part_key
from veh_identification.systems.vehicle.results import observed_topics as result_bag

WHEELS = tuple(f'wheel_{c}' for c in CORNERS)
NAN = math.nan
NO_WHEEL = (NAN, NAN, NAN, NAN)


class CarFace:
    """A car as the node shows it. `push(key, stamp_ns, payload)` takes samples."""

    def __init__(
        self, node: Node, options: ErrorEkfOptions, say: Callable[[Finding], None]
    ) -> None:
        self._node, self.options, self._say = node, options, say
        try:
            config = find_config(options.model) if options.model else None
            car = load(config)
            self.rack_per_angle = Vehicle(car).rack_per_angle()
            self.system = VehicleSystem(car, say=say, input_timeout=options.timeout.inputs)
        except VehIdError as error:
            raise ParameterError(f'parameter model: {error}') from error
        self.delays_ns = self.system.delays_ns
        #: Streams and their topics, timeouts, and the filter's sensors that use them.
        t, o = options.topics, options.timeout
        wheels = [('wheel_angle', WHEELS), ('wheel_rate', WHEELS)]
        self.streams: dict[str, tuple[str, float, tuple[str, ...]]] = {
            'imu': (t.imu, o.imu, ('gyroscope', 'accelerometer')),
            'gps': (t.fix, o.fix, ('gps',)),
            'gps_velocity': (t.velocity, o.velocity, ('gps_velocity',)),
            **{name: (t.joints, o.joints, sensors) for name, sensors in wheels},
            'torque': (t.joints, o.inputs, ()),
            'rack': (t.joints, o.inputs, ()),
            'pressure': (t.pressure, o.inputs, ()),
        }
        #: Streams without which the model goes on alone.
        self.essential = ('imu', 'gps')
        self._write = result_bag.OdometryWriter(options.world_frame, options.base_frame)
        self._steering_rank = len(STEERING)
        self._layouts: dict[tuple[str, ...], Any] = {}

    def warm_up(self) -> None:
        """Compile everything and build every message once, on a car that stands."""
        for session, stamp_ns in warm_up(self.system.car):
            self._build_messages(session, stamp_ns)

    def _build_messages(self, session: VehicleSession, stamp_ns: int) -> None:
        found = odometry(session.observed, session.filter.P)
        self._write(found, stamp_ns)
        result_bag.transform_message(found, stamp_ns, 'odom', 'base_link')
        result_bag.joints_message(*joints(session.observed), stamp_ns)
        result_bag.virtual_message(virtual_sensors(session.observed, found), stamp_ns, 'base_link')

    # Input --------------------------------------------------------------------------------------

    def subscribe(
        self,
        push: Callable[[str, int, tuple[float, ...]], None],
        refuse: Callable[[str, str], None],
        qos: QoS,
    ) -> None:
        """Listen to the sensors."""
        self._push, self._refuse = push, refuse
        topics, create = self.options.topics, self._node.create_subscription
        for topic, kind, callback in (
            (topics.imu, 'sensor_msgs/msg/Imu', self._on_imu),
            (topics.fix, 'sensor_msgs/msg/NavSatFix', self._on_fix),
            (topics.velocity, 'geometry_msgs/msg/TwistStamped', self._on_velocity),
            (topics.joints, 'sensor_msgs/msg/JointState', self._on_joints),
            (topics.pressure, 'sensor_msgs/msg/FluidPressure', self._on_pressure),
        ):
            if topic:
                create(message_class(kind), topic, callback, qos)
        create(message_class('tf2_msgs/msg/TFMessage'), '/tf_static', self._on_static, STATIC_TF)

    def _stamp(self, msg: Any, stream: str) -> int:
        """Stamp of a message; 0 after refusing one that has none."""
        stamp_ns = int(msg.header.stamp.sec * NANOSECONDS + msg.header.stamp.nanosec)
        if stamp_ns <= 0:
            self._refuse(stream, 'zero stamp')
            return 0
        return stamp_ns

    def _on_imu(self, msg: Any) -> None:
        stamp_ns = self._stamp(msg, 'imu')
        if not stamp_ns:
            return
        self.system.frame_ids.setdefault('imu', msg.header.frame_id)
        w, a = msg.angular_velocity, msg.linear_acceleration
        rates, force = (w.x, w.y, w.z), (a.x, a.y, a.z)
        if not math.isfinite(sum(rates)) or msg.angular_velocity_covariance[0] == NOT_MEASURED:
            rates = (NAN, NAN, NAN)
        if not math.isfinite(sum(force)) or (
            msg.linear_acceleration_covariance[0] == NOT_MEASURED
        ):
            force = (NAN, NAN, NAN)
        if rates[0] != rates[0] and force[0] != force[0]:
            self._refuse('imu', 'NaN, infinite or not measured')
            return
        self._push('imu', stamp_ns, rates + force)

    def _on_fix(self, msg: Any) -> None:
        stamp_ns = self._stamp(msg, 'gps')
        if not stamp_ns:
            return
        self.system.frame_ids.setdefault('gps', msg.header.frame_id)
        place = (msg.latitude, msg.longitude, msg.altitude)
        if msg.status.status < 0:
            self._refuse('gps', 'no fix')
        elif not is_plausible_fix(*place):
            self._refuse('gps', 'impossible position')
        else:
            c = msg.position_covariance
            own = (float(c[0]), float(c[4]), float(c[8]))
            known = msg.position_covariance_type > 0 and all(
                math.isfinite(v) and v > 0.0 for v in own
            )
            self._push('gps', stamp_ns, (*place, *(own if known else (NAN, NAN, NAN))))

    def _on_velocity(self, msg: Any) -> None:
        stamp_ns = self._stamp(msg, 'gps_velocity')
        if not stamp_ns:
            return
        v = msg.twist.linear
        if math.isfinite(v.x + v.y):
            self._push('gps_velocity', stamp_ns, (v.x, v.y))
        else:
            self._refuse('gps_velocity', 'NaN or infinite')

    def _on_pressure(self, msg: Any) -> None:
        stamp_ns = self._stamp(msg, 'pressure')
        if not stamp_ns:
            return
        value = float(msg.fluid_pressure)
        if not math.isfinite(value):
            self._refuse('pressure', 'NaN or infinite')
            return
        if value < 0.0:
            self._refuse('pressure', 'negative, taken as zero')
            value = 0.0
        self._push('pressure', stamp_ns, (value,))

    def _on_joints(self, msg: Any) -> None:
        stamp_ns = self._stamp(msg, 'wheel_angle')
        if not stamp_ns:
            return
        names = tuple(msg.name)
        places = self._layouts.get(names)
        if places is None:
            places = self._layouts[names] = tuple(
                tuple(names.index(j) if j in names else -1 for j in group)
                for group in (WHEELS, STEERING)
            )
        wheels, steering = places
        used = False
        for stream, field in (
            ('wheel_angle', msg.position),
            ('wheel_rate', msg.velocity),
            ('torque', msg.effort),
        ):
            values = _pick(field, wheels, len(names))
            if values is not NO_WHEEL:
                used = True
                self._push(part_key(stream, values), stamp_ns, values)
        angles = _pick(msg.position, steering, len(names))
        if angles is not NO_WHEEL:
            used = self._steer(stamp_ns, angles) or used
        if not used:
            self._refuse('wheel_angle', 'no wheel or steering in the message')

    def _steer(self, stamp_ns: int, angles: tuple[float, ...]) -> bool:
        """Rack travel of the best of the sensors that this car has."""
        if angles[0] == angles[0] and self._steering_rank == 0:
            self._push('rack', stamp_ns, angles[:1])
            return True
        travel, words = rack_travel(self.system.car, self.rack_per_angle, np.array([angles]))
        rank = ('the rack', 'the road wheel angles', 'the steering wheel', '').index(words)
        if rank > self._steering_rank or not words:
            return False
        if rank < self._steering_rank:
            self._steering_rank = rank
            if rank:
                self._say(steering_finding(words))
        self._push('rack', stamp_ns, (float(travel[0]),))
        return True

    def _on_static(self, msg: Any) -> None:
        for problem in self.system.frames.take(msg):
            self._say(Finding('warn', 'transform_ignored', problem, '/tf_static'))

    # Output -------------------------------------------------------------------------------------

    def advertise(self) -> None:
        """Make the publishers."""
        create = self._node.create_publisher
        self._odometry = create(
            message_class('nav_msgs/msg/Odometry'), 'odometry/observed', SYSTEM_DEFAULT
        )
        self._joints = create(
            message_class('sensor_msgs/msg/JointState'), 'joint_states/observed', SYSTEM_DEFAULT
        )
        self._virtual = create(
            message_class('veh_identification/msg/VirtualSensors'),
            '~/virtual_sensors',
            SYSTEM_DEFAULT,
        )
        self._tf = None
        if self.options.publish_tf:
            self._tf = create(message_class('tf2_msgs/msg/TFMessage'), '/tf', SYSTEM_DEFAULT)

    def publish(self, session: VehicleSession, stamp_ns: int, step: int) -> None:
        """The estimate after a step."""
        o = self.options
        fast, slow = step % o.odometry_every == 0, step % o.slow_every == 0
        if not fast and not slow:
            return
        found = odometry(session.observed, session.filter.P)
        if fast:
            self._odometry.publish(self._write(found, stamp_ns))
        if slow:
            if self._tf is not None:
                self._tf.publish(
                    result_bag.transform_message(found, stamp_ns, o.world_frame, o.base_frame)
                )
            self._joints.publish(result_bag.joints_message(*joints(session.observed), stamp_ns))
            self._virtual.publish(
                result_bag.virtual_message(
                    virtual_sensors(session.observed, found), stamp_ns, o.base_frame
                )
            )


def _pick(values: Any, places: tuple[int, ...], count: int) -> tuple[float, ...]:
    """Values at some places of a message's array, NaN where it has none."""
    if len(values) != count:
        return NO_WHEEL
    if max(places) < 0:
        return NO_WHEEL
    numbers = np.asarray(values, dtype=float).tolist()
    found = tuple([numbers[i] if i >= 0 and math.isfinite(numbers[i]) else NAN for i in places])
    for value in found:
        if value == value:
            return found
    return NO_WHEEL
