"""Joint torques for a wanted motion from an identified arm, with the deviation of the prediction.

arm = load_feedforward('out', 'robot.urdf')
torque, sigma = feedforward(arm, q, qd, qdd)

A motion beyond the limits of the URDF (one in degrees, columns in another order) is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from veh_identification.checks.wanted import Range, check_limits
from veh_identification.errors import InputError, UsageError
from veh_identification.results.identified import read_identified
from veh_identification.systems.humanoid.joint_range import motion_range
from veh_identification.systems.humanoid.robot import load_robot
from veh_identification.systems.robot.configuration import Configuration, Coupling, Friction
from veh_identification.systems.robot.model import ArmModel, Dry, fixed_tree
from veh_identification.types import Array


@dataclass(frozen=True, eq=False)
class IdentifiedArm:
    """An arm with its identified values: what a prediction needs."""

    model: ArmModel
    value: Array  # of model.names
    covariance: Array
    shapes: tuple[Dry, ...]
    noise: Array  # (joints,) deviation of one effort about the model, as the data left it

    @property
    def joints(self) -> tuple[str, ...]:
        """Names of the columns of a motion."""
        return self.model.joints

    @cached_property
    def limits(self) -> Range:
        """What the URDF says that the joints can do."""
        return motion_range(self.model.robot, self.joints)


def feedforward(
    arm: IdentifiedArm,
    q: Array,
    qd: Array,
    qdd: Array,
    *,
    noise: bool = False,
    joints: Sequence[str] | None = None,
    where: str = 'q, qd',
) -> tuple[Array, Array]:
    """Torques (N, joints) and their deviations; a motion (N, joints) in the order of arm.joints.

    `joints` names the columns of a motion that has them in another order; torques have the same.
    `where` names the motion in refusals.

    The deviation is that of the prediction, sqrt(W C W'); with `noise` that of an effort that
    would be measured. Joints without measured efforts have no friction and no deviation (nan).
    """
    q, qd, qdd = (np.atleast_2d(np.asarray(one, float)) for one in (q, qd, qdd))
    motion, shape = (q, qd, qdd), q.shape
    if any(one.shape != shape for one in motion) or shape[1] != len(arm.joints):
        raise UsageError(
            f'feedforward needs q, qd and qdd of the shape (N, {len(arm.joints)}) for '
            f'{", ".join(arm.joints)}; found {", ".join(str(one.shape) for one in motion)}'
        )
    if joints is not None and list(joints) != list(arm.joints):
        if sorted(joints) != sorted(arm.joints):
            raise UsageError(
                f'feedforward: the motion names {", ".join(joints)}, the arm has '
                f'{", ".join(arm.joints)}'
            )
        order = [list(joints).index(name) for name in arm.joints]
        made = feedforward(arm, *(one[:, order] for one in motion), noise=noise, where=where)
        back = [arm.joints.index(name) for name in joints]
        return made[0][:, back], made[1][:, back]
    check_limits(arm.limits, q, qd, where)
    W = np.concatenate(
        [arm.model.linear_rows(*motion), arm.model.friction_rows(q, qd, qdd, arm.shapes)], axis=2
    )
    variance = np.einsum('nji,ik,njk->nj', W, arm.covariance, W)
    if noise:
        variance = variance + arm.noise**2
    sigma = np.where(arm.model.measured, np.sqrt(np.maximum(variance, 0.0)), np.nan)
    return W @ arm.value, sigma


def load_feedforward(result: str | Path, urdf: str | Path) -> IdentifiedArm:
    """From the folder (or parameters.json) of `veh-id identify robot` and the same URDF."""
    path, data = read_identified(result)
    try:
        return _arm(data, urdf)
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f'{path}: no result of identify robot ({error})') from None


def _arm(data: dict[str, Any], urdf: str | Path) -> IdentifiedArm:
    if data.get('system') != 'robot':
        raise ValueError(f'system is {data.get("system")!r}')
    told = data['input']
    configuration = Configuration(
        gravity=tuple(told['gravity']),
        motor_inertia=bool(told['motor_inertia']),
        friction=replace(Friction(), **told['friction']),
        coupled=tuple(Coupling(*one) for one in told['coupled']),
    )
    robot = load_robot(urdf)
    tree = fixed_tree(robot, told['locked_joints'])
    measured = np.array([name in told['measured_joints'] for name in tree.coordinate_names])
    wrench = bool(told.get('base_wrench', False))
    model = ArmModel(
        robot, tree, np.array(told['gravity'], float), measured, configuration, wrench
    )
    names = [one['name'] for one in data['parameters']]
    if names[: len(model.names)] != model.names:
        other = sorted(set(names) ^ set(model.names))[:3]
        raise InputError(
            f'{urdf}: not the robot that was identified, other parameters: {", ".join(other)}'
        )
    count = len(model.names)
    value = np.array([one['value'] for one in data['parameters'][:count]], float)
    covariance = np.array(data['covariance'], float)[:count, :count]
    if wrench:
        model, value, covariance = _of_joints(model, value, covariance)
    residuals = [data['residuals'][name]['sigma'] or np.nan for name in model.joints]
    shapes = {one['joint']: one for one in data['dry_friction']}
    return IdentifiedArm(
        model,
        value,
        covariance,
        tuple(Dry(shapes[n]['width'], shapes[n]['changes_over']) for n in model.joints),
        np.array(residuals, float),
    )


def _of_joints(model: ArmModel, value: Array, covariance: Array) -> tuple[ArmModel, Array, Array]:
    """The same arm by what its joints alone tell: parameters that a base wrench told regroup."""
    joints = replace(model, base_wrench=False)
    friction = len(joints.friction)
    made = np.zeros((len(joints.names), len(model.names)))
    made[: joints.base.rank, : model.base.rank] = (
        joints.base.full_to_base @ model.base.base_to_full
    )
    made[joints.base.rank :, model.base.rank : model.base.rank + friction] = np.eye(friction)
    return joints, made @ value, made @ covariance @ made.T
