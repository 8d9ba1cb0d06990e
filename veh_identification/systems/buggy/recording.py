"""From a bag to arrays: sensors, inputs and, where it is there, the truth."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from veh_identification.errors import BagError, InputError
from veh_identification.fusion.geodesy import Datum, LocalFrame, is_plausible_fix
from veh_identification.runtime.bags import BagReader, columns_of
from veh_identification.runtime.bags.columns import Columns
from veh_identification.systems.buggy.configuration import CORNERS, Configuration

Array = NDArray[np.float64]
TOPICS = ('imu/data', 'gps/fix', 'gps/vel', 'joint_states', 'brake/pressure', 'truth/odom',
          'truth/joint_states')
#: A first fix further from the configured datum than this is a mistake, not a drive [m].
FARTHEST = 200e3
NOTHING = np.zeros(0)
FIX_PATHS = ['latitude', 'longitude', 'altitude', 'status.status', 'position_covariance_type',
             *(f'position_covariance[{k}]' for k in (0, 4, 8))]


@dataclass(frozen=True)
class Series:
    """Times [s] since the start of the recording and one row of values each."""

    time: Array = field(default_factory=lambda: NOTHING)
    value: Array = field(default_factory=lambda: np.zeros((0, 0)))
    variance: Array | None = None

    def __len__(self) -> int:
        return int(self.time.size)


@dataclass
class Recording:
    """All that the observer uses; `invalid` counts what could not be used, by topic."""

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

    @property
    def duration(self) -> float:
        """Time of the last sensor message [s]."""
        return max((s.time[-1] for s in (self.gyro, self.fix, self.velocity, self.wheel_angle,
                                         self.wheel_rate) if len(s)), default=0.0)


def _paths(topic: str) -> list[str] | None:
    if topic == 'joint_states':
        joints = [*(f'wheel_{c}' for c in CORNERS), 'steering_rack', 'steering_fl', 'steering_fr',
                  'steering_wheel']
        return ([f'position[{j}]' for j in joints] + [f'velocity[wheel_{c}]' for c in CORNERS]
                + [f'effort[wheel_{c}]' for c in CORNERS])
    if topic == 'gps/fix':
        return FIX_PATHS
    if topic == 'truth/joint_states':
        return [f'{kind}[wheel_{c}]' for kind in ('position', 'velocity') for c in CORNERS]
    return None


class _Bag:
    """Columns of the topics that are there, sorted by stamp."""

    def __init__(self, bag: Path, progress: Callable[[int, int], None] | None) -> None:
        with BagReader(bag, on_error='skip', progress=progress) as reader:
            present = {t: _paths(t) for t in TOPICS
                       if f'/{t}' in reader.topics and reader.topics[f'/{t}'].count}
            self.columns: dict[str, Columns] = columns_of(reader, present) if present else {}
        self.invalid: dict[str, int] = {}
        stamps = [c.stamps_ns for t, c in self.columns.items() if not t.startswith('truth')]
        if not stamps:
            raise BagError(f'{bag}: it holds none of the topics {", ".join(TOPICS[:4])}')
        self.start_ns = int(min(s.min() for s in stamps))

    def table(self, topic: str, paths: list[str], need_all: bool = True) -> tuple[Array, Array]:
        """Times and values of the rows that hold numbers; the others are counted."""
        columns = self.columns.get(topic)
        if columns is None:
            return NOTHING, np.zeros((0, len(paths)))
        missing = np.full(len(columns), np.nan)
        values = np.column_stack([columns.values.get(p, missing) for p in paths]).astype(float)
        finite = np.isfinite(values)
        good = finite.all(axis=1) if need_all else finite.any(axis=1)
        time = (columns.stamps_ns - self.start_ns) * 1e-9
        order = np.argsort(time[good], kind='stable')
        return time[good][order], values[good][order]

    def series(self, topic: str, paths: list[str], need_all: bool = True) -> Series:
        """The same as a series."""
        return Series(*self.table(topic, paths, need_all))

    def count_invalid(self, topic: str, used: int) -> None:
        """Remember how many messages of a topic could not be used."""
        if topic in self.columns:
            lost = len(self.columns[topic]) - used + self.columns[topic].undecodable
            if lost:
                self.invalid[topic] = lost


def _vector(name: str, axes: str = 'xyz') -> list[str]:
    return [f'{name}.{axis}' for axis in axes]


def _fixes(bag: _Bag, car: Configuration, where: Path) -> tuple[Series, Datum | None]:
    time, table = bag.table('gps/fix', FIX_PATHS)
    good = np.array([row[3] >= 0 and is_plausible_fix(*row[:3]) for row in table], dtype=bool)
    bag.count_invalid('gps/fix', int(good.sum()) if good.size else 0)
    if not good.any():
        return Series(), None if car.datum is None else Datum(*car.datum)
    time, table = time[good], table[good]
    datum = Datum(*(car.datum if car.datum is not None else table[0, :3]))
    frame = LocalFrame(datum)
    place = np.array([frame.from_geodetic(*row[:3]) for row in table])
    far = float(np.linalg.norm(place[0]))
    if far > FARTHEST:
        raise InputError(f'{where}, topic gps/fix: the first fix is {far / 1000:.0f} km from the '
                         f'datum {datum.latitude:g}, {datum.longitude:g} of the configuration')
    known = (table[:, 4] > 0) & (table[:, 5:8] > 0).all(axis=1)
    fallback = np.full((len(table), 3), car.sensors.gps.deviation**2)
    variance = np.where(known[:, None], table[:, 5:8], fallback)
    return Series(time, place, variance), datum


def _rack(bag: _Bag, car: Configuration, rack_per_angle: float, notes: list[str]) -> Series:
    """Rack travel from the rack, the road wheels or the steering wheel."""
    for joints, factor, words in (
            (['steering_rack'], 1.0, ''),
            (['steering_fl', 'steering_fr'], rack_per_angle, 'the road wheel angles'),
            (['steering_wheel'], car.sensors.rack.wheel_ratio, 'the steering wheel')):
        series = bag.series('joint_states', [f'position[{j}]' for j in joints], need_all=False)
        if len(series) and factor != 0.0:
            if words:
                notes.append(f'steering comes from {words}')
            return Series(series.time, factor * np.nanmean(series.value, axis=1))
    notes.append('no steering in the recording: the rack stays in the middle and the yaw moment '
                 'is estimated')
    return Series()


def _truth(bag: _Bag) -> dict[str, Array]:
    """Columns of the thesis' tables at the truth's stamps."""
    time, pose = bag.table('truth/odom', _vector('pose.pose.position')
                           + _vector('pose.pose.orientation', 'xyzw')
                           + _vector('twist.twist.linear') + _vector('twist.twist.angular'))
    if not time.size:
        return {}
    rotation = Rotation.from_quat(pose[:, 3:7])
    velocity = rotation.apply(pose[:, 7:10])
    forward = rotation.apply(np.tile([1.0, 0.0, 0.0], (len(pose), 1)))
    truth = {'time': time, 'x': pose[:, 0], 'y': pose[:, 1], 'z': pose[:, 2],
             'vx': velocity[:, 0], 'vy': velocity[:, 1],
             'yaw': np.unwrap(np.arctan2(forward[:, 1], forward[:, 0])), 'yaw_rate': pose[:, 12]}
    joint_time, joints = bag.table('truth/joint_states', _paths('truth/joint_states') or [])
    if joint_time.size:
        for k, corner in enumerate(CORNERS):
            truth[f'theta_{corner}'] = np.interp(time, joint_time, joints[:, k])
            truth[f'omega_{corner}'] = np.interp(time, joint_time, joints[:, 4 + k])
    return truth


def read(bag: Path, car: Configuration, rack_per_angle: float,
         progress: Callable[[int, int], None] | None = None) -> Recording:
    """Read a recording; what is missing is noted in words."""
    source = _Bag(bag, progress)
    notes: list[str] = []
    fix, datum = _fixes(source, car, bag)
    gyro = source.series('imu/data', _vector('angular_velocity'))
    accelerometer = source.series('imu/data', _vector('linear_acceleration'))
    source.count_invalid('imu/data', min(len(gyro), len(accelerometer)))
    velocity = source.series('gps/vel', _vector('twist.linear', 'xy'))
    source.count_invalid('gps/vel', len(velocity))
    angle = source.series('joint_states', [f'position[wheel_{c}]' for c in CORNERS], False)
    rate = source.series('joint_states', [f'velocity[wheel_{c}]' for c in CORNERS], False)
    torque = source.series('joint_states', [f'effort[wheel_{c}]' for c in CORNERS], False)
    rack = _rack(source, car, rack_per_angle, notes)
    pressure = source.series('brake/pressure', ['fluid_pressure'])
    negative = int(np.sum(pressure.value < 0.0)) if len(pressure) else 0
    if negative:
        source.invalid['brake/pressure'] = negative
        notes.append(f'{negative} negative brake pressures are taken as zero')
    for series, words in ((gyro, 'IMU: rates follow the model'),
                          (fix, 'satellite position: the position drifts'),
                          (velocity, 'satellite velocity: it follows from the positions'),
                          (torque, 'drive torque: the unknown force is estimated instead'),
                          (pressure, 'brake pressure: the unknown force is estimated instead')):
        if not len(series):
            notes.append(f'no {words}')
    if not len(angle) and not len(rate):
        notes.append('no wheel angles or speeds: the wheels follow the model')
    return Recording(source.start_ns, datum, gyro, accelerometer, fix, velocity, angle, rate, rack,
                     torque, pressure, _truth(source), source.invalid, notes)


def hold(series: Series, times: Array, default: Any = 0.0) -> Array:
    """The last value at or before each time; `default` before the first."""
    width = series.value.shape[1:] if len(series) else ()
    if not len(series):
        return np.full((times.size, *width), default)
    index = np.searchsorted(series.time, times + 1e-9, side='right') - 1
    values = series.value[np.maximum(index, 0)]
    values = np.where(np.isfinite(values), values, default)
    return np.where((index >= 0).reshape(-1, *([1] * len(width))), values, default)
