"""Streaming equals in-memory, memory stays flat, bad samples weigh nothing."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator

import numpy as np
import pytest
from known_problems import Array, arm, dense

from veh_identification.identification import (
    ArrayBlocks,
    FactoryBlocks,
    Options,
    accumulate,
    identify,
)
from veh_identification.identification.blocks import Block
from veh_identification.identification.least_squares import weighted


def in_memory(W: Array, Y: Array, weights: Array) -> Array:
    rows = (W * weights[:, None]).reshape(-1, W.shape[2])
    return np.linalg.lstsq(rows, (Y * weights).ravel(), rcond=None)[0]


@pytest.mark.parametrize('block', [1, 7, 333, 5000])
@pytest.mark.parametrize('blind', [0, 25])
def test_streaming_equals_in_memory(block: int, blind: int) -> None:
    problem = dense(3000, blind=blind)
    Y = problem.noisy(np.random.default_rng(3))
    estimate = weighted(
        accumulate(ArrayBlocks(problem.W, Y, block)), problem.names, problem.equations
    )
    expected = in_memory(problem.W, Y, estimate.weights)
    np.testing.assert_allclose(estimate.value, expected, rtol=1e-9)
    rows = (problem.W * estimate.weights[:, None]).reshape(-1, len(problem.X))
    residual = (Y * estimate.weights).ravel() - rows @ expected
    variance = residual @ residual / (len(residual) - len(expected))
    covariance = variance * np.linalg.inv(rows.T @ rows)
    np.testing.assert_allclose(np.diag(estimate.covariance), np.diag(covariance), rtol=1e-9)


def test_ill_conditioned_columns_keep_the_accuracy_of_an_orthogonal_method() -> None:
    """Two columns differ by 1e-7: normal equations would lose all digits, QR keeps about eight."""
    rng = np.random.default_rng(0)
    W = rng.standard_normal((4000, 2, 6))
    W[:, :, 5] = W[:, :, 4] + 1e-7 * rng.standard_normal((4000, 2))
    X = np.array([1.0, -2.0, 3.0, 0.5, 1.0, 2.0])
    factor = accumulate(ArrayBlocks(W, W @ X, 100)).combined()
    streamed = np.abs(factor.solve() - X).max()
    flat = W.reshape(-1, 6)
    normal = np.abs(np.linalg.solve(flat.T @ flat, flat.T @ (W @ X).ravel()) - X).max()
    assert streamed < 1e-7
    assert normal > 1e-5


def test_equation_sigma_is_that_of_each_equation_alone() -> None:
    """Equation (24), with the number of parameters that appear in that equation."""
    problem = dense(800, columns=20, blind=9)
    Y = problem.noisy(np.random.default_rng(4))
    estimate = weighted(accumulate(ArrayBlocks(problem.W, Y)), problem.names, problem.equations)
    for j, unknowns in enumerate([11, 11, 11, 20, 20, 20]):
        W_j = problem.W[:, j, :unknowns]
        rss = np.linalg.lstsq(W_j, Y[:, j], rcond=None)[1][0]
        sigma = np.sqrt(rss / (800 - unknowns))
        # P holds 1 / sigma_j, not 1 / sigma_j^2 (facts.md)
        assert estimate.weights[j] == pytest.approx(1.0 / sigma, rel=1e-9)


def test_samples_that_are_not_finite_are_counted_and_weigh_nothing() -> None:
    """Samples without any usable equation; those with some: test_estimator_masks."""
    problem = arm(500)
    Y = problem.noisy(np.random.default_rng(5))
    W, Y_bad = problem.W.copy(), Y.copy()
    Y_bad[17] = np.nan
    W[200, :, 3] = np.inf
    W[333, :, 0] = np.nan
    good = np.setdiff1d(np.arange(500), [17, 200, 333])
    for noise in ('white', 'coloured'):
        options = Options(noise=noise)  # type: ignore[arg-type]
        result = identify(
            ArrayBlocks(W, Y_bad, 64), problem.names, problem.equations, options=options
        )
        clean = identify(
            ArrayBlocks(problem.W[good], Y[good]),
            problem.names,
            problem.equations,
            options=options,
        )
        assert (result.samples, result.excluded_samples) == (497, 3)
        np.testing.assert_allclose(result.value, clean.value, rtol=1e-10)
        np.testing.assert_allclose(result.std, clean.std, rtol=0.1)
        np.testing.assert_allclose(result.residual_rms, clean.residual_rms, rtol=1e-9)


def generated(samples: int, block: int = 500) -> FactoryBlocks:
    """A recording that never exists as a whole: blocks are made when asked for."""

    def blocks() -> Iterator[Block]:
        rng = np.random.default_rng(7)
        for _ in range(samples // block):
            W = rng.standard_normal((block, 6, 20))
            yield W, W.sum(axis=2) + rng.standard_normal((block, 6))

    return FactoryBlocks(blocks)


def test_memory_does_not_grow_with_the_recording() -> None:
    names, equations = [f'x{i}' for i in range(20)], list('abcdef')

    def peak(samples: int) -> int:
        tracemalloc.start()
        identify(generated(samples), names, equations)
        result = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return result

    short, long = peak(20000), peak(200000)
    print(f'peak {short / 1e6:.1f} MB for 20,000 samples, {long / 1e6:.1f} MB for 200,000')
    assert long < 1.1 * short
    assert long < 200000 * 6 * 20 * 8 / 20  # a twentieth of W alone


def test_rank_does_not_depend_on_units() -> None:
    rng = np.random.default_rng(4)
    W, Y = rng.standard_normal((200, 1, 5)), rng.standard_normal((200, 1))
    W[:, :, 4] = W[:, :, 0] - W[:, :, 1]  # one that others tell
    rank, rss = accumulate(ArrayBlocks(W, Y)).equation_fit(0)
    scaled = W * 10.0 ** np.array([-6.0, 6.0, 0.0, 5.0, -5.0])
    assert rank == 4
    other = accumulate(ArrayBlocks(scaled, Y)).equation_fit(0)
    assert other[0] == 4
    np.testing.assert_allclose(other[1], rss, rtol=1e-9)
    best = np.linalg.lstsq(W[:, 0], Y[:, 0], rcond=1e-10)[0]
    np.testing.assert_allclose(rss, np.square(Y[:, 0] - W[:, 0] @ best).sum(), rtol=1e-9)
