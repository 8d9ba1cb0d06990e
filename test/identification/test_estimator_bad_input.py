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


@pytest.mark.parametrize('std', [np.nan, np.inf])
def test_priors_that_are_no_numbers(std: float) -> None:
    values = PROBLEM.X.copy()
    values[2] = np.nan
    for prior, message in (
        (Prior.from_std(values, 1.0), 'prior value of parameter 2 .* must be finite, found nan'),
        (Prior.from_std(PROBLEM.X, std), 'prior covariance of parameter 0 .* must be finite'),
        (Prior.from_std(PROBLEM.X[:3], 1.0), 'the prior holds 3 values for 9 parameters'),
    ):
        with pytest.raises(EstimationError, match=message):
            run(PROBLEM.W, Y, estimator='prior', prior=prior)
        with pytest.raises(EstimationError, match=message):
            RecursiveEstimator(PROBLEM.names, PROBLEM.equations, PROBLEM.sigma, 1.0, prior)


@pytest.mark.parametrize('estimator', ['ordinary', 'weighted', 'robust', 'gauss-markov'])
@pytest.mark.filterwarnings('error')
def test_measurements_that_are_zero_throughout(estimator: str) -> None:
    with pytest.raises(EstimationError, match=r'all equations \(tau1, tau2\) are zero throughout'):
        run(PROBLEM.W, 0.0 * Y, estimator=estimator)
    with pytest.raises(EstimationError, match='zero throughout'):
        weighted(accumulate(ArrayBlocks(PROBLEM.W, 0.0 * Y)), PROBLEM.names, PROBLEM.equations)


@pytest.mark.filterwarnings('error')
def test_one_equation_that_is_zero_throughout_changes_nothing() -> None:
    W = np.concatenate([PROBLEM.W, 0.0 * PROBLEM.W[:, :1]], axis=1)
    wide = identify(
        ArrayBlocks(W, np.column_stack([Y, np.zeros(300)])),
        PROBLEM.names,
        [*PROBLEM.equations, 'dead'],
    )
    plain = identify(ArrayBlocks(PROBLEM.W, Y), PROBLEM.names, PROBLEM.equations)
    np.testing.assert_allclose(wide.value, plain.value, rtol=1e-8)
    assert wide.noise['model'] == plain.noise['model']
    assert wide.residual_rms[2] == 0.0


def test_options_that_mean_nothing() -> None:
    with pytest.raises(EstimationError, match="unknown noise model 'foo', use one of auto, white"):
        run(PROBLEM.W, Y, noise='foo')
    with pytest.raises(EstimationError, match="unknown estimator 'foo', use one of ordinary"):
        run(PROBLEM.W, Y, estimator='foo')
    with pytest.raises(EstimationError, match='"ordinary" weighs all equations alike'):
        run(PROBLEM.W, Y, estimator='ordinary', sigma=PROBLEM.sigma)
