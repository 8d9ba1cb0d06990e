"""Truth simulation and observer runs of the four-bar linkage (section 3.3.4)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from veh_identification.errors import ParameterError
from veh_identification.observation import (
    AdaptiveSettings,
    ErrorEKF,
    ErrorEKFSettings,
    Innovation,
    Measurement,
    ObservedModel,
    Sensor,
)
from veh_identification.observation.sensors import (
    Accelerometer,
    CoordinateSensor,
    Gyroscope,
    predict,
)
from veh_identification.systems.four_bar.model import (
    COORDINATES,
    Setup,
    apply_torque,
    build,
    torque_at,
)
from veh_identification.types import Array

SETTINGS = (
    'position_deviation',
    'velocity_deviation',
    'acceleration_noise',
    'acceleration_deviation',
    'force_noise',
    'gate_probability',
)


@dataclass(frozen=True)
class Recording:
    """Samples of the true mechanism and of its sensors; the sample axis is first."""

    time: Array
    q: Array
    qd: Array
    qdd: Array
    sensors: dict[str, Array]
    torque: Array  # what the model is told: the pulse is not in it


@dataclass
class Run:
    """Estimates at the times of a recording, and what the filter said about them."""

    time: Array
    q: Array
    qd: Array
    innovations: dict[str, list[Innovation]] = field(default_factory=dict)
    covariance: Array = field(default_factory=lambda: np.zeros((0, 0, 0)))
    force_error: Array = field(default_factory=lambda: np.zeros(0))
    filter: ErrorEKF | None = None


def make_sensors(setup: Setup, names: list[str], gravity: float) -> list[Sensor]:
    """Sensor models by name; the accelerometer predicts with the gravity of its model."""
    result: list[Sensor] = []
    for name in names:
        data = setup.sensors.get(name)
        if data is None or 'deviation' not in data:
            raise ParameterError(
                f'four-bar sensor {name!r} has no entry with a deviation in the configuration'
            )
        deviation = float(data['deviation'])
        if name == 'encoder':
            result.append(CoordinateSensor(name, 4, deviation, wrap=True))
        elif name in ('gyro_crank', 'gyro_rod'):
            result.append(Gyroscope(name, name.removeprefix('gyro_'), deviation, axes=(2,)))
        elif name == 'accelerometer_rod':
            result.append(
                Accelerometer(
                    name, 'rod', data['position'], deviation, (0.0, -gravity), axes=(0, 1)
                )
            )
        else:
            raise ParameterError(f'four-bar has no sensor model {name!r}')
    return result


def simulate(
    setup: Setup, seed: int = 0, noise: float = 1.0, step: float | None = None
) -> Recording:
    """Run the true mechanism and its sensors; `noise` scales all sensor noise."""
    dt = setup.step if step is None else step
    count = round(setup.duration / dt)
    model = build(setup.geometry, setup.truth)
    observed = ObservedModel(model)
    names = list(setup.sensors)
    sensors = make_sensors(setup, names, setup.truth.gravity)
    n = model.q.size
    time = np.arange(1, count + 1, dtype=float) * dt
    q, qd, qdd = np.empty((count, n)), np.empty((count, n)), np.empty((count, n))
    values: dict[str, list[Array]] = {name: [] for name in names}
    fine = dt / setup.substeps
    for k in range(count):
        for s in range(setup.substeps):
            observed.predict(fine, None)
            apply_torque(model, torque_at(setup, k * dt + (s + 1) * fine))
        q[k], qd[k], qdd[k] = model.q, model.qd, model.qdd
        for sensor in sensors:
            values[sensor.name].append(predict(sensor, observed))
    generator = np.random.default_rng(seed)
    measured = {}
    for name in names:
        exact = np.array(values[name])
        deviation = float(setup.sensors[name]['deviation'])
        measured[name] = exact + noise * deviation * generator.standard_normal(exact.shape)
    return Recording(time, q, qd, qdd, measured, np.full(count, setup.model.torque))


def settings_of(
    setup: Setup, force: bool, adaptive: AdaptiveSettings | None = None, **changes: Any
) -> ErrorEKFSettings:
    """Observer settings of the configuration with changes."""
    values = {k: setup.observer[k] for k in SETTINGS if k in setup.observer}
    if force and 'force_estimation_noise' in setup.observer:
        # what is left of the acceleration error once its slow part is a state
        values['acceleration_noise'] = setup.observer['force_estimation_noise']
    return ErrorEKFSettings(
        **{**values, 'force_estimation': force, 'adaptive': adaptive, **changes}
    )


def make_filter(
    setup: Setup,
    names: list[str] | None = None,
    force: bool = False,
    adaptive: AdaptiveSettings | None = None,
    **changes: Any,
) -> ErrorEKF:
    """errorEKF (or errorEKF-FE) over the wrong model of Table 1."""
    chosen = list(setup.observer['sensors']) if names is None else names
    observed = ObservedModel(build(setup.geometry, setup.model), apply_inputs=apply_torque)
    return ErrorEKF(
        observed,
        make_sensors(setup, chosen, setup.model.gravity),
        settings_of(setup, force, adaptive, **changes),
    )


def observe(recording: Recording, filter_: ErrorEKF) -> Run:
    """Run an observer over a recording."""
    model: Any = filter_.model
    names = list(filter_.sensors)
    count, n = recording.q.shape
    run = Run(
        recording.time,
        np.empty((count, n)),
        np.empty((count, n)),
        {name: [] for name in names},
        np.empty((count, filter_.size, filter_.size)),
        np.empty(count),
        filter_,
    )
    previous = 0.0
    for k, time in enumerate(recording.time):
        measurements = [Measurement(name, time, recording.sensors[name][k]) for name in names]
        for innovation in filter_.step(time - previous, recording.torque[k], measurements):
            run.innovations[innovation.sensor].append(innovation)
        previous = time
        run.q[k], run.qd[k] = model.model.q, model.model.qd
        run.covariance[k] = filter_.P
        run.force_error[k] = model.force_error[0]
    return run


def model_alone(setup: Setup, recording: Recording) -> Run:
    """The uncorrected model of Table 1."""
    return observe(recording, make_filter(setup, []))


def metrics(
    recording: Recording, observer: Run, model: Run, after: float = 1.0
) -> dict[str, dict[str, float]]:
    """Largest and rms errors after a time, with the columns of the thesis' tables."""
    late = recording.time > after
    table = {}
    for prefix, truth, seen, alone in (
        ('', recording.q, observer.q, model.q),
        ('v', recording.qd, observer.qd, model.qd),
    ):
        for column, name in enumerate(COORDINATES):
            errors = [np.abs(run[late, column] - truth[late, column]) for run in (seen, alone)]
            table[prefix + name] = {
                'max_obs': float(errors[0].max()),
                'max_model': float(errors[1].max()),
                'rms_obs': float(np.sqrt(np.mean(errors[0] ** 2))),
                'rms_model': float(np.sqrt(np.mean(errors[1] ** 2))),
            }
    return table
