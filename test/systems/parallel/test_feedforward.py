"""Forces for a wanted motion from an identified hexapod."""

from __future__ import annotations

import json

import numpy as np
import parallel_stewart as stewart
import pytest

from veh_identification.errors import InputError, UsageError
from veh_identification.systems.parallel.configuration import load_configuration
from veh_identification.systems.parallel.feedforward import (
    feedforward,
    leg_feedforward,
    load_feedforward,
)

ROBOT = stewart.Robot()


def written(folder, **changes):
    """A result as `veh-id identify parallel` writes it, with the true values."""
    truth = ROBOT.truth()
    configuration = stewart.write_config(folder / 'robot.yaml', ROBOT)
    names = load_configuration(configuration).model().names
    data = {
        'system': 'parallel',
        'parameters': [{'name': name, 'value': truth[name]} for name in names],
        'covariance': np.diag([(0.01 * truth[name]) ** 2 for name in names]).tolist(),
        'residuals': {f'leg_{j}': {'sigma': 2.0} for j in range(1, 7)},
        **changes,
    }
    (folder / 'parameters.json').write_text(json.dumps(data), encoding='utf-8')
    return load_feedforward(folder, configuration)


def test_forces_are_those_of_newton_and_euler(tmp_path) -> None:
    robot = written(tmp_path)
    motion = stewart.wandering(ROBOT).at(np.linspace(0.0, 5.0, 40))
    _, _, wanted = stewart.inverse_dynamics(ROBOT, *motion)
    forces, sigma = feedforward(robot, *motion)
    np.testing.assert_allclose(forces, wanted, atol=1e-8)
    assert (sigma > 0.0).all() and (sigma < 0.1 * np.abs(wanted).max()).all()
    _, measured = feedforward(robot, *motion, noise=True)
    np.testing.assert_allclose(measured**2 - sigma**2, 4.0, rtol=1e-9)


def test_a_motion_of_the_legs_gives_the_same_forces(tmp_path) -> None:
    robot = written(tmp_path)
    motion = stewart.wandering(ROBOT)
    step, times = 1e-4, np.linspace(0.0, 2.0, 7)
    before, now, after = (
        stewart.inverse_dynamics(ROBOT, *motion.at(times + shift))[0]
        for shift in (-step, 0.0, step)
    )
    speeds, accelerations = (after - before) / (2 * step), (after - 2 * now + before) / step**2
    forces, _ = leg_feedforward(robot, now, speeds, accelerations)
    wanted, _ = feedforward(robot, *motion.at(times))
    np.testing.assert_allclose(forces, wanted, atol=1e-3)


def test_what_cannot_be_used_is_said(tmp_path) -> None:
    with pytest.raises(InputError, match="system is 'car'"):
        written(tmp_path, system='car')
    with pytest.raises(InputError, match='covariance has the shape'):
        written(tmp_path, covariance=[[1.0]])
    robot = written(tmp_path)
    with pytest.raises(UsageError, match='of the shape'):
        feedforward(robot, np.zeros((3, 6)), np.zeros((3, 6)), np.zeros((3, 5)))
