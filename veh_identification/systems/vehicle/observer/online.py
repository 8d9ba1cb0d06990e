"""The car as a stream: how its samples become a start, measurements and inputs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from veh_identification.observation import ErrorEKF, ErrorEKFSettings, Measurement
from veh_identification.observation.streaming.arrivals import Item, StreamRecord, stream_of
from veh_identification.runtime.transforms import StaticFrames
from veh_identification.systems.vehicle.configuration import CORNERS, Configuration
from veh_identification.systems.vehicle.observer.driving import INPUTS, Driving
from veh_identification.systems.vehicle.observer.observed import ObservedVehicle
from veh_identification.systems.vehicle.observer.observer import (
    SLIP_RATE,
    Start,
    find_start,
    make_filter,
    settings_of,
)
from veh_identification.systems.vehicle.recording.mounting import ALL_GIVEN, GivenPoses, mounted
from veh_identification.systems.vehicle.recording.reader import Recording
from veh_identification.systems.vehicle.recording.samples import Places, delays_ns, prefix_of
from veh_identification.systems.vehicle.recording.series import Series
from veh_identification.systems.vehicle.recording.wheel_speeds import WheelSpeeds

WHEELS = tuple(f'wheel_{c}' for c in CORNERS)
#: Measurements that the model brings itself: all zero, at SLIP_RATE.
PSEUDO = ('rear_slip', 'road', 'standstill')


class WheelReader:
    """From samples of the wheels to what this filter takes: angles, speeds, or differences."""

    def __init__(self, car: Configuration, prefix: Recording, speeds: bool) -> None:
        self._stream = 'wheel_angle' if len(prefix.wheel_angle) or not speeds else 'wheel_rate'
        differences = not len(prefix.wheel_angle) and self._stream == 'wheel_angle'
        self._convert = WheelSpeeds(car) if differences else None
        self._newest = float('-inf')

    def __call__(self, stream: str, time: float, values: tuple[float, ...]) -> list[Measurement]:
        """Measurements of a sample of the wheels."""
        if stream != self._stream:
            return []
        if self._convert is not None:
            if time <= self._newest:
                return []  # belated: a difference to newer angles says nothing
            self._newest = time
            rates = self._convert.push(time, np.array(values))
            if rates is None:
                return []
            values = tuple(rates.tolist())
        return [
            Measurement(name, time, np.array([value]))
            for name, value in zip(WHEELS, values, strict=True)
            if value == value
        ]


class BuggySession:
    """The started car: its filter, what drives it and which inputs it knows."""

    def __init__(
        self,
        car: Configuration,
        filter_: ErrorEKF,
        start: Start,
        origin_ns: int,
        driving: Driving,
        places: Places,
        wheels: WheelReader,
        *,
        settings: Callable[[set[str]], ErrorEKFSettings],
        say: Callable[[str], None],
    ) -> None:
        self.car, self.filter, self.start = car, filter_, start
        self.origin_ns, self.driving = origin_ns, driving
        self.step_ns = round(car.observer.step * 1e9)
        model = filter_.model
        assert isinstance(model, ObservedVehicle)
        self.observed, self.vehicle = model, model.vehicle
        self._places, self._wheels = places, wheels
        self._settings, self._say = settings, say
        self._missing = set(driving.missing)
        sensors = filter_.sensors
        self._names = set(sensors)
        self._pseudo = [(name, np.zeros(sensors[name].size)) for name in PSEUDO if name in sensors]
        self._every = max(1, round(1.0 / (SLIP_RATE * car.observer.step)))

    def _time(self, time_ns: int) -> float:
        return (time_ns - self.origin_ns) * 1e-9

    def measurements(self, item: Item) -> list[Measurement]:
        """Measurements of one sample."""
        stream, time, values = stream_of(item.key), self._time(item.time_ns), item.payload
        if stream == 'imu':
            found = [
                Measurement(name, time, np.array(part))
                for name, part in (('gyroscope', values[:3]), ('accelerometer', values[3:]))
                if sum(part) == sum(part)
            ]
        elif stream == 'gps':
            local = self._places.local(values)
            found = [] if local is None else [Measurement('gps', time, *local)]
        elif stream == 'gps_velocity':
            found = [Measurement(stream, time, np.array(values))]
        else:
            found = self._wheels(stream, time, values)
        return [m for m in found if m.sensor in self._names]

    def take_input(self, item: Item) -> None:
        """Keep a sample of torque, pressure or rack."""
        self.driving.push(item)

    def inputs(self, k: int, end_ns: int) -> Any:
        """Inputs of a step; when one falls silent or appears the noise settings follow."""
        inputs = self.driving.at(end_ns)
        if self.driving.missing != self._missing:
            self._change(end_ns)
        return inputs

    def _change(self, end_ns: int) -> None:
        now, before = self.driving.missing, self._missing
        self._missing = set(now)
        for name in sorted(now - before):
            self._say(f'from {self._time(end_ns):.2f} s on {INPUTS[name]}')
        for name in sorted(before - now):
            self._say(f'from {self._time(end_ns):.2f} s on {name} is known')
        self.filter.retune(self._settings(now))

    @property
    def unknown(self) -> list[str]:
        """What is still not known of place and heading, in words."""
        bearings = getattr(self.filter, 'bearings', None)
        if bearings is None:
            return []
        return [
            words
            for known, words in (
                (bearings.placed, 'the place is not known before the first fix'),
                (bearings.aligned, 'the heading is not known until the car moves'),
            )
            if not known
        ]

    def pseudo(self, k: int, time: float) -> list[Measurement]:
        """What tyres and road say, at a rate of their own."""
        if (k + 1) % self._every:
            return []
        return [Measurement(name, time, zeros) for name, zeros in self._pseudo]


@dataclass(frozen=True)
class Known:
    """What an earlier run knew: heading and sensor parameters with their variances."""

    yaw: float
    parameters: dict[str, tuple[float, float]]

    def apply(self, filter_: ErrorEKF) -> None:
        """Put the sensor parameters into a new filter."""
        first = filter_.size - len(filter_.parameter_names)
        for k, name in enumerate(filter_.parameter_names):
            if name in self.parameters:
                filter_.parameters[k], filter_.P[first + k, first + k] = self.parameters[name]


class BuggySystem:
    """A four-wheel car to observe; `say` takes sentences for the user.

    `given` tells whose poses the configuration gives: it wins over `frames`, the static
    transforms.
    """

    inputs = frozenset(INPUTS)

    def __init__(
        self,
        car: Configuration,
        *,
        given: GivenPoses = ALL_GIVEN,
        say: Callable[[str], None] = print,
        input_timeout: float = 0.5,
    ) -> None:
        self.car, self.say, self.input_timeout = car, say, input_timeout
        self.given = given
        self.delays_ns = delays_ns(car)
        self.frames = StaticFrames()
        self.frame_ids: dict[str, str] = {}
        self.refused = StreamRecord()  # fixes whose place cannot be meant
        self.places = Places(car.datum, car.sensors.gps.deviation, lambda: self.refused)
        self.known: Known | None = None

    def start(self, items: list[Item]) -> BuggySession:
        """Start at the first of these samples."""
        car, notes = mounted(self.car, self.given, self.frames, self.frame_ids)
        prefix = prefix_of(items, car, self.places)
        known, self.known = self.known, None
        if known is not None:
            car = replace(car, observer=replace(car.observer, initial_yaw=known.yaw))
        start = find_start(car, prefix)
        present = {
            name
            for name, series in (
                ('torque', prefix.torque),
                ('rack', prefix.rack),
                ('pressure', prefix.pressure),
            )
            if len(series)
        }
        if present != set(INPUTS) and not car.observer.force_estimation:
            car = replace(car, observer=replace(car.observer, force_estimation=True))
        for note in (*notes, *prefix.notes, *missing_notes(prefix)):
            self.say(note)
        filter_ = make_filter(car, prefix, start)
        if known is not None:
            known.apply(filter_)
        speeds = any(stream_of(item.key) == 'wheel_rate' for item in items)
        return self.session(car, filter_, start, prefix, present, speeds)

    def session(
        self,
        car: Configuration,
        filter_: ErrorEKF,
        start: Start,
        prefix: Recording,
        present: set[str],
        speeds: bool,
    ) -> BuggySession:
        """A session over a filter that stands at its start, one step before the first sample."""
        driving = Driving(
            car.observer.step, start.rack, present, prefix.start_ns, self.input_timeout
        )

        def settings(missing: set[str]) -> ErrorEKFSettings:
            there = Series(np.zeros(1), np.zeros((1, 4)))
            torque, pressure, rack = (
                Series() if name in missing else there for name in ('torque', 'pressure', 'rack')
            )
            changed = replace(prefix, torque=torque, pressure=pressure, rack=rack)
            return settings_of(car, changed, start)

        origin_ns = prefix.start_ns - round(car.observer.step * 1e9)
        return BuggySession(
            car,
            filter_,
            start,
            origin_ns,
            driving,
            self.places,
            WheelReader(car, prefix, speeds),
            settings=settings,
            say=self.say,
        )


def missing_notes(prefix: Recording) -> list[str]:
    """What the sensors do not say, in words."""
    wheels = len(prefix.wheel_angle) or len(prefix.wheel_rate)
    return [
        words
        for there, words in (
            (len(prefix.gyro), 'no IMU: rates follow the model'),
            (len(prefix.fix), 'no satellite position: the position drifts'),
            (len(prefix.velocity), 'no satellite velocity: it follows from the positions'),
            (len(prefix.torque), INPUTS['torque']),
            (len(prefix.pressure), INPUTS['pressure']),
            (len(prefix.rack), INPUTS['rack']),
            (wheels, 'no wheel angles or speeds: the wheels follow the model'),
        )
        if not there
    ]
