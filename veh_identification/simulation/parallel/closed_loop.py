"""Closed loop: PID on the leg lengths, a model as feedforward (Abdellatif 2009, Fig. 6)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numba import njit

from veh_identification.identification.trajectory import FourierTrajectory, pose_rates
from veh_identification.systems.parallel.model.dynamics_kernel import rigid_regressor
from veh_identification.systems.parallel.model.kinematics import leg_motion
from veh_identification.systems.parallel.model.kinematics_kernel import invert, leg_rates
from veh_identification.systems.parallel.model.model import HexapodModel
from veh_identification.types import Array

CONTROL_RATE = 1000.0
SUBSTEPS = 4
#: Speed over which friction changes its sign in the simulated robot and in the feedforward.
SIGN_WIDTH = 0.005


@dataclass(frozen=True)
class Gains:
    """PID of each actuator: N/m, N/(m s), N s/m; about 6 Hz with 4 kg a leg."""

    proportional: float = 8000.0
    integral: float = 40000.0
    derivative: float = 250.0


@njit(cache=True, nogil=True)
def _accelerations(  # type: ignore[no-untyped-def]
    pose, velocity, force, base, platform, axes, gravity, scale, rigid, dry, viscous, width
):
    """Platform acceleration from actuator forces: Q_a is affine in a, so seven evaluations."""
    poses, velocities, trial = np.empty((7, 6)), np.empty((7, 6)), np.zeros((7, 6))
    for k in range(7):
        poses[k] = pose
        velocities[k] = velocity
        if k > 0:
            trial[k, k - 1] = 1.0
    A, maps, rates, _ = rigid_regressor(
        poses, velocities, trial, base, platform, axes, gravity, scale
    )
    remaining = force.copy()
    mass, inverse = np.empty((6, 6)), np.empty((6, 6))
    for i in range(6):
        still = 0.0
        for c in range(len(rigid)):
            still += A[0, i, c] * rigid[c]
        for k in range(6):
            total = 0.0
            for c in range(len(rigid)):
                total += A[k + 1, i, c] * rigid[c]
            mass[i, k] = total - still
        remaining[i] -= still
        for c in range(12):
            rate = rates[0, c]
            friction = dry[c] * np.tanh(rate / width) + viscous[c] * rate
            remaining[i] -= maps[0, i, c] * friction
        rate = rates[0, 12 + i]
        remaining[i] -= dry[12 + i] * np.tanh(rate / width) + viscous[12 + i] * rate
    invert(mass, inverse)
    result = np.zeros(6)
    for i in range(6):
        for k in range(6):
            result[i] += inverse[i, k] * remaining[k]
    return result


@njit(cache=True, nogil=True)
def _advance(pose, velocity, step):  # type: ignore[no-untyped-def]
    """Pose after `step` at constant velocity; angle rates by the inverse of H in (16)."""
    sa, ca, cb, tb = np.sin(pose[3]), np.cos(pose[3]), np.cos(pose[4]), np.tan(pose[4])
    across = -sa * velocity[4] + ca * velocity[5]
    for i in range(3):
        pose[i] += step * velocity[i]
    pose[3] += step * (velocity[3] - tb * across)
    pose[4] += step * (ca * velocity[4] + sa * velocity[5])
    pose[5] += step * across / cb


@njit(cache=True, nogil=True)
def _track(  # type: ignore[no-untyped-def]
    wanted,
    wanted_rate,
    feedforward,
    pose,
    velocity,
    base,
    platform,
    axes,
    gravity,
    scale,
    rigid,
    dry,
    viscous,
    width,
    gains,
    step,
    substeps,
):
    count = len(wanted)
    errors = np.empty((count, 6))
    total = np.zeros(6)
    zero = np.zeros((1, 6))
    for n in range(count):
        q, qd, _ = leg_rates(pose.reshape(1, 6), velocity.reshape(1, 6), zero, base, platform)
        force = np.empty(6)
        for j in range(6):
            error = wanted[n, j] - q[0, j]
            errors[n, j] = error
            total[j] += error * step
            rate_error = wanted_rate[n, j] - qd[0, j]
            force[j] = (
                feedforward[n, j] + gains[0] * error + gains[1] * total[j] + gains[2] * rate_error
            )
        for _ in range(substeps):
            acceleration = _accelerations(
                pose,
                velocity,
                force,
                base,
                platform,
                axes,
                gravity,
                scale,
                rigid,
                dry,
                viscous,
                width,
            )
            velocity += step / substeps * acceleration
            _advance(pose, velocity, step / substeps)
    return errors


def tracking_errors(
    robot_model: HexapodModel,
    true_parameters: Array,
    trajectory: FourierTrajectory,
    feedforward: Array | None,
    *,
    gains: Gains | None = None,
    settle: float = 1.0,
) -> Array:
    """Leg tracking errors (N, 6) of one period after `settle` seconds.

    `feedforward` holds the parameters of the inverse model in the controller; None: PID alone.
    """
    gains = gains or Gains()
    robot = robot_model.robot
    count = round(CONTROL_RATE * trajectory.period)
    begin = round(settle * CONTROL_RATE)
    times = np.arange(begin + count) / CONTROL_RATE
    motion = trajectory.evaluate(times)
    v, a = pose_rates(*motion)
    q, qd, _ = leg_motion(robot, motion[0], v, a)
    force = np.zeros_like(q)
    if feedforward is not None:
        structure = replace(robot_model.structure, sign_width=SIGN_WIDTH)
        smooth = HexapodModel(robot, structure)
        force = smooth.regressor(motion[0], v, a) @ np.nan_to_num(feedforward)
    dry, viscous = robot_model.joint_friction(true_parameters)
    errors = _track(
        q,
        qd,
        force,
        motion[0][0].copy(),
        v[0].copy(),
        robot.base_joints,
        robot.platform_joints,
        robot.alpha_axes,
        robot.gravity,
        robot.characteristic_length,
        robot_model.rigid_parameters(true_parameters),
        dry,
        viscous,
        SIGN_WIDTH,
        np.array([gains.proportional, gains.integral, gains.derivative]),
        1.0 / CONTROL_RATE,
        SUBSTEPS,
    )
    return np.asarray(errors[begin:])


def mean_square(errors: Array) -> float:
    """e_MSE over all actuators, in m^2."""
    return float(np.square(errors).mean())
