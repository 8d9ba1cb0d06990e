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
from veh_identification.nodes.joint_order import JointOrder
from veh_identification.observation.streaming.arrivals import stream_of
from veh_identification.runtime.cdr.fields import STAMP, FieldCallback
from veh_identification.runtime.graph import find_config
from veh_identification.runtime.interface import NANOSECONDS, Node
from veh_identification.runtime.messages import message_class
from veh_identification.runtime.qos import STATIC_TF, SYSTEM_DEFAULT, QoS
from veh_identification.signals.wrapping import Continuous
from veh_identification.systems.vehicle.checks.heard import LastMinute
from veh_identification.systems.vehicle.checks.plausibility import check_heard
from veh_identification.systems.vehicle.configuration import CORNERS
from veh_identification.systems.vehicle.loading import load
from veh_identification.systems.vehicle.model.vehicle import Vehicle
from veh_identification.systems.vehicle.observer.estimate import (
    Odometry,
    joints,
    known_row,
    virtual_sensors,
)
from veh_identification.systems.vehicle.observer.online import VehicleSession, VehicleSystem
from veh_identification.systems.vehicle.observer.warm_up import warm_up
from veh_identification.systems.vehicle.recording.bag_tables import STEERING
from veh_identification.systems.vehicle.recording.mounting import mounted
from veh_identification.systems.vehicle.recording.reader import (
    NOT_MEASURED,
    counters_findings,
    rack_travel,
    steering_finding,
)
from veh_identification.systems.vehicle.recording.samples import part_key
from veh_identification.systems.vehicle.results.observed_topics import ObservedMessages

