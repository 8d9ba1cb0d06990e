"""From a bag to arrays: sensors, inputs and, where it is there, the truth."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

from veh_identification.errors import InputError
from veh_identification.findings import Finding
from veh_identification.fusion.geodesy import Datum, LocalFrame, is_plausible_fix
from veh_identification.signals.wrapping import Continuous, continuous
from veh_identification.systems.vehicle.configuration import CORNERS, CarDescription
from veh_identification.systems.vehicle.recording.bag_tables import (
    FIX_PATHS,
    STEERING,
    BagTables,
    vector,
    wheels,
)
from veh_identification.systems.vehicle.recording.recording import Recording, Series, Stream
from veh_identification.systems.vehicle.recording.wheel_speeds import wheel_series
from veh_identification.types import Array, BoolArray, Progress

#: A first fix further from the configured datum than this is a mistake, not a drive [m].
FARTHEST = 200e3
NOT_MEASURED = -1.0  # REP-145: first covariance entry of a quantity that is not measured
#: Share of the messages that hold an axis which is measured: single numbers are strays.
MEASURED = 0.1
TRUTH = 'truth/odom'


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

    def series(self, name: str, columns: slice = slice(None)) -> Series:
        """The stream (or some columns of it) sorted by stamp."""
        stream = self.streams.get(name)
        if stream is None:
            return Series()
        values = stream.values[:, columns]
        good = np.flatnonzero(np.isfinite(values).any(axis=1))
        good = good[np.argsort(stream.stamps_ns[good], kind='stable')]
        time = np.asarray((stream.stamps_ns[good] - self.bag.start_ns) * 1e-9, dtype=float)
        return Series(time, values[good])


def _imu(source: _Collector) -> None:
    """Rates and specific forces; NaN: not measured, or not in an incomplete message."""
    bag = source.bag
    values = bag.values('imu/data', vector('angular_velocity') + vector('linear_acceleration'))
    for part, name in ((slice(0, 3), 'angular_velocity'), (slice(3, 6), 'linear_acceleration')):
        covariance = (
            bag.values('imu/data', [f'{name}_covariance'])[:, 0]
            if (f'{name}_covariance' in _names(bag, 'imu/data'))
            else np.zeros(len(values))
        )
        values[covariance == NOT_MEASURED, part] = np.nan
        values[~_complete(values[:, part]), part] = np.nan
    source.add('imu', 'imu/data', values)
    bag.count_invalid('imu/data', int(_complete(values).sum()))


def _complete(values: Array) -> BoolArray:
    """Messages that hold every axis that the sensor measures; it may have one or two."""
    known = np.isfinite(values)
    axes = known.mean(axis=0) > MEASURED if len(values) else np.zeros(values.shape[1], dtype=bool)
    return np.asarray(known[:, axes].all(axis=1) & axes.any())


def _names(bag: BagTables, topic: str) -> set[str]:
    return set(bag.columns[topic].values) if topic in bag.columns else set()


def _fixes(source: _Collector, car: CarDescription, where: Path) -> tuple[Series, Datum | None]:
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


def rack_travel(car: CarDescription, rack_per_angle: float, angles: Array) -> tuple[Array, str]:
    """Rack travel (N,) of steering columns (N, 4) and which of them it comes from.

    The rack itself is best, then the road wheels, then the steering wheel with its ratio.
    `rack_per_angle` [m/rad] is the rack travel over the angle of the road wheels.
    """
    rack = car.sensors.rack
    offset, ratio = rack.offset, rack.wheel_ratio  # [m/rad] 0: the configuration gives none
    if ratio == 0.0 and rack.steering_ratio != 0.0:
        ratio = rack_per_angle / rack.steering_ratio
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


def steering_finding(words: str) -> Finding:
    """What the rack's travel comes from, where that is not the rack."""
    return Finding('note', 'steering_source', f'steering comes from {words}', 'joint_states')


