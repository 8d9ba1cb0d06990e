"""The live estimator ends where the batch one does, forgets, survives storage, notices change."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from known_problems import arm, dense

from veh_identification.errors import EstimationError
from veh_identification.identification import (
    ArrayBlocks,
    Prior,
    RecursiveEstimator,
    accumulate,
    change_test,
    identify,
    weighted,
)


def test_recursive_ends_where_batch_does() -> None:
    for problem in (arm(1500), dense(1500, columns=30, blind=12)):
        Y = problem.noisy(np.random.default_rng(1))
        live = RecursiveEstimator(problem.names, problem.equations, problem.sigma)
        start = 0
        for count in [1, 3, 10, 100, 400, 900, 86]:
            live.update(problem.W[start : start + count], Y[start : start + count])
            start += count
        batch = weighted(
            accumulate(ArrayBlocks(problem.W, Y)), problem.names, problem.equations, problem.sigma
        )
        now = live.estimate()
        np.testing.assert_allclose(now.value, batch.value, rtol=1e-8)
        np.testing.assert_allclose(now.covariance, batch.covariance, rtol=1e-6, atol=1e-14)
        assert now.excited.all()
        assert now.samples == 1500


def test_forgetting_equals_explicit_weights_and_its_deviation_is_true() -> None:
    problem, forgetting = arm(1000), 0.995
    weights = forgetting ** (0.5 * np.arange(999, -1, -1.0))
    rows = (problem.W / problem.sigma[:, None] * weights[:, None, None]).reshape(-1, 9)
    rng = np.random.default_rng(2)
    values, stds = [], []
    for run in range(200):
        Y = problem.noisy(rng)
        live = RecursiveEstimator(problem.names, problem.equations, problem.sigma, forgetting)
        for start in range(0, 1000, 250):
            live.update(problem.W[start : start + 250], Y[start : start + 250])
        now = live.estimate()
        if run == 0:
            right = (Y / problem.sigma * weights[:, None]).ravel()
            expected = np.linalg.lstsq(rows, right, rcond=None)[0]
            np.testing.assert_allclose(now.value, expected, rtol=1e-8)
        values.append(now.value)
        stds.append(np.sqrt(np.diag(now.covariance)))
    ratio = np.mean(stds, axis=0) / np.std(values, axis=0)
    coverage = np.mean(np.abs(np.array(values) - problem.X) < 2.0 * np.array(stds))
    print(
        f'forgetting: predicted / scatter {ratio.min():.2f} to {ratio.max():.2f}, '
        f'coverage {coverage:.3f}'
    )
    assert np.abs(ratio - 1.0).max() < 0.15
    assert 0.92 < coverage < 0.98


def test_unexcited_parameters_are_flagged_and_do_not_spoil_the_others() -> None:
    problem = arm(400)
    W = problem.W.copy()
    W[:, :, 5] = 0.0
    W[:, :, 8] = 2.0 * W[:, :, 6]  # inseparable pair
    live = RecursiveEstimator(problem.names, problem.equations, problem.sigma)
    assert not live.estimate().excited.any()
    X = problem.X
    live.update(W, W @ X)
    now = live.estimate()
    assert [n for n, e in zip(problem.names, now.excited, strict=True) if not e] == [
        'fv1',
        'fv2',
        'off1',
    ]
    np.testing.assert_allclose(now.value[now.excited], X[now.excited], rtol=1e-9)
    assert np.isnan(now.value[~now.excited]).all()
    assert now.condition_number > 1e12


def test_prior_makes_everything_known_from_the_start_and_never_fades() -> None:
    problem = arm(300)
    prior = Prior.from_std(problem.X, 0.5)
    live = RecursiveEstimator(problem.names, problem.equations, problem.sigma, 0.9, prior)
    np.testing.assert_allclose(live.estimate().value, problem.X)
    silent = np.zeros((5000, 2, 9))
    live.update(silent, np.zeros((5000, 2)))
    now = live.estimate()
    np.testing.assert_allclose(now.value, problem.X, rtol=1e-9)
    assert now.excited.all()


@pytest.mark.parametrize('forgetting', [1.0, 0.99])
@pytest.mark.parametrize('wrong', [0.1, 1.0, 10.0])
def test_a_prior_keeps_its_own_deviation(forgetting: float, wrong: float) -> None:
    """Neither a wrong sigma nor inflation may touch what only the prior knows."""
    problem = arm(600)
    W = problem.W.copy()
    W[:, :, 5] = 0.0
    rng = np.random.default_rng(7)
    prior = Prior.from_std(problem.X, 1.0)
    stds = []
    for inflation in (1.0, 4.0):
        live = RecursiveEstimator(
            problem.names, problem.equations, wrong * problem.sigma, forgetting, prior, inflation
        )
        live.update(W, W @ problem.X + rng.standard_normal((600, 2)) * problem.sigma)
        stds.append(np.sqrt(np.diag(live.estimate().covariance)))
        assert stds[-1][5] == pytest.approx(1.0, abs=1e-9)
    if wrong <= 1.0:  # else the data weigh so little that the prior has a share in everything
        ratio = stds[1][[0, 2, 3]] / stds[0][[0, 2, 3]]
        assert np.all(np.abs(ratio - 2.0) < 0.25)  # inflation 4 doubles the noise's share


def test_a_prior_and_a_wrong_sigma_give_true_deviations() -> None:
    """Truth drawn from the prior, forgetting on: errors over deviations have unit variance."""
    problem, spread = arm(400), 0.3
    rng = np.random.default_rng(8)
    scores = []
    for _ in range(200):
        start = problem.X + spread * rng.standard_normal(9)
        live = RecursiveEstimator(
            problem.names,
            problem.equations,
            3.0 * problem.sigma,
            0.995,
            Prior.from_std(start, spread),
        )
        live.update(problem.W, problem.noisy(rng))
        now = live.estimate()
        scores.append((now.value - problem.X) / np.sqrt(np.diag(now.covariance)))
    coverage = float(np.mean(np.abs(scores) < 2.0))
    print(f'prior with a sigma three times too large: coverage {coverage:.3f}')
    assert 0.92 < coverage < 0.98


def test_state_survives_a_file(tmp_path: Path) -> None:
    problem = arm(600)
    Y = problem.noisy(np.random.default_rng(3))
    Y[5] = np.nan
    prior = Prior.from_std(problem.X, 10.0)
    live = RecursiveEstimator(problem.names, problem.equations, problem.sigma, 0.999, prior)
    live.update(problem.W[:300], Y[:300])
    np.savez(tmp_path / 'state.npz', **live.state())
    with np.load(tmp_path / 'state.npz') as stored:
        restored = RecursiveEstimator.from_state(dict(stored))
    for estimator in (live, restored):
        estimator.update(problem.W[300:], Y[300:])
    np.testing.assert_array_equal(live.estimate().value, restored.estimate().value)
    assert (restored.samples, restored.excluded) == (599, 1)
    damaged = {**live.state(), 'triangle': np.full((10, 10), np.nan)}
    with pytest.raises(EstimationError, match="unusable 'triangle'"):
        RecursiveEstimator.from_state(damaged)
    with pytest.raises(EstimationError, match='version'):
        RecursiveEstimator.from_state({})


def test_reset_forgets_everything() -> None:
    problem = arm(300)
    live = RecursiveEstimator(problem.names, problem.equations, problem.sigma)
    live.update(problem.W, problem.noisy(np.random.default_rng(0)))
    live.reset()
    assert live.samples == 0
    assert not live.estimate().excited.any()


def test_change_is_found_named_and_rarely_imagined() -> None:
    problem = arm(600)
    rng = np.random.default_rng(4)

    def fit(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        Y = problem.W @ X + rng.standard_normal((600, 2)) * problem.sigma
        live = RecursiveEstimator(problem.names, problem.equations, problem.sigma)
        live.update(problem.W, Y)
        now = live.estimate()
        return now.value, now.covariance

    stored = fit(problem.X)
    loaded = problem.X.copy()
    loaded[2] += 20.0 * np.sqrt(stored[1][2, 2])
    test = change_test(*fit(loaded), *stored, problem.names)
    assert test.changed and test.parameters == ['J2']
    false_alarms = sum(
        change_test(*fit(problem.X), *fit(problem.X), problem.names, significance=0.05).changed
        for _ in range(300)
    )
    print(f'{false_alarms} false alarms in 300 at 5 %')
    assert 5 <= false_alarms <= 27  # binomial, about 3 standard deviations


def test_few_independent_residuals_raise_the_threshold_of_a_change() -> None:
    """Coloured noise: with the chi-square threshold every tenth comparison is a false alarm."""
    problem = arm(400)
    rng = np.random.default_rng(5)
    plain = careful = 0
    for _ in range(100):
        recent, stored = (
            identify(
                ArrayBlocks(problem.W, problem.noisy(rng, 0.05)), problem.names, problem.equations
            )
            for _ in range(2)
        )
        pair = (recent.value, recent.covariance, stored.value, stored.covariance)
        freedom = recent.freedom + stored.freedom
        plain += change_test(*pair, problem.names, 0.05).changed
        careful += change_test(*pair, problem.names, 0.05, freedom=freedom).changed
    print(f'false alarms in 100 at 5 %: {plain} by chi-square, {careful} by Hotelling')
    assert careful < plain
    assert careful <= 11  # binomial, three standard deviations over five


def test_the_threshold_tends_to_chi_square_and_refuses_too_few_residuals() -> None:
    pair = (np.ones(3), np.eye(3), np.zeros(3), np.eye(3), ['a', 'b', 'c'], 0.05)
    known, many = change_test(*pair), change_test(*pair, freedom=1e7)
    assert many.threshold == pytest.approx(known.threshold, rel=1e-5)
    assert many.probability == pytest.approx(known.probability, rel=1e-5)
    # Hotelling, three parameters, ten residuals: 3 * 10 / 8 * F(0.95; 3, 8) = 3.75 * 4.0662
    # Hotelling with 3 and 10 degrees, covariances taken as a tenth too small for each parameter.
    assert change_test(*pair, freedom=10.0).threshold == pytest.approx(
        1.3 * 3.75 * 4.0662, rel=1e-4
    )
    with pytest.raises(EstimationError, match=r'2\.0 independent residuals are too few'):
        change_test(*pair, freedom=2.0)


@pytest.mark.parametrize('forgetting', [0.0, 1.1, -1.0])
def test_forgetting_must_make_sense(forgetting: float) -> None:
    with pytest.raises(EstimationError, match='forgetting must lie in'):
        RecursiveEstimator(['a'], ['e'], np.ones(1), forgetting)
