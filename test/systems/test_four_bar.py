from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from veh_identification.configuration.faults import ConfigurationError
from veh_identification.observation import (
    Measurement,
    cumulative_periodogram,
    discrete,
    gain,
    integrator_pair,
    linearised,
    observability,
    observer_poles,
)
from veh_identification.systems.four_bar import model as four_bar
from veh_identification.systems.four_bar import run as four_bar_run

SEEDS = range(8)


@pytest.fixture(scope='module')
def setup() -> four_bar.Setup:
    return four_bar.load()


@pytest.fixture(scope='module')
def exact(setup):
    return four_bar_run.simulate(setup, noise=0.0)


@pytest.fixture(scope='module')
def alone(setup, exact):
    return four_bar_run.model_alone(setup, exact)


def with_noise(setup, exact, seed: int):
    rng = np.random.default_rng(seed)
    return dataclasses.replace(
        exact,
        sensors={
            name: values + setup.sensors[name]['deviation'] * rng.standard_normal(values.shape)
            for name, values in exact.sensors.items()
        },
    )


def encoder_innovations(run) -> np.ndarray:
    return np.array([i.value[0] for i in run.innovations['encoder'] if i.time > 1.0])


def test_the_setup_is_chapter_2_and_table_1(setup):
    g = setup.geometry
    assert (g.crank, g.rod, g.rocker, g.ground) == (2.0, 8.0, 5.0, 10.0)
    assert setup.truth.gravity == 9.806 and setup.model.gravity == 9.0
    assert setup.truth.masses[1] == 8.0 and setup.model.masses[1] == 5.0
    assert (setup.truth.angle, setup.truth.rate) == (pytest.approx(np.pi / 3), 1.0)
    assert (setup.model.angle, setup.model.rate) == (pytest.approx(np.pi / 2), -10.0)
    assert setup.truth.torque == setup.model.torque == -10.0
    assert setup.pulse[0] - setup.truth.torque == 110.0
    model = four_bar.build(g, setup.truth)
    assert model.names == ['1.x', '1.y', '2.x', '2.y', 'crank']
    assert len(model.constraint_names) == 4


def test_the_pulse_acts_on_the_truth_only(setup, exact):
    assert four_bar.torque_at(setup, 4.5) == 100.0
    assert four_bar.torque_at(setup, 3.9) == four_bar.torque_at(setup, 5.1) == -10.0
    assert np.all(exact.torque == -10.0)


def test_energy_of_the_truth_changes_only_by_the_torque(setup):
    model = four_bar.build(setup.geometry, setup.truth)
    start, work = sum(model.energy()), 0.0
    for _ in range(5000):
        before = model.z[0]
        model.step(0.001)
        work += setup.truth.torque * (model.z[0] - before)
    kinetic = model.energy()[0]
    assert sum(model.energy()) - start == pytest.approx(work, abs=1e-4 * max(kinetic, 100.0))


@pytest.mark.parametrize('force', [False, True], ids=['errorEKF', 'errorEKF-FE'])
def test_after_one_second_errors_are_far_below_the_uncorrected_model(setup, exact, alone, force):
    recording = with_noise(setup, exact, 1)
    run = four_bar_run.observe(recording, four_bar_run.make_filter(setup, force=force))
    table = four_bar_run.metrics(exact, run, alone)
    assert list(table) == ['x1', 'y1', 'x2', 'y2', 'vx1', 'vy1', 'vx2', 'vy2']
    for name, row in table.items():
        assert row['rms_model'] >= 20.0 * row['rms_obs'], name
        assert row['max_model'] >= 20.0 * row['max_obs'], name
    assert run.filter.failed_corrections == 0


@pytest.mark.parametrize('force', [False, True], ids=['errorEKF', 'errorEKF-FE'])
def test_the_innovation_is_white(setup, exact, force):
    """At 5 % significance about one seed in twenty may leave the band."""
    white = [
        cumulative_periodogram(
            encoder_innovations(
                four_bar_run.observe(
                    with_noise(setup, exact, seed), four_bar_run.make_filter(setup, force=force)
                )
            )
        ).white
        for seed in SEEDS
    ]
    assert sum(white) >= len(SEEDS) - 1


def test_the_poles_lie_inside_the_unit_circle(setup, exact):
    recording = with_noise(setup, exact, 0)
    filter_ = four_bar_run.make_filter(setup)
    H, variance = np.array([[1.0, 0.0]]), np.array([setup.sensors['encoder']['deviation'] ** 2])
    magnitudes = []
    for k, time in enumerate(recording.time[:1000]):
        filter_.predict(setup.step, recording.torque[k])
        if k % 10 == 5:
            F = discrete(linearised(filter_.model.model), setup.step)
            magnitudes.append(observer_poles(F, gain(filter_.P, H, variance), H)[0])
        filter_.update([Measurement('encoder', time, recording.sensors['encoder'][k])])
    assert max(magnitudes) < 1.0
    assert (
        observability(*integrator_pair(1, setup.step, [[1.0]], np.zeros((0, 1))), setup.step).rank
        == 2
    )  # equation (63)


