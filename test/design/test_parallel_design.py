"""`design parallel`: criteria and limits of Abdellatif 2009, its files, its sources of noise."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import numpy as np
import parallel_stewart as stewart
import pytest
import yaml

from veh_identification.design.driver import run
from veh_identification.design.excitation import random_trajectory
from veh_identification.design.parallel.design import force_covariance
from veh_identification.design.parallel.excitation import (
    actuator_constraint,
    design_problem,
    design_trajectory,
    limits_use,
    singularity_constraint,
)
from veh_identification.errors import InputError, UsageError, VehIdError
from veh_identification.identification.trajectory import FourierTrajectory
from veh_identification.runtime.graph import find_config
from veh_identification.simulation.parallel.scenarios import HexapodSensors, default_excitation
from veh_identification.simulation.scenarios import simulate
from veh_identification.systems.driver import run as identify
from veh_identification.systems.parallel.configuration import (
    load_configuration,
    parse_configuration,
)
from veh_identification.systems.parallel.model.model import HexapodModel

CONFIGURATION = load_configuration()
STEWART = stewart.Robot()
SHORT = {'harmonics': 2, 'samples': 30, 'starts': 1, 'max_iterations': 3, 'time_limit': 0}


@cache
def model() -> HexapodModel:
    """Made when it is wanted: every worker imports every file, and this compiles kernels."""
    return CONFIGURATION.model()


@pytest.mark.parametrize('criterion', ['d_optimal', 'condition'])
def test_short_design_improves_and_keeps_actuator_limits(criterion: str) -> None:
    covariance = HexapodSensors().force_covariance()
    found = design_trajectory(
        model(),
        0.4,
        criterion=criterion,
        harmonics=3,
        samples=40,
        starts=1,
        seed=2,
        max_iterations=6,
        force_covariance=covariance,
    )
    history = found.histories[0]
    assert history[-1] < history[0] - 1.0
    assert found.limits_hold
    use, limits = limits_use(model(), found.trajectory), model().robot.limits
    assert limits.length_min <= use['length_min'] and use['length_max'] <= limits.length_max
    assert use['velocity'] <= limits.velocity and use['acceleration'] <= limits.acceleration
    assert use['condition'] <= limits.condition


def test_constraints_see_each_limit() -> None:
    robot = model().robot
    margin = actuator_constraint(robot)
    zero = np.zeros((1, 6))
    assert (margin(robot.home[None], zero, zero) > 0.0).all()
    low = robot.home + np.array([0, 0, -0.3, 0, 0, 0])
    assert margin(low[None], zero, zero)[0, 1] < 0.0
    fast, hard = zero.copy(), zero.copy()
    fast[0, 2], hard[0, 2] = 3.0, 30.0
    assert margin(robot.home[None], fast, zero)[0, 2] < 0.0
    assert margin(robot.home[None], zero, hard)[0, 3] < 0.0
    turned = robot.home + np.array([0, 0, 0, 0, 0, 1.5])
    assert singularity_constraint(robot)(turned[None], zero, zero)[0, 0] < 0.0


def test_stored_excitation_is_better_than_random_ones() -> None:
    problem = design_problem(
        model(), 0.4, force_covariance=HexapodSensors().force_covariance(), samples=100
    )
    stored = problem.evaluate(default_excitation(CONFIGURATION))[1]
    others = [
        problem.evaluate(random_trajectory(problem, 0.4, np.random.default_rng(k)))[1]
        for k in range(20)
    ]
    assert stored > max(others) + 20.0


def test_design_without_limits_is_refused() -> None:
    data = yaml.safe_load(find_config('hexapod_palida.yaml').read_text())
    del data['limits']
    with pytest.raises(UsageError, match='the design needs limits'):
        design_trajectory(parse_configuration(data).model())


@pytest.fixture(scope='module')
def recorded(tmp_path_factory) -> tuple[Path, Path]:
    """A recording, and the folder of what was identified from it."""
    folder = tmp_path_factory.mktemp('recorded')
    simulate('hexapod-periodic', folder / 'run', duration=10.0, seed=7)
    identify('identify', 'parallel', [folder / 'run'], out=folder / 'found')
    return folder / 'run', folder / 'found'


def test_noise_comes_from_an_identification_or_from_a_recording(recorded) -> None:
    bag, found = recorded
    made = [
        force_covariance(source, CONFIGURATION)
        for source in (bag, found, found / 'parameters.json')
    ]
    np.testing.assert_allclose(made[0], made[1], rtol=1e-12)
    np.testing.assert_array_equal(made[1], made[2])
    assert np.sqrt(np.diag(made[0])) == pytest.approx(5.0, rel=0.1)
    with pytest.raises(InputError, match='no force covariance'):
        force_covariance(bag / 'truth.json', CONFIGURATION)
    with pytest.raises(VehIdError, match='nowhere'):
        force_covariance(Path('nowhere'), CONFIGURATION)


def test_a_single_file_holds_the_trajectory(recorded, tmp_path) -> None:
    _, found = recorded
    target = tmp_path / 'excitation.yaml'
    weighed = {**SHORT, 'criterion': 'd-optimal', 'covariance_from': found}
    outcome = run('parallel', target, options=weighed)
    assert 'criterion d_optimal' in outcome.text and 'log det' in outcome.text
    made = FourierTrajectory.load(target)
    assert (made.harmonics, made.channels) == (2, 6)
    codes = {one.code for one in outcome.findings}
    assert 'limits_kept' in codes and 'forces_weighed_alike' not in codes
    assert outcome.verdict.level == 'yes'
    same = tmp_path / 'same.json'
    run('parallel', same, options=weighed)
    np.testing.assert_array_equal(FourierTrajectory.load(same).mu, made.mu)
    plain = run('parallel', options=SHORT)
    assert 'forces_weighed_alike' in {one.code for one in plain.findings}
    assert not np.array_equal(plain.result.search.trajectory.mu, made.mu)
    with pytest.raises(InputError, match='would replace the input'):
        run(
            'parallel',
            found / 'parameters.json',
            options={**SHORT, 'covariance_from': found / 'parameters.json'},
        )


def test_a_folder_holds_trajectory_and_figures(tmp_path) -> None:
    out = tmp_path / 'out'
    steps: list[tuple[int, int]] = []
    two = {**SHORT, 'fundamental_hz': [0.3, 0.4], 'starts': 2}
    outcome = run('parallel', out, options=two, progress=lambda *one: steps.append(one))
    assert sorted(one.name for one in out.iterdir()) == ['design.json', 'trajectory.yaml']
    data = json.loads((out / 'design.json').read_text())
    assert data['verdict']['level'] == 'yes' and len(data['costs']) == 2
    assert data['fundamental_hz'] in (0.3, 0.4)
    assert data['log_det'] == outcome['log_det'].value
    assert FourierTrajectory.load(out / 'trajectory.yaml').period == outcome['period'].value
    assert steps == sorted(steps) and steps[-1] == (6, 6)
    run('parallel', out, options=SHORT)  # an earlier design is replaced
    (out / 'mine.txt').write_text('mine')
    with pytest.raises(InputError, match=r"holds 'mine.txt'"):
        run('parallel', out, options=SHORT)


def test_time_that_runs_out_is_told() -> None:
    outcome = run('parallel', options={'time_limit': 0.2, 'samples': 40})
    (reason,) = outcome.verdict.reasons
    assert (reason.code, reason.where) == ('time_ran_out', 'time_limit')
    assert outcome.result.search.limits_hold


def test_wrong_options_are_usage_errors() -> None:
    for options, sentence in (
        ({'fundamental_hz': -0.4}, 'fundamental_hz must be positive'),
        ({'harmonics': 0}, 'harmonics must be at least 1'),
        ({'criterion': 'best'}, 'criterion must be one of condition, d_optimal'),
        ({'harmonic': 3}, "no option 'harmonic'; did you mean 'harmonics'"),
    ):
        with pytest.raises(UsageError, match=sentence):
            run('parallel', options=options)


def test_design_for_this_robot_stays_within_its_limits(tmp_path) -> None:
    config = stewart.write_config(tmp_path / 'stewart.yaml', STEWART)
    options = {**SHORT, 'harmonics': 3, 'samples': 40, 'fundamental_hz': 0.3}
    outcome = run('hexapod', tmp_path / 'made.yaml', config, options)
    assert '3 harmonics of 0.3 Hz' in outcome.text and 'limits 0.7 to 1.3' in outcome.text
    assert outcome['length_max'].value <= 1.3 and outcome['length_max'].unit == 'm'
    data = STEWART.configuration(excitation='made.yaml')
    configuration = parse_configuration(data, str(tmp_path / 'stewart.yaml'))
    assert configuration.excitation is not None
    t = configuration.excitation.sample_times(400)
    lengths, rates, _ = stewart.inverse_dynamics(STEWART, *configuration.excitation.evaluate(t))
    assert 0.7 - 1e-6 < lengths.min() < lengths.max() < 1.3 + 1e-6
    assert np.abs(rates).max() < 1.5 * 1.001