WHEELS = tuple(f'wheel_{c}' for c in CORNERS)
NAN = math.nan
NO_WHEEL = (NAN, NAN, NAN, NAN)
NO_AXIS = (NAN, NAN, NAN)
ALL_AXES, NO_AXES = (True, True, True), (False, False, False)
#: Beyond what any car can do; squares of much more would overflow in the filter.
FASTEST_TURN, LARGEST_FORCE, FASTEST = 1e3, 1e5, 1e4  # rad/s, m/s^2, m/s
LARGEST_PRESSURE, LARGEST_TORQUE, LARGEST = 1e8, 1e5, 1e9  # Pa, N m, rad or rad/s
Fields = tuple[Any, ...]
#: Types of the messages and what is read of them behind the stamp.
FRAME = 'header.frame_id'
IMU = (
    'sensor_msgs/msg/Imu',
    (
        FRAME,
        *(f'angular_velocity.{axis}' for axis in 'xyz'),
        *(f'linear_acceleration.{axis}' for axis in 'xyz'),
        'angular_velocity_covariance[0]',
        'linear_acceleration_covariance[0]',
    ),
)
FIX = (
    'sensor_msgs/msg/NavSatFix',
    (
        FRAME,
        'status.status',
        'latitude',
        'longitude',
        'altitude',
        'position_covariance_type',
        *(f'position_covariance[{k}]' for k in (0, 4, 8)),
    ),
)
VELOCITY = ('geometry_msgs/msg/TwistStamped', ('twist.linear.x', 'twist.linear.y'))
JOINTS = ('sensor_msgs/msg/JointState', ('name', 'position[]', 'velocity[]', 'effort[]'))
PRESSURE = ('sensor_msgs/msg/FluidPressure', ('fluid_pressure',))


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
        self._made = ObservedMessages(options.world_frame, options.base_frame)
        self._steering_rank = len(STEERING)
        self._last_minute = LastMinute()
        self._order = JointOrder(WHEELS, STEERING)
        self._continuous = Continuous()
        self._anew = (False, False)  # what of it has been told
        self._measured: dict[str, tuple[bool, ...]] = {}  # axes of the inertial unit

    def warm_up(self) -> None:
        """Compile everything and build every message once, on a car that stands."""
        for session, stamp_ns in warm_up(self.system.car):
            self._build_messages(session, stamp_ns)

    def _build_messages(self, session: VehicleSession, stamp_ns: int) -> None:
        row, made = known_row(session.filter), self._made
        made.odometry(row, stamp_ns)
        made.transform(row, stamp_ns)
        made.joints(*joints(session.observed), stamp_ns)
        made.virtual(virtual_sensors(session.observed, Odometry.of(row)), stamp_ns)

    # Input --------------------------------------------------------------------------------------

    def subscribe(
        self,
        push: Callable[[str, int, tuple[float, ...]], None],
        refuse: Callable[[str, str], None],
        qos: QoS,
    ) -> None:
        """Listen to the sensors."""

        def noted(key: str, stamp_ns: int, values: tuple[float, ...]) -> None:
            taken = stamp_ns - self.delays_ns[stream_of(key)]
            self._last_minute.take(key, taken, values)
            push(key, stamp_ns, values)

        self._push, self._refuse = noted, refuse
        topics, create = self.options.topics, self._node.create_subscription
        for topic, (kind, fields), receive in (
            (topics.imu, IMU, self._on_imu),
            (topics.fix, FIX, self._on_fix),
            (topics.velocity, VELOCITY, self._on_velocity),
            (topics.joints, JOINTS, self._on_joints),
            (topics.pressure, PRESSURE, self._on_pressure),
        ):
            if topic:
                callback = FieldCallback((*STAMP, *fields), receive)
                create(message_class(kind), topic, callback, qos)
        create(message_class('tf2_msgs/msg/TFMessage'), '/tf_static', self._on_static, STATIC_TF)

    def _stamp(self, fields: Fields, stream: str) -> int:
        """Stamp of a message; 0 after refusing one that has none."""
        stamp_ns = int(fields[0] * NANOSECONDS + fields[1])
        if stamp_ns <= 0:
            self._refuse(stream, 'zero stamp')
            return 0
        return stamp_ns

    def _on_imu(self, fields: Fields) -> None:
        stamp_ns = self._stamp(fields, 'imu')
        if not stamp_ns:
            return
        self.system.frame_ids.setdefault('imu', fields[2])
        rates, force = fields[3:6], fields[6:9]
        if fields[9] == NOT_MEASURED or not _possible(rates, FASTEST_TURN):
            rates = self._axes('rates', rates, FASTEST_TURN, fields[9])
        else:
            self._measured['rates'] = ALL_AXES
        if fields[10] == NOT_MEASURED or not _possible(force, LARGEST_FORCE):
            force = self._axes('force', force, LARGEST_FORCE, fields[10])
        else:
            self._measured['force'] = ALL_AXES
        if rates is NO_AXIS and force is NO_AXIS:
            self._refuse('imu', 'NaN, infinite, beyond what can be or not measured')
            return
        self._push('imu', stamp_ns, rates + force)

    def _axes(
        self, name: str, values: tuple[float, ...], most: float, covariance: float
    ) -> tuple[float, ...]:
        """Axes that a sensor of one or two measures, NaN for the others.

        None at all where one says what cannot be, or lacks what it measured before.
        """
        known = tuple(value == value for value in values)
        before = self._measured.get(name, NO_AXES)
        numbers = tuple(value for value in values if value == value)
        if covariance == NOT_MEASURED or not numbers or not _possible(numbers, most):
            return NO_AXIS
        if any(was and not now for was, now in zip(before, known, strict=True)):
            return NO_AXIS
        self._measured[name] = known
        return values

    def _on_fix(self, fields: Fields) -> None:
        stamp_ns = self._stamp(fields, 'gps')
        if not stamp_ns:
            return
        self.system.frame_ids.setdefault('gps', fields[2])
        status, place, kind, own = fields[3], fields[4:7], fields[7], fields[8:11]
        if status < 0:
            self._refuse('gps', 'no fix')
        elif not is_plausible_fix(*place):
            self._refuse('gps', 'impossible position')
        else:
            known = kind > 0 and all(math.isfinite(v) and v > 0.0 for v in own)
            self._push('gps', stamp_ns, (*place, *(own if known else (NAN, NAN, NAN))))

    def _on_velocity(self, fields: Fields) -> None:
        stamp_ns = self._stamp(fields, 'gps_velocity')
        if not stamp_ns:
            return
        velocity = fields[2:4]
        if _possible(velocity, FASTEST):
            self._push('gps_velocity', stamp_ns, velocity)
        else:
            self._refuse('gps_velocity', 'NaN, infinite or beyond what can be')

    def _on_pressure(self, fields: Fields) -> None:
        stamp_ns = self._stamp(fields, 'pressure')
        if not stamp_ns:
            return
        value = fields[2]
        if not _possible((value,), LARGEST_PRESSURE):
            self._refuse('pressure', 'NaN, infinite or beyond what can be')
            return
        if value < 0.0:
            self._refuse('pressure', 'negative, taken as zero')
            value = 0.0
        self._push('pressure', stamp_ns, (value,))

    def _on_joints(self, fields: Fields) -> None:
        stamp_ns = self._stamp(fields, 'wheel_angle')
        if not stamp_ns:
            return
        names, position, velocity, effort = tuple(fields[2]), *fields[3:]
        places = self._order.places(names)
        if places is None:
            self._refuse('wheel_angle', 'a joint is named twice')
            return
        wheels, steering = places
        used = False
        for stream, field, most in (
            ('wheel_angle', position, LARGEST),
            ('wheel_rate', velocity, LARGEST),
            ('torque', effort, LARGEST_TORQUE),
        ):
            values = _pick(field, wheels, len(names), most)
            if values is not NO_WHEEL:
                used = True
                if stream == 'wheel_angle':
                    # Of the messages before: what has come back at once was a glitch.
                    if self._anew != self._continuous.kinds:
                        self._anew = self._continuous.kinds
                        for one in counters_findings(self._continuous):
                            self._say(one)
                    values = tuple(self._continuous.add(values))
                self._push(part_key(stream, values), stamp_ns, values)
        angles = _pick(position, steering, len(names), LARGEST)
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

    def checks(self) -> Callable[[], list[Finding]]:
        """A comparison of the sensors with each other, by the last minute as it is now."""
        system, t = self.system, self.options.topics
        topics = {
            'imu': t.imu,
            'gnss': t.fix,
            'gnss_velocity': t.velocity,
            'wheels': t.joints,
            'steering': f'{t.joints} steering',
        }
        car = mounted(system.car, system.frames, system.frame_ids).car
        now, rack = self._last_minute.copied(), self.rack_per_angle
        return lambda: check_heard(now.heard(), car, rack, topics, now.times(), now.newest())

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
        row, made = known_row(session.filter), self._made
        if fast:
            self._odometry.publish(made.odometry(row, stamp_ns))
        if slow:
            if self._tf is not None:
                self._tf.publish(made.transform(row, stamp_ns))
            self._joints.publish(made.joints(*joints(session.observed), stamp_ns))
            sensors = virtual_sensors(session.observed, Odometry.of(row))
            self._virtual.publish(made.virtual(sensors, stamp_ns))


def _possible(values: tuple[float, ...], most: float) -> bool:
    """Whether all are numbers of at most this size."""
    return math.isfinite(sum(values)) and max(values) <= most and min(values) >= -most


def _pick(
    values: tuple[float, ...], places: tuple[int, ...], count: int, most: float
) -> tuple[float, ...]:
    """Values at some places of a message's array, NaN where it has none."""
    if len(values) != count:
        return NO_WHEEL
    if max(places) < 0:
        return NO_WHEEL
    # NaN compares false: what is none is missing.
    found = tuple([values[i] if i >= 0 and abs(values[i]) < most else NAN for i in places])
    for value in found:
        if value == value:
            return found
    return NO_WHEEL
