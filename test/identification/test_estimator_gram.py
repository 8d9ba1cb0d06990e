"""The fast first pass: as good as the orthogonal one, or not used."""

from __future__ import annotations

import numpy as np
import pytest
from known_problems import arm, dense

from veh_identification.identification import ArrayBlocks, Options, Prior, accumulate, identify
from veh_identification.identification.gram import accumulate_fast, accumulate_gram
from veh_identification.identification.least_squares import ordinary, regularised, weighted


@pytest.mark.parametrize('estimator', ['ordinary', 'weighted', 'prior'])
@pytest.mark.parametrize('blind', [0, 15])
def test_result_equals_the_in_memory_one(estimator: str, blind: int) -> None:
    problem = dense(3000, columns=30, blind=blind)
    Y = problem.noisy(np.random.default_rng(0))
    source = ArrayBlocks(problem.W, Y, 256)
    assert accumulate_fast(source)[1]
    prior = Prior.from_std(problem.X, 0.1)
    options = Options(estimator=estimator, prior=prior)  # type: ignore[arg-type]
    result = identify(source, problem.names, problem.equations, options=options)
    information = accumulate(source)
    if estimator == 'prior':
        exact = regularised(information, problem.names, problem.equations, prior)
    else:
        solve = ordinary if estimator == 'ordinary' else weighted
        exact = solve(information, problem.names, problem.equations)
    rows = (problem.W * exact.weights[:, None]).reshape(-1, 30)
    right = (Y * exact.weights).ravel()
    if estimator == 'prior':
        rows, right = np.vstack([rows, 10.0 * np.eye(30)]), np.append(right, 10.0 * problem.X)
    expected = np.linalg.lstsq(rows, right, rcond=None)[0]
    np.testing.assert_allclose(result.value, expected, rtol=1e-9)
    np.testing.assert_allclose(result.std**2, np.diag(exact.covariance), rtol=1e-7)


def test_refinement_restores_the_digits_that_squaring_loses() -> None:
    """Condition 3,000: Gram sums alone are good to 1e-9 or worse, the refined result to 1e-11."""
    rng = np.random.default_rng(1)
    W = rng.standard_normal((3000, 2, 8))
    W[:, :, 7] = W[:, :, 6] + 1e-3 * rng.standard_normal((3000, 2))
    Y = W @ np.ones(8) + 0.1 * rng.standard_normal((3000, 2))
    source, names = ArrayBlocks(W, Y), [f'x{i}' for i in range(8)]
    exact = weighted(accumulate(source), names, ['a', 'b'])
    coarse = weighted(accumulate_gram(source), names, ['a', 'b'], 1.0 / exact.weights)
    fine = identify(source, names, ['a', 'b'], options=Options(sigma=1.0 / exact.weights))
    assert accumulate_fast(source)[1]
    before = np.abs(coarse.value - exact.value).max()
    after = np.abs(fine.value - exact.value).max()
    print(f'error before refinement {before:.1e}, after {after:.1e}')
    assert after < 1e-10
    assert after < 0.1 * before


def test_bad_conditioning_and_noise_free_data_fall_back_to_the_orthogonal_pass() -> None:
    problem = arm(500)
    W = problem.W.copy()
    W[:, :, 1] = W[:, :, 0] + 1e-6 * W[:, :, 1]
    Y = problem.noisy(np.random.default_rng(0))
    assert not accumulate_fast(ArrayBlocks(W, Y))[1]
    assert not accumulate_fast(ArrayBlocks(problem.W, problem.W @ problem.X))[1]
    assert accumulate_fast(ArrayBlocks(problem.W, Y))[1]


def test_information_agrees_with_the_orthogonal_one() -> None:
    problem = dense(1000, columns=12, blind=5)
    source = ArrayBlocks(problem.W, problem.noisy(np.random.default_rng(2)), 77)
    fast, exact = accumulate_gram(source), accumulate(source)
    assert (fast.samples, fast.excluded) == (exact.samples, exact.excluded)
    for j in range(exact.equations):
        np.testing.assert_allclose(
            fast.factors[j].T @ fast.factors[j],
            exact.factors[j].T @ exact.factors[j],
            rtol=1e-9,
            atol=1e-9,
        )
        rank, rss = fast.equation(j).basic_fit()
        assert rank == exact.equation(j).basic_fit()[0] == (7 if j < 3 else 12)
        assert rss == pytest.approx(exact.equation(j).basic_fit()[1], rel=1e-9)
