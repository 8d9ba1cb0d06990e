"""Which messages bring the sensors and drives of a mechanism: one list for files and nodes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from veh_identification.systems.mechanism.configuration import Description, SensorEntries

JOINTS = 'joint_states'
JOINT_STATE = 'sensor_msgs/msg/JointState'
IMU = 'sensor_msgs/msg/Imu'
POINT = 'geometry_msgs/msg/PointStamped'
#: Beyond this nothing is a measurement, in SI units.
LARGEST = 1e7
#: Of an Imu, covariance[0] of what it does not measure.
NOT_MEASURED = -1.0
FIELDS = {
    'gyro': ('angular_velocity.z', 'angular_velocity_covariance[0]'),
    'accelerometer': (
        'linear_acceleration.x',
        'linear_acceleration.y',
        'linear_acceleration_covariance[0]',
    ),
    'position': ('point.x', 'point.y'),
}


@dataclass(frozen=True)
class JointStream:
    """A sensor or a drive that joint_states brings."""

    name: str
    joint: str
    field: str  # position, velocity or effort
    drives: bool

    @property
    def path(self) -> str:
        """Its column."""
        return f'{self.field}[{self.joint}]'


@dataclass(frozen=True)
class TopicStream:
    """A sensor with a topic of its own; the last field of an Imu says whether it measures."""

    name: str
    topic: str
    typename: str
    fields: tuple[str, ...]

    def values(self, row: Sequence[float]) -> tuple[float, ...] | None:
        """The numbers of a message; None: they cannot be used."""
        values = tuple(row)
        if self.typename == IMU:
            *numbers, covariance = values
            if covariance == NOT_MEASURED:
                return None
            values = tuple(numbers)
        return values if possible(values) else None


def possible(values: Sequence[float]) -> bool:
    """Whether all are numbers, and none beyond what can be."""
    return all(math.isfinite(one) and abs(one) <= LARGEST for one in values)


def joint_streams(description: Description) -> list[JointStream]:
    """What joint_states brings: sensors, then drives."""
    found = [
        JointStream(name, _joint(one), 'velocity' if one.kind == 'rate' else 'position', False)
        for name, one in description.sensors.items()
        if one.by_joint
    ]
    for name, drive in description.drives.items():
        joint = drive.coordinate if drive.joint is None else drive.joint
        if joint:
            found.append(JointStream(name, joint, 'effort', True))
    return found


def topic_streams(description: Description) -> list[TopicStream]:
    """Sensors with a topic of their own."""
    return [
        TopicStream(
            name,
            one.topic or name,
            POINT if one.kind == 'position' else IMU,
            FIELDS[one.kind],
        )
        for name, one in description.sensors.items()
        if not one.by_joint
    ]


def brought_by(description: Description, name: str) -> str:
    """The message that brings a sensor, in words."""
    sensor = description.sensors[name]
    if sensor.by_joint:
        field = 'velocity' if sensor.kind == 'rate' else 'position'
        return f'{field} of joint {_joint(sensor)} in {JOINTS}'
    return f'topic {sensor.topic or name}'


def delays_ns(description: Description) -> dict[str, int]:
    """Known delays of the stamps by stream."""
    found = {name: round(one.delay * 1e9) for name, one in description.sensors.items()}
    return {**found, **dict.fromkeys(description.drives, 0)}


def _joint(sensor: SensorEntries) -> str:
    assert sensor.coordinate is not None
    return sensor.coordinate if sensor.joint is None else sensor.joint
