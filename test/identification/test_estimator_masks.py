"""Equations that say nothing count for nothing; a row that is missing takes no other with it."""

from __future__ import annotations

from typing import get_args

import numpy as np
import pytest
from known_problems import Array, Problem, dense

from veh_identification.identification import ArrayBlocks, Options, accumulate, identify
from veh_identification.identification.batch import EstimatorName
from veh_identification.identification.gram import accumulate_gram
from veh_identification.identification.least_squares import Prior, ordinary, weighted
from veh_identification.identification.recursive import RecursiveEstimator
from veh_identification.identification.residuals import residual_statistics
from veh_identification.identification.validation import validate

ESTIMATORS = get_args(EstimatorName)
PROBLEM = dense(2000, equations=4, columns=9, seed=3)


def options(estimator: EstimatorName, **further: object) -> Options:
    prior = Prior.from_std(PROBLEM.X, 1.0) if estimator == 'prior' else None
    return Options(estimator=estimator, prior=prior, **further)  # type: ignore[arg-type]


def with_empty(problem: Problem, Y: Array, content: str) -> tuple[Array, Array, list[str]]:
    """Two more equations, the second and the last, whose regressor is zero throughout."""
    W = np.zeros((len(Y), 6, len(problem.X)))
    more = np.zeros((len(Y), 6))
    full = [0, 2, 3, 4]
    W[:, full], more[:, full] = problem.W, Y
    if content == 'constant':
        more[:, [1, 5]] = 7.0
    elif content == 'noise':
        more[:, [1, 5]] = np.random.default_rng(8).standard_normal((len(Y), 2))
    elif content == 'missing':
        more[:, [1, 5]] = np.nan
    names = ['e0', 'empty0', 'e1', 'e2', 'e3', 'empty1']
    return W, more, names


@pytest.mark.parametrize('content', ['zero', 'constant', 'noise', 'missing'])
@pytest.mark.parametrize('cutoff', [None, 0.1])
@pytest.mark.parametrize('estimator', ESTIMATORS)
def test_equations_without_information_change_nothing(
    estimator: EstimatorName, cutoff: float | None, content: str
) -> None:
    Y = PROBLEM.noisy(np.random.default_rng(5), cutoff)
    W, more, equations = with_empty(PROBLEM, Y, content)
    choice = options(estimator)
    alone = identify(ArrayBlocks(PROBLEM.W, Y), PROBLEM.names, PROBLEM.equations, options=choice)
    beside = identify(ArrayBlocks(W, more), PROBLEM.names, equations, options=choice)
    np.testing.assert_allclose(beside.value, alone.value, rtol=1e-9)
    np.testing.assert_allclose(beside.std, alone.std, rtol=1e-9)
    full = [0, 2, 3, 4]
    np.testing.assert_allclose(beside.sigma[full], alone.sigma, rtol=1e-9)
    np.testing.assert_allclose(beside.residual_rms[full], alone.residual_rms, rtol=1e-9)
    assert (beside.samples, beside.excluded_samples) == (2000, 0)
    assert beside.freedom == pytest.approx(alone.freedom, rel=1e-9)
    assert beside.rows is not None
    assert list(beside.rows) == [2000, 0, 2000, 2000, 2000, 0]


@pytest.mark.parametrize('estimate', [ordinary, weighted])
def test_factors_count_rows_of_equations_that_say_something(estimate) -> None:  # type: ignore[no-untyped-def]
    """Those who solve factors themselves (live nodes) get the same deviations."""
    Y = PROBLEM.noisy(np.random.default_rng(5))
    alone = estimate(accumulate(ArrayBlocks(PROBLEM.W, Y)), PROBLEM.names, PROBLEM.equations)
    W, more, equations = with_empty(PROBLEM, Y, 'zero')
    beside = estimate(accumulate(ArrayBlocks(W, more)), PROBLEM.names, equations)
    np.testing.assert_allclose(beside.covariance, alone.covariance, rtol=1e-9)