def counters_findings(encoders: Continuous) -> list[Finding]:
    """Wheels whose counters began anew, after each turn or when they liked."""

    def named(counts: Sequence[int]) -> str:
        both = zip(CORNERS, counts, strict=False)
        return ', '.join(f'wheel_{corner} ({count} times)' for corner, count in both if count)

    found, (leap, turn) = [], encoders.kinds
    if leap:
        text = f'counters began anew and are taken as going on: {named(encoders.leaps)}'
        found.append(Finding('note', 'counters_anew', text, 'joint_states'))
    if turn:
        text = f'angles begin anew after each turn, turns are added: {named(encoders.turns)}'
        found.append(Finding('note', 'wrapped', text, 'joint_states'))
    return found


def _joints(
    source: _Collector, car: CarDescription, rack_per_angle: float
) -> tuple[str, list[Finding]]:
    """Wheels, torque and rack; returns what the rack's travel comes from, and of counters."""
    bag, topic = source.bag, 'joint_states'
    used = np.zeros(len(bag.columns[topic]) if topic in bag.columns else 0, dtype=bool)
    travel, words = rack_travel(
        car, rack_per_angle, bag.values(topic, [f'position[{j}]' for j in STEERING])
    )
    angles, encoders = continuous(bag.values(topic, wheels('position')))
    for name, values in (
        ('wheel_angle', angles),
        ('wheel_rate', bag.values(topic, wheels('velocity'))),
        ('torque', bag.values(topic, wheels('effort'))),
        ('rack', travel[:, None]),
    ):
        source.add(name, topic, values)
        used |= np.isfinite(values).any(axis=1)
    bag.count_invalid(topic, int(used.sum()) + bag.of_other_joints(topic, used))
    return words, counters_findings(encoders)


def _pressure(source: _Collector) -> list[Finding]:
    bag = source.bag
    pressure = bag.values('brake/pressure', ['fluid_pressure'])
    negative = int(np.sum(pressure < 0.0))
    bag.count_invalid(
        'brake/pressure',
        source.add('pressure', 'brake/pressure', np.maximum(pressure, 0.0)) - negative,
    )
    if not negative:
        return []
    text = f'{negative} negative brake pressures are taken as zero'
    return [Finding('note', 'negative_pressure', text, 'brake/pressure, field fluid_pressure')]


def _truth(bag: BagTables) -> tuple[dict[str, Array], list[Finding]]:
    """Columns of the thesis' tables at the truth's stamps, and what is wrong with them."""
    findings = []
    time, pose = bag.table(
        TRUTH,
        vector('pose.pose.position')
        + vector('pose.pose.orientation', 'xyzw')
        + vector('twist.twist.linear')
        + vector('twist.twist.angular'),
    )
    good = np.linalg.norm(pose[:, 3:7], axis=1) > 0.5 if time.size else np.zeros(0, dtype=bool)
    if time.size and not good.all():
        text = (
            f'{int(np.sum(~good))} messages on {TRUTH} have a quaternion that is no rotation: '
            'they are left out'
        )
        where = f'{TRUTH}, field pose.pose.orientation'
        findings.append(Finding('warn', 'truth_without_rotation', text, where))
        time, pose = time[good], pose[good]
    if not time.size:
        return {}, findings
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
    return truth, findings


def read(
    bag: Path, car: CarDescription, rack_per_angle: float, progress: Progress | None = None
) -> Recording:
    """Read a recording; what is unusable is counted and noted in words."""
    tables = BagTables(bag, progress, car.topics)
    source = _Collector(tables)
    fix, datum = _fixes(source, car, bag)
    _imu(source)
    velocity = tables.values('gps/vel', vector('twist.linear', 'xy'))
    velocity[np.isnan(velocity).any(axis=1)] = np.nan
    tables.count_invalid('gps/vel', source.add('gps_velocity', 'gps/vel', velocity))
    steering, counters = _joints(source, car, rack_per_angle)
    pressure = _pressure(source)
    angle, rate = wheel_series(car, source.series('wheel_angle'), source.series('wheel_rate'))
    rack = source.series('rack')
    truth, about_truth = _truth(tables)
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
        bag,
        truth,
        tables.unusable,
        steering,
        (
            *(
                Finding('warn', 'transform_ignored', text, '/tf_static')
                for text in tables.problems
            ),
            *([steering_finding(steering)] if steering not in ('', 'the rack') else []),
            *counters,
            *pressure,
            *about_truth,
        ),
        tuple(source.streams.values()),
        tables.frames,
        tables.frame_ids,
    )
