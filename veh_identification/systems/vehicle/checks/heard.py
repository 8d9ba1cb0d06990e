"""What the sensors of a car said: samples by stream, of a recording or of the last minute."""

from __future__ import annotations

import warnings
from collections import deque
from collections.abc import Mapping

import numpy as np

from veh_identification.checks.channels import Tables
from veh_identification.checks.grid import averaged, slope
from veh_identification.fusion.geodesy import Datum, LocalFrame
from veh_identification.fusion.journal import Journal, Newest
from veh_identification.observation.sensors import turned_axes
from veh_identification.orientations import matrix_of_rpy
from veh_identification.runtime.background import give_way
from veh_identification.systems.vehicle.configuration import CarDescription
from veh_identification.systems.vehicle.recording.recording import Recording, Stream
from veh_identification.systems.vehicle.recording.samples import STREAMS, delays_ns
from veh_identification.types import Array

#: Speeds of wheels are differences of their angles over this long (seconds).
BETWEEN = 0.1
#: Stamps that are further apart belong to another time (nanoseconds).
JUMP_NS = 5 * 10**9
#: Stamps of each stream that are kept.
NEWEST = 1000
#: How far a wheel may be off the others, in m/s and as a share of the speed.
FAR = (0.5, 0.3)

#: Times (seconds) and rows of values by stream, as `recording.samples.STREAMS` names them.
Heard = Mapping[str, tuple[Array, Array]]


def heard_in(recording: Recording, car: CarDescription) -> Heard:
    """All samples of a recording, at the times at which they were taken."""
    delays = delays_ns(car)

    def sorted_by_time(stream: Stream) -> tuple[Array, Array]:
        taken = stream.stamps_ns - delays[stream.name] - recording.start_ns
        order = np.argsort(taken, kind='stable')
        return np.asarray(taken[order] * 1e-9, dtype=float), stream.values[order]

    return {stream.name: sorted_by_time(stream) for stream in recording.streams}


class LastMinute:
    """Samples as they come, the last minute of each stream."""

    def __init__(self) -> None:
        self._journal = Journal()
        self._keys: dict[str, set[str]] = {name: set() for name in STREAMS}
        self._origin_ns = self._newest_ns = 0
        self._stamps: dict[str, deque[int]] = {}
        self._newest = Newest()  # of the inertial unit

    def take(self, key: str, time_ns: int, values: tuple[float, ...]) -> None:
        """Note a sample that was taken at a time."""
        if abs(time_ns - self._newest_ns) > JUMP_NS:  # also the first sample: another clock
            self._journal.reset()
            self._stamps.clear()
            self._newest.reset()
            self._origin_ns = self._newest_ns = time_ns
        if time_ns > self._newest_ns:
            self._newest_ns = time_ns
        stamps = self._stamps.get(key)
        if stamps is None:
            self._keys[key.partition(':')[0]].add(key)
            stamps = self._stamps[key] = deque(maxlen=NEWEST)
        stamps.append(time_ns)
        time = (time_ns - self._origin_ns) * 1e-9
        if key == 'imu':
            self._newest.note(key, time, values)
        self._journal.note(key, time, values)

    def copied(self) -> LastMinute:
        """As it is now, for somebody who works beside."""
        made = LastMinute()
        made._journal = self._journal.copied()
        made._keys = {stream: keys.copy() for stream, keys in self._keys.items()}
        made._origin_ns, made._newest_ns = self._origin_ns, self._newest_ns
        made._newest = self._newest.copied()
        made._stamps = {key: stamps.copy() for key, stamps in self._stamps.items()}
        return made

    def times(self) -> dict[str, Array]:
        """Of the newest samples by stream (s), none left out; of one wheel where each speaks."""
        return {
            key.partition(':')[0]: np.sort(np.array(stamps) - self._origin_ns) * 1e-9
            for key, stamps in self._stamps.items()
        }

    def newest(self) -> Heard:
        """The newest samples of the inertial unit, none left out."""
        return self._newest.tables()

    def heard(self) -> Heard:
        """By stream; messages that name some wheels only are put together."""
        found: dict[str, tuple[Array, Array]] = {}
        for stream, keys in self._keys.items():
            give_way()
            tables = [one for one in map(self._journal.of, sorted(keys)) if one is not None]
            if not tables:
                continue
            time = np.concatenate([one[0] for one in tables])
            values = np.concatenate([one[1] for one in tables])
            order = np.argsort(time, kind='stable')
            found[stream] = time[order], values[order]
        return found


