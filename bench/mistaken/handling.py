"""Mistakes with a car that has no force-measuring wheels, in a handling test."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from mistaken.common import Mistake, Told, deviations, found
from veh_identification.errors import VehIdError
from veh_identification.runtime.bags import BagWriter
from veh_identification.runtime.share import share_directory
from veh_identification.signals import TimeSeries
from veh_identification.simulation.road_car.handling import handling_drive
from veh_identification.systems.car.bicycle.identify import HandlingMethod, identify_handling
from veh_identification.systems.car.configuration import CarDescription, load_configuration
from veh_identification.systems.car.recording.reader import CarRecording, read_recording
from veh_identification.types import Array

NAME = 'handling'
SECONDS = 60.0
#: No node identifies cars without wheel forces.
WAYS = ('offline',)


@dataclass(frozen=True)
class Case:
    """A recording, the description of the car, and what it is in truth."""

    recording: CarRecording
    config: CarDescription
    truth: Mapping[str, float]


def clean(k: int, seconds: float, folder: Path) -> Case:
    """Recording k: another car, road, wind, drive and errors of the sensors."""
    made = handling_drive(500 + k, duration=seconds)
    bag = folder / f'handling_{k}'
    with BagWriter(bag, overwrite=True) as writer:
        made.write(writer, truth=False)
    config = load_configuration(share_directory() / 'config' / 'road_drive.yaml')
    return Case(read_recording(bag, config), config, made.car.handling())


def offline(case: Case, folder: Path) -> Told:
    """Checks and identification."""
    try:
        result = identify_handling([case.recording], case.config, HandlingMethod())
    except VehIdError as error:
        return Told(refusal=str(error))
    names, values = result.result.names, result.result.value
    z = deviations(names, values, result.result.std, case.truth)
    return Told(found(result.findings), '', z, case.truth)


Change = Callable[[Case], Case]


def imu(change: Callable[[Array], Array]) -> Change:
    """Values (N, 6): angular velocity and specific force."""

    def make(case: Case) -> Case:
        one = case.recording.imu
        assert one is not None
        changed = replace(one, values=change(one.values.copy()))
        return replace(case, recording=replace(case.recording, imu=changed))

    return make


def _times(columns: int | slice, factor: float) -> Change:
    def change(values: Array) -> Array:
        values[:, columns] *= factor
        return values

    return imu(change)


def _plus(column: int, offset: float) -> Change:
    def change(values: Array) -> Array:
        values[:, column] += offset
        return values

    return imu(change)


def _turned(first: int, second: int, angle: float) -> Change:
    """Axes `first` and `second` of both triples turned by an angle."""

    def change(values: Array) -> Array:
        c, s = np.cos(angle), np.sin(angle)
        for k in (0, 3):
            a, b = values[:, k + first].copy(), values[:, k + second].copy()
            values[:, k + first], values[:, k + second] = c * a + s * b, c * b - s * a
        return values

    return imu(change)


def _late(series: TimeSeries, seconds: float) -> TimeSeries:
    return replace(series, stamps=series.stamps + seconds)


def late(name: str, seconds: float) -> Change:
    """A sensor of the recording that is told late."""

    def make(case: Case) -> Case:
        one = getattr(case.recording, name)
        return replace(case, recording=replace(case.recording, **{name: _late(one, seconds)}))

    return make


def velocity(change: Callable[[Array], Array]) -> Change:
    """Values (N, 2) of satellites."""

    def make(case: Case) -> Case:
        one = case.recording.velocity
        assert one is not None
        changed = replace(one, values=change(one.values.copy()))
        return replace(case, recording=replace(case.recording, velocity=changed))

    return make


def joints(change: Callable[[TimeSeries], TimeSeries], part: str = 'steering') -> Change:
    """Positions of the joints whose names hold `part`."""

    def make(case: Case) -> Case:
        made = {
            name: change(one) if part in name else one
            for name, one in case.recording.joints.items()
        }
        return replace(case, recording=replace(case.recording, joints=made))

    return make


def _scaled(factor: float) -> Callable[[TimeSeries], TimeSeries]:
    return lambda one: replace(one, values=factor * one.values)


def torque(factor: float, corner: str = '') -> Change:
    """Drive torques, of one wheel or all."""

    def make(case: Case) -> Case:
        made = {
            name: _scaled(factor)(one) if corner in name else one
            for name, one in case.recording.torques.items()
        }
        return replace(case, recording=replace(case.recording, torques=made))

    return make


def geometry(**entries: float) -> Change:
    """Entries of the description times a factor."""

    def make(case: Case) -> Case:
        own = case.config.geometry
        changed = replace(own, **{k: getattr(own, k) * v for k, v in entries.items()})
        return replace(case, config=replace(case.config, geometry=changed))

    return make


STEERING = ('unit', 'out_of_range', 'steering_ratio')
MISTAKES = {
    'gyroscope in deg/s': Mistake(_times(slice(0, 3), 57.3), ('unit',)),
    'yaw rate of the wrong sign': Mistake(_times(2, -1.0), ('sign', 'gyro_sign')),
    'roll rate of the wrong sign': Mistake(_times(0, -1.0), ('sign', 'gyro_sign')),
    'yaw rate 1.1 times': Mistake(_times(2, 1.1), ('scale',)),
    'yaw rate 0.9 times': Mistake(_times(2, 0.9), ('scale',)),
    'roll rate 1.2 times': Mistake(_times(0, 1.2), ('scale',)),
    'yaw rate off by 0.03 rad/s': Mistake(_plus(2, 0.03), ('gyro_zero', 'scale', 'offset')),
    'acceleration in g': Mistake(_times(slice(3, 6), 1 / 9.81), ('unit',), ('in g',)),
    'gravity removed': Mistake(_plus(5, -9.81), ('gravity_removed',)),
    'sideways force of the wrong sign': Mistake(
        _times(4, -1.0), ('sign', 'accelerometer_sign', 'imu_turned')
    ),
    'sideways force 1.2 times': Mistake(_times(4, 1.2), ('scale',)),
    'sideways force off by 0.5': Mistake(_plus(4, 0.5), ('scale', 'imu_turned', 'offset')),
    'unit turned by 10 degrees about z': Mistake(_turned(0, 1, 0.175), ('imu_turned',)),
    'unit turned by 90 degrees about z': Mistake(
        _turned(0, 1, np.pi / 2), ('imu_turned', 'exchanged', 'sensors_disagree')
    ),
    'unit pitched by 10 degrees': Mistake(_turned(0, 2, 0.175), ('imu_turned',)),
    'inertial unit 60 ms late': Mistake(late('imu', 0.06), ('delay',)),
    'satellites 200 ms late': Mistake(late('velocity', 0.2), ('delay', 'velocity_delay')),
    'steering 80 ms late': Mistake(joints(lambda one: _late(one, 0.08)), ('delay',)),
    'steering in degrees': Mistake(joints(_scaled(57.3)), STEERING, ('degrees',)),
    'steering of the wrong sign': Mistake(joints(_scaled(-1.0)), ('sign', 'unit')),
    'steering ratio 1.3 times': Mistake(joints(_scaled(1.3)), STEERING),
    'satellites in km/h': Mistake(velocity(lambda v: 3.6 * v), ('unit', 'speed_unit')),
    'satellites 1.1 times': Mistake(velocity(lambda v: 1.1 * v), ('scale',)),
    'satellites east and north exchanged': Mistake(
        velocity(lambda v: v[:, ::-1].copy()), ('sensors_disagree', 'exchanged', 'scale')
    ),
    'torque twice': Mistake(torque(2.0), ('mass_by_torque',)),
    'torque in kN m': Mistake(torque(1e-3), ('mass_by_torque',)),
    'torque of the wrong sign': Mistake(torque(-1.0), ('mass_by_torque',)),
    'wheelbase in mm': Mistake(geometry(wheelbase=1e3), ('unit', 'geometry'), ('mm',)),
    'wheelbase 1.1 times': Mistake(geometry(wheelbase=1.1), ('geometry', 'steering_ratio')),
}