def test_force_estimation_under_a_constant_unknown_torque(setup):
    """Model and truth agree but for 30 N m on the crank that the model is not told of."""
    quiet = dataclasses.replace(setup, pulse=(0.0, 99.0, 99.0), duration=6.0)
    truth = dataclasses.replace(quiet.truth, torque=20.0)
    model = dataclasses.replace(quiet.truth, torque=-10.0)
    case = dataclasses.replace(quiet, truth=truth, model=model)
    exact = four_bar_run.simulate(case, noise=0.0)
    recording = with_noise(case, exact, 3)
    bias, rms = {}, {}
    for force in (False, True):
        run = four_bar_run.observe(
            recording,
            four_bar_run.make_filter(
                case,
                force=force,
                position_deviation=0.1,
                velocity_deviation=0.1,
                acceleration_noise=0.01,
                force_noise=0.3,
            ),
        )
        innovation = encoder_innovations(run)
        bias[force] = innovation.mean() / (innovation.std() / np.sqrt(innovation.size))
        late = exact.time > 1.0
        rms[force] = np.sqrt(np.mean((run.qd[late, 4] - exact.qd[late, 4]) ** 2))
    assert abs(bias[False]) > 5.0  # the same sign again and again
    assert abs(bias[True]) < 2.5
    assert rms[True] < 0.6 * rms[False]
    assert run.force_error[-200:].mean() == pytest.approx(30.0, abs=10.0)


def test_more_sensors_and_adaptive_noise_run_too(setup, exact):
    from veh_identification.observation import AdaptiveSettings

    recording = with_noise(setup, exact, 2)
    names = list(setup.sensors)
    run = four_bar_run.observe(
        recording, four_bar_run.make_filter(setup, names, True, AdaptiveSettings())
    )
    late = exact.time > 1.0
    rms = np.sqrt(np.mean((run.qd[late, 4] - exact.qd[late, 4]) ** 2))
    plain = four_bar_run.observe(recording, four_bar_run.make_filter(setup))
    assert rms < np.sqrt(np.mean((plain.qd[late, 4] - exact.qd[late, 4]) ** 2))
    assert all(run.filter.counts[name].used == exact.time.size for name in names)


def test_lost_encoder_messages_leave_the_model_to_itself(setup, exact):
    recording = with_noise(setup, exact, 4)
    recording.sensors['encoder'][600:700] = np.nan
    run = four_bar_run.observe(recording, four_bar_run.make_filter(setup))
    assert run.filter.counts['encoder'].invalid == 100
    assert np.all(np.isfinite(run.q))
    assert np.abs(run.q[-1, :4] - exact.q[-1, :4]).max() < 0.05


@pytest.mark.parametrize(
    ('change', 'error', 'message'),
    [
        (('crank: 2.0', 'crank: 0.0'), ConfigurationError, 'crank: expected a positive length'),
        (('rocker: 5.0', 'rocker: 1.0'), ConfigurationError, 'cannot bridge'),
        (('ground: 10.0', 'ground: .nan'), ConfigurationError, 'ground: expected a positive len'),
        (
            ('rod: 8.0, rocker: 5.0}', 'rod: -8.0, rocker: 5.0}'),
            ConfigurationError,
            r'masses: rod: expected a positive mass such as .*, found -8',
        ),
        (
            ('step: 0.005', 'step: 0.0'),
            ConfigurationError,
            'simulation.step: expected a positive time',
        ),
        (
            ('  gravity: 9.806', '  gravitation: 9.806'),
            ConfigurationError,
            'truth.gravity: is missing',
        ),
        (('geometry:', 'geometry: ['), ConfigurationError, 'not YAML'),
        (
            ('encoder: {deviation: 0.0174532925}', 'encoder: {}'),
            ConfigurationError,
            'sensors.encoder.deviation: is missing',
        ),
    ],
)
def test_bad_configurations_are_one_clear_sentence(tmp_path: Path, change, error, message):
    from veh_identification.runtime.share import share_directory

    text = (share_directory() / 'config' / 'four_bar.yaml').read_text()
    assert change[0] in text
    file = tmp_path / 'bad.yaml'
    file.write_text(text.replace(*change, 1))
    with pytest.raises(error, match=message) as caught:
        four_bar_run.make_filter(four_bar.load(file))
    assert all(line.startswith(str(file)) for line in str(caught.value).splitlines())
