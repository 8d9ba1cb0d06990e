"""Scenario four-bar: the true mechanism of Table 1 and its crank encoder into a bag."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

import numpy as np

from veh_identification.runtime import messages
from veh_identification.runtime.bags import BagWriter
from veh_identification.simulation.sensors import EPOCH_NS
from veh_identification.systems.four_bar.model import COORDINATES, load
from veh_identification.systems.four_bar.run import simulate
from veh_identification.types import Progress


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
