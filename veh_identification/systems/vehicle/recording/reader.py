"""From a bag to arrays: sensors, inputs and, where it is there, the truth."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from veh_identification.errors import InputError
from veh_identification.fusion.frames import StaticFrames
from veh_identification.fusion.geodesy import Datum, LocalFrame, is_plausible_fix
from veh_identification.systems.vehicle.configuration import CORNERS, Configuration
from veh_identification.systems.vehicle.recording.bag_tables import (
    FIX_PATHS,
    STEERING,
    BagTables,
    vector,
    wheels,
)
from veh_identification.systems.vehicle.recording.series import Series
from veh_identification.systems.vehicle.recording.wheel_speeds import wheel_series
from veh_identification.types import Array, IntArray


def rack_per_wheel_angle(car: Configuration, rack_per_angle: float) -> float:
    """Rack travel over steering wheel angle [m/rad]; 0 when the configuration gives no ratio.

    `rack_per_angle` [m/rad] is the rack travel over the angle of the road wheels.
    """
    rack = car.sensors.rack
    if rack.wheel_ratio != 0.0:
        return rack.wheel_ratio
    return rack_per_angle / rack.steering_ratio if rack.steering_ratio != 0.0 else 0.0


def rack_from_wheel(car: Configuration, rack_per_angle: float, angle: Array) -> Array:
    """Rack travel [m] of steering wheel angles [rad]."""
    return np.asarray(
        rack_per_wheel_angle(car, rack_per_angle) * (np.asarray(angle) - car.sensors.rack.offset),
        dtype=float,
    )


__all__ = ['FARTHEST', 'Recording', 'Series', 'Stream', 'hold', 'rack_travel', 'read']
#: A first fix further from the configured datum than this is a mistake, not a drive [m].
FARTHEST = 200e3
NOT_MEASURED = -1.0  # REP-145: first covariance entry of a quantity that is not measured


@dataclass(frozen=True)
class Stream:
    """Samples of one stream as they stand in the recording, not sorted."""

    name: str
    stamps_ns: IntArray
    arrived_ns: IntArray
    values: Array  # (N, width)


@dataclass
class Recording:
    """All that the observer uses; `invalid` counts what could not be used, by topic.

    The series are sorted by stamp; `streams` are the same samples as they arrived.
    """

    start_ns: int
    datum: Datum | None
    gyro: Series
    accelerometer: Series
    fix: Series
    velocity: Series
    wheel_angle: Series
    wheel_rate: Series
    rack: Series
    torque: Series
    pressure: Series
    truth: dict[str, Array]
    invalid: dict[str, int]
    notes: list[str]
    streams: list[Stream] = field(default_factory=list)
    frames: StaticFrames = field(default_factory=StaticFrames)
    frame_ids: dict[str, str] = field(default_factory=dict)

    @property
    def duration(self) -> float:
        """Time of the last sensor message [s]."""
        return max(
            (
                s.time[-1]
                for s in (self.gyro, self.fix, self.velocity, self.wheel_angle, self.wheel_rate)
                if len(s)
            ),
            default=0.0,
        )


class _Collector:
    """Streams of a bag, and series of them."""

    def __init__(self, bag: BagTables) -> None:
        self.bag = bag
        self.streams: dict[str, Stream] = {}

    def add(self, name: str, topic: str, values: Array) -> int:
        """Make a stream of the rows that hold a number; returns how many."""
        columns = self.bag.columns.get(topic)
        if columns is None or not len(values):
            return 0
        good = np.isfinite(values).any(axis=1)
        if good.any():
            self.streams[name] = Stream(
                name, columns.stamps_ns[good], columns.log_times_ns[good], values[good]
            )
        return int(good.sum())

    def series(self, name: str, columns: slice = slice(None), complete: bool = False) -> Series:
        """The stream (or some columns of it) sorted by stamp."""
        stream = self.streams.get(name)
        if stream is None:
            return Series()
        values = stream.values[:, columns]
        finite = np.isfinite(values)
        good = np.flatnonzero(finite.all(axis=1) if complete else finite.any(axis=1))
        good = good[np.argsort(stream.stamps_ns[good], kind='stable')]
        time = np.asarray((stream.stamps_ns[good] - self.bag.start_ns) * 1e-9, dtype=float)
        return Series(time, values[good])


def _imu(source: _Collector) -> None:
    """Rates and specific forces; a triple that is incomplete or not measured is left out."""
    bag = source.bag
    values = bag.values('imu/data', vector('angular_velocity') + vector('linear_acceleration'))
    for part, name in ((slice(0, 3), 'angular_velocity'), (slice(3, 6), 'linear_acceleration')):
        covariance = (
            bag.values('imu/data', [f'{name}_covariance'])[:, 0]
            if (f'{name}_covariance' in _names(bag, 'imu/data'))
            else np.zeros(len(values))
        )
        bad = ~np.isfinite(values[:, part]).all(axis=1) | (covariance == NOT_MEASURED)
        values[bad, part] = np.nan
    source.add('imu', 'imu/data', values)
    bag.count_invalid('imu/data', int(np.isfinite(values).all(axis=1).sum()))


def _names(bag: BagTables, topic: str) -> set[str]:
    return set(bag.columns[topic].values) if topic in bag.columns else set()


def _fixes(source: _Collector, car: Configuration, where: Path) -> tuple[Series, Datum | None]:
    bag = source.bag
    table = bag.values('gps/fix', FIX_PATHS)
    good = np.array([row[3] >= 0 and is_plausible_fix(*row[:3]) for row in table], dtype=bool)
    table = np.where(good[:, None], table, np.nan) if len(table) else table
    known = np.column_stack([table[:, 4] > 0, table[:, 5:8] > 0]).all(axis=1, keepdims=True)
    fixes = np.column_stack([table[:, :3], np.where(known, table[:, 5:8], np.nan)])
    bag.count_invalid('gps/fix', source.add('gps', 'gps/fix', fixes))
    series = source.series('gps')
    if not len(series):
        return series, None if car.datum is None else Datum(*car.datum)
    datum = Datum(*(car.datum if car.datum is not None else series.value[0, :3]))
    frame = LocalFrame(datum)
    place = np.array([frame.from_geodetic(*row[:3]) for row in series.value])
    far = float(np.linalg.norm(place[0]))
    if far > FARTHEST:
        raise InputError(
            f'{where}, topic gps/fix: the first fix is {far / 1000:.0f} km from the '
            f'datum {datum.latitude:g}, {datum.longitude:g} of the configuration'
        )
    own = series.value[:, 3:6]
    variance = np.where(np.isnan(own), car.sensors.gps.deviation**2, own)
    return Series(series.time, place, variance), datum


def rack_travel(car: Configuration, rack_per_angle: float, angles: Array) -> tuple[Array, str]:
    """Rack travel (N,) of steering columns (N, 4) and which of them it comes from.

    The rack itself is best, then the road wheels, then the steering wheel with its ratio.
    """
    ratio = rack_per_wheel_angle(car, rack_per_angle)
    offset = car.sensors.rack.offset
    road = np.where(
        np.isnan(angles[:, 1]),
        angles[:, 2],
        np.where(np.isnan(angles[:, 2]), angles[:, 1], 0.5 * (angles[:, 1] + angles[:, 2])),
    )
    for travel, words in (
        (angles[:, 0], 'the rack'),
        (rack_per_angle * road, 'the road wheel angles'),
        (ratio * (angles[:, 3] - offset), 'the steering wheel'),
    ):
        if np.isfinite(travel).any() and (words != 'the steering wheel' or ratio != 0.0):
            return travel, words
    return np.full(len(angles), np.nan), ''


def _joints(
    source: _Collector, car: Configuration, rack_per_angle: float, notes: list[str]
) -> None:
    bag, topic = source.bag, 'joint_states'
    used = np.zeros(len(bag.columns[topic]) if topic in bag.columns else 0, dtype=bool)
    travel, words = rack_travel(
        car, rack_per_angle, bag.values(topic, [f'position[{j}]' for j in STEERING])
    )
    for name, values in (
        ('wheel_angle', bag.values(topic, wheels('position'))),
        ('wheel_rate', bag.values(topic, wheels('velocity'))),
        ('torque', bag.values(topic, wheels('effort'))),
        ('rack', travel[:, None]),
    ):
        source.add(name, topic, values)
        used |= np.isfinite(values).any(axis=1)
    bag.count_invalid(topic, int(used.sum()))
    if words not in ('', 'the rack'):
        notes.append(f'steering comes from {words}')


def _pressure(source: _Collector, notes: list[str]) -> None:
    bag = source.bag
    pressure = bag.values('brake/pressure', ['fluid_pressure'])
    negative = int(np.sum(pressure < 0.0))
    bag.count_invalid(
        'brake/pressure',
        source.add('pressure', 'brake/pressure', np.maximum(pressure, 0.0)) - negative,
    )
    if negative:
        notes.append(f'{negative} negative brake pressures are taken as zero')


def _truth(bag: BagTables, notes: list[str]) -> dict[str, Array]:
    """Columns of the thesis' tables at the truth's stamps."""
    time, pose = bag.table(
        'truth/odom',
        vector('pose.pose.position')
        + vector('pose.pose.orientation', 'xyzw')
        + vector('twist.twist.linear')
        + vector('twist.twist.angular'),
    )
    good = np.linalg.norm(pose[:, 3:7], axis=1) > 0.5 if time.size else np.zeros(0, dtype=bool)
    if time.size and not good.all():
        notes.append(
            f'{int(np.sum(~good))} messages on truth/odom have a quaternion that is no '
            'rotation: they are left out'
        )
        time, pose = time[good], pose[good]
    if not time.size:
        return {}
    rotation = Rotation.from_quat(pose[:, 3:7])
    velocity = rotation.apply(pose[:, 7:10])
    forward = rotation.apply(np.tile([1.0, 0.0, 0.0], (len(pose), 1)))
    truth = {
        'time': time,
        'x': pose[:, 0],
        'y': pose[:, 1],
        'z': pose[:, 2],
        'vx': velocity[:, 0],
        'vy': velocity[:, 1],
        'yaw': np.unwrap(np.arctan2(forward[:, 1], forward[:, 0])),
        'yaw_rate': pose[:, 12],
    }
    joint_time, joints = bag.table('truth/joint_states', wheels('position') + wheels('velocity'))
    if joint_time.size:
        for k, corner in enumerate(CORNERS):
            truth[f'theta_{corner}'] = np.interp(time, joint_time, joints[:, k])
            truth[f'omega_{corner}'] = np.interp(time, joint_time, joints[:, 4 + k])
    return truth


def read(
    bag: Path,
    car: Configuration,
    rack_per_angle: float,
    progress: Callable[[int, int], None] | None = None,
) -> Recording:
    """Read a recording; what is unusable is counted and noted in words."""
    tables = BagTables(bag, progress)
    source = _Collector(tables)
    notes: list[str] = [*tables.problems]
    fix, datum = _fixes(source, car, bag)
    _imu(source)
    velocity = tables.values('gps/vel', vector('twist.linear', 'xy'))
    velocity[np.isnan(velocity).any(axis=1)] = np.nan
    tables.count_invalid('gps/vel', source.add('gps_velocity', 'gps/vel', velocity))
    _joints(source, car, rack_per_angle, notes)
    _pressure(source, notes)
    angle, rate = wheel_series(car, source.series('wheel_angle'), source.series('wheel_rate'))
    rack = source.series('rack')
    return Recording(
        tables.start_ns,
        datum,
        source.series('imu', slice(0, 3)),
        source.series('imu', slice(3, 6)),
        fix,
        source.series('gps_velocity'),
        angle,
        rate,
        Series(rack.time, rack.value[:, 0]) if len(rack) else rack,
        source.series('torque'),
        source.series('pressure'),
        _truth(tables, notes),
        tables.invalid,
        notes,
        list(source.streams.values()),
        tables.frames,
        tables.frame_ids,
    )


def hold(series: Series, times: Array, default: Any = 0.0) -> Array:
    """The last value at or before each time; `default` before the first."""
    width = series.value.shape[1:] if len(series) else ()
    if not len(series):
        return np.full((times.size, *width), default)
    index = np.searchsorted(series.time, times + 1e-9, side='right') - 1
    values = series.value[np.maximum(index, 0)]
    values = np.where(np.isfinite(values), values, default)
    return np.where((index >= 0).reshape(-1, *([1] * len(width))), values, default)
