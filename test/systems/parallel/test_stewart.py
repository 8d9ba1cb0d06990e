"""Another hexapod than PaLiDA, simulated by `parallel_stewart` without the package's dynamics."""

from __future__ import annotations

import json

import numpy as np
import parallel_stewart as stewart
import pytest
from scipy.stats import chi2

from veh_identification.identification.trajectory import pose_rates
from veh_identification.signals import TimeSeries
from veh_identification.simulation.parallel.closed_loop import Gains, mean_square, tracking_errors
from veh_identification.simulation.parallel.scenarios import circle
from veh_identification.systems.driver import run
from veh_identification.systems.parallel.configuration import parse_configuration
from veh_identification.systems.parallel.estimation.equations import equations
from veh_identification.systems.parallel.estimation.likelihood import (
    gauss_markov,
    pooled_force_covariance,
)
from veh_identification.systems.parallel.live.accumulation import LiveOptions, ParallelLive
from veh_identification.systems.parallel.recording.reader import periodic_record

ROBOT = stewart.Robot()
TRUTH = ROBOT.truth()
MODEL = parse_configuration(ROBOT.configuration()).model()
VALUE = np.array([TRUTH[name] for name in MODEL.names])


def series(data: stewart.Data) -> TimeSeries:
    names = [f'{field}{j}' for field in ('position', 'effort') for j in range(6)]
    return TimeSeries.from_nanoseconds(
        data.stamps,
        np.hstack([data.lengths, data.forces]),
        names,
        ['m'] * 6 + ['N'] * 6,
        label='stewart',
    )


def squared_distance(seed: int, **how) -> float:
    """Of the estimate from the truth, in the metric of its own covariance."""
    motion = stewart.excitation(ROBOT, run_in=1.0)
    data = stewart.record(ROBOT, motion, stewart.Recording(seed=seed, **how))
    record = periodic_record(series(data))
    assert record.phased is not None
    found = gauss_markov(MODEL, equations(MODEL, [record], 5), pooled_force_covariance([record]))
    error = found.value - VALUE
    return float(error @ np.linalg.solve(found.covariance, error))


def test_newton_euler_of_every_body_agrees_with_the_regressor() -> None:
    motion = stewart.excitation(ROBOT, run_in=1.0).at(np.linspace(0.0, 6.0, 300))
    lengths, _, forces = stewart.inverse_dynamics(ROBOT, *motion)
    A = MODEL.regressor(motion[0], *pose_rates(*motion))
    np.testing.assert_allclose(A @ VALUE, forces, atol=1e-9)
    assert 0.7 < lengths.min() < lengths.max() < 1.3


@pytest.mark.parametrize('jitter', [0.0, 0.6])
def test_samples_off_the_grid_of_phases_give_the_truth_without_noise(jitter) -> None:
    # 1351.35 samples a period: interpolated forces were 0.17 N off in dry friction.
    how = stewart.Recording(
        rate=500.0,
        duration=11.0,
        jitter=jitter,
        length_noise=0.0,
        resolution=0.0,
        force_noise=0.0,
        effort_missing=0.1,
    )
    record = periodic_record(series(stewart.record(ROBOT, stewart.excitation(ROBOT), how)))
    found = gauss_markov(MODEL, equations(MODEL, [record], 5), pooled_force_covariance([record]))
    np.testing.assert_allclose(found.value, VALUE, rtol=2e-5, atol=2e-5)


def test_deviations_are_honest_under_jitter_lost_efforts_run_in_and_coloured_noise() -> None:
    distances = [
        squared_distance(
            seed, rate=300.0, duration=17.0, jitter=0.5, colour=0.006, effort_missing=0.03
        )
        for seed in range(6)
    ]
    low, high = chi2.ppf([1e-3, 1.0 - 1e-3], 6 * len(VALUE))
    assert low < sum(distances) < high


def test_forces_at_their_own_moments_have_the_noise_of_one_sample() -> None:
    how = stewart.Recording(rate=500.0, duration=20.0, jitter=0.5)
    record = periodic_record(series(stewart.record(ROBOT, stewart.excitation(ROBOT), how)))
    system = equations(MODEL, [record], 5)
    found = system.force_covariance(pooled_force_covariance([record]), VALUE)
    wanted = stewart.force_covariance(6.0)
    np.testing.assert_allclose(np.diag(found), np.diag(wanted), rtol=0.06)
    assert abs(found - wanted).max() < 0.06 * wanted.max()


