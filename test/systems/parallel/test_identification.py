"""Processing and estimation of Abdellatif 2009 on simulated recordings with known truth."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np
import pytest

from veh_identification.errors import EstimationError, SignalError, UsageError
from veh_identification.simulation.parallel.scenarios import (
    HexapodSensors,
    PeriodicRun,
    circle,
    default_excitation,
    exact_run,
    executed,
    true_parameters,
)
from veh_identification.systems.parallel.configuration import load_configuration
from veh_identification.systems.parallel.estimation.equations import equations
from veh_identification.systems.parallel.estimation.likelihood import (
    gauss_markov,
    maximum_likelihood,
    pooled_force_covariance,
    with_cutoff,
)
from veh_identification.systems.parallel.estimation.structure_selection import select_structure
from veh_identification.systems.parallel.live.periods import PeriodCollector, RunningPeriods
from veh_identification.systems.parallel.model.model import HexapodModel, Structure
from veh_identification.systems.parallel.processing import METHODS, platform_motion
from veh_identification.systems.parallel.recording.mean_period import (
    PeriodicRecord,
    average_record,
)

CONFIGURATION = load_configuration()
MODEL = CONFIGURATION.model()
TRUTH = true_parameters(MODEL)
EXCITATION = default_excitation(CONFIGURATION)
SENSORS = HexapodSensors()
RATE, PERIODS = 500.0, 10


@lru_cache
def run(highest: int = 5, rate: float = RATE) -> PeriodicRun:
    return exact_run(MODEL, executed(EXCITATION, highest), rate)


def record(
    exact: PeriodicRun, seed: int, sensors: HexapodSensors = SENSORS, periods: int = PERIODS
) -> PeriodicRecord:
    count = len(exact.times)
    q, Q = exact.repeated(periods * count, sensors, np.random.default_rng(seed))
    return average_record(q, Q, count, exact.trajectory.fundamental_hz)


def fit(data: PeriodicRecord, method: str = 'frequency', cutoff=None, **options):
    options.setdefault('noise', 'white')
    system = equations(MODEL, [data], 5, method, cutoff)
    return gauss_markov(MODEL, system, pooled_force_covariance([data]), **options)


@lru_cache
def circle_case() -> tuple[np.ndarray, np.ndarray]:
    exact = exact_run(MODEL, circle(CONFIGURATION), RATE)
    return MODEL.regressor(exact.pose, exact.velocity, exact.acceleration), exact.forces


def prediction_variance(value: np.ndarray) -> float:
    """On the circle, which was not used; against exact forces."""
    W, forces = circle_case()
    return float(np.square(forces - W @ value).mean())


def test_noise_free_data_give_the_24_true_parameters() -> None:
    result = fit(record(run(), 0, SENSORS.scaled(0.0), 2))
    assert len(result.value) == 24
    np.testing.assert_allclose(result.value, TRUTH, rtol=1e-6)


def test_deviations_match_the_scatter_within_15_percent() -> None:
    """300 trials know a scatter to 4 % (hundred only to 7 %); 84 Hz instead of 500 for speed."""
    exact, trials = run(rate=84.0), 300
    fits = [fit(record(exact, seed)) for seed in range(trials)]
    values = np.array([f.value for f in fits])
    scatter = values.std(axis=0, ddof=1)
    ratio = np.mean([f.std for f in fits], axis=0) / scatter
    assert (np.abs(ratio - 1.0) < 0.15).all()
    assert abs(ratio.mean() - 1.0) < 0.05
    assert (np.abs(values.mean(axis=0) - TRUTH) < 4.0 * scatter / np.sqrt(trials)).all()


def test_residuals_of_good_data_are_white_and_keep_the_deviations() -> None:
    data = record(run(), 4)
    plain, careful = fit(data), fit(data, noise='auto')
    assert careful.noise['model'] == 'white'
    np.testing.assert_allclose(careful.std, plain.std, rtol=0.05)


def test_prediction_error_frequency_below_time_below_raw() -> None:
    """Fig. 4, over several recordings."""
    for seed in range(3):
        data = record(run(), seed)
        variance = {m: prediction_variance(fit(data, m).value) for m in METHODS}
        assert variance['frequency'] < 0.5 * variance['time'] < 0.05 * variance['raw']
        # with the exact period the implicit fit (18) is the same as the explicit filter
        np.testing.assert_allclose(variance['harmonic'], variance['frequency'], rtol=1e-6)


def test_full_covariance_beats_diagonal_when_noise_is_coupled() -> None:
    exact = run(rate=84.0)
    data = [record(exact, seed) for seed in range(40)]
    full = np.std([fit(d).value for d in data], axis=0)
    diagonal = np.std([fit(d, diagonal=True).value for d in data], axis=0)
    assert np.mean(full / diagonal) < 0.95
    assert (full < diagonal).sum() >= 16
    uncoupled = replace(SENSORS, force_correlation=0.0)
    one = record(exact, 0, uncoupled)
    np.testing.assert_allclose(fit(one).std, fit(one, diagonal=True).std, rtol=0.1)


@pytest.mark.parametrize('start', [0.4, 30.0])
def test_likelihood_finds_the_bandwidth_from_a_wrong_start(start: float) -> None:
    for highest in (5, 9):
        data = record(run(highest), highest)
        found = maximum_likelihood(MODEL, [data], 5, start_hz=start)
        assert found.cutoff_hz == pytest.approx(highest * 0.4)
        likely, nominal = fit(data, cutoff=found.cutoff_hz), fit(data)
        assert prediction_variance(likely.value) <= prediction_variance(nominal.value)
        if highest > 5:  # the nominal cut-off loses what the controller added
            assert prediction_variance(nominal.value) > 100 * prediction_variance(likely.value)


def test_likelihood_as_printed_runs_beyond_the_motion() -> None:
    """Without a charge for the freed coefficients (24) fits noise: the reason for the default."""
    found = maximum_likelihood(MODEL, [record(run(), 0)], 5, penalty='none')
    assert found.cutoff_hz > 2.0 * 2.0
    with pytest.raises(UsageError, match='penalty must be one of'):
        maximum_likelihood(MODEL, [record(run(), 0)], 5, penalty='cp')


def test_cutoff_becomes_a_parameter() -> None:
    plain = fit(record(run(), 0))
    result = with_cutoff(plain, 2.0, 0.1)
    assert result.names[-1] == 'fc' and result.value[-1] == 2.0
    last = result.as_dict()['parameters'][-1]
    assert (last['unit'], last['std']) == ('Hz', pytest.approx(0.1))
    assert last['well_identified']
    chosen = with_cutoff(plain, 2.0).as_dict()['parameters'][-1]
    assert (chosen['value'], chosen['std'], chosen['well_identified']) == (2.0, None, False)


def test_recordings_of_different_length_are_weighted_by_their_periods() -> None:
    exact = run(rate=84.0)
    records = [record(exact, 0, periods=2), record(exact, 1, periods=18)]
    system = equations(MODEL, records, 5)
    both = gauss_markov(MODEL, system, pooled_force_covariance(records), noise='white')
    whole = fit(record(exact, 2, periods=20))
    np.testing.assert_allclose(both.std, whole.std, rtol=0.15)
    assert (np.abs(both.value - TRUTH) < 5.0 * both.std).all()
    slow = replace(records[1], fundamental_hz=0.5)
    with pytest.raises(EstimationError, match='one fundamental'):
        maximum_likelihood(MODEL, [records[0], slow], 5)


def test_model_selection_finds_the_passive_friction_there_is() -> None:
    data = record(run(), 3)
    chosen, candidates = select_structure(MODEL.robot, [data], 5)
    assert chosen.passive == 'dry'
    assert [c.parameters for c in candidates] == [22, 24, 26, 34]
    assert candidates[2].insignificant == 2  # there is no viscous friction to be found
    per_leg = HexapodModel(MODEL.robot, Structure(passive='dry_per_leg'))
    p = np.concatenate([TRUTH[:10], np.linspace(0.2, 1.5, 12), TRUTH[12:]])
    exact = exact_run(per_leg, EXCITATION, RATE, p)
    chosen, _ = select_structure(MODEL.robot, [record(exact, 3)], 5)
    assert chosen.passive == 'dry_per_leg'


def test_leakage_of_a_fundamental_that_is_slightly_off() -> None:
    """Section 3.3: acceleration errors of the implicit fit, the plain DFT, the found period."""
    from veh_identification.signals import TimeSeries
    from veh_identification.systems.parallel.model.kinematics import inverse_kinematics
    from veh_identification.systems.parallel.recording.reader import periodic_record

    true = replace(EXCITATION, fundamental_hz=0.4 * 1.002)
    times = np.arange(5 * 1250) / RATE
    pose, _, acceleration = true.evaluate(times)
    lengths = inverse_kinematics(MODEL.robot, pose)
    series = TimeSeries(
        times, np.hstack([lengths, lengths]), [f'c{i}' for i in range(12)], [''] * 12
    )
    found = periodic_record(series, 0.4, 5)
    assert found.fundamental_hz == pytest.approx(0.4008, rel=1e-6)
    assert [one.code for one in found.findings] == ['fundamental_corrected']
    assert 'leaks' in found.findings[0].text
    corrected = platform_motion(MODEL.robot, found, 5)
    at = np.arange(found.samples) / found.rate
    exact = true.evaluate(at)[2][:, :3]
    right = np.abs(corrected.acceleration[:, :3] - exact).max()
    nominal = average_record(lengths, lengths, 1250, 0.4)
    window = acceleration[:1250, :3]
    wrong = {
        m: np.abs(platform_motion(MODEL.robot, nominal, 5, m).acceleration[:, :3] - window).max()
        for m in ('harmonic', 'frequency')
    }
    assert right < 1e-5 * np.abs(exact).max()
    # a wrong period hurts both ways of filtering: only the right one helps
    assert min(wrong.values()) > 1e3 * right


def test_periods_that_cannot_be_averaged_are_refused() -> None:
    exact = run(rate=84.0)
    q, Q = exact.lengths, exact.forces
    with pytest.raises(SignalError, match='at least two periods'):
        average_record(q, Q, len(q), 0.4)
    with pytest.raises(SignalError, match='not a whole number of periods'):
        average_record(np.tile(q, (3, 1))[:-5], np.tile(Q, (3, 1))[:-5], len(q), 0.4)
    with pytest.raises(UsageError, match='processing must be one of'):
        platform_motion(MODEL.robot, record(exact, 0), 5, 'wavelet')


def test_running_periods_equal_the_batch_average() -> None:
    exact = run(rate=84.0)
    count = len(exact.times)
    q, Q = exact.repeated(6 * count, SENSORS, np.random.default_rng(5))
    batch = average_record(q, Q, count, 0.4)
    running = RunningPeriods()
    for k in range(6):
        rows = slice(k * count, (k + 1) * count)
        running.add(np.hstack([q[rows], Q[rows]]))
    for channels, expected in ((slice(0, 6), batch.lengths), (slice(6, 12), batch.forces)):
        ours = running.average(channels)
        np.testing.assert_allclose(ours.mean, expected.mean, rtol=1e-12)
        np.testing.assert_allclose(ours.covariance, expected.covariance, rtol=1e-6, atol=1e-14)
    with pytest.raises(SignalError, match='unequal periods'):
        running.add(np.zeros((3, 12)))


def test_collector_cuts_periods_drops_gaps_and_bridges_jitter() -> None:
    collector = PeriodCollector(1.0, 100.0, 1)
    rng = np.random.default_rng(0)
    stamps = np.arange(1000) * 10_000_000 + 5_000
    kept = np.delete(np.arange(1000), np.arange(340, 350))  # a gap in the fourth period
    got = [
        period
        for k in kept
        if (period := collector.push(int(stamps[k]), np.array([float(k)]))) is not None
    ]
    assert (collector.accepted, collector.rejected) == (8, 1)
    assert all(len(p) == 100 and p[0, 0] % 100 == 0 for p in got)
    assert collector.push(int(stamps[-1]), np.zeros(1)) is None and collector.duplicates == 1
    jittery = PeriodCollector(1.0, 100.0, 1)
    noisy = stamps + np.rint(rng.uniform(-2e6, 2e6, 1000)).astype(int)
    noisy[0] = stamps[0]
    for stamp in noisy:
        period = jittery.push(int(stamp), np.array([(stamp - stamps[0]) * 1e-9]))
        if period is not None:
            np.testing.assert_allclose(np.diff(period[:, 0]), 0.01, atol=1e-9)
    assert jittery.rejected == 0 and jittery.accepted == 9
    with pytest.raises(SignalError, match='has only 2 samples'):
        PeriodCollector(1.0, 2.0)
