"""Runs the observer, or the model alone, over a recording on a fixed grid of steps."""

from __future__ import annotations

import time as clock
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from veh_identification.observation import ErrorEKF, Innovation, Measurement
from veh_identification.observation.streaming import (
    Item,
    OnlineObserver,
    OnlineOptions,
    Session,
    Stepper,
)
from veh_identification.observation.streaming.collector import set_aside
from veh_identification.systems.vehicle.configuration import CORNERS, Configuration
from veh_identification.systems.vehicle.model.vehicle import Inputs, Vehicle
from veh_identification.systems.vehicle.observer.driving import Driving
from veh_identification.systems.vehicle.observer.observed import ObservedVehicle
from veh_identification.systems.vehicle.observer.observer import SLIP_RATE
from veh_identification.systems.vehicle.observer.online import PSEUDO, BuggySession, BuggySystem
from veh_identification.systems.vehicle.recording.reader import Recording
from veh_identification.systems.vehicle.recording.samples import arrived, delays_ns
from veh_identification.systems.vehicle.recording.series import Series
from veh_identification.types import Array, Progress

Sink = Callable[[BuggySession, int], None]
# Error states whose consistency is judged: x, y, yaw and their rates.
JUDGED = np.array([0, 1, 3, 10, 11, 13])
JUDGED_BLOCK = np.ix_(JUDGED, JUDGED)


@dataclass
class Run:
    """Samples of a run; the sample axis is first."""

    time: Array
    frame: Array  # (N, 2, 12) chassis frame and its rate
    yaw: Array
    wheel: Array
    wheel_rate: Array
    stroke: Array
    rack: Array
    tyre: Array  # (N, 4, 3)
    covariance: Array  # (N, 6, 6) of the judged states
    force_error: Array  # (N, 10)
    innovations: dict[str, list[Innovation]] = field(default_factory=dict)
    seconds: float = 0.0  # of wall time
    processor_seconds: float = 0.0

    @classmethod
    def empty(cls, times: Array) -> Run:
        """Room for a run."""
        n = times.size
        return cls(
            times,
            np.empty((n, 2, 12)),
            np.empty(n),
            np.empty((n, 4)),
            np.empty((n, 4)),
            np.empty((n, 4)),
            np.empty(n),
            np.empty((n, 4, 3)),
            np.zeros((n, 6, 6)),
            np.zeros((n, 10)),
        )

    def store(self, k: int, vehicle: Vehicle) -> None:
        """Keep the vehicle's present state as sample k."""
        model = vehicle.model
        self.frame[k] = vehicle.world_frame()[:2]
        self.yaw[k], self.rack[k] = model.q[12], model.q[vehicle.rack]
        self.wheel[k], self.wheel_rate[k] = model.q[vehicle.spins], model.qd[vehicle.spins]
        self.stroke[k], self.tyre[k] = vehicle.travel, vehicle.report[:, :3]

    def store_filter(self, k: int, filter_: ErrorEKF, model: ObservedVehicle) -> None:
        """Keep the observer's present state as sample k."""
        self.store(k, model.vehicle)
        self.covariance[k] = filter_.P[JUDGED_BLOCK]
        self.force_error[k] = model.force_error

    def part(self, chosen: slice) -> Run:
        """Some of the samples."""
        return replace(
            self,
            **{
                name: getattr(self, name)[chosen]
                for name in (
                    'time',
                    'frame',
                    'yaw',
                    'wheel',
                    'wheel_rate',
                    'stroke',
                    'rack',
                    'tyre',
                    'covariance',
                    'force_error',
                )
            },
        )


def grid(car: Configuration, recording: Recording) -> Array:
    """Times at which steps end; the first step ends at the first sample."""
    step = car.observer.step
    count = int(np.floor(recording.duration / step + 0.5)) + 1
    return np.asarray(step * np.arange(count), dtype=float)


def _driving(car: Configuration, recording: Recording) -> Driving:
    """The inputs of a recording, all known in advance."""
    series = {'torque': recording.torque, 'pressure': recording.pressure, 'rack': recording.rack}
    rack = float(np.mean(recording.rack.value[:10])) if len(recording.rack) else 0.0
    driving = Driving(
        car.observer.step, rack, {n for n, s in series.items() if len(s)}, recording.start_ns
    )
    items = [
        Item(recording.start_ns + round(time * 1e9), name, tuple(np.atleast_1d(value)))
        for name, s in series.items()
        for time, value in zip(s.time, s.value, strict=True)
    ]
    for item in sorted(items, key=lambda i: i[:2]):
        driving.push(item)
    return driving


def _series(car: Configuration, recording: Recording) -> list[tuple[str, str, Series]]:
    """Sensor, its stream and what it measured."""
    found = [
        ('gps', 'gps', recording.fix),
        ('gps_velocity', 'gps_velocity', recording.velocity),
        ('gyroscope', 'imu', recording.gyro),
        ('accelerometer', 'imu', recording.accelerometer),
    ]
    for name, wheels in (
        ('wheel_angle', recording.wheel_angle),
        ('wheel_rate', recording.wheel_rate),
    ):
        for i, corner in enumerate(CORNERS):
            if len(wheels) and (name == 'wheel_angle' or not len(recording.wheel_angle)):
                good = np.isfinite(wheels.value[:, i])
                found.append(
                    (
                        f'wheel_{corner}',
                        name,
                        Series(wheels.time[good], wheels.value[good, i : i + 1]),
                    )
                )
    return found


