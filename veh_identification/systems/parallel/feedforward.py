"""Actuator forces for a wanted motion of an identified hexapod, with their deviations.

robot = load_feedforward('out', 'my_hexapod.yaml')
forces, sigma = feedforward(robot, pose, pose_dot, pose_ddot)
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from veh_identification.checks.wanted import Range, check_limits
from veh_identification.errors import InputError, ModelError, UsageError
from veh_identification.identification.trajectory import pose_rates
from veh_identification.results.identified import read_identified
from veh_identification.systems.parallel.configuration import load_configuration
from veh_identification.systems.parallel.model.geometry import LEGS, Hexapod
from veh_identification.systems.parallel.model.kinematics import (
    check_reachable,
    direct_kinematics,
    inverse_kinematics,
    leg_motion,
)
from veh_identification.systems.parallel.model.model import HexapodModel
from veh_identification.types import Array

Motion = tuple[Array, Array, Array]


@dataclass(frozen=True, eq=False)
class IdentifiedHexapod:
    """A hexapod with its identified values: what a prediction needs."""

    model: HexapodModel
    value: Array  # of model.names
    covariance: Array
    noise: Array  # (6,) deviation of a force about the model, as the identification left it


def feedforward(
    robot: IdentifiedHexapod,
    pose: Array,
    pose_dot: Array,
    pose_ddot: Array,
    *,
    noise: bool = False,
) -> tuple[Array, Array]:
    """Actuator forces (N, 6) and their deviations for a wanted pose and its derivatives (N, 6).

    The deviation is that of the prediction, sqrt(A C A'); with `noise` that of a force that would
    be measured. Dry friction follows the wanted speed; a leg that shall stand still has none.
    """
    motion = tuple(np.atleast_2d(np.asarray(one, float)) for one in (pose, pose_dot, pose_ddot))
    if any(one.shape != motion[0].shape for one in motion) or motion[0].shape[1] != len(LEGS):
        raise UsageError(
            'feedforward needs pose, pose_dot and pose_ddot of the shape (N, 6); found '
            f'{", ".join(str(one.shape) for one in motion)}'
        )
    _check_pose(robot, *motion)
    return _forces(robot, motion[0], *pose_rates(*motion), noise)


def leg_feedforward(
    robot: IdentifiedHexapod,
    lengths: Array,
    speeds: Array,
    accelerations: Array,
    *,
    noise: bool = False,
) -> tuple[Array, Array]:
    """The same for a wanted motion of the legs (N, 6)."""
    q, qd, qdd = (
        np.atleast_2d(np.asarray(one, float)) for one in (lengths, speeds, accelerations)
    )
    hexapod = robot.model.robot
    pose = direct_kinematics(hexapod, q)
    check_limits(_legs(hexapod), q, qd, 'legs')
    still = np.zeros_like(pose)
    # Column by column: what each unit twist of the platform does to the legs.
    to_legs = np.stack(
        [leg_motion(hexapod, pose, still + one, still)[1] for one in np.eye(6)], axis=2
    )
    v = np.linalg.solve(to_legs, qd[:, :, None])[:, :, 0]
    bend = leg_motion(hexapod, pose, v, still)[2]
    a: Array = np.asarray(np.linalg.solve(to_legs, (qdd - bend)[:, :, None])[:, :, 0], float)
    return _forces(robot, pose, v, a, noise)


def _legs(hexapod: Hexapod) -> Range:
    """What the actuators can do."""
    each, limits = np.ones(len(LEGS)), hexapod.limits
    sizes = (limits.length_min * each, limits.length_max * each, limits.velocity * each)
    return Range(tuple(LEGS), *sizes, np.zeros(len(LEGS), bool))


def _check_pose(robot: IdentifiedHexapod, pose: Array, rate: Array, second: Array) -> None:
    """Refuse a motion of the platform that the legs cannot follow, angles in degrees above all."""
    hexapod = robot.model.robot
    turned = np.column_stack([pose[:, :3], np.deg2rad(pose[:, 3:])])
    try:
        check_reachable(hexapod, inverse_kinematics(hexapod, pose))
    except ModelError as error:
        try:
            check_reachable(hexapod, inverse_kinematics(hexapod, turned))
        except ModelError:
            raise error from None
        raise ModelError(f'{error}; are phi, theta and psi in degrees?') from None
    lengths, speeds, _ = leg_motion(hexapod, pose, *pose_rates(pose, rate, second))
    check_limits(_legs(hexapod), lengths, speeds, 'legs')


def legs_of(robot: IdentifiedHexapod, pose: Array, pose_dot: Array, pose_ddot: Array) -> Motion:
    """Lengths, speeds and accelerations of the legs (N, 6) for a wanted pose (N, 6)."""
    return leg_motion(robot.model.robot, pose, *pose_rates(pose, pose_dot, pose_ddot))


def _forces(
    robot: IdentifiedHexapod, pose: Array, v: Array, a: Array, noise: bool
) -> tuple[Array, Array]:
    A = robot.model.regressor(pose, v, a)
    variance = np.einsum('nji,ik,njk->nj', A, robot.covariance, A)
    if noise:
        variance = variance + robot.noise**2
    return A @ robot.value, np.sqrt(np.maximum(variance, 0.0))


def load_feedforward(result: str | Path, config: str | Path | None = None) -> IdentifiedHexapod:
    """From the folder (or parameters.json) of `veh-id identify parallel` and the robot's file."""
    path, data = read_identified(result)
    model = load_configuration(config).model()
    try:
        return _identified(data, model)
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f'{path}: no result of identify parallel ({error})') from None


def _identified(data: dict[str, Any], model: HexapodModel) -> IdentifiedHexapod:
    if data.get('system') != 'parallel':
        raise ValueError(f'system is {data.get("system")!r}')
    count = len(model.names)
    names = [one['name'] for one in data['parameters']]
    if names[:count] != model.names:
        other = sorted(set(names) ^ set(model.names))[:3]
        raise ValueError(f'its parameters are those of another model: {", ".join(other)}')
    covariance = np.array(data['covariance'], float)
    if covariance.shape != (count, count):
        raise ValueError(f'covariance has the shape {covariance.shape}')
    return IdentifiedHexapod(
        model,
        np.array([one['value'] for one in data['parameters'][:count]], float),
        covariance,
        np.array([data['residuals'][leg]['sigma'] for leg in LEGS], float),
    )
