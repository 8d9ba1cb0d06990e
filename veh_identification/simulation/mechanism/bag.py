"""Scenario mechanism: the real mechanism of a file and its sensors into a bag."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from veh_identification.configuration.writing import plain
from veh_identification.errors import UsageError
from veh_identification.runtime import messages
from veh_identification.runtime.bags import BagWriter
from veh_identification.runtime.graph import find_config
from veh_identification.simulation.mechanism.planar import (
    Anchor,
    Piece,
    Plane,
    integrate,
    plane_of,
)
from veh_identification.simulation.sensors import EPOCH_NS
from veh_identification.systems.mechanism.configuration import (
    Description,
    SensorEntries,
    TrueSensor,
    load,
)
from veh_identification.systems.mechanism.model import named
from veh_identification.types import Array, Progress


@dataclass
class Truth:
    """The real mechanism in motion."""

    plane: Plane
    drives: Callable[[float], dict[str, float]]
    pieces: list[Piece] = field(default_factory=list)

    def at(self, time: float) -> tuple[Array, Array]:
        """Places and speeds of the bodies; before the start as at the start."""
        begins = [piece[0] for piece in self.pieces]
        k = max(0, bisect_right(begins, time) - 1)
        y = self.pieces[k][2](max(time, begins[0]))
        n = y.size // 2
        return y[:n], y[n:]


def told(description: Description, time: float) -> dict[str, float]:
    """Forces of the drives as their messages say."""
    found = {name: drive.force for name, drive in description.drives.items()}
    for name, swing in description.truth.swings.items():
        found[name] += swing.amplitude * math.sin(math.tau * swing.frequency * time)
    return found


def real_forces(description: Description, time: float) -> dict[str, float]:
    """Forces of the drives as they are."""
    found = told(description, time)
    for pulse in description.truth.pulses:
        if pulse.start < time < pulse.end:
            found[pulse.drive] = pulse.force
    return found


def simulate(description: Description, duration: float) -> Truth:
    """The motion of the real mechanism."""
    plane = plane_of(description)
    values, rates = {}, {}
    for name, one in description.coordinates.items():
        real = description.truth.coordinates.get(name)
        start = one.start if real is None or real.start is None else real.start
        if start is not None:
            values[name] = start
        rates[name] = one.rate if real is None or real.rate is None else real.rate
    edges = {edge for pulse in description.truth.pulses for edge in (pulse.start, pulse.end)}
    breaks = [0.0, *sorted(edge for edge in edges if 0.0 < edge < duration), duration]
    truth = Truth(plane, lambda time: real_forces(description, time))
    truth.pieces = integrate(plane, plane.start(values, rates), truth.drives, breaks)
    return truth


def measured(truth: Truth, sensor: SensorEntries, time: float) -> Array:
    """What a perfect sensor shows at a time."""
    plane, (q, u) = truth.plane, truth.at(time)
    if sensor.by_joint:
        assert sensor.coordinate is not None
        motion = plane.coordinate(plane.description.coordinates[sensor.coordinate], q, u)
        return motion.rate if sensor.kind == 'rate' else motion.value
    if sensor.kind == 'position':
        assert sensor.point is not None
        return plane.named(sensor.point, q, u).value
    assert sensor.body is not None
    bar = plane.bars[sensor.body]
    if sensor.kind == 'gyro':
        return np.array([u[bar.place + 2]])
    assert sensor.point is not None
    own = [one for one in plane.anchors[sensor.point] if one.bar is bar]
    point = plane.point(own[0] if own else Anchor(bar, np.zeros(2)), q, u)
    acceleration = plane.acceleration(q, u, truth.drives(time))
    force = point.jacobian @ acceleration + point.bias - plane.gravity
    turn = q[bar.place + 2] + sensor.turned
    c, s = math.cos(turn), math.sin(turn)
    return np.array([c * force[0] + s * force[1], -s * force[0] + c * force[1]])


def spoilt(
    sensor: SensorEntries, real: TrueSensor, exact: Array, noise: float, random: Any
) -> Array:
    """The samples (N, k) of a sensor with bias, noise and steps."""
    deviation = sensor.deviation if real.deviation is None else real.deviation
    values = exact + noise * (real.bias + deviation * random.standard_normal(exact.shape))
    if sensor.resolution and noise > 0.0:
        steps = values / sensor.resolution
        values = (np.floor(steps) if sensor.counting else np.round(steps)) * sensor.resolution
    return np.asarray(values)


def write(
    writer: BagWriter,
    duration: float | None,
    seed: int,
    noise: float,
    progress: Progress,
    *,
    config: Any = None,
) -> dict[str, Any]:
    """Truth and sensors; noise 0 leaves out noise, bias, steps, jitter, friction and pulses."""
    if config is None:
        raise UsageError('simulate mechanism needs --config FILE, the mechanism')
    description = config if isinstance(config, Description) else load(find_config(config))
    if noise <= 0.0:
        description = undisturbed(description)
    return write_mechanism(writer, description, duration, seed, noise, progress)


def undisturbed(description: Description) -> Description:
    """Without what only the truth knows of: friction and pulses."""
    truth = description.truth
    calm = {name: replace(one, friction=0.0) for name, one in truth.coordinates.items()}
    return replace(description, truth=replace(truth, coordinates=calm, pulses=()))


def write_mechanism(
    writer: BagWriter,
    description: Description,
    duration: float | None,
    seed: int,
    noise: float,
    progress: Progress,
) -> dict[str, Any]:
    """The bag of a description."""
    entries = description.truth
    seconds = entries.duration if duration is None else duration
    count = round(seconds / entries.step)
    progress(0, round(seconds))
    truth = simulate(description, (count + 0.5) * entries.step)
    times = np.arange(1, count + 1) * entries.step
    random = np.random.default_rng(seed)
    samples = {}
    for name, sensor in description.sensors.items():
        real = entries.sensors.get(name, TrueSensor())
        late = sensor.delay + (real.delay if noise > 0.0 else 0.0)
        every = 1 if real.rate is None else max(1, round(1.0 / (real.rate * entries.step)))
        due = range(every - 1, count, every)
        exact = np.array([measured(truth, sensor, times[k] - late) for k in due])
        if sensor.kind == 'encoder':
            exact = np.unwrap(exact, axis=0)
        values = spoilt(sensor, real, exact, noise, random)
        samples[name] = dict(zip(due, values, strict=True))
    jitter = noise * entries.jitter * random.standard_normal(count)
    known = [_shown(truth, time) for time in times]
    _unwrap(description, known)
    for k, time in enumerate(times):
        stamp = EPOCH_NS + round((time + jitter[k]) * 1e9)
        due_now = {name: values[k] for name, values in samples.items() if k in values}
        for topic, message in _messages(description, stamp, due_now, told(description, time)):
            writer.write_message(topic, message, stamp)
        writer.write_message(
            'truth/joint_states', _joints(EPOCH_NS + round(time * 1e9), known[k]), stamp
        )
    progress(round(seconds), round(seconds))
    return {'duration': seconds, 'mechanism': plain(description)}


def _messages(
    description: Description, stamp: int, due: Mapping[str, Array], forces: Mapping[str, float]
) -> list[tuple[str, Any]]:
    """What the sensors say at a stamp."""
    joints: dict[str, list[float]] = {}
    found: list[tuple[str, Any]] = []
    header = messages.header(stamp, '')
    for name, value in due.items():
        sensor = description.sensors[name]
        topic = sensor.topic or name
        if sensor.by_joint:
            row = joints.setdefault(joint_of(sensor), [math.nan] * 3)
            row[1 if sensor.kind == 'rate' else 0] = float(value[0])
        elif sensor.kind == 'position':
            point = messages.new('geometry_msgs/msg/Point', x=value[0], y=value[1], z=0.0)
            kind = 'geometry_msgs/msg/PointStamped'
            found.append((topic, messages.new(kind, header=header, point=point)))
        else:
            found.append((topic, _imu(header, sensor.kind, value)))
    for name, force in forces.items():
        drive = description.drives[name]
        joint = drive.coordinate if drive.joint is None else drive.joint
        if joint:
            joints.setdefault(joint, [math.nan] * 3)[2] = force
    if joints:
        columns = np.array(list(joints.values()))
        fields = {
            key: columns[:, k]
            for k, key in enumerate(('position', 'velocity', 'effort'))
            if np.isfinite(columns[:, k]).any()
        }
        kind = 'sensor_msgs/msg/JointState'
        found.append(
            ('joint_states', messages.new(kind, header=header, name=list(joints), **fields))
        )
    return found


def joint_of(sensor: SensorEntries) -> str:
    """The joint of joint_states that brings a sensor."""
    assert sensor.coordinate is not None
    return sensor.coordinate if sensor.joint is None else sensor.joint


def _imu(header: Any, kind: str, value: Array) -> Any:
    """sensor_msgs/Imu of a gyro or an accelerometer in the plane; the rest is not measured."""
    turn, force = np.zeros(3), np.zeros(3)
    absent = np.array([-1.0, *8 * [0.0]])
    unknown = np.zeros(9)
    if kind == 'gyro':
        turn[2] = value[0]
    else:
        force[:2] = value
    vector = 'geometry_msgs/msg/Vector3'
    return messages.new(
        'sensor_msgs/msg/Imu',
        header=header,
        orientation_covariance=absent,
        angular_velocity=messages.new(vector, x=turn[0], y=turn[1], z=turn[2]),
        angular_velocity_covariance=unknown if kind == 'gyro' else absent,
        linear_acceleration=messages.new(vector, x=force[0], y=force[1], z=force[2]),
        linear_acceleration_covariance=absent if kind == 'gyro' else unknown,
    )


def _shown(truth: Truth, time: float) -> dict[str, tuple[float, float]]:
    """Position and velocity of moving points and coordinates."""
    plane, (q, u) = truth.plane, truth.at(time)
    found = {}
    for name, point in plane.description.points.items():
        if not point.fixed:
            motion = plane.named(name, q, u)
            for k, axis in enumerate('xy'):
                found[named(axis, name)] = motion.value[k], motion.rate[k]
    for name, one in plane.description.coordinates.items():
        if one.kind not in ('x', 'y'):
            motion = plane.coordinate(one, q, u)
            found[name] = motion.value[0], motion.rate[0]
    return found


def _unwrap(description: Description, known: list[dict[str, tuple[float, float]]]) -> None:
    for name, one in description.coordinates.items():
        if one.kind == 'angle':
            values = np.unwrap([row[name][0] for row in known])
            for row, value in zip(known, values, strict=True):
                row[name] = float(value), row[name][1]


def _joints(stamp: int, row: Mapping[str, tuple[float, float]]) -> Any:
    return messages.new(
        'sensor_msgs/msg/JointState',
        header=messages.header(stamp, ''),
        name=list(row),
        position=np.array([one[0] for one in row.values()]),
        velocity=np.array([one[1] for one in row.values()]),
    )
