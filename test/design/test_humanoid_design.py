"""`veh-id design humanoid`: limits, zero moment point, reproducibility, files."""

import csv
import json
from dataclasses import replace

import numpy as np
import pytest
from humanoid_cases import CAD, true_robot

from veh_identification.configuration.faults import ConfigurationError
from veh_identification.design.driver import run
from veh_identification.design.humanoid.options import DesignOptions, load_options
from veh_identification.design.humanoid.sequence import balanced, sequence
from veh_identification.design.humanoid.stage import sole_corners
from veh_identification.design.humanoid.stance import chain, periodic_derivatives
from veh_identification.design.humanoid.start import make_stages, sole_size
from veh_identification.design.humanoid.wanted import finding, reached, wants_of
from veh_identification.design.humanoid.zero_moment_point import check
from veh_identification.errors import UsageError
from veh_identification.identification.trajectory import FourierTrajectory
from veh_identification.systems.humanoid.robot import load_robot

ARMS = {
    f'{side}_{name}_joint': 0.0
    for side in 'lr'
    for name in ('shoulder_pitch', 'shoulder_roll', 'shoulder_yaw', 'elbow')
}


@pytest.fixture(scope='module')
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp('design')
    config = folder / 'design.yaml'
    locked = '\n'.join(f'  {name}: {value}' for name, value in ARMS.items())
    config.write_text(f'evaluations: 24\nsamples: 48\nrate_hz: 20.0\nlocked_joints:\n{locked}\n')
    options = {'criterion': 'condition', 'urdf': CAD, 'seed': 3, 'starts': 1, 'time_limit': 0}
    outcomes = [run('humanoid', folder / name, config, options) for name in ('a', 'b')]
    return folder, outcomes


def test_condition_number_comes_down_within_all_limits(made) -> None:
    folder, (outcome, _) = made
    summary = json.loads((folder / 'a' / 'summary.json').read_text())
    assert summary['condition_number'] < 0.8 * summary['condition_number_before']
    assert len(summary['parameters']) == 94
    assert all(np.isfinite(p['std']) for p in summary['parameters'])
    for stage in summary['stages']:
        assert min(stage['margins'].values()) >= 0.0
        assert stage['zmp_margin'] > 0.005
    assert 'condition number' in outcome.text
    assert outcome.verdict.level == summary['verdict']['level'] == 'yes'
    assert [one.code for one in outcome.findings] == ['limits_kept']
    assert outcome['base_link.M'].unit == 'kg'
    assert outcome['base_link.M'].std == summary['parameters'][0]['std']


def test_one_seed_gives_one_design(made) -> None:
    folder, _ = made
    for name in ('trajectory.csv', 'fourier.json', 'summary.json', 'joint_trajectory.json'):
        assert (folder / 'a' / name).read_bytes() == (folder / 'b' / name).read_bytes()


def test_trajectory_is_continuous_and_keeps_the_urdf_limits(made) -> None:
    folder, _ = made
    with (folder / 'a' / 'trajectory.csv').open() as file:
        rows = list(csv.DictReader(file))
    names = [name for name in rows[0] if name.endswith('_joint')]
    q = np.array([[float(row[name]) for name in names] for row in rows])
    assert len(names) == 12
    assert {row['stage'] for row in rows} == {
        'both',
        'left',
        'right',
        'transition',
        'foot up',
        'foot down',
    }
    assert min(float(row['zmp.margin']) for row in rows) > 0.005  # transitions too
    summary = json.loads((folder / 'a' / 'summary.json').read_text())
    assert len(summary['transitions']) == 5
    assert min(part['zmp_margin'] for part in summary['transitions']) > 0.009
    assert np.abs(np.diff(q, axis=0)).max() < 8.0 / 20.0  # at most the speed of the URDF
    message = json.loads((folder / 'a' / 'joint_trajectory.json').read_text())
    assert message['joint_names'] == names and len(message['points']) == len(rows)
    np.testing.assert_allclose(message['points'][7]['positions'], q[7], atol=1e-5)
    assert message['points'][20]['time_from_start'] == {'sec': 1, 'nanosec': 0}


def test_home_stands_over_its_support() -> None:
    stages = make_stages(load_robot(CAD), DesignOptions())
    for stage in stages:
        free, still = np.tile(stage.home, (8, 1)), np.zeros((8, len(stage.home)))
        made = stage.stance.motion(free, still, still, 1.0, stage.start)
        point, force = made.zero_moment_point(stage.model)
        middle = stage.stance.places[list(stage.stance.supports), :2].mean(axis=0)
        np.testing.assert_allclose(point[0], middle, atol=1e-4)
        assert force[0] == pytest.approx(6.7 * 9.80665, rel=1e-6)
        heights = made.feet[:, 0, 2]
        for k, height in enumerate(heights):
            assert height == pytest.approx(0.0, abs=1e-6) or k not in stage.stance.supports
            assert k in stage.stance.supports or height > 0.015


