"""What the hexapod benchmark is measured against: the usual ways to do the same."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from scipy.optimize import least_squares

from veh_identification.identification.gauss_markov import whitening
from veh_identification.identification.trajectory import pose_rates
from veh_identification.systems.parallel.estimation.likelihood import pooled_force_covariance
from veh_identification.systems.parallel.model.geometry import LEGS
from veh_identification.systems.parallel.model.kinematics import inverse_kinematics
from veh_identification.systems.parallel.model.model import HexapodModel
from veh_identification.systems.parallel.processing import measured_pose
from veh_identification.systems.parallel.recording.mean_period import PeriodicRecord


def coefficient_likelihood(
    model: HexapodModel, data: PeriodicRecord, harmonics: int
) -> tuple[Any, float]:
    """The established way: all trajectory coefficients as p_z, numerical gradients."""
    begin = time.perf_counter()
    times = np.arange(data.samples) / data.rate
    force_white = whitening(pooled_force_covariance([data]) / data.periods, LEGS)
    length_white = whitening(data.lengths.covariance / data.periods, LEGS)
    pose = measured_pose(model.robot, data)
    phase = 2.0 * np.pi * data.fundamental_hz * np.outer(times, np.arange(1, harmonics + 1))
    basis = np.concatenate([np.ones((len(times), 1)), np.sin(phase), np.cos(phase)], axis=1)
    first = np.linalg.lstsq(basis, pose, rcond=None)[0]
    omega = 2.0 * np.pi * data.fundamental_hz * np.arange(1, harmonics + 1)[:, None]
    best: list[Any] = [None]

    def residuals(z: Any) -> Any:
        c = z.reshape(first.shape)
        s, k = c[1 : harmonics + 1], c[harmonics + 1 :]
        zero = np.zeros((1, 6))
        motion = [
            basis @ np.concatenate([zero, -omega * k, omega * s]),
            basis @ np.concatenate([zero, -(omega**2) * s, -(omega**2) * k]),
        ]
        x = basis @ c
        W = force_white @ model.regressor(x, *pose_rates(x, *motion))
        Y = data.forces.mean @ force_white.T
        flat = W.reshape(-1, W.shape[2])
        best[0] = np.linalg.lstsq(flat, Y.ravel(), rcond=None)[0]
        delta = (data.lengths.mean - inverse_kinematics(model.robot, x)) @ length_white.T
        return np.concatenate([delta.ravel(), Y.ravel() - flat @ best[0]])

    solution = least_squares(residuals, first.ravel(), x_scale='jac', max_nfev=4)
    residuals(solution.x)
    return best[0], time.perf_counter() - begin


def pinocchio_seconds(samples: int) -> float | None:
    """Seconds a sample for the 18 + 6 joint tree regressor, called from Python."""
    try:
        import pinocchio as pin
    except ImportError:
        return None
    tree = pin.Model()
    for j in range(6):
        joint = 0
        for k, kind in enumerate((pin.JointModelRZ(), pin.JointModelRY(), pin.JointModelPZ())):
            joint = tree.addJoint(joint, kind, pin.SE3.Identity(), f'{j}{k}')
            tree.appendBodyToJoint(joint, pin.Inertia.Random(), pin.SE3.Identity())
    free = tree.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), 'platform')
    tree.appendBodyToJoint(free, pin.Inertia.Random(), pin.SE3.Identity())
    data, q = tree.createData(), pin.neutral(tree)
    v = a = np.ones(tree.nv)
    G, J = np.random.default_rng(0).normal(size=(tree.nv, 6)), np.eye(6)
    begin = time.perf_counter()
    for _ in range(samples):
        # closure and projection to the actuators, as the loop constraints need them
        J.T @ (G.T @ pin.computeJointTorqueRegressor(tree, data, q, v, a))
    return (time.perf_counter() - begin) / samples
