"""`design robot`: limits of the URDF hold on a grid of our own, and the motion serves."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from veh_identification.design.driver import run
from veh_identification.errors import UsageError
from veh_identification.identification.trajectory import FourierTrajectory
from veh_identification.runtime.share import share_directory
from veh_identification.simulation.robot.plant import equations_of_motion, read_plant

URDF = share_directory() / 'config' / 'models' / 'arm_6_axis.urdf'
SHORT = {'harmonics': 3, 'samples': 30, 'starts': 1, 'max_iterations': 3, 'time_limit': 0.0}


def test_the_motion_keeps_limits_and_improves(tmp_path: Path) -> None:
    outcome = run('robot', tmp_path / 'out', options={'urdf': URDF, 'limit_share': 0.7, **SHORT})
    history = outcome.result.histories[0]
    assert history[-1] < history[0]
    assert outcome.verdict.level == 'yes'
    trajectory = FourierTrajectory.load(tmp_path / 'out' / 'trajectory.yaml')
    plant = read_plant(URDF)
    q, qd, qdd = trajectory.evaluate(trajectory.sample_times(997))
    middle, half = 0.5 * (plant.upper + plant.lower), 0.35 * (plant.upper - plant.lower)
    assert np.all(np.abs(q - middle) <= half + 1e-6)
    assert np.all(np.abs(qd) <= 0.7 * plant.velocity + 1e-6)
    assert np.all(np.abs(qdd) <= 5.0 + 1e-6)
    for k in range(0, 997, 10):
        M, c = equations_of_motion(plant, q[k], qd[k])
        assert np.all(np.abs(M @ qdd[k] + c) <= 0.7 * plant.effort + 1e-6)
    document = json.loads((tmp_path / 'out' / 'design.json').read_text())
    assert document['condition_number'] == pytest.approx(outcome.result.condition_number)


def test_determinant_as_one_file(tmp_path: Path) -> None:
    options = {**SHORT, 'urdf': URDF, 'criterion': 'd_optimal', 'max_iterations': 1}
    run('robot', tmp_path / 'motion.yaml', options=options)
    trajectory = FourierTrajectory.load(tmp_path / 'motion.yaml')
    assert trajectory.channels == 6 and trajectory.harmonics == 3


def test_what_is_lacking_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match='--urdf'):
        run('robot', tmp_path / 'out')
    tree = ElementTree.parse(URDF)
    joint = next(one for one in tree.iter('joint') if one.get('name') == 'joint_3')
    limit = joint.find('limit')
    assert limit is not None
    limit.set('effort', '0')
    tree.write(tmp_path / 'weak.urdf')
    with pytest.raises(UsageError, match='joint_3 has no limit element'):
        run('robot', tmp_path / 'out', options={'urdf': tmp_path / 'weak.urdf', **SHORT})


def test_starts_in_several_processes_give_what_one_process_gives() -> None:
    options = {**SHORT, 'urdf': URDF, 'starts': 2, 'max_iterations': 1}
    alone = run('robot', options=options)
    spread = run('robot', options={**options, 'workers': 2})
    np.testing.assert_array_equal(
        spread.result.trajectory.vector(), alone.result.trajectory.vector()
    )
    assert 'best of 2 starts' in spread.text
    with pytest.raises(UsageError, match='--urdf'):
        run('robot', options={'starts': 2, 'workers': 2})