def test_transitions_are_slowed_until_the_robot_stays_up() -> None:
    options = DesignOptions(rate_hz=50.0, transition=0.5)
    stages = make_stages(load_robot(CAD), options)
    still = [
        FourierTrajectory(
            stage.home, np.zeros((1, len(stage.home))), np.zeros((1, len(stage.home))), 1.0
        )
        for stage in stages
    ]
    parts, checked, used = balanced(stages, still, options)
    # At 0.75 s the zero moment point still leaves the soles; twice the time is the next try.
    assert used.transition == pytest.approx(1.0)
    assert checked.worst_transition >= stages[0].limits.zmp_margin
    moving = [part for part in parts if part.between]
    assert all(len(part.q) == 50 for part in moving)
    quick = check(stages[0].model, sequence(stages, still, options), options.rate_hz)
    assert quick.worst_transition < stages[0].limits.zmp_margin
    with pytest.raises(UsageError, match=r'left to right.*zero moment point.*lower zmp'):
        balanced(stages, still, replace(options, transition=0.1))


def test_parts() -> None:
    model = true_robot().model()
    assert [model.coordinate_names[k] for k in chain(model, 'l_sole')][:2] == [
        'l_hip_yaw_joint',
        'l_hip_roll_joint',
    ]
    assert sole_size(true_robot(), ('l_sole', 'r_sole')) == (0.115, 0.06)
    corners = sole_corners(np.array([[0.0, 0.05, 0.0], [0.0, -0.05, 0.0]]), (0.1, 0.04), (1,))
    assert corners.min(axis=0).tolist() == [-0.05, -0.07]
    t = np.arange(32) / 32.0
    first, second = periodic_derivatives(np.sin(2 * np.pi * t)[:, None], 1.0)
    np.testing.assert_allclose(first[:, 0], 2 * np.pi * np.cos(2 * np.pi * t), atol=1e-9)
    np.testing.assert_allclose(
        second[:, 0], -((2 * np.pi) ** 2) * np.sin(2 * np.pi * t), atol=1e-8
    )


def test_wanted_deviations() -> None:
    names, values = ['a.M', 'a.MSx', 'b.MSx'], np.array([2.0, 0.1, 0.0])
    wants = wants_of(['a.M=1%', 'b.MSx=0.002'], names, values)
    assert wants == {'a.M': pytest.approx(0.02), 'b.MSx': 0.002}
    entries = reached(wants, names, np.array([0.01, 1.0, 0.004]), 2)
    assert [(e['met'], e['periods_needed']) for e in entries] == [(True, 1), (False, 8)]
    said = [finding(e) for e in entries]
    assert [(f.level, f.code, f.where) for f in said] == [
        ('good', 'wanted_reached', 'want a.M'),
        ('warn', 'wanted_not_reached', 'want b.MSx'),
    ]
    for text, words in (
        ('c.M=1%', r'c\.M is no parameter of this model; did you mean a\.M'),
        ('a.M', 'expected NAME=SIZE'),
        ('b.MSx=1%', 'about zero'),
    ):
        with pytest.raises(UsageError, match=words):
            wants_of([text], names, values)


def test_wrong_options_are_named(tmp_path) -> None:
    config = tmp_path / 'design.yaml'
    config.write_text('harmonic: 3\n')
    with pytest.raises(ConfigurationError, match=r'harmonic: is not known; did you mean'):
        load_options(config)
    config.write_text('stages: [hop]\n')
    with pytest.raises(ConfigurationError, match=r"stages\[0\]: expected 'both', 'left'"):
        load_options(config)
    with pytest.raises(UsageError, match='--urdf'):
        run('humanoid', tmp_path / 'out')
    config.write_text('feet: [l_toe, r_toe]\n')
    with pytest.raises(Exception, match='l_toe'):
        run('humanoid', tmp_path / 'out', config, {'urdf': CAD})
    assert not (tmp_path / 'out').exists()


def test_time_that_runs_out_is_told(tmp_path) -> None:
    config = tmp_path / 'design.yaml'
    locked = ''.join(f'  {name}: {value}\n' for name, value in ARMS.items())
    config.write_text(f'evaluations: 100000\nsamples: 48\nlocked_joints:\n{locked}')
    options = {'urdf': CAD, 'starts': 1, 'time_limit': 0.5}
    outcome = run('humanoid', config=config, options=options)
    assert [one.code for one in outcome.verdict.reasons] == ['time_ran_out']
    assert outcome.verdict.level == 'care'
