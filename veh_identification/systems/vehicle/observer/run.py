"""Runs the observer, or the model alone, over a recording and keeps every step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace

import numpy as np

from veh_identification.observation import Innovation
from veh_identification.observation.streaming import (
    Item,
    OnlineObserver,
    OnlineOptions,
    Session,
)
from veh_identification.systems.observing.offline import OfflineRun, run_offline
from veh_identification.systems.vehicle.configuration import CarDescription
from veh_identification.systems.vehicle.model.vehicle import Inputs, Vehicle
from veh_identification.systems.vehicle.observer.driving import Driving
from veh_identification.systems.vehicle.observer.filter_setup import place
from veh_identification.systems.vehicle.observer.online import VehicleSession, VehicleSystem
from veh_identification.systems.vehicle.observer.start import Start
from veh_identification.systems.vehicle.recording.recording import Recording
from veh_identification.systems.vehicle.recording.samples import arrived
from veh_identification.types import Array, Progress

#: Called after every step with the session and the stamp of the step's end.
Sink = Callable[[VehicleSession, int], None]
# Error states whose consistency is judged: x, y, yaw and their rates.
JUDGED = np.array([0, 1, 3, 10, 11, 13])
JUDGED_BLOCK = np.ix_(JUDGED, JUDGED)
# Of height, its rate, pitch and roll.
TILTING = np.array([2, 12, 4, 5])
#: Progress is told every so many steps.
TELL = 500


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
    tilting: Array  # (N, 4) variances of z, vz, pitch and roll
    innovations: dict[str, list[Innovation]] = field(default_factory=dict)

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
            np.zeros((n, 4)),
        )

    def store(self, k: int, vehicle: Vehicle) -> None:
        """Keep the vehicle's present state as sample k."""
        model = vehicle.model
        self.frame[k] = vehicle.world_frame()[:2]
        self.yaw[k], self.rack[k] = model.q[12], model.q[vehicle.rack]
        self.wheel[k], self.wheel_rate[k] = model.q[vehicle.spins], model.qd[vehicle.spins]
        self.stroke[k], self.tyre[k] = vehicle.travel, vehicle.report[:, :3]

    def store_session(self, k: int, session: VehicleSession) -> None:
        """Keep the observer's present state as sample k."""
        self.store(k, session.vehicle)
        self.covariance[k] = session.filter.P[JUDGED_BLOCK]
        self.tilting[k] = session.filter.P[TILTING, TILTING]
        self.force_error[k] = session.observed.force_error

    def first(self, count: int) -> Run:
        """So many samples from the start."""
        arrays = {
            one.name: getattr(self, one.name)[:count]
            for one in fields(self)
            if one.name != 'innovations'
        }
        return replace(self, **arrays)


@dataclass(frozen=True, eq=False)
class Observed:
    """What came of a recording: the samples and the observer that made them."""

    run: Run
    offline: OfflineRun
    session: VehicleSession

    @property
    def observer(self) -> OnlineObserver:
        """The observer after its last sample."""
        return self.offline.observer


class _Keeper:
    """Keeps every step in a run."""

    def __init__(self, count: int, start_ns: int, progress: Progress | None) -> None:
        # a clock jump makes more steps than the duration says
        self.run = Run.empty(np.empty(2 * count + 1000))
        self.count, self.steps, self.start_ns = count, 0, start_ns
        self.session: VehicleSession | None = None
        self.progress = progress

    def made(self, session: Session, end_ns: int, innovations: list[Innovation]) -> None:
        """After every step of the observer."""
        assert isinstance(session, VehicleSession)
        k, run = self.steps, self.run
        self.session = session
        for innovation in innovations:
            run.innovations.setdefault(innovation.sensor, []).append(innovation)
        if k < run.time.size:
            run.time[k] = (end_ns - self.start_ns) * 1e-9
            run.store_session(k, session)
            self.steps += 1
        if self.progress is not None and k % TELL == 0:
            self.progress(min(k, self.count), self.count)


def observe_recording(
    system: VehicleSystem,
    recording: Recording,
    options: OnlineOptions,
    progress: Progress | None = None,
    sink: Sink | None = None,
) -> Observed | None:
    """The observer over samples in the order of arrival; None when there is nothing to observe.

    What `sink` does is not on the observer's clock.
    """
    system.frames, system.frame_ids = recording.frames, dict(recording.frame_ids)
    count = int(recording.duration / system.car.observer.step) + 1
    keeper = _Keeper(count, recording.start_ns, progress)

    def beside(session: Session, end_ns: int) -> None:
        assert isinstance(session, VehicleSession)
        if sink is not None:
            sink(session, end_ns)

    offline = run_offline(
        system, arrived(recording, system.car), options, keeper.made, beside if sink else None
    )
    if keeper.session is None:
        return None
    return Observed(keeper.run.first(keeper.steps), offline, keeper.session)


def _driving(car: CarDescription, recording: Recording) -> Driving:
    """The inputs of a recording, all known in advance."""
    series = {'torque': recording.torque, 'pressure': recording.pressure, 'rack': recording.rack}
    rack = float(np.mean(recording.rack.value[:10])) if len(recording.rack) else 0.0
    driving = Driving(car.observer.step, rack, recording.inputs, recording.start_ns)
    items = [
        Item(recording.start_ns + round(time * 1e9), name, tuple(np.atleast_1d(value)))
        for name, s in series.items()
        for time, value in zip(s.time, s.value, strict=True)
    ]
    for item in sorted(items, key=lambda i: i[:2]):
        driving.push(item)
    return driving


def model_alone(
    car: CarDescription,
    recording: Recording,
    start: Start,
    until: float,
    progress: Progress | None = None,
) -> Run:
    """The uncorrected model from the same start with the same inputs, to the time `until` [s].

    The first step ends at the first sample.
    """
    vehicle = Vehicle(car)
    place(vehicle, start)
    step = car.observer.step
    step_ns = round(step * 1e9)
    count = int(np.floor(recording.duration / step + 0.5)) + 1
    times = step * np.arange(count, dtype=float)
    times = times[times <= until + 0.5 * step]
    run, driving = Run.empty(times), _driving(car, recording)
    for k in range(times.size):
        inputs: Inputs = driving.at(recording.start_ns + k * step_ns)
        vehicle.step(step, inputs)
        run.store(k, vehicle)
        if progress is not None and k % TELL == 0:
            progress(k, times.size)
    return run
