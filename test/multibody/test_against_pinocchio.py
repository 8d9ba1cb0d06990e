"""Inverse dynamics and regressors against an independent library on 240 random trees."""

from __future__ import annotations

import numpy as np
import pytest
from multibody_trees import (
    pinocchio_model,
    pinocchio_regressor,
    pinocchio_torques,
    random_tree,
    twin_motion,
)

from veh_identification.multibody.dynamics import inverse_dynamics
from veh_identification.multibody.kinematics import body_motion
from veh_identification.multibody.regressor import Regressor
from veh_identification.multibody.tree import PRISMATIC, REVOLUTE

TREES = 240
SAMPLES = 4


def relative(found: np.ndarray, expected: np.ndarray) -> float:
    return float(np.max(np.abs(found - expected)) / np.max(np.abs(expected), initial=1e-300))


@pytest.mark.parametrize('first', range(0, TREES, 40))
def test_rows_and_regressors_equal_pinocchio(first: int) -> None:
    for seed in range(first, first + 40):
        model = random_tree(seed)
        motion, states = twin_motion(model, SAMPLES, seed)
        twin = pinocchio_model(model)
        torques = pinocchio_torques(twin, states)
        expected = pinocchio_regressor(twin, states)
        assert relative(inverse_dynamics(model, motion), torques) < 1e-10
        W = Regressor(model).compute(motion)
        assert relative(W, expected) < 1e-10
        assert relative(W @ model.parameters.ravel(), torques) < 1e-10
        if model.floating:
            base = Regressor(model, rows='base').compute(motion)
            assert relative(base, expected[:, :6]) < 1e-10
        if model.dof:
            joints = Regressor(model, rows='joints').compute(motion)
            assert np.array_equal(joints, W[:, W.shape[1] - model.dof :])


def test_the_random_trees_cover_every_case() -> None:
    models = [random_tree(seed) for seed in range(TREES)]
    assert len(models) >= 200
    assert 80 <= sum(model.floating for model in models) <= 160
    branched = [len(set(model.parent)) < model.bodies for model in models]
    assert 40 <= sum(branched) <= 200
    types = np.concatenate([model.joint_type for model in models])
    assert np.sum(types == PRISMATIC) > 200 and np.sum(types == REVOLUTE) > 300


def test_body_motion_equals_pinocchio() -> None:
    import pinocchio as pin

    model = random_tree(2, bodies=7, floating=False)
    motion, states = twin_motion(model, SAMPLES, 5)
    twin = pinocchio_model(model)
    data = twin.createData()
    found = body_motion(model, motion)
    for s, state in enumerate(states):
        pin.forwardKinematics(twin, data, *state)
        for k in range(model.bodies):
            pose = data.oMi[k + 1]
            assert np.allclose(found.orientation[s, k], pose.rotation, atol=1e-12)
            assert np.allclose(found.position[s, k], pose.translation, atol=1e-12)
            assert np.allclose(found.omega[s, k], data.v[k + 1].angular, atol=1e-11)
            classical = pin.getClassicalAcceleration(twin, data, k + 1, pin.LOCAL)
            gravity = pose.rotation.T @ twin.gravity.linear
            assert np.allclose(found.acceleration[s, k], classical.linear - gravity, atol=1e-10)
            assert np.allclose(found.omega_dot[s, k], classical.angular, atol=1e-10)
