"""Samples of a car as they come from messages, and the first of them as a recording."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from veh_identification.fusion.geodesy import Datum, LocalFrame
from veh_identification.observation.streaming.arrivals import Item, StreamRecord, stream_of
from veh_identification.systems.vehicle.configuration import CarDescription
from veh_identification.systems.vehicle.recording.reader import FARTHEST
from veh_identification.systems.vehicle.recording.recording import Recording, Series
from veh_identification.systems.vehicle.recording.wheel_speeds import wheel_series
from veh_identification.types import Array

#: Streams: IMU (rates, specific force), fix (degrees, metres, variances), velocity (east, north),
#: four wheels (NaN: not in the message), rack travel, brake pressure.
STREAMS = ('imu', 'gps', 'gps_velocity', 'wheel_angle', 'wheel_rate', 'torque', 'rack', 'pressure')


def delays_ns(car: CarDescription) -> dict[str, int]:
    """How long before its stamp each stream was measured."""
    s = car.sensors
    delays = {
        'imu': s.imu.delay,
        'gps': s.gps.delay,
        'gps_velocity': s.gps.velocity_delay,
        'wheel_angle': s.wheels.delay,
        'wheel_rate': s.wheels.delay,
    }
    return {name: round(1e9 * delays.get(name, 0.0)) for name in STREAMS}


def part_key(stream: str, values: tuple[float, ...]) -> str:
    """Key of a sample that names some of four wheels: other wheels may share its stamp."""
    total = sum(values)
    if total == total:  # the usual message names them all
        return f'{stream}:{(1 << len(values)) - 1}'
    mask = sum(1 << i for i, value in enumerate(values) if value == value)
    return f'{stream}:{mask}'


class Places:
    """From geodetic fixes to the local frame; the datum is the first fix unless given."""

    def __init__(
        self,
        datum: tuple[float, float, float] | None,
        deviation: float,
        record: Callable[[], StreamRecord],
    ) -> None:
        self.datum = None if datum is None else Datum(*datum)
        self._frame = None if self.datum is None else LocalFrame(self.datum)
        self._variance = deviation**2
        self._record = record

    def set_datum(self, latitude: float, longitude: float, altitude: float) -> None:
        """Choose the origin."""
        self.datum = Datum(latitude, longitude, altitude)
        self._frame = LocalFrame(self.datum)

    def local(self, fix: tuple[float, ...], counted: bool = True) -> tuple[Array, Array] | None:
        """East, north, up and their variances; None for a place that cannot be meant."""
        if self._frame is None:
            self.set_datum(*fix[:3])
        assert self._frame is not None
        place = np.array(self._frame.from_geodetic(*fix[:3]))
        if float(np.linalg.norm(place)) > FARTHEST:
            if counted:
                self._record().refuse(f'more than {FARTHEST / 1000:.0f} km from the datum')
            return None
        variance = np.array(fix[3:6])
        if not (variance > 0.0).all():  # NaN: the message does not know it
            variance = np.full(3, self._variance)
        return place, variance


def prefix_of(items: list[Item], car: CarDescription, places: Places) -> Recording:
    """Samples as a recording whose time 0 is the first of them."""
    delays, start_ns = delays_ns(car), items[0].time_ns
    rows: dict[str, list[Item]] = {name: [] for name in STREAMS}
    for item in items:
        rows[stream_of(item.key)].append(item)

    def series(name: str, columns: slice = slice(None)) -> Series:
        found = rows[name]
        if not found:
            return Series()
        values = np.array([item.payload for item in found])[:, columns]
        stamps = np.array([item.time_ns + delays[name] - start_ns for item in found])
        good = np.isfinite(values).any(axis=1)
        return Series(1e-9 * stamps[good], values[good])

    fixes = [
        (item, local)
        for item in rows['gps']
        if (local := places.local(item.payload, counted=False)) is not None
    ]
    fix = Series()
    if fixes:
        fix = Series(
            np.array([1e-9 * (i.time_ns + delays['gps'] - start_ns) for i, _ in fixes]),
            np.array([local[0] for _, local in fixes]),
            np.array([local[1] for _, local in fixes]),
        )
    rack = series('rack')
    angle, rate = wheel_series(car, series('wheel_angle'), series('wheel_rate'))
    return Recording(
        start_ns,
        places.datum,
        series('imu', slice(0, 3)),
        series('imu', slice(3, 6)),
        fix,
        series('gps_velocity'),
        angle,
        rate,
        Series(rack.time, rack.value[:, 0]) if len(rack) else rack,
        series('torque'),
        series('pressure'),
    )


def arrived(recording: Recording, car: CarDescription) -> list[Item]:
    """Samples of a recording in the order of their arrival, with the times they were taken."""
    delays = delays_ns(car)
    collected: list[tuple[int, Item]] = []
    for stream in recording.streams:
        taken = (stream.stamps_ns - delays[stream.name]).tolist()
        parts = stream.values.shape[1] == 4
        for arrival, time_ns, row in zip(
            stream.arrived_ns.tolist(), taken, stream.values.tolist(), strict=True
        ):
            values = tuple(row)
            key = part_key(stream.name, values) if parts else stream.name
            collected.append((arrival, Item(time_ns, key, values)))
    collected.sort(key=lambda pair: pair[0])  # stable: a stream stays in its own order
    return [item for _, item in collected]
