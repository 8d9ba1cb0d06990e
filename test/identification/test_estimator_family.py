"""Robust, prior-regularised, essential parameters, statistics."""

from __future__ import annotations

import numpy as np
import pytest
from known_problems import Problem, arm, dense

from veh_identification.identification import (
    ArrayBlocks,
    Options,
    Prior,
    accumulate,
    essential_parameters,
    identify,
    ordinary,
    weighted,
)
from veh_identification.identification.factor import scaled_condition
from veh_identification.identification.noise import (
    autoregression,
    integrated_correlation,
    taken_up,
)
from veh_identification.identification.residuals import residual_statistics
from veh_identification.identification.statistics import correlation, deviations


@pytest.mark.parametrize('loss', ['huber', 'tukey'])
def test_robust_estimate_survives_outliers(loss: str) -> None:
    problem = arm(2000)
    rng = np.random.default_rng(1)
    Y = problem.noisy(rng)
    hit = rng.random(Y.shape) < 0.05
    Y[hit] += 60.0 * problem.sigma[0] * rng.random(hit.sum())  # one-sided: biases least squares
    source = ArrayBlocks(Y=Y, W=problem.W)
    plain = identify(source, problem.names, problem.equations)
    options = Options(estimator='robust', loss=loss)  # type: ignore[arg-type]
    robust = identify(source, problem.names, problem.equations, options=options)
    clean_std = identify(
        ArrayBlocks(problem.W, problem.noisy(rng)), problem.names, problem.equations
    ).std
    error = np.abs(robust.value - problem.X) / clean_std
    print(loss, 'errors in clean sigmas:', np.round(error, 2))
    assert np.abs(plain.value - problem.X).max() > 5 * np.abs(robust.value - problem.X).max()
    # A one-sided 5 % shifts Huber by a bounded amount, Tukey hardly at all.
    assert error.max() < (12.0 if loss == 'huber' else 4.0)
    assert robust.noise['converged']
    assert all(0.03 < share < 0.08 for share in robust.noise['down_weighted_share'].values())


def test_robust_equals_least_squares_when_no_residual_is_large() -> None:
    problem = arm(600)
    # The cosine of a random phase: its largest value is 0.95 median-based deviations, below the
    # 1.345 where Huber begins to weigh down.
    bounded = np.cos(np.random.default_rng(2).uniform(0.0, 2.0 * np.pi, (600, 2)))
    source = ArrayBlocks(problem.W, problem.W @ problem.X + bounded * problem.sigma)
    robust = identify(
        source, problem.names, problem.equations, options=Options(estimator='robust')
    )
    assert max(robust.noise['down_weighted_share'].values()) == 0.0
    rows = (problem.W / robust.sigma[:, None]).reshape(-1, len(problem.X))
    expected = np.linalg.lstsq(rows, (source.Y / robust.sigma).ravel(), rcond=None)[0]
    np.testing.assert_allclose(robust.value, expected, rtol=1e-9)


def test_prior_is_the_bayesian_mean_and_fills_what_is_not_excited() -> None:
    problem = dense(400, equations=2, columns=8)
    W = problem.W.copy()
    W[:, :, 3] = 0.0
    sigma = problem.sigma
    Y = W @ problem.X + np.random.default_rng(0).standard_normal((400, 2)) * sigma
    prior = Prior.from_std(problem.X + 0.5, 0.3)
    options = Options(estimator='prior', prior=prior, sigma=sigma, noise='white')
    result = identify(ArrayBlocks(W, Y), problem.names, problem.equations, options=options)
    rows = (W / sigma[:, None]).reshape(-1, 8)
    precision = rows.T @ rows + np.linalg.inv(prior.covariance)
    mean = np.linalg.solve(
        precision, rows.T @ (Y / sigma).ravel() + np.linalg.solve(prior.covariance, prior.value)
    )
    np.testing.assert_allclose(result.value, mean, rtol=1e-9)
    np.testing.assert_allclose(result.covariance, np.linalg.inv(precision), rtol=1e-7, atol=1e-12)
    assert result.value[3] == pytest.approx(prior.value[3])
    assert result.std[3] == pytest.approx(0.3)
    assert result.unexcited == ['x3']


def with_useless_columns() -> Problem:
    problem = dense(500, equations=3, columns=10, seed=8)
    X = np.sign(problem.X) * (0.5 + np.abs(problem.X))
    X[[2, 5, 9]] = 0.0
    W = problem.W / np.sqrt(np.square(problem.W).mean(axis=(0, 1)))
    return Problem(W, X, np.array([0.1, 1.0, 3.0]), problem.names, problem.equations)


