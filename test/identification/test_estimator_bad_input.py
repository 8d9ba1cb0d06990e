"""Bad input ends in one clear sentence that names what is wrong."""

from __future__ import annotations

import numpy as np
import pytest
from known_problems import Array, arm

from veh_identification.errors import EstimationError
from veh_identification.identification import (
    ArrayBlocks,
    Options,
    Prior,
    RecursiveEstimator,
    accumulate,
    change_test,
    gauss_markov_fit,
    identify,
    weighted,
)

PROBLEM = arm(300)
Y = PROBLEM.noisy(np.random.default_rng(0))


def run(W: Array, right: Array, **options: object) -> None:
    identify(
        ArrayBlocks(W, right),
        PROBLEM.names,
        PROBLEM.equations,
        options=Options(**options),  # type: ignore[arg-type]
    )


def test_fewer_samples_than_unknowns() -> None:
    with pytest.raises(EstimationError, match=r'8 equations .* cannot determine 9 parameters'):
        run(PROBLEM.W[:4], Y[:4])


def test_rank_deficient_recording_names_the_parameters() -> None:
    W = PROBLEM.W.copy()
    W[:, :, 5] = 0.0
    W[:, :, 8] = -3.0 * W[:, :, 6]
    message = r'rank 7 of 9\); undetermined: fv1, fv2, off1'
    for estimator in ('ordinary', 'weighted', 'gauss-markov', 'robust'):
        with pytest.raises(EstimationError, match=message):
            run(W, Y, estimator=estimator)


def test_all_samples_nan() -> None:
    with pytest.raises(EstimationError, match='all 300 samples'):
        run(PROBLEM.W, np.full_like(Y, np.nan))


def test_no_samples() -> None:
    with pytest.raises(EstimationError, match='holds no samples'):
        run(PROBLEM.W[:0], Y[:0])


def test_mismatched_shapes() -> None:
    with pytest.raises(EstimationError, match=r'found \(300, 2, 9\) and \(299, 2\)'):
        run(PROBLEM.W, Y[:-1])
    with pytest.raises(EstimationError, match=r'block 1: expected 2 equations and 9 columns'):
        accumulate([(PROBLEM.W, Y), (PROBLEM.W[:, :, :8], Y)])
    with pytest.raises(EstimationError, match='8 parameters were named'):
        identify(ArrayBlocks(PROBLEM.W, Y), PROBLEM.names[:8], PROBLEM.equations)
    live = RecursiveEstimator(PROBLEM.names, PROBLEM.equations, PROBLEM.sigma)
    with pytest.raises(EstimationError, match='expected 2 equations and 9 columns'):
        live.update(PROBLEM.W[:, :, :3], Y)


@pytest.mark.parametrize('value', [0.0, -1.0, np.nan])
def test_sigma_must_be_positive(value: float) -> None:
    with pytest.raises(EstimationError, match='sigma of equation tau2 must be positive'):
        run(PROBLEM.W, Y, sigma=np.array([1.0, value]))
    with pytest.raises(EstimationError, match='sigma of equation tau2 must be positive'):
        RecursiveEstimator(PROBLEM.names, PROBLEM.equations, np.array([1.0, value]))


def test_noise_covariance_must_be_one() -> None:
    for covariance, message in (
        (np.eye(3), 'symmetric 2 x 2'),
        (np.array([[1.0, 2.0], [2.0, 1.0]]), 'not positive definite'),
        (np.diag([1.0, 0.0]), 'equation tau2 must be positive'),
    ):
        with pytest.raises(EstimationError, match=message):
            run(PROBLEM.W, Y, estimator='gauss-markov', noise_covariance=covariance)


def test_one_way_iterators_are_refused_where_several_passes_are_needed() -> None:
    once = iter([(PROBLEM.W, Y)])
    with pytest.raises(EstimationError, match='more than once'):
        identify(once, PROBLEM.names, PROBLEM.equations)
    with pytest.raises(EstimationError, match='more than once'):
        gauss_markov_fit(once, PROBLEM.names, PROBLEM.equations, start=PROBLEM.X)
    # One pass is enough for white noise.
    result = identify(once, PROBLEM.names, PROBLEM.equations, options=Options(noise='white'))
    assert result.samples == 300


def test_names_and_priors() -> None:
    with pytest.raises(EstimationError, match='two parameters have the same name: a'):
        identify(ArrayBlocks(PROBLEM.W, Y), ['a'] * 9, PROBLEM.equations)
    with pytest.raises(EstimationError, match='units were given'):
        identify(ArrayBlocks(PROBLEM.W, Y), PROBLEM.names, PROBLEM.equations, ['kg'])
    with pytest.raises(EstimationError, match='prior" needs'):
        run(PROBLEM.W, Y, estimator='prior')
    with pytest.raises(EstimationError, match='not positive definite'):
        run(PROBLEM.W, Y, estimator='prior', prior=Prior(PROBLEM.X, np.zeros((9, 9))))
    with pytest.raises(EstimationError, match=r"loss must be one of .* found 'cauchy'"):
        run(PROBLEM.W, Y, estimator='robust', loss='cauchy')
    with pytest.raises(EstimationError, match='unknown estimator'):
        run(PROBLEM.W, Y, estimator='magic')
    with pytest.raises(EstimationError, match='cannot compare'):
        change_test(np.zeros(2), np.eye(2), np.zeros(3), np.eye(3), ['a', 'b', 'c'])


def test_noise_free_data_do_not_divide_by_zero() -> None:
    exact = PROBLEM.W @ PROBLEM.X
    estimate = weighted(
        accumulate(ArrayBlocks(PROBLEM.W, exact)), PROBLEM.names, PROBLEM.equations
    )
    np.testing.assert_allclose(estimate.value, PROBLEM.X, rtol=1e-9)
    result = identify(ArrayBlocks(PROBLEM.W, exact), PROBLEM.names, PROBLEM.equations)
    np.testing.assert_allclose(result.value, PROBLEM.X, rtol=1e-9)
    assert np.all(np.isfinite(result.std))
