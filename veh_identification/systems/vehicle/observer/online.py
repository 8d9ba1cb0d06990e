"""The car as a stream: how its samples become a start, measurements and inputs."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from veh_identification.findings import Finding, Level
from veh_identification.observation import (
    AdaptiveSettings,
    ErrorEKF,
    ErrorEKFSettings,
    Measurement,
    is_pseudo,
)
from veh_identification.observation.sequential import wrap_angle
from veh_identification.observation.streaming import Session
from veh_identification.observation.streaming.arrivals import Item, StreamRecord, stream_of
from veh_identification.runtime.transforms import StaticFrames
from veh_identification.systems.vehicle.configuration import CORNERS, CarDescription
from veh_identification.systems.vehicle.observer.driving import INPUTS, Driving
from veh_identification.systems.vehicle.observer.filter_setup import make_filter, settings_of
from veh_identification.systems.vehicle.observer.pseudo_sensors import RATE
from veh_identification.systems.vehicle.observer.sensor_models import self_calibrating
from veh_identification.systems.vehicle.observer.start import Start, carried_back, find_start
from veh_identification.systems.vehicle.observer.thesis import course_of
from veh_identification.systems.vehicle.observer.vehicle_filter import VehicleErrorEKF
from veh_identification.systems.vehicle.recording.mounting import mounted
from veh_identification.systems.vehicle.recording.recording import Recording
from veh_identification.systems.vehicle.recording.samples import Places, delays_ns, prefix_of
from veh_identification.systems.vehicle.recording.wheel_speeds import WheelSpeeds, rolling

IMU = (('gyroscope', slice(0, 3)), ('accelerometer', slice(3, None)))
WHEELS = tuple(f'wheel_{c}' for c in CORNERS)
LEFT = 2.0  # from its start a car has left it [m]
TURNED = 0.05  # a car is not as it started [rad]
AGAIN_NS = 500_000_000  # as near to the first start is the same recording
LONGEST_MEAN_NS = 50_000_000  # a mean over longer than this is none of a sensor's
#: Wheels have come to stay when so many samples in a row, no further apart and over so long [s],
#: were heard: a start of 0.3 s then has them, too.
STAYED, TOGETHER, LONG = 10, 0.1, 0.5
Say = Callable[[Finding], None]


@dataclass
class WheelCounts:
    """Samples of wheels, over all starts, that are no measurement of their own."""

    #: By wheel: parts of a later speed.
    merged: Counter[str] = field(default_factory=Counter)
    #: By stream and wheel: heard by a filter that was built without wheels.
    unknown: Counter[tuple[str, str]] = field(default_factory=Counter)


class Newcomer:
    """Whether a sensor that was not there at the start has come to stay.

    `vain`: starts in a row that it led to and was not there for. Each asks for twice the time, so
    that a sensor that comes and goes does not end one estimate after the other.
    """

    def __init__(self, vain: int = 0) -> None:
        self.vain = vain
        self._count, self._begin, self._last = 0, 0.0, -math.inf

    def heard(self, time: float) -> None:
        """Take the time of a sample."""
        if abs(time - self._last) > TOGETHER:
            self._count, self._begin = 0, time
        self._count, self._last = self._count + 1, time

    @property
    def stays(self) -> bool:
        """Not for single messages: every one of them would end the estimate."""
        return self._count >= STAYED and self._last - self._begin >= LONG * 2.0**self.vain


class WheelReader:
    """From samples of the wheels to what this filter takes: angles, speeds, or differences.

    A filter that was started without wheels has no sensors for them (`newcomer`).
    """

    def __init__(
        self,
        car: CarDescription,
        prefix: Recording,
        speeds: bool,
        counts: WheelCounts,
        newcomer: Newcomer,
    ) -> None:
        self._counts, self.newcomer = counts, newcomer
        self.known = has_wheels(prefix)
        self._stream = 'wheel_angle' if len(prefix.wheel_angle) or not speeds else 'wheel_rate'
        differences = not len(prefix.wheel_angle) and self._stream == 'wheel_angle'
        self._convert = WheelSpeeds(car) if differences else None
        self._noise = car.sensors.wheels.speed**2
        self._newest = float('-inf')

    def __call__(self, stream: str, time: float, values: tuple[float, ...]) -> list[Measurement]:
        """Measurements of a sample of the wheels."""
        if not self.known:
            self.newcomer.heard(time)
            self._counts.unknown.update(
                (stream, name)
                for name, value in zip(WHEELS, values, strict=True)
                if value == value
            )
            return []
        if stream != self._stream:
            return []
        if self._convert is not None:
            if time <= self._newest:
                return []  # belated: a difference to newer angles says nothing
            self._newest = time
            found = self._convert.push(time, np.array(values))
            for i, name in enumerate(WHEELS):
                if values[i] == values[i] and (
                    found is None or found.speeds[i] != found.speeds[i]
                ):
                    self._counts.merged[name] += 1
            if found is None:
                return []
            return [
                Measurement(
                    name,
                    time - found.age,
                    found.speeds[i : i + 1],
                    found.variances[i : i + 1] + self._noise,
                )
                for i, name in enumerate(WHEELS)
                if found.speeds[i] == found.speeds[i]
            ]
        all_wheels = np.array(values)
        return [
            Measurement(name, time, all_wheels[i : i + 1])
            for i, name in enumerate(WHEELS)
            if values[i] == values[i]
        ]


class VehicleSession:
    """The started car: its filter, what drives it and which inputs it knows."""

    def __init__(
        self,
        car: CarDescription,
        filter_: VehicleErrorEKF,
        start: Start,
        origin_ns: int,
        driving: Driving,
        places: Places,
        wheels: WheelReader,
        *,
        heard: set[str],
        late_ns: Mapping[str, int],
        settings: Callable[[set[str]], ErrorEKFSettings],
        say: Say,
        sources: Mapping[str, str],
    ) -> None:
        self.car, self.filter, self.start = car, filter_, start
        self.late_ns = late_ns
        self.origin_ns, self.driving = origin_ns, driving
        self.step_ns = round(car.observer.step * 1e9)
        self.observed, self.vehicle = filter_.observed, filter_.vehicle
        self._places, self._wheels, self._heard = places, wheels, heard
        self._settings, self._say = settings, say
        #: Where heading, place, gyro bias and the poses of sensors came from.
        self.sources = sources
        self._missing = set(driving.missing)
        sensors = filter_.sensors
        self._names = set(sensors)
        self._pseudo = [(n, np.zeros(s.size)) for n, s in sensors.items() if is_pseudo(s)]
        self._every = max(1, round(1.0 / (RATE * car.observer.step)))

    @property
    def has_left(self) -> bool:
        """Whether the car is not where, or not as, it started."""
        x, y, _, ahead, aside = self.vehicle.frame()[0, :5]
        turned = wrap_angle(math.atan2(aside, ahead) - self.start.yaw)
        way = math.hypot(x - self.start.position[0], y - self.start.position[1])
        return not (way <= LEFT and abs(turned) <= TURNED)  # what is no number is not there

    @property
    def outgrown(self) -> str:
        """Wheels that came behind the start, for which the filter has no sensors."""
        if self._wheels.known or not self._wheels.newcomer.stays:
            return ''
        return 'wheels are heard that were silent at the start'

    def _time(self, time_ns: int) -> float:
        return (time_ns - self.origin_ns) * 1e-9

    def measurements(self, item: Item) -> list[Measurement]:
        """Measurements of one sample."""
        time_ns, key, values = item
        stream, time = stream_of(key), (time_ns - self.origin_ns) * 1e-9
        if stream == 'imu':
            found, both = [], np.array(values)
            for name, part in IMU:
                # A sum is a number where all are: mostly, and sooner told.
                own = values[part]
                total = sum(own)
                if total == total or any(value == value for value in own):
                    found.append(Measurement(name, time, both[part]))
        elif stream == 'gps':
            local = self._places.local(values)
            found = []
            if local is not None:
                local[0][2] -= self.vehicle.elevation
                found.append(Measurement('gps', time, *local))
        elif stream == 'gps_velocity':
            self._heard.add(stream)
            found = [Measurement(stream, time, np.array(values))]
            if self.car.observer.thesis:
                found += course_of(self.car, time, values)
        else:
            found = self._wheels(stream, time, values)
        names = self._names
        for one in found:
            if one.sensor not in names:
                return [m for m in found if m.sensor in names]
        return found

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
        since = f'from {self._time(end_ns):.2f} s on'
        for name in sorted(now - before):
            self._say(Finding('warn', f'{name}_lost', f'{since} {INPUTS[name]}', name))
        for name in sorted(before - now):
            self._say(Finding('note', f'{name}_back', f'{since} {name} is known', name))
        self.filter.retune(self._settings(set(INPUTS) - now))

    def held(self) -> dict[str, Any]:
        """What drives the car now."""
        return self.driving.held()

    def hold(self, held: Mapping[str, Any]) -> None:
        """Drive the car by what an earlier session held."""
        self.driving.hold(held)

    def pseudo(self, k: int, time: float) -> list[Measurement]:
        """What tyres and road say, at a rate of their own."""
        if (k + 1) % self._every:
            return []
        return [Measurement(name, time, zeros) for name, zeros in self._pseudo]


@dataclass(frozen=True)
class Known:
    """What an earlier run knew: heading and sensor parameters with their variances."""

    yaw: float | None
    parameters: dict[str, tuple[float, float]]

    @classmethod
    def of(cls, filter_: ErrorEKF, yaw: float | None) -> Known:
        """What a filter knows of its sensors."""
        first = filter_.size - len(filter_.parameter_names)
        pairs = zip(
            filter_.parameters.tolist(), filter_.P.diagonal()[first:].tolist(), strict=True
        )
        return cls(yaw, dict(zip(filter_.parameter_names, pairs, strict=True)))

    def apply(self, filter_: VehicleErrorEKF) -> None:
        """Put the sensor parameters into a new filter.

        What errs with them there, as a place that a late fix told, is known better with them.
        """
        names, P = filter_.parameter_names, filter_.P
        first = filter_.size - len(names)
        for k, name in enumerate(names):
            if name not in self.parameters:
                continue
            value, variance = self.parameters[name]
            state, own = first + k, float(P[first + k, first + k])
            if own > 0.0:
                filter_.put(P[:, state] * ((value - float(filter_.parameters[k])) / own))
                P -= np.outer(P[:, state], P[state]) * (max(own - variance, 0.0) / own**2)
        for k, name in enumerate(names):
            if name in self.parameters:
                filter_.parameters[k], variance = self.parameters[name]
                P[first + k, first + k] = max(float(P[first + k, first + k]), variance)


class VehicleSystem:
    """A four-wheel car to observe; `say` takes what the user should know.

    Poses that the configuration gives win over those of `frames`, the static transforms.
    """

    inputs = frozenset(INPUTS)

    def __init__(
        self,
        car: CarDescription,
        *,
        say: Say,
        input_timeout: float = 0.5,
        adaptive: AdaptiveSettings | None = None,
    ) -> None:
        self.car, self.say, self.input_timeout = car, say, input_timeout
        self.adaptive = adaptive
        self.delays_ns = delays_ns(car)
        self.frames = StaticFrames()
        self.frame_ids: dict[str, str] = {}
        self.refused = StreamRecord()  # fixes whose place cannot be meant
        self.wheels = WheelCounts()
        self.places = Places(car.datum, car.sensors.gps.deviation, lambda: self.refused)
        self.known: Known | None = None
        self._newcomer = Newcomer()  # of the last start
        self._session: VehicleSession | None = None  # the last one
        self._left_ns: int | None = None  # the start that the car has left
        self._heard: set[str] = set()  # streams of satellites

    def remember(self, session: Session) -> None:
        """Let the next start know the sensor parameters of a session that ends."""
        self.known = Known.of(session.filter, None)

    def start(self, items: list[Item]) -> VehicleSession:
        """Start at the first of these samples."""
        mounting = mounted(self.car, self.frames, self.frame_ids)
        sources = dict(mounting.sources)
        prefix = prefix_of(items, mounting.car, self.places)
        # A start anew may come before the next one is heard: it will be.
        if len(prefix.velocity):
            self._heard.add('gps_velocity')
        velocity = 'gps_velocity' in self._heard
        car = self_calibrating(self._where_it_is(mounting.car, prefix.start_ns), velocity)
        known, self.known = self.known, None
        if known is not None and known.yaw is not None:
            car = replace(car, observer=replace(car.observer, initial_yaw=known.yaw))
        start = find_start(car, prefix)
        sources |= start.sources
        estimated = car.observer.force_estimation or car.observer.thesis
        if prefix.inputs != set(INPUTS) and not estimated:
            car = replace(car, observer=replace(car.observer, force_estimation=True))
        for finding in (*mounting.findings, *start.findings, *missing(prefix, car)):
            self.say(finding)
        origin_ns = _origin_ns(items, prefix.start_ns, round(car.observer.step * 1e9))
        placed = carried_back(start, (prefix.start_ns - origin_ns) * 1e-9)
        filter_ = make_filter(car, prefix, placed, self.adaptive, mounting.car, velocity)
        if known is not None:
            known.apply(filter_)
            sources['heading'] = sources['gyro bias'] = 'an earlier run'
        speeds = any(stream_of(item.key) == 'wheel_rate' for item in items)
        late_ns = averaged_ns(car, items)
        self._newcomer = Newcomer(self._newcomer.vain + 1 if self._newcomer.stays else 0)
        self._session = VehicleSession(
            car,
            filter_,
            start,
            origin_ns,
            Driving(
                car.observer.step, start.rack, prefix.inputs, prefix.start_ns, self.input_timeout
            ),
            self.places,
            WheelReader(car, prefix, speeds, self.wheels, self._newcomer),
            heard=self._heard,
            late_ns=late_ns,
            settings=lambda inputs: settings_of(car, inputs, start, self.adaptive),
            say=self.say,
            sources=sources,
        )
        return self._session

    def _where_it_is(self, car: CarDescription, start_ns: int) -> CarDescription:
        """The description without its start, where the car has left that.

        A recording that is played again begins with it again.
        """
        last = self._session
        if self._left_ns is None and last is not None and last.has_left:
            self._left_ns = last.origin_ns
        if self._left_ns is None or car.observer.thesis:
            return car
        if abs(start_ns - self._left_ns) <= AGAIN_NS:
            return car
        return replace(car, observer=replace(car.observer, initial_yaw=None))


def averaged_ns(car: CarDescription, items: list[Item]) -> dict[str, int]:
    """How old wheel speeds are: teeth that were counted since the sample before.

    Where the description gives a delay, that is the whole of it. A car with known wheel torques is
    taken as it is described: its sensors are faster than its steps.
    """
    if car.observer.thesis or not (rolling(car) and car.road.unknown):
        return {}
    name = 'wheel_rate'
    keys = {item.key for item in items if stream_of(item.key) == name}
    times = [sorted(item.time_ns for item in items if item.key == key) for key in keys]
    periods = [float(np.median(np.diff(one))) for one in times if len(one) > 2]
    if car.sensors.wheels.delay or not periods:
        return {}
    # wheels may speak one by one, each at the same rate
    return {name: round(0.5 * min(max(periods), LONGEST_MEAN_NS))}


def _origin_ns(items: list[Item], start_ns: int, step_ns: int) -> int:
    """A step before the start, give or take half a step: samples of the IMU are at ends of steps.

    Rates and forces are taken as true at the end of the step that is nearest. If that were two
    milliseconds later again and again, the satellites would seem early by as much.
    """
    taken = (i.time_ns for i in items if stream_of(i.key) == 'imu')
    phase = next(taken, start_ns) - start_ns
    half = step_ns // 2
    return start_ns - step_ns + (phase + half) % step_ns - half


def has_wheels(prefix: Recording) -> bool:
    """Whether the samples before the start tell how wheels turn."""
    return bool(len(prefix.wheel_angle) or len(prefix.wheel_rate))


def missing(prefix: Recording, car: CarDescription) -> list[Finding]:
    """What sensors and inputs do not say.

    A car whose wheels are taken as rolling needs no torque and no pressure: it is described so.
    """
    wheels = int(has_wheels(prefix))
    driven: Level = 'note' if rolling(car) else 'warn'
    named: tuple[tuple[int, Level, str, str, str], ...] = (
        (len(prefix.gyro), 'warn', 'imu', 'no IMU: rates follow the model', 'imu/data'),
        (
            len(prefix.fix),
            'warn',
            'gps',
            'no satellite position: the position drifts',
            'gps/fix',
        ),
        (
            len(prefix.velocity),
            'note',
            'gps_velocity',
            'no satellite velocity: it follows from the positions',
            'gps/vel',
        ),
        (len(prefix.torque), driven, 'torque', INPUTS['torque'], 'joint_states, field effort'),
        (len(prefix.pressure), driven, 'pressure', INPUTS['pressure'], 'brake/pressure'),
        (len(prefix.rack), 'warn', 'rack', INPUTS['rack'], 'joint_states, field position'),
        (
            wheels,
            'warn',
            'wheels',
            'no wheel angles or speeds: the wheels follow the model',
            'joint_states',
        ),
    )
    return [
        Finding(level, f'no_{name}', text, where)
        for there, level, name, text, where in named
        if not there
    ]
