"""Runs the observer, or the model alone, over a recording on a fixed grid of steps."""

from __future__ import annotations

import time as clock
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from veh_identification.observation import ErrorEKF, Innovation, Measurement
from veh_identification.systems.buggy.configuration import CORNERS, Configuration
from veh_identification.systems.buggy.observed import ObservedVehicle
from veh_identification.systems.buggy.observer import SLIP_RATE
from veh_identification.systems.buggy.recording import Recording, hold
from veh_identification.systems.buggy.vehicle import Inputs, Vehicle

Array = NDArray[np.float64]
Progress = Callable[[int, int], None]
# Bandwidth of the filter that turns rack samples into a smooth travel [rad/s].
RACK_BANDWIDTH = 60.0
# Error states whose consistency is judged: x, y, yaw and their rates.
JUDGED = np.array([0, 1, 3, 10, 11, 13])


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
        return cls(times, np.empty((n, 2, 12)), np.empty(n), np.empty((n, 4)), np.empty((n, 4)),
                   np.empty((n, 4)), np.empty(n), np.empty((n, 4, 3)), np.zeros((n, 6, 6)),
                   np.zeros((n, 10)))

    def store(self, k: int, vehicle: Vehicle) -> None:
        """Keep the vehicle's present state as sample k."""
        model = vehicle.model
        self.frame[k] = vehicle.frame()[:2]
        self.yaw[k], self.rack[k] = model.q[12], model.q[vehicle.rack]
        self.wheel[k], self.wheel_rate[k] = model.q[vehicle.spins], model.qd[vehicle.spins]
        self.stroke[k], self.tyre[k] = vehicle.travel, vehicle.report[:, :3]


def grid(car: Configuration, recording: Recording) -> Array:
    """Times at which steps end."""
    step = car.observer.step
    count = int(np.floor(recording.duration / step + 1e-6))
    return np.asarray(step * np.arange(1, count + 1), dtype=float)


def smooth_rack(samples: Array, dt: float) -> Array:
    """Travel, rate and acceleration (N, 3) of a critically damped follower (trapezoidal)."""
    result = np.zeros((samples.size, 3))
    x, v, a = float(np.mean(samples[:10])) if samples.size else 0.0, 0.0, 0.0
    w = RACK_BANDWIDTH
    for k, target in enumerate(samples):
        # a1 = w^2 (target - x1) - 2 w v1 with v1, x1 by the trapezoidal rule, solved for a1
        v0, x0 = v + 0.5 * dt * a, x + dt * v + 0.25 * dt * dt * a
        a1 = (w * w * (target - x0) - 2.0 * w * v0) / (1.0 + w * dt + 0.25 * w * w * dt * dt)
        v, x = v0 + 0.5 * dt * a1, x0 + 0.25 * dt * dt * a1
        a = a1
        result[k] = x, v, a
    return result


def inputs_of(car: Configuration, recording: Recording, times: Array) -> Iterator[Inputs]:
    """What drives the model in each step."""
    rack = (smooth_rack(hold(recording.rack, times), car.observer.step) if len(recording.rack)
            else np.zeros((times.size, 3)))
    torque = hold(recording.torque, times) if len(recording.torque) else np.zeros((times.size, 4))
    pressure = (hold(recording.pressure, times)[:, 0] if len(recording.pressure)
                else np.zeros(times.size))
    for k in range(times.size):
        t = torque[k]
        yield Inputs((float(t[0]), float(t[1]), float(t[2]), float(t[3])), float(pressure[k]),
                     float(rack[k, 0]), float(rack[k, 1]), float(rack[k, 2]))


def measurements_of(car: Configuration, recording: Recording, times: Array, names: set[str]
                    ) -> list[list[Measurement]]:
    """Measurements by the step nearest to the time at which they were taken."""
    step, sensors = car.observer.step, car.sensors
    result: list[list[Measurement]] = [[] for _ in times]

    def add(name: str, series_time: Array, values: Array, delay: float,
            variance: Array | None = None) -> None:
        if name not in names:
            return
        index = np.rint((series_time - delay) / step).astype(int) - 1
        for i in np.flatnonzero((index >= 0) & (index < times.size)):
            result[index[i]].append(Measurement(
                name, float(series_time[i]), values[i],
                None if variance is None else variance[i]))

    add('gps', recording.fix.time, recording.fix.value, sensors.gps.delay, recording.fix.variance)
    add('gps_velocity', recording.velocity.time, recording.velocity.value,
        sensors.gps.velocity_delay)
    add('gyroscope', recording.gyro.time, recording.gyro.value, sensors.imu.delay)
    add('accelerometer', recording.accelerometer.time, recording.accelerometer.value,
        sensors.imu.delay)
    wheels = recording.wheel_angle if len(recording.wheel_angle) else recording.wheel_rate
    for i, corner in enumerate(CORNERS):
        if len(wheels):
            good = np.isfinite(wheels.value[:, i])
            add(f'wheel_{corner}', wheels.time[good], wheels.value[good, i:i + 1],
                sensors.wheels.delay)
    every = max(1, round(1.0 / (SLIP_RATE * step)))
    chosen = times[every - 1::every]
    add('rear_slip', chosen, np.zeros((chosen.size, 1)), 0.0)
    add('road', chosen, np.zeros((chosen.size, 4)), 0.0)
    return result


def observe(car: Configuration, recording: Recording, filter_: ErrorEKF,
            progress: Progress | None = None) -> Run:
    """Predict and update through the whole recording."""
    times = grid(car, recording)
    run = Run.empty(times)
    run.innovations = {name: [] for name in filter_.sensors}
    model = filter_.model
    assert isinstance(model, ObservedVehicle)
    plan = measurements_of(car, recording, times, set(filter_.sensors))
    begin, cpu = clock.perf_counter(), clock.process_time()
    for k, inputs in enumerate(inputs_of(car, recording, times)):
        for innovation in filter_.step(car.observer.step, inputs, plan[k]):
            run.innovations[innovation.sensor].append(innovation)
        run.store(k, model.vehicle)
        run.covariance[k] = filter_.P[np.ix_(JUDGED, JUDGED)]
        run.force_error[k] = model.force_error
        if progress is not None and k % 500 == 0:
            progress(k, times.size)
    run.seconds = clock.perf_counter() - begin
    run.processor_seconds = clock.process_time() - cpu
    return run


def model_alone(car: Configuration, recording: Recording, vehicle: Vehicle,
                progress: Progress | None = None) -> Run:
    """The uncorrected model with the same inputs."""
    times = grid(car, recording)
    run = Run.empty(times)
    for k, inputs in enumerate(inputs_of(car, recording, times)):
        vehicle.step(car.observer.step, inputs)
        run.store(k, vehicle)
        if progress is not None and k % 500 == 0:
            progress(k, times.size)
    return run
