"""Files of a designed excitation: trajectory as CSV, joint trajectory, coefficients."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence

import numpy as np

from veh_identification.design.humanoid.stage import Stage
from veh_identification.design.humanoid.stance import BASE_NAMES
from veh_identification.design.humanoid.zero_moment_point import Checked, Part
from veh_identification.identification.trajectory import FourierTrajectory
from veh_identification.types import Array

NAMES = ('trajectory.csv', 'joint_trajectory.json', 'fourier.json')
ZMP_NAMES = ('zmp.x', 'zmp.y', 'zmp.margin')


def design_files(
    stages: Sequence[Stage],
    trajectories: Sequence[FourierTrajectory],
    parts: Sequence[Part],
    found: Checked,
    rate_hz: float,
) -> dict[str, bytes]:
    """Contents by name: time, stage, base pose, zero moment point and joints; coefficients."""
    q = np.concatenate([one.q for one in parts])
    names = list(stages[0].model.coordinate_names)
    times = np.arange(len(q)) / rate_hz
    rates = np.gradient(q, times, axis=0)
    coefficients = {
        stage.label: one.to_dict() for stage, one in zip(stages, trajectories, strict=True)
    }
    texts = (
        _csv(times, parts, found, names),
        _joint_trajectory(times, q, rates, names),
        json.dumps(coefficients, indent=1) + '\n',
    )
    return {name: text.encode() for name, text in zip(NAMES, texts, strict=True)}


def _csv(times: Array, parts: Sequence[Part], found: Checked, names: list[str]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator='\n')
    writer.writerow(['time', 'stage', *BASE_NAMES, *ZMP_NAMES, *names])
    labels = [one.label for one in parts for _ in range(len(one.q))]
    numbers = np.hstack(
        [
            np.concatenate([one.base for one in parts]),
            found.points,
            found.margin[:, None],
            np.concatenate([one.q for one in parts]),
        ]
    )
    for t, label, row in zip(times, labels, numbers, strict=True):
        writer.writerow([f'{t:.4f}', label, *(f'{v:.6g}' for v in row)])
    return text.getvalue()


def _joint_trajectory(times: Array, q: Array, rates: Array, names: list[str]) -> str:
    """A trajectory_msgs/JointTrajectory in the form that `ros2 topic pub` reads."""
    points = []
    for t, position, rate in zip(times, q, rates, strict=True):
        nanoseconds = round(float(t) * 1e9)
        points.append(
            {
                'positions': [round(float(v), 6) for v in position],
                'velocities': [round(float(v), 6) for v in rate],
                'time_from_start': {'sec': nanoseconds // 10**9, 'nanosec': nanoseconds % 10**9},
            }
        )
    return json.dumps({'joint_names': names, 'points': points}) + '\n'