@pytest.fixture(scope='module')
def result(tmp_path_factory):
    """Two bags of everything that goes wrong on a real robot, validated on a free motion."""
    folder = tmp_path_factory.mktemp('stewart')
    motion = stewart.excitation(ROBOT, run_in=1.0)
    bags = []
    for seed in (1, 2):
        how = stewart.Recording(
            rate=500.0, duration=14.1, jitter=0.4, colour=0.004, effort_missing=0.02, seed=seed
        )
        data = stewart.record(ROBOT, motion, how)
        bags.append(
            stewart.write_bag(
                folder / f'run{seed}',
                data,
                shuffle=True,
                extra_joint=True,
                stamp_offset_ns=37_500_000_000,
            )
        )
    free = stewart.Recording(rate=400.0, duration=10.0, jitter=0.3, colour=0.004, seed=3)
    unseen = stewart.record(ROBOT, stewart.wandering(ROBOT), free)
    outcome = run(
        'identify',
        'parallel',
        bags,
        validate=stewart.write_bag(folder / 'free', unseen, storage='mcap'),
        config=stewart.write_config(folder / 'stewart.yaml', ROBOT),
        out=folder / 'out',
    )
    return outcome, json.loads((folder / 'out' / 'parameters.json').read_text())


def test_the_command_finds_the_robot(result) -> None:
    outcome, data = result
    found = {p['name']: p for p in data['parameters']}
    errors = [(found[name]['value'] - true) / found[name]['std'] for name, true in TRUTH.items()]
    assert np.sqrt(np.square(errors).mean()) < 1.6  # one trial of 29 correlated numbers
    assert np.abs(errors).max() < 4.5
    assert found['p10']['value'] == pytest.approx(38.0, rel=0.005)
    assert found['fc']['value'] == pytest.approx(1.85, rel=1e-3)
    assert data['input']['fundamental_hz'] == pytest.approx([0.37, 0.37], rel=1e-6)
    assert data['input']['periods'] == [4, 4]
    codes = [one.code for one in outcome.findings]
    assert codes.count('run_in_left_out') == 2 and codes.count('short_gaps') == 2
    assert codes.count('validation_not_periodic') == 1


def test_the_command_predicts_a_motion_that_does_not_repeat(result) -> None:
    _, data = result
    assert data['input']['validation']['periods'] == 0
    noise = np.sqrt(np.diag(stewart.force_covariance(6.0)))
    for leg, sigma in zip(data['validation'].values(), noise, strict=True):
        assert leg['rms'] == pytest.approx(sigma, rel=0.08)
        assert leg['a_priori_rms'] is None  # no a-priori friction: nothing to compare with


def test_feedforward_with_the_identified_model_tracks_best(result) -> None:
    _, data = result
    found = {p['name']: p['value'] for p in data['parameters']}
    configuration = parse_configuration(ROBOT.configuration())
    path = circle(configuration, radius=0.1, speed=0.6)
    gains = Gains(20000.0, 100000.0, 700.0)
    none, prior, identified = (
        mean_square(tracking_errors(MODEL, VALUE, path, p, gains=gains, settle=1.0))
        for p in (None, MODEL.a_priori(), np.array([found[name] for name in MODEL.names]))
    )
    assert identified < 0.1**2 * prior
    assert prior < 0.5**2 * none


def live(data: stewart.Data, forces: np.ndarray) -> ParallelLive:
    configuration = parse_configuration(ROBOT.configuration())
    made = ParallelLive(configuration, LiveOptions(fundamental_hz=0.37, harmonics=5))
    for stamp, lengths, effort in zip(data.stamps.tolist(), data.lengths, forces, strict=True):
        if np.isfinite(effort).all():
            made.push(stamp, np.concatenate([lengths, effort]))
    return made


def test_live_periods_off_the_grid_give_the_truth_and_exchanged_legs_raise_doubt() -> None:
    how = stewart.Recording(
        rate=300.0,
        duration=8.3,
        jitter=0.3,
        length_noise=0.0,
        resolution=0.0,
        force_noise=0.0,
        effort_missing=0.03,
    )
    data = stewart.record(ROBOT, stewart.excitation(ROBOT), how)
    made = live(data, data.forces)
    assert made.result is not None
    assert [one.code for one in made.doubts()] == ['scale_not_checked']
    np.testing.assert_allclose(made.result.value[:-1], VALUE, rtol=1e-4, atol=1e-4)
    sides = made.take_sides()[-1]
    assert len(sides.stamps_ns) == len(sides.measured) > 100
    np.testing.assert_allclose(sides.measured, sides.predicted, atol=1e-2)
    wrong = live(data, data.forces[:, [1, 0, 2, 3, 4, 5]])
    (told,) = [one for one in wrong.findings() if one.level == 'bad']
    assert told.code == 'efforts_exchanged'
    assert 'the efforts of leg_1 and leg_2 seem to be exchanged' in told.text