def test_essential_parameters_leave_with_a_reason() -> None:
    problem = with_useless_columns()
    Y = problem.noisy(np.random.default_rng(21))
    source = ArrayBlocks(problem.W, Y)
    options = Options(eliminate=True)
    result = identify(source, problem.names, problem.equations, options=options)
    assert {removal.name for removal in result.removed} == {'x2', 'x5', 'x9'}
    for removal in result.removed:
        assert removal.rel_std_percent > 30.0
        assert removal.probability > 0.05
        assert 0.0 <= removal.residual_increase_percent < 1.0
        assert 'sigma%' in removal.reason and 'F =' in removal.reason
    kept = [i for i, name in enumerate(problem.names) if name not in {'x2', 'x5', 'x9'}]
    reduced = weighted(
        accumulate(source).select(np.array(kept)),
        [problem.names[i] for i in kept],
        problem.equations,
        sigma=1.0 / weighted(accumulate(source), problem.names, problem.equations).weights,
    )
    np.testing.assert_allclose(result.value[kept], reduced.value, rtol=1e-9)
    assert np.all(result.value[[2, 5, 9]] == 0.0)


def test_removal_statistic_is_the_increase_of_the_residual() -> None:
    """F from value and variance equals F from the two sums of squares."""
    problem = with_useless_columns()
    information = accumulate(ArrayBlocks(problem.W, problem.noisy(np.random.default_rng(21))))
    factor = weighted(information, problem.names, problem.equations).factor
    first = essential_parameters(factor, problem.names).removed[0]
    index = problem.names.index(first.name)
    reduced = factor.select(np.delete(np.arange(10), index))
    F = (reduced.rss - factor.rss) / (factor.rss / (factor.rows - 10))
    assert pytest.approx(F, rel=1e-8) == first.F


def test_needed_parameters_stay() -> None:
    problem = dense(500, equations=3, columns=10, seed=8)
    X = np.where(np.abs(problem.X) < 0.2, 1.0, problem.X)
    Y = problem.W @ X + 0.01 * np.random.default_rng(0).standard_normal((500, 3))
    factor = ordinary(
        accumulate(ArrayBlocks(problem.W, Y)), problem.names, problem.equations
    ).factor
    strong = [i for i in range(10) if np.abs(problem.W[..., i]).max() > 0.5]
    kept = essential_parameters(factor, problem.names).kept
    assert set(strong) <= set(kept.tolist())


def test_deviations_follow_the_paper() -> None:
    spread = deviations(np.array([2.0, -0.5, 0.0]), np.diag([0.01, 0.01, 0.04]))
    np.testing.assert_allclose(spread.std, [0.1, 0.1, 0.2])
    np.testing.assert_allclose(spread.rel_std_percent, [5.0, 20.0, np.inf])  # (28)
    np.testing.assert_allclose(spread.rel_two_sigma_percent, [10.0, 40.0, np.inf])
    np.testing.assert_allclose(spread.interval[0], [1.8, 2.2])
    assert spread.well_identified.tolist() == [True, False, False]


def test_correlation_and_condition() -> None:
    covariance = np.array([[4.0, 1.0], [1.0, 1.0]])
    np.testing.assert_allclose(correlation(covariance), [[1.0, 0.5], [0.5, 1.0]])
    problem = arm(400)
    result = identify(
        ArrayBlocks(problem.W, problem.noisy(np.random.default_rng(0))),
        problem.names,
        problem.equations,
    )
    rows = (problem.W / result.sigma[:, None]).reshape(-1, 9)
    rows = rows / np.linalg.norm(rows, axis=0)
    assert result.condition_number == pytest.approx(np.linalg.cond(rows), rel=1e-6)
    assert scaled_condition(np.diag([1.0, 1e6])) == pytest.approx(1.0)


def test_autocovariance_of_the_stream_is_that_of_the_whole() -> None:
    rng = np.random.default_rng(3)
    r = rng.standard_normal((9000, 2)).cumsum(axis=0) * 0.01
    source = ArrayBlocks(np.zeros((9000, 2, 1)), r, block=701)
    statistics = residual_statistics(source, np.zeros(1), 50)
    for j in range(2):
        expected = [r[: 9000 - lag, j] @ r[lag:, j] / 9000 for lag in range(51)]
        np.testing.assert_allclose(statistics.autocovariance[j], expected, rtol=1e-9)
    np.testing.assert_allclose(statistics.covariance, r.T @ r / 9000, rtol=1e-12)


def test_autoregression_recovers_a_known_recursion() -> None:
    rho, lags = 0.8, np.arange(200)
    autocovariance = rho**lags / (1.0 - rho**2)
    a = autoregression(autocovariance, 100000)
    np.testing.assert_allclose(a[0], -rho, atol=5e-3)
    assert integrated_correlation(autocovariance, 100000) == pytest.approx(9.0, rel=1e-6)


def test_a_prior_spares_the_residuals_the_rows_that_it_determines() -> None:
    problem = arm(400)
    p = len(problem.X)
    factor = accumulate(ArrayBlocks(problem.W, problem.W @ problem.X)).combined(
        1.0 / problem.sigma
    )
    assert taken_up(factor, None) == p
    std = np.full(p, 1e6)
    std[: p // 2] = 1e-9  # these are known, the others only by the data
    rows, values = Prior.from_std(problem.X, std).rows()
    assert taken_up(factor.extended(rows, values), rows) == p - p // 2