def half_missing(Y: Array) -> tuple[Array, np.ndarray]:
    """Equation 1 missing in half of the samples, all of them in ten."""
    rng = np.random.default_rng(11)
    seen = np.ones(Y.shape, bool)
    seen[rng.permutation(len(Y))[: len(Y) // 2], 1] = False
    seen[700:710] = False
    return np.where(seen, Y, np.nan), seen


def solved_by_rows(W: Array, Y: Array, seen: np.ndarray) -> tuple[Array, Array, Array]:
    """Weighted least squares from the rows given one by one: value, std, sigma by (24)."""
    blocks = [(W[seen[:, j], j], Y[seen[:, j], j]) for j in range(Y.shape[1])]
    sigma = []
    for A, b in blocks:
        rss = np.linalg.lstsq(A, b, rcond=None)[1][0]
        sigma.append(np.sqrt(rss / (len(b) - A.shape[1])))
    A = np.concatenate([A / s for (A, _), s in zip(blocks, sigma, strict=True)])
    b = np.concatenate([b / s for (_, b), s in zip(blocks, sigma, strict=True)])
    value, rss = np.linalg.lstsq(A, b, rcond=None)[:2]
    variance = rss[0] / (len(b) - len(value))
    std = np.sqrt(variance * np.diag(np.linalg.inv(A.T @ A)))
    return value, std, np.array(sigma) * np.sqrt(variance)


@pytest.mark.parametrize('where', ['measured', 'regressor'])
@pytest.mark.parametrize('noise', ['white', 'auto'])
def test_a_missing_row_takes_no_other_with_it(noise: str, where: str) -> None:
    Y = PROBLEM.noisy(np.random.default_rng(6))
    missing, seen = half_missing(Y)
    W, given = PROBLEM.W, missing
    if where == 'regressor':
        W, given = PROBLEM.W.copy(), Y
        W[..., 4] = np.where(seen, W[..., 4], np.inf)
    result = identify(
        ArrayBlocks(W, given, 333),
        PROBLEM.names,
        PROBLEM.equations,
        options=options('weighted', noise=noise),
    )
    value, std, sigma = solved_by_rows(PROBLEM.W, Y, seen)
    np.testing.assert_allclose(result.value, value, rtol=1e-9)
    np.testing.assert_allclose(result.std, std, rtol=1e-9)
    np.testing.assert_allclose(result.sigma, sigma, rtol=1e-9)
    assert (result.samples, result.excluded_samples) == (1990, 10)
    assert result.rows is not None and list(result.rows) == list(seen.sum(axis=0))
    residuals = np.where(seen, Y - PROBLEM.W @ value, np.nan)
    np.testing.assert_allclose(
        result.residual_rms, np.sqrt(np.nanmean(residuals**2, axis=0)), rtol=1e-9
    )
    rows = {name: entry['samples'] for name, entry in result.as_dict()['residuals'].items()}
    assert list(rows.values()) == list(seen.sum(axis=0))


def test_both_passes_count_the_same_rows() -> None:
    missing, seen = half_missing(PROBLEM.noisy(np.random.default_rng(6)))
    source = ArrayBlocks(PROBLEM.W, missing, 333)
    exact, fast = accumulate(source), accumulate_gram(source)
    for information in (exact, fast):
        assert list(information.rows) == list(seen.sum(axis=0))
        assert information.combined().rows == seen.sum()
        assert (information.samples, information.excluded) == (1990, 10)


def test_validation_uses_the_rows_that_are_there() -> None:
    Y = PROBLEM.noisy(np.random.default_rng(6))
    missing, seen = half_missing(Y)
    found = validate(ArrayBlocks(PROBLEM.W, missing, 333), PROBLEM.X, PROBLEM.equations)
    residuals = np.where(seen, Y - PROBLEM.W @ PROBLEM.X, np.nan)
    np.testing.assert_allclose(found.rms, np.sqrt(np.nanmean(residuals**2, axis=0)), rtol=1e-9)
    assert (found.samples, found.excluded) == (1990, 10)


def test_a_priori_values_judge_only_equations_where_all_are_known() -> None:
    problem = dense(500, equations=4, columns=9, seed=3, blind=2)  # two equations miss x7 and x8
    Y = problem.noisy(np.random.default_rng(6))
    a_priori = 1.1 * problem.X
    a_priori[8] = np.nan
    found = validate(ArrayBlocks(problem.W, Y, 77), problem.X, problem.equations, a_priori)
    assert found.a_priori_rms is not None
    residuals = (Y - problem.W @ np.nan_to_num(a_priori))[:, :2]
    np.testing.assert_allclose(
        found.a_priori_rms[:2], np.sqrt(np.square(residuals).mean(axis=0)), rtol=1e-9
    )
    assert np.isnan(found.a_priori_rms[2:]).all()
    assert [row['a_priori_rms'] is None for row in found.as_dict().values()] == [
        False,
        False,
        True,
        True,
    ]


@pytest.mark.parametrize('content', ['zero', 'constant', 'noise', 'missing'])
@pytest.mark.parametrize('forgetting', [1.0, 0.999])
def test_recursive_counts_rows_that_say_something(forgetting: float, content: str) -> None:
    Y = PROBLEM.noisy(np.random.default_rng(5))
    Y[300:900, 2] = np.nan
    W, more, equations = with_empty(PROBLEM, Y, content)
    alone = RecursiveEstimator(PROBLEM.names, PROBLEM.equations, PROBLEM.sigma, forgetting)
    sigma = np.ones(6)
    sigma[[0, 2, 3, 4]] = PROBLEM.sigma
    beside = RecursiveEstimator(PROBLEM.names, equations, sigma, forgetting)
    for start in range(0, 2000, 250):
        part = slice(start, start + 250)
        alone.update(PROBLEM.W[part], Y[part])
        beside.update(W[part], more[part])
        beside = RecursiveEstimator.from_state(beside.state())
    np.testing.assert_allclose(beside.estimate().value, alone.estimate().value, rtol=1e-9)
    np.testing.assert_allclose(
        beside.estimate().covariance, alone.estimate().covariance, rtol=1e-8, atol=1e-20
    )
    assert (beside.samples, beside.excluded) == (2000, 0)
    if forgetting == 1.0:
        seen = np.isfinite(Y)
        A = (PROBLEM.W / PROBLEM.sigma[:, None])[seen]
        b = (Y / PROBLEM.sigma)[seen]
        value, rss = np.linalg.lstsq(A, b, rcond=None)[:2]
        covariance = rss[0] / (len(b) - len(value)) * np.linalg.inv(A.T @ A)
        np.testing.assert_allclose(alone.estimate().value, value, rtol=1e-9)
        np.testing.assert_allclose(np.diag(alone.estimate().covariance), np.diag(covariance))


def test_an_equation_with_too_few_rows_to_tell_its_noise_is_left_aside() -> None:
    """Five rows cannot tell nine unknowns and their own noise; the other equations can."""
    Y = PROBLEM.noisy(np.random.default_rng(5))
    Y[5:, 3] = np.nan
    result = identify(ArrayBlocks(PROBLEM.W, Y), PROBLEM.names, PROBLEM.equations)
    alone = identify(ArrayBlocks(PROBLEM.W[:, :3], Y[:, :3]), PROBLEM.names, PROBLEM.equations[:3])
    np.testing.assert_allclose(result.value, alone.value, rtol=1e-9)
    np.testing.assert_allclose(result.std, alone.std, rtol=1e-9)
    assert result.rows is not None and list(result.rows) == [2000, 2000, 2000, 0]
    assert np.isfinite(result.residual_rms).all()


def test_statistics_of_residuals_with_missing_rows() -> None:
    """Moments over pairs of rows that are there; equations that are whole as if alone."""
    Y = PROBLEM.noisy(np.random.default_rng(6), 0.1)
    seen = np.ones(Y.shape, bool)
    seen[np.random.default_rng(1).random(len(Y)) < 0.5, 1] = False
    seen[:600, 1] = True  # whole blocks before the first row that is missing
    gappy = residual_statistics(
        ArrayBlocks(PROBLEM.W, np.where(seen, Y, np.nan), 100), PROBLEM.X, 40
    )
    whole = residual_statistics(ArrayBlocks(PROBLEM.W, Y, 100), PROBLEM.X, 40)
    others = [0, 2, 3]
    np.testing.assert_allclose(
        gappy.autocovariance[others], whole.autocovariance[others], rtol=1e-9, atol=1e-12
    )
    r = Y - PROBLEM.W @ PROBLEM.X
    both = seen[:, 1]
    np.testing.assert_allclose(gappy.covariance[0, 1], np.mean(r[both, 0] * r[both, 1]))
    assert gappy.rms[1] == pytest.approx(np.sqrt(np.mean(r[both, 1] ** 2)))
    correlation = gappy.autocovariance[1] / gappy.autocovariance[1, 0]
    expected = whole.autocovariance[1] / whole.autocovariance[1, 0]
    np.testing.assert_allclose(correlation[:10], expected[:10], atol=0.1)


@pytest.mark.parametrize('estimator', ESTIMATORS)
def test_deviations_with_missing_rows_hold(estimator: EstimatorName) -> None:
    """Coloured, coupled noise, one equation missing in half of the samples: errors over sigma."""
    problem = dense(600, equations=3, columns=5, seed=2)
    errors = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        noise = problem.noisy(rng, 0.3) - problem.W @ problem.X
        noise[:, 1] += 0.5 * noise[:, 0] / problem.sigma[0] * problem.sigma[1]
        Y = problem.W @ problem.X + noise
        Y[rng.random(len(Y)) < 0.5, 1] = np.nan
        prior = Prior.from_std(problem.X, 1e3) if estimator == 'prior' else None
        result = identify(
            ArrayBlocks(problem.W, Y),
            problem.names,
            problem.equations,
            options=Options(estimator=estimator, prior=prior),
        )
        errors.append((result.value - problem.X) / result.std)
    spread = float(np.sqrt(np.mean(np.square(errors))))
    print(f'{estimator}: rms of error over sigma {spread:.3f}')
    # 300 numbers: deviation of the rms 0.04
    assert 0.87 < spread < 1.13
