"""Writes a car's series into a bag with the contract's topics; the exact car as a scenario."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from veh_identification.orientations import quaternion_of_matrix
from veh_identification.runtime import messages
from veh_identification.runtime.bags import BagWriter
from veh_identification.runtime.share import share_directory
from veh_identification.signals import TimeSeries
from veh_identification.simulation.car.exact.motion import EXACT_TRUTH, ExactCar
from veh_identification.simulation.car.exact.sensors import ExactSensors, exact_recording
from veh_identification.systems.car.configuration import (
    CarDescription,
    Sensor,
    load_configuration,
)
from veh_identification.systems.car.recording.reader import CarRecording
from veh_identification.types import Array

Message = tuple[int, str, Any]


def write_recording(
    writer: BagWriter, recording: CarRecording, configuration: CarDescription | None = None
) -> None:
    """All messages in order of time; with a configuration also /tf_static with the poses."""
    streams = [_stream(series, topic, make) for series, topic, make in _plan(recording)]
    first = min(
        next(iter(stream), (2**62, '', None))[0]
        for stream in (_stream(series, topic, make) for series, topic, make in _plan(recording))
    )
    if configuration is not None:
        writer.write_message('/tf_static', _static(configuration, first), first)
    for stamp, topic, message in heapq.merge(*streams, key=lambda one: one[0]):
        writer.write_message(topic, message, stamp)


def write_exact(
    writer: BagWriter,
    duration: float,
    seed: int,
    noise: float,
    progress: Callable[[int, int], None],
) -> dict[str, Any]:
    """Scenario function: the exact Peugeot 406; `noise` 0 gives exact data."""
    configuration = load_configuration(share_directory() / 'config' / 'car_peugeot_406.yaml')
    car = ExactCar(configuration, seed=seed)
    recording = exact_recording(car, duration, ExactSensors.noisy(noise), noise_seed=seed)
    write_recording(writer, recording, configuration)
    progress(round(duration), round(duration))
    return {'parameters': dict(EXACT_TRUTH), 'configuration': 'config/car_peugeot_406.yaml'}


def _plan(recording: CarRecording) -> list[tuple[TimeSeries, str, Callable[[int, Array], Any]]]:
    plan: list[tuple[TimeSeries, str, Callable[[int, Array], Any]]] = []
    if recording.imu is not None:
        plan.append((recording.imu, '/imu/data', _imu))
    if recording.speed is not None:
        plan.append((recording.speed, '/correvit/velocity', _speed))
    plan += [
        (series, f'/wheel_{corner}/wrench', _wrench(f'wheel_{corner}'))
        for corner, series in recording.wrenches.items()
    ]
    plan += [
        (series, f'/ride_height_{corner}', _range(f'ride_height_{corner}'))
        for corner, series in recording.ride_heights.items()
    ]
    groups: dict[tuple[int, float], list[str]] = {}
    for name, series in recording.joints.items():
        groups.setdefault((len(series), float(series.stamps[0])), []).append(name)
    for names in groups.values():
        first = recording.joints[names[0]]
        values = np.hstack([recording.joints[name].values for name in names])
        together = TimeSeries(
            first.stamps, values, tuple(names), ('',) * len(names), first.epoch_ns, '/joint_states'
        )
        plan.append((together, '/joint_states', _joints(names)))
    return plan


def _stream(
    series: TimeSeries, topic: str, make: Callable[[int, Array], Any]
) -> Iterator[Message]:
    for stamp, row in zip(series.stamps_ns().tolist(), series.values, strict=True):
        yield stamp, topic, make(stamp, row)


def _imu(stamp: int, row: Array) -> Any:
    return messages.new(
        'sensor_msgs/msg/Imu',
        header=messages.header(stamp, 'imu_link'),
        angular_velocity=row[:3],
        linear_acceleration=row[3:],
    )


def _speed(stamp: int, row: Array) -> Any:
    return messages.new(
        'geometry_msgs/msg/TwistStamped',
        header=messages.header(stamp, 'base_link'),
        twist={'linear': (row[0], row[1], 0.0)},
    )


def _wrench(frame: str) -> Callable[[int, Array], Any]:
    return lambda stamp, row: messages.new(
        'geometry_msgs/msg/WrenchStamped',
        header=messages.header(stamp, frame),
        wrench={'force': row[:3], 'torque': row[3:]},
    )


def _range(frame: str) -> Callable[[int, Array], Any]:
    return lambda stamp, row: messages.new(
        'sensor_msgs/msg/Range', header=messages.header(stamp, frame), range=float(row[0])
    )


def _joints(names: list[str]) -> Callable[[int, Array], Any]:
    return lambda stamp, row: messages.new(
        'sensor_msgs/msg/JointState', header=messages.header(stamp, ''), name=names, position=row
    )


def _static(configuration: CarDescription, stamp: int) -> Any:
    def transform(child: str, sensor: Sensor) -> dict[str, Any]:
        return {
            'header': messages.header(stamp, 'base_link'),
            'child_frame_id': child,
            'transform': {
                'translation': sensor.position,
                'rotation': quaternion_of_matrix(sensor.matrix),
            },
        }

    sensors = configuration.sensors
    return messages.new(
        'tf2_msgs/msg/TFMessage',
        transforms=[transform('imu_link', sensors.imu), transform('correvit_link', sensors.speed)],
    )
