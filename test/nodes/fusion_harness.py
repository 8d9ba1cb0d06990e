"""Runs the sensor fusion node over messages made in memory, under the replay engine."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from veh_identification.nodes.sensor_fusion.node import SensorFusion
from veh_identification.runtime import messages
from veh_identification.runtime.replay.engine import ReplayEngine

START = 1_700_000_000_000_000_000
SECOND = 1_000_000_000
NO_ORIENTATION = [-1.0] + [0.0] * 8


@dataclass
class Recorded:
    """One message of the source: arrival time, topic, message."""

    time_ns: int
    topic: str
    typename: str
    message: Any

    def decode(self) -> Any:
        return self.message


@dataclass
class Sink:
    """Keeps the payloads of all topics."""

    payloads: dict[str, list[tuple[str, bytes]]] = field(default_factory=dict)

    def write(self, topic: str, typename: str, payload: bytes, time_ns: int, *, qos: Any) -> None:
        self.payloads.setdefault(topic, []).append((typename, payload))

    def messages(self, topic: str) -> list[Any]:
        return [messages.deserialize(p, t) for t, p in self.payloads.get(topic, [])]


@dataclass
class Result:
    """What a run left behind."""

    node: SensorFusion
    engine: ReplayEngine
    sink: Sink

    @property
    def states(self) -> list[Any]:
        return self.sink.messages('/fused/state')

    @property
    def status(self) -> Any:
        return self.sink.messages('/sensor_fusion/status')[-1]

    def sensor(self, name: str) -> Any:
        return next(s for s in self.status.sensors if s.name == name)


def prepare(parameters: dict[str, Any], files: Iterable[Any] = (), start: int = START) -> Result:
    sink = Sink()
    engine = ReplayEngine(start, sink=sink, log_level='error')
    node = engine.create_node('sensor_fusion', parameter_files=files, parameters=parameters)
    return Result(SensorFusion(node), engine, sink)


def run(parameters: dict[str, Any], source: Iterable[Recorded], **options: Any) -> Result:
    result = prepare(parameters, **options)
    result.engine.run(source)
    assert_counted(result.sink)
    return result


def assert_counted(sink: Sink) -> None:
    """Nothing that arrives is lost without being counted, in any report."""
    for status in sink.messages('/sensor_fusion/status'):
        for one in status.sensors:
            known = one.accepted + one.rejected + one.late + one.duplicate + one.invalid
            assert one.received == known + one.waiting, one


def imu(
    stamp: int,
    rate: tuple[float, float, float] = (0.0, 0.0, 0.0),
    force: tuple[float, float, float] = (0.0, 0.0, 9.80665),
    arrival: int | None = None,
    **fields: Any,
) -> Recorded:
    kind = 'sensor_msgs/msg/Imu'
    fields.setdefault('orientation_covariance', NO_ORIENTATION)
    message = messages.new(
        kind,
        header=messages.header(stamp, 'base_link'),
        angular_velocity=rate,
        linear_acceleration=force,
        **fields,
    )
    return Recorded(stamp if arrival is None else arrival, '/imu/data', kind, message)


def joints(
    stamp: int,
    names: list[str],
    positions: list[float],
    velocities: list[float] | None = None,
    arrival: int | None = None,
) -> Recorded:
    kind = 'sensor_msgs/msg/JointState'
    message = messages.new(
        kind,
        header=messages.header(stamp),
        name=names,
        position=positions,
        velocity=velocities or [],
    )
    return Recorded(stamp if arrival is None else arrival, '/joint_states', kind, message)


def pose(
    stamp: int, position: tuple[float, float, float], q: tuple[float, float, float, float]
) -> Recorded:
    kind = 'geometry_msgs/msg/PoseStamped'
    message = messages.new(kind, header=messages.header(stamp, 'world'), pose=(position, q))
    return Recorded(stamp, '/base/pose', kind, message)


def wrench(stamp: int, topic: str, frame: str, values: list[float]) -> Recorded:
    kind = 'geometry_msgs/msg/WrenchStamped'
    message = messages.new(
        kind,
        header=messages.header(stamp, frame),
        wrench=(tuple(values[:3]), tuple(values[3:])),
    )
    return Recorded(stamp, topic, kind, message)


def fix(
    stamp: int, latitude: float, longitude: float, altitude: float = 0.0, status: int = 0
) -> Recorded:
    kind = 'sensor_msgs/msg/NavSatFix'
    message = messages.new(
        kind,
        header=messages.header(stamp, 'gps'),
        status=(status, 1),
        latitude=latitude,
        longitude=longitude,
        altitude=altitude,
        position_covariance_type=0,
    )
    return Recorded(stamp, '/gps/fix', kind, message)


def odometry(stamp: int, speed: float, turn: float) -> Recorded:
    kind = 'nav_msgs/msg/Odometry'
    message = messages.new(
        kind,
        header=messages.header(stamp, 'odom'),
        child_frame_id='base_link',
        twist={'twist': ((speed, 0.0, 0.0), (0.0, 0.0, turn))},
    )
    return Recorded(stamp, '/odom', kind, message)


def static_transform(
    arrival: int,
    parent: str,
    child: str,
    translation: tuple[float, float, float],
    q: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 1.0),
) -> Recorded:
    item = messages.new(
        'geometry_msgs/msg/TransformStamped',
        header=messages.header(arrival, parent),
        child_frame_id=child,
        transform=(translation, q),
    )
    kind = 'tf2_msgs/msg/TFMessage'
    return Recorded(arrival, '/tf_static', kind, messages.new(kind, transforms=[item]))


def steady_imu(count: int, period: int = 10_000_000, start: int = START) -> list[Recorded]:
    """An IMU that rocks a little, so that the outputs differ from sample to sample."""
    out = []
    for k in range(count):
        t = k * period * 1e-9
        out.append(imu(start + k * period, (0.1 * math.cos(t), 0.0, 0.05), (0.1, 0.0, 9.8)))
    return out


def is_counted(sensor: Any, pending: int) -> bool:
    """Nothing that arrives is lost without being counted."""
    known = sensor.accepted + sensor.rejected + sensor.late + sensor.duplicate + sensor.invalid
    return 0 <= sensor.received - known <= pending
