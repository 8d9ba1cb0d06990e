"""Excitation of a hexapod: criteria (21), (22) under the actuator limits (20)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from veh_identification.design.excitation import (
    Constraint,
    DesignProblem,
    ExcitationDesign,
    design_excitation,
)
from veh_identification.errors import UsageError
from veh_identification.identification.trajectory import (
    FourierTrajectory,
    MotionLimits,
    pose_rates,
)
from veh_identification.systems.parallel.model.geometry import POSE_NAMES, Hexapod
from veh_identification.systems.parallel.model.kinematics import leg_motion, pose_conditions
from veh_identification.systems.parallel.model.model import HexapodModel
from veh_identification.types import Array, Progress

#: Part of the singularity guard that a designed trajectory may use.
CONDITION_SHARE = 0.8


def actuator_constraint(robot: Hexapod) -> Constraint:
    """(20): shares of length, rate and acceleration limits that are left, (N, 4), >= 0 inside."""
    limits = robot.limits

    def margin(pose: Array, pose_dot: Array, pose_ddot: Array) -> Array:
        q, qd, qdd = leg_motion(robot, pose, *pose_rates(pose, pose_dot, pose_ddot))
        stroke = limits.length_max - limits.length_min
        return np.stack(
            [
                (q.min(axis=1) - limits.length_min) / stroke,
                (limits.length_max - q.max(axis=1)) / stroke,
                1.0 - np.abs(qd).max(axis=1) / limits.velocity,
                1.0 - np.abs(qdd).max(axis=1) / limits.acceleration,
            ],
            axis=1,
        )

    return margin


def singularity_constraint(robot: Hexapod) -> Constraint:
    """Logarithmic distance of the Jacobian's condition number from the guard."""
    bound = np.log(CONDITION_SHARE * robot.limits.condition)

    def margin(pose: Array, _dot: Array, _ddot: Array) -> Array:
        values = bound - np.log(pose_conditions(robot, pose))
        return np.maximum(values, -1e3)[:, None]

    return margin


def design_problem(
    model: HexapodModel,
    fundamental_hz: float,
    *,
    criterion: str = 'd_optimal',
    harmonics: int = 5,
    samples: int = 100,
    force_covariance: Array | None = None,
) -> DesignProblem:
    """The design of a pose trajectory around home."""
    robot = model.robot
    ranges = robot.limits.pose_range
    if not np.isfinite(ranges).all() or not np.isfinite(robot.limits.length_max):
        raise UsageError(
            f'hexapod {robot.name}: the design needs limits.pose_range, length_min and length_max '
            'in the configuration'
        )
    # Actuator limits (20) bind; the box of the pose only gives the search its scale.
    omega = 2.0 * np.pi * fundamental_hz * harmonics
    limits = MotionLimits(
        robot.home - ranges, robot.home + ranges, ranges * omega, ranges * omega**2
    )
    return DesignProblem(
        regressor=model.pose_regressor,
        limits=limits,
        channels=6,
        harmonics=harmonics,
        samples=samples,
        criterion=criterion,
        noise_covariance=force_covariance,
        constraints=(actuator_constraint(robot), singularity_constraint(robot)),
        home=robot.home,
        names=POSE_NAMES,
    )


def design_trajectory(
    model: HexapodModel,
    fundamental_hz: float | Sequence[float] = 0.4,
    *,
    criterion: str = 'd_optimal',
    harmonics: int = 5,
    samples: int = 100,
    force_covariance: Array | None = None,
    starts: int = 4,
    seed: int = 0,
    max_iterations: int = 60,
    time_limit: float | None = None,
    progress: Progress | None = None,
    only: int | None = None,
) -> ExcitationDesign:
    """Optimised excitation; `force_covariance` is that of section 3.2 (unit unless given)."""
    lowest = float(np.min(fundamental_hz))
    problem = design_problem(
        model,
        lowest,
        criterion=criterion,
        harmonics=harmonics,
        samples=samples,
        force_covariance=force_covariance,
    )
    return design_excitation(
        problem,
        fundamental_hz,
        starts=starts,
        seed=seed,
        max_iterations=max_iterations,
        time_limit=time_limit,
        progress=progress,
        only=only,
    )


def limits_use(model: HexapodModel, trajectory: FourierTrajectory) -> dict[str, float]:
    """Extremes of the actuators and of the condition number on a dense grid."""
    motion = trajectory.evaluate(trajectory.sample_times(64 * trajectory.harmonics))
    q, qd, qdd = leg_motion(model.robot, motion[0], *pose_rates(*motion))
    return {
        'length_min': float(q.min()),
        'length_max': float(q.max()),
        'velocity': float(np.abs(qd).max()),
        'acceleration': float(np.abs(qdd).max()),
        'condition': float(pose_conditions(model.robot, motion[0]).max()),
    }
