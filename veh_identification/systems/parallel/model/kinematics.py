"""Inverse and direct kinematics with checks that say which sample and leg is wrong."""

from __future__ import annotations

import numpy as np

from veh_identification.errors import ModelError
from veh_identification.systems.parallel.model import kinematics_kernel as kernel
from veh_identification.systems.parallel.model.geometry import LEGS, Hexapod
from veh_identification.types import Array


def inverse_kinematics(robot: Hexapod, poses: Array) -> Array:
    """Leg lengths (N, 6) of poses (N, 6), closed form."""
    poses = np.ascontiguousarray(np.atleast_2d(poses), dtype=float)
    return np.asarray(kernel.inverse_kinematics(poses, robot.base_joints, robot.platform_joints))


def check_reachable(robot: Hexapod, lengths: Array, what: str = 'sample') -> None:
    """Refuse lengths that the legs cannot have."""
    low, high = robot.limits.length_min, robot.limits.length_max
    bad = ~((lengths >= low) & (lengths <= high))
    if bad.any():
        n, j = np.argwhere(bad)[0]
        in_metres = lengths * 1e-3
        hint = ''
        if ((in_metres >= low) & (in_metres <= high)).all():
            hint = '; are the lengths in millimetres?'
        raise ModelError(
            f'hexapod {robot.name}: unreachable pose, {what} {n} asks {LEGS[j]} for a length of '
            f'{lengths[n, j]:.6g} m outside {low:g} to {high:g} m{hint}'
        )


def direct_kinematics(robot: Hexapod, lengths: Array, start: Array | None = None) -> Array:
    """Poses (N, 6) of leg lengths (N, 6) by Newton-Raphson, each sample starting at the last.

    `start` is a pose near the first sample (the home pose unless given): six lengths alone have
    up to forty solutions.
    """
    q = np.ascontiguousarray(np.atleast_2d(lengths), dtype=float)
    finite = np.isfinite(q)
    if not finite.all():
        n, j = np.argwhere(~finite)[0]
        raise ModelError(f'hexapod {robot.name}: sample {n} has no length for {LEGS[j]}')
    check_reachable(robot, q)
    first = robot.home if start is None else np.asarray(start, dtype=float)
    poses, iterations, _ = kernel.direct_kinematics(
        q,
        first.copy(),
        robot.base_joints,
        robot.platform_joints,
        robot.tolerance,
        robot.characteristic_length,
        robot.limits.condition,
    )
    failed = np.flatnonzero(iterations < 0)
    if len(failed):
        n = int(failed[0])
        listed = ', '.join(f'{value:.5g}' for value in q[n])
        if iterations[n] == -1:
            raise ModelError(
                f'hexapod {robot.name}: singular pose, at sample {n} (lengths {listed} m) the '
                f'Jacobian is singular or its condition number is above the guard '
                f'{robot.limits.condition:g}'
            )
        raise ModelError(
            f'hexapod {robot.name}: unreachable pose, no platform pose has the leg lengths '
            f'{listed} m of sample {n} (Newton-Raphson does not converge)'
        )
    return np.asarray(poses)


def pose_conditions(robot: Hexapod, poses: Array) -> Array:
    """Condition number of the inverse Jacobian (N,), rotations scaled by the platform radius."""
    poses = np.ascontiguousarray(np.atleast_2d(poses), dtype=float)
    return np.asarray(
        kernel.pose_conditions(
            poses, robot.base_joints, robot.platform_joints, robot.characteristic_length
        )
    )


def leg_motion(
    robot: Hexapod, poses: Array, velocity: Array, acceleration: Array
) -> tuple[Array, Array, Array]:
    """Lengths, rates and accelerations of the legs (N, 6) from v and a of equation (16)."""
    q, qd, qdd = kernel.leg_rates(
        np.ascontiguousarray(poses),
        np.ascontiguousarray(velocity),
        np.ascontiguousarray(acceleration),
        robot.base_joints,
        robot.platform_joints,
    )
    return q, qd, qdd


def check_regular(robot: Hexapod, conditions: Array, poses: Array) -> None:
    """Refuse poses near a singularity, where J^-1 cannot be inverted safely."""
    bad = np.flatnonzero(~(conditions <= robot.limits.condition))
    if len(bad):
        n = int(bad[0])
        pose = ', '.join(f'{value:.4g}' for value in poses[n])
        raise ModelError(
            f'hexapod {robot.name}: singular pose, at sample {n} (pose {pose}) the condition '
            f'number of the Jacobian is {conditions[n]:.3g}, above the guard '
            f'{robot.limits.condition:g}'
        )