def tables_of(heard: Heard, car: CarDescription) -> Tables:
    """Channels as the checks name them: vehicle axes, metres, speeds of the wheels."""
    tables = {}
    if 'imu' in heard:
        time, values = heard['imu']
        turn = matrix_of_rpy(car.sensors.imu.rpy)
        both = np.hstack([turned_axes(values[:, k : k + 3], turn) for k in (0, 3)])
        tables['imu'] = time, both
    if 'gps' in heard:
        time, values = heard['gps']
        frame = LocalFrame(Datum(*values[0, :3]))
        place = np.array([frame.from_geodetic(*row[:3]) for row in values])
        tables['gnss'] = time, np.column_stack([place, _stated(values, car)])
    if 'gps_velocity' in heard:
        tables['gnss_velocity'] = heard['gps_velocity']
    rolling = _rolling(heard, car)
    if rolling is not None:
        time, speeds = rolling
        known = np.isfinite(speeds).any(axis=0)
        if known.any():
            tables['wheel_speeds'] = rolling
            tables['wheels'] = time, centre_speed(speeds)[:, None]
    if 'rack' in heard:
        tables['rack'] = heard['rack']
    return tables


def _stated(values: Array, car: CarDescription) -> Array:
    """Deviations of fixes as their messages state them, else as the description does."""
    variances = values[:, 3:5].max(axis=1) if values.shape[1] > 4 else np.full(len(values), np.nan)
    with np.errstate(invalid='ignore'):
        known = np.isfinite(variances) & (variances > 0.0)
        return np.where(known, np.sqrt(np.abs(variances)), car.sensors.gps.deviation)


def centre_speed(speeds: Array) -> Array:
    """Speed (N,) of the middle of the car by its wheels (N, 4): mean of the whole axles.

    A median may stand on one side of the car where wheels are unequal, and go faster and slower
    in bends than the car does. Wheels that are far off it count for nothing, nor do their axles.
    """
    with np.errstate(invalid='ignore'), warnings.catch_warnings():
        warnings.simplefilter('ignore', RuntimeWarning)  # samples without any wheel stay NaN
        middle = np.nanmedian(speeds, axis=1)
        far = ~(np.abs(speeds - middle[:, None]) <= FAR[0] + FAR[1] * np.abs(middle)[:, None])
        axles = np.where(far, np.nan, speeds).reshape(-1, 2, 2).mean(axis=2)  # NaN: not whole
        found = np.nanmean(axles, axis=1)
    return np.asarray(np.where(np.isfinite(found), found, middle))


def _rolling(heard: Heard, car: CarDescription) -> tuple[Array, Array] | None:
    """Speeds (m/s) at the rims of the four wheels, as they are said or by their angles."""
    name = 'wheel_rate' if 'wheel_rate' in heard else 'wheel_angle'
    if name not in heard or len(heard[name][0]) < 2:
        return None
    time, values = heard[name]
    grid = np.arange(time[0], time[-1], 0.5 * BETWEEN)
    if len(grid) < 3:
        return None
    usual = float(np.median(np.diff(np.unique(time))))
    columns = [averaged(time, column, grid, max(BETWEEN, 2.0 * usual)) for column in values.T]
    if name == 'wheel_angle':
        columns = [slope(grid, column) for column in columns]
    return grid, car.geometry.wheel_radius * np.column_stack(columns)