def observe(
    car: Configuration, recording: Recording, filter_: ErrorEKF, progress: Progress | None = None
) -> Run:
    """Predict and update a given filter through the series of a recording."""
    times, step_ns = grid(car, recording), round(car.observer.step * 1e9)
    run = Run.empty(times)
    run.innovations = {name: [] for name in filter_.sensors}
    model = filter_.model
    assert isinstance(model, ObservedVehicle)
    driving, origin_ns = _driving(car, recording), recording.start_ns - step_ns
    every = max(1, round(1.0 / (SLIP_RATE * car.observer.step)))
    zeros = {n: np.zeros(s.size) for n, s in filter_.sensors.items() if n in PSEUDO}
    stepper = Stepper(
        filter_,
        origin_ns,
        step_ns,
        lambda k, end_ns: driving.at(end_ns),
        lambda k, time: (
            []
            if (k + 1) % every
            else [Measurement(name, time, value) for name, value in zeros.items()]
        ),
    )
    delays = delays_ns(car)
    for sensor, stream, series in _series(car, recording):
        if sensor not in filter_.sensors:
            continue
        for i in range(len(series)):
            taken = recording.start_ns + round(series.time[i] * 1e9) - delays[stream]
            stepper.add(
                Measurement(
                    sensor,
                    stepper.time_of(taken),
                    series.value[i],
                    None if series.variance is None else series.variance[i],
                ),
                taken,
            )

    def made(k: int, innovations: list[Innovation]) -> None:
        for innovation in innovations:
            run.innovations[innovation.sensor].append(innovation)
        run.store_filter(k, filter_, model)
        if progress is not None and k % 500 == 0:
            progress(k, times.size)

    begin, cpu = clock.perf_counter(), clock.process_time()
    stepper.run(stepper.end_ns(times.size - 1) + step_ns // 2, made)
    run.seconds = clock.perf_counter() - begin
    run.processor_seconds = clock.process_time() - cpu
    return run


@dataclass
class Observed:
    """What came of a recording: the samples and the observer that made them."""

    run: Run
    observer: OnlineObserver
    session: BuggySession


class _Keeper:
    """Keeps every step in a run; what the sink costs is not the observer's time."""

    def __init__(
        self, count: int, start_ns: int, sink: Sink | None, progress: Progress | None
    ) -> None:
        # a clock jump makes more steps than the duration says
        self.run = Run.empty(np.empty(2 * count + 1000))
        self.count, self.steps, self.start_ns = count, 0, start_ns
        self.session: BuggySession | None = None
        self.sink, self.progress = sink, progress
        self.sink_seconds = self.sink_processor = 0.0

    def made(self, session: Session, end_ns: int, innovations: list[Innovation]) -> None:
        """After every step of the observer."""
        assert isinstance(session, BuggySession)
        k, run = self.steps, self.run
        self.session = session
        for innovation in innovations:
            run.innovations.setdefault(innovation.sensor, []).append(innovation)
        if k < run.time.size:
            run.time[k] = (end_ns - self.start_ns) * 1e-9
            run.store_filter(k, session.filter, session.observed)
            self.steps += 1
        if self.sink is not None:
            begin, cpu = clock.perf_counter(), clock.process_time()
            self.sink(session, end_ns)
            self.sink_seconds += clock.perf_counter() - begin
            self.sink_processor += clock.process_time() - cpu
        if self.progress is not None and k % 500 == 0:
            self.progress(min(k, self.count), self.count)


def observe_arrivals(
    system: BuggySystem,
    recording: Recording,
    options: OnlineOptions,
    progress: Progress | None = None,
    sink: Sink | None = None,
) -> Observed | None:
    """The observer over samples in the order of arrival; None when there is nothing to observe.

    `sink(session, stamp_ns)` is called after every step.
    """
    count = int(recording.duration / system.car.observer.step) + 1
    keeper = _Keeper(count, recording.start_ns, sink, progress)
    observer = OnlineObserver(system, options, keeper.made)
    for item in arrived(recording, system.car):
        observer.push(item.key, item.time_ns, item.payload)
    ordered = list(observer.arrivals.flush())
    begin, cpu = clock.perf_counter(), clock.process_time()
    with set_aside():
        observer.take(ordered)
        observer.finish()
    run = keeper.run.part(slice(0, keeper.steps))
    run.seconds = clock.perf_counter() - begin - keeper.sink_seconds
    run.processor_seconds = clock.process_time() - cpu - keeper.sink_processor
    if keeper.session is None:
        return None
    return Observed(run, observer, keeper.session)


def model_alone(
    car: Configuration,
    recording: Recording,
    vehicle: Vehicle,
    progress: Progress | None = None,
    until: float = np.inf,
) -> Run:
    """The uncorrected model with the same inputs; `until` [s] ends it early."""
    times, step_ns = grid(car, recording), round(car.observer.step * 1e9)
    times = times[times <= until + 0.5 * car.observer.step]
    run, driving = Run.empty(times), _driving(car, recording)
    for k in range(times.size):
        inputs: Inputs = driving.at(recording.start_ns + k * step_ns)
        vehicle.step(car.observer.step, inputs)
        run.store(k, vehicle)
        if progress is not None and k % 500 == 0:
            progress(k, times.size)
    return run
