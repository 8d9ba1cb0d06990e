"""A wanted motion in, the same motion with efforts out, and one with their deviations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from veh_identification.errors import InputError
from veh_identification.runtime.messages import new
from veh_identification.types import Array

TRAJECTORY = 'trajectory_msgs/msg/JointTrajectory'
POINT = 'trajectory_msgs/msg/JointTrajectoryPoint'
SIDES = ('positions', 'velocities', 'accelerations')
Motion = tuple[Array, Array, Array]


def with_efforts(
    wanted: Any, joints: Sequence[str], motion: Motion, effort: Array, sigma: Array
) -> tuple[Any, Any]:
    """Two JointTrajectory: efforts are forces or torques, and the deviations of their prediction.

    Deviations of joints whose efforts were not measured are nan.
    """
    return _filled(wanted, joints, motion, effort), _filled(wanted, joints, motion, sigma)


def motion_of(wanted: Any, joints: Sequence[str], topic: str) -> Motion:
    """Positions, speeds and accelerations (points, joints) in the order of `joints`."""
    names = list(wanted.joint_names)
    missing = [name for name in joints if name not in names]
    if missing:
        raise InputError(f'{topic}.joint_names lacks {", ".join(missing)}')
    twice = [name for name in joints if names.count(name) > 1]
    if twice:
        raise InputError(f'{topic}.joint_names holds {", ".join(twice)} more than once')
    if not wanted.points:
        raise InputError(f'{topic}.points is empty')
    order, found = [names.index(name) for name in joints], []
    for side in SIDES:
        rows = [np.asarray(getattr(point, side), float) for point in wanted.points]
        short = [k for k, row in enumerate(rows) if len(row) != len(names)]
        if short:
            raise InputError(
                f'{topic}.points[{short[0]}].{side} has {len(rows[short[0]])} values, '
                f'{len(names)} were expected: efforts need {", ".join(SIDES)}'
            )
        values = np.stack(rows)[:, order]
        if not np.isfinite(values).all():
            raise InputError(f'{topic}.points: {side} hold a value that is no number')
        found.append(values)
    return found[0], found[1], found[2]


def _filled(wanted: Any, joints: Sequence[str], motion: Motion, effort: Array) -> Any:
    points = [
        new(
            POINT,
            **{side: values[k] for side, values in zip(SIDES, motion, strict=True)},
            effort=effort[k],
            time_from_start=point.time_from_start,
        )
        for k, point in enumerate(wanted.points)
    ]
    return new(TRAJECTORY, header=wanted.header, joint_names=list(joints), points=points)
