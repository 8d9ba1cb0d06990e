from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from four_bar_cases import errors, model_alone, observe

from veh_identification.configuration.faults import ConfigurationError
from veh_identification.observation import AdaptiveSettings, Measurement, cumulative_periodogram
from veh_identification.observation.analysis import poles_of, seen_by
from veh_identification.runtime.bags import BagWriter, read_columns
from veh_identification.simulation import four_bar as simulated
from veh_identification.systems.driver import run as run_verb
from veh_identification.systems.four_bar import model as four_bar
from veh_identification.systems.four_bar.filter_setup import make_filter

SEEDS = range(8)


@pytest.fixture(scope='module')
def setup() -> four_bar.Setup:
    return four_bar.load()


@pytest.fixture(scope='module')
def exact(setup):
    return simulated.simulate(setup, noise=0.0)


@pytest.fixture(scope='module')
def alone(setup, exact):
    return model_alone(setup, exact)


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
    run = observe(recording, make_filter(setup, force=force))
    table = errors(exact, run, alone)
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
                observe(with_noise(setup, exact, seed), make_filter(setup, force=force))
            )
        ).white
        for seed in SEEDS
    ]
    assert sum(white) >= len(SEEDS) - 1


@pytest.mark.parametrize('force', [False, True], ids=['errorEKF', 'errorEKF-FE'])
def test_the_poles_lie_inside_the_unit_circle(setup, exact, force):
    recording = with_noise(setup, exact, 0)
    filter_ = make_filter(setup, force=force)
    magnitudes = []
    for k, time in enumerate(recording.time[:1000]):
        filter_.step(
            setup.step,
            recording.torque[k],
            [Measurement('encoder', time, recording.sensors['encoder'][k])],
        )
        if k % 10 == 5:
            observed = filter_.model
            before = observed.snapshot()
            corrected, _ = poles_of(filter_, observed.model, observed.columns, setup.step)
            observed.restore(before)
            assert corrected.size == filter_.size
            magnitudes.append(corrected[0])
    assert max(magnitudes) < 1.0
    found = seen_by(filter_, setup.step)
    assert found.rank == found.size == (3 if force else 2)  # equation (63)


def test_force_estimation_under_a_constant_unknown_torque(setup):
    """Model and truth agree but for 30 N m on the crank that the model is not told of."""
    quiet = dataclasses.replace(setup, pulse=(0.0, 99.0, 99.0), duration=6.0)
    truth = dataclasses.replace(quiet.truth, torque=20.0)
    model = dataclasses.replace(quiet.truth, torque=-10.0)
    case = dataclasses.replace(quiet, truth=truth, model=model)
    exact = simulated.simulate(case, noise=0.0)
    recording = with_noise(case, exact, 3)
    bias, rms = {}, {}
    for force in (False, True):
        run = observe(
            recording,
            make_filter(
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
    recording = with_noise(setup, exact, 2)
    names = list(setup.sensors)
    run = observe(recording, make_filter(setup, names, True, AdaptiveSettings()))
    late = exact.time > 1.0
    rms = np.sqrt(np.mean((run.qd[late, 4] - exact.qd[late, 4]) ** 2))
    plain = observe(recording, make_filter(setup))
    assert rms < np.sqrt(np.mean((plain.qd[late, 4] - exact.qd[late, 4]) ** 2))
    assert all(run.filter.counts[name].used == exact.time.size for name in names)


def test_lost_encoder_messages_leave_the_model_to_itself(setup, exact):
    recording = with_noise(setup, exact, 4)
    recording.sensors['encoder'][600:700] = np.nan
    run = observe(recording, make_filter(setup))
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
        make_filter(four_bar.load(file))
    assert all(line.startswith(str(file)) for line in str(caught.value).splitlines())


@pytest.fixture(scope='module')
def bag(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp('four_bar') / 'bag'
    with BagWriter(path) as writer:
        simulated.write(writer, 4.0, 1, 1.0, lambda done, total: None)
    return path


def test_states_find_the_truth_of_the_crank(bag):
    outcome = run_verb('observe', 'four-bar', [bag])
    truth = read_columns(bag, {'truth/joint_states': ['position[crank]', 'velocity[crank]']})
    known = truth['truth/joint_states']
    for name, path in (('crank', 'position[crank]'), ('crank rate', 'velocity[crank]')):
        state = outcome[name]
        turns = np.round((state.truth[0] - known[path][0]) / (2 * np.pi))
        exact = known[path] + (2 * np.pi * turns if name == 'crank' else 0.0)
        assert state.truth == pytest.approx(exact, abs=1e-6)
        assert state.std is not None and state.std.shape == state.value.shape
    assert [one.name for one in outcome.result.states[:2]] == ['crank', 'crank rate']
    assert set(outcome) == set(outcome.result.metrics['coordinates']) | {'crank', 'crank rate'}


def test_options_of_a_run(bag, tmp_path):
    """What the thesis has beside the plain filter, and that looking changes nothing."""
    plain = run_verb('observe', 'four-bar', [bag])
    looked = run_verb('observe', 'four-bar', [bag], options={'observability': True, 'poles': True})
    for name in plain:
        np.testing.assert_allclose(looked[name].value, plain[name].value, rtol=0.0, atol=1e-12)
    found = looked.result.metrics
    assert found['observability']['least_rank'] == found['observability']['states'] == 2
    assert found['observability']['not_seen'] == {}
    assert max(found['poles']['largest_corrected']) < 1.0
    assert 'rank 2 of 2 states' in looked.text and 'largest pole' in looked.text
    options = {'adaptive': 'both', 'force_estimation': True, 'compare_model': False}
    other = run_verb('observe', 'four-bar', [bag], out=tmp_path / 'out', options=options)
    metrics = other.result.metrics
    assert set(metrics['adaptive']['plant_density']) == {'crank'}
    assert metrics['adaptive']['sensor_variance']['encoder'] != [1.0]
    assert set(metrics['coordinates']['x1']) == {'max_obs', 'rms_obs'}
    assert 'adaptive noise' in other.text
    assert other.text.splitlines()[0] == other.text.splitlines()[-1] == other.verdict.line


def test_sensors_that_no_recording_brings_are_said(bag, setup):
    wanted = dataclasses.replace(
        setup, observer={**setup.observer, 'sensors': ['encoder', 'gyro_rod']}
    )
    outcome = run_verb('observe', 'four-bar', [bag], config=wanted)
    said = {one.code: one for one in outcome.findings}['sensor_not_recorded']
    assert said.level == 'warn' and 'gyro_rod' in said.text
