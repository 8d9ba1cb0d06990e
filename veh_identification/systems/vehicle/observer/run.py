"""Runs the observer, or the model alone, over a recording and keeps every step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
from numba import njit

from veh_identification.held_arrays import HeldArrays, reals_1, reals_2, reals_3, wholes_1
from veh_identification.observation import Innovation
from veh_identification.observation.streaming import (
    Item,
    OnlineObserver,
    OnlineOptions,
    Session,
)
from veh_identification.systems.observing.offline import OfflineRun, run_offline
from veh_identification.systems.vehicle.configuration import CarDescription
from veh_identification.systems.vehicle.model.chassis_frame import YAW_PLACE
from veh_identification.systems.vehicle.model.vehicle import Inputs, Vehicle
from veh_identification.systems.vehicle.observer.driving import Driving
from veh_identification.systems.vehicle.observer.filter_setup import place
from veh_identification.systems.vehicle.observer.online import VehicleSession, VehicleSystem
from veh_identification.systems.vehicle.observer.start import Start
from veh_identification.systems.vehicle.recording.recording import Recording
from veh_identification.systems.vehicle.recording.samples import arrived
from veh_identification.types import Array, IntArray, Progress

#: Called after every step with the session and the stamp of the step's end.
Sink = Callable[[VehicleSession, int], None]
# Error states whose consistency is judged: x, y, yaw and their rates.
JUDGED = np.array([0, 1, 3, 10, 11, 13])
# Of height, its rate, pitch and roll.
TILTING = np.array([2, 12, 4, 5])
#: Progress is told every so many steps.
TELL = 500


@njit(cache=True, nogil=True)
def _keep(
    k: int,
    q: Array,
    qd: Array,
    spins: IntArray,
    strokes: IntArray,
    rack_place: int,
    design: Array,
    report: Array,
    frame: Array,
    yaw: Array,
    rack: Array,
    wheel: Array,
    wheel_rate: Array,
    stroke: Array,
    tyre: Array,
) -> None:
    """Sample k of a run of the model."""
    for i in range(12):
        frame[k, 0, i], frame[k, 1, i] = q[i], qd[i]
    yaw[k], rack[k] = q[YAW_PLACE], q[rack_place]
    for i in range(4):
        wheel[k, i], wheel_rate[k, i] = q[spins[i]], qd[spins[i]]
        stroke[k, i] = design[i] - q[strokes[i]]
        for j in range(3):
            tyre[k, i, j] = report[i, j]


@njit(cache=True, nogil=True)
def _keep_errors(
    k: int,
    P: Array,
    force: Array,
    columns: IntArray,
    judged: IntArray,
    tilting: IntArray,
    covariance: Array,
    tilts: Array,
    forces: Array,
) -> None:
    """What a filter thinks of sample k."""
    for i in range(judged.size):
        for j in range(judged.size):
            covariance[k, i, j] = P[judged[i], judged[j]]
    for i in range(tilting.size):
        tilts[k, i] = P[tilting[i], tilting[i]]
    for i in range(columns.size):
        forces[k, i] = force[columns[i]]


@njit(cache=True, nogil=True)
def _keep_both(k: int, held: IntArray) -> None:
    """`_keep` and `_keep_errors` in one call, with what `Run.of_session` holds."""
    _keep(
        k,
        reals_1(held, 0),
        reals_1(held, 1),
        wholes_1(held, 2),
        wholes_1(held, 3),
        wholes_1(held, 4)[0],
        reals_1(held, 5),
        reals_2(held, 6),
        reals_3(held, 7),
        reals_1(held, 8),
        reals_1(held, 9),
        reals_2(held, 10),
        reals_2(held, 11),
        reals_2(held, 12),
        reals_3(held, 13),
    )
    _keep_errors(
        k,
        reals_2(held, 14),
        reals_1(held, 15),
        wholes_1(held, 16),
        wholes_1(held, 17),
        wholes_1(held, 18),
        reals_3(held, 19),
        reals_2(held, 20),
        reals_2(held, 21),
    )


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
        _keep(k, *self._sample(vehicle))
        self._lift(k, vehicle)

    def _lift(self, k: int, vehicle: Vehicle) -> None:
        """Put the frame of sample k on its road."""
        if vehicle.car.road.unknown:
            self.frame[k] = vehicle.world_frame()[:2]
        else:
            self.frame[k, 0, 2] += vehicle.elevation

    def _sample(self, vehicle: Vehicle) -> tuple[Any, ...]:
        """What `_keep` takes: arrays that stay the same ones."""
        model = vehicle.model
        return (
            model.q,
            model.qd,
            vehicle.spins,
            vehicle.strokes,
            vehicle.rack,
            vehicle.design_strokes,
            vehicle.report,
            self.frame,
            self.yaw,
            self.rack,
            self.wheel,
            self.wheel_rate,
            self.stroke,
            self.tyre,
        )

    def of_session(self, session: VehicleSession) -> HeldArrays:
        """What `store_session` takes, to be made once for each session."""
        errors = (
            session.filter.P,
            session.vehicle.model.force_error,
            session.observed.force_columns,
            JUDGED,
            TILTING,
            self.covariance,
            self.tilting,
            self.force_error,
        )
        return HeldArrays((*self._sample(session.vehicle), *errors))

    def store_session(self, k: int, vehicle: Vehicle, kept: HeldArrays) -> None:
        """Keep the observer's present state as sample k; `kept` of `of_session`."""
        _keep_both(k, kept.table)
        self._lift(k, vehicle)

    def tell_unknown_heading(self, k: int) -> None:
        """Of a sample without a known heading: velocities in the world err with it."""
        covariance, (vx, vy) = self.covariance[k], self.frame[k, 1, :2]
        variance = float(covariance[2, 2])
        turned = np.array([0.0, 0.0, 1.0, -vy, vx, 0.0])  # of JUDGED
        covariance[2, :] = covariance[:, 2] = 0.0
        covariance += variance * np.outer(turned, turned)

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
        self._kept = HeldArrays(())
        self.progress = progress
        self._innovations: list[Sequence[Innovation]] = []

    def kept(self) -> Run:
        """The run so far."""
        run = self.run.first(self.steps)
        for step in self._innovations:
            for one in step:
                run.innovations.setdefault(one.sensor, []).append(one)
        self._innovations.clear()
        return run

    def made(self, session: Session, end_ns: int, innovations: Sequence[Innovation]) -> None:
        """After every step of the observer."""
        assert isinstance(session, VehicleSession)
        k, run = self.steps, self.run
        if session is not self.session:
            self.session, self._kept = session, run.of_session(session)
        self._innovations.append(innovations)
        if k < run.time.size:
            run.time[k] = (end_ns - self.start_ns) * 1e-9
            run.store_session(k, session.vehicle, self._kept)
            if not session.filter.bearings.aligned:
                run.tell_unknown_heading(k)
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
    return Observed(keeper.kept(), offline, keeper.session)


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
