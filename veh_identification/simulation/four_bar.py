"""Scenario four-bar: the true mechanism of Table 1 and its crank encoder into a bag."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from veh_identification.observation import ObservedModel
from veh_identification.observation.sensors import predict
from veh_identification.runtime import messages
from veh_identification.runtime.bags import BagWriter
from veh_identification.simulation.sensors import EPOCH_NS
from veh_identification.systems.four_bar.filter_setup import make_sensors
from veh_identification.systems.four_bar.model import (
    COORDINATES,
    Setup,
    apply_torque,
    build,
    load,
    torque_at,
)
from veh_identification.types import Array, Progress


@dataclass(frozen=True)
class Truth:
    """Samples of the true mechanism and of its sensors; the sample axis is first."""

    time: Array
    q: Array
    qd: Array
    qdd: Array
    sensors: dict[str, Array]
    torque: Array  # what the model is told: the pulse is not in it


def simulate(setup: Setup, seed: int = 0, noise: float = 1.0, step: float | None = None) -> Truth:
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
    return Truth(time, q, qd, qdd, measured, np.full(count, setup.model.torque))


def write(
    writer: BagWriter,
    duration: float,
    seed: int,
    noise: float,
    progress: Progress,
    *,
    step: float | None = None,
) -> dict[str, Any]:
    """Truth and encoder; the torque pulse is a disturbance, so `noise` 0 leaves it out."""
    setup = load()
    torque, start, end = setup.pulse
    scale = duration / setup.duration  # the pulse stays in the middle
    pulse = (torque if noise > 0.0 else setup.truth.torque, start * scale, end * scale)
    setup = replace(setup, duration=duration, pulse=pulse)
    progress(0, round(duration))
    recording = simulate(setup, seed, noise, step)
    names = [*COORDINATES, 'crank']
    angle = recording.sensors['encoder'][:, 0]
    for k, time in enumerate(recording.time):
        stamp = EPOCH_NS + round(time * 1e9)
        writer.write_message(
            'joint_states',
            messages.new(
                'sensor_msgs/msg/JointState',
                header=messages.header(stamp, ''),
                name=['crank'],
                position=[angle[k]],
                effort=[recording.torque[k]],
            ),
            stamp,
        )
        writer.write_message(
            'truth/joint_states',
            messages.new(
                'sensor_msgs/msg/JointState',
                header=messages.header(stamp, ''),
                name=names,
                position=np.asarray(recording.q[k]),
                velocity=np.asarray(recording.qd[k]),
            ),
            stamp,
        )
    progress(round(duration), round(duration))
    return {
        'geometry': asdict(setup.geometry),
        'truth': asdict(setup.truth),
        'model': asdict(setup.model),
        'pulse': list(setup.pulse),
        'sensors': setup.sensors,
    }
