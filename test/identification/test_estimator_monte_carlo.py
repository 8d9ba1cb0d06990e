"""Are the deviations true? Many noise realisations of a known problem."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from known_problems import Array, Problem, arm, coloured, floating_tree

from veh_identification.identification import ArrayBlocks, Options, identify

RUNS = 300


@dataclass(frozen=True)
class Scatter:
    values: Array
    stds: Array
    truth: Array

    @property
    def bias_in_standard_errors(self) -> Array:
        error = self.values.std(axis=0, ddof=1) / np.sqrt(len(self.values))
        return (self.values.mean(axis=0) - self.truth) / error

    @property
    def predicted_over_scatter(self) -> Array:
        return np.sqrt(np.square(self.stds).mean(axis=0)) / self.values.std(axis=0, ddof=1)

    @property
    def coverage(self) -> float:
        return float((np.abs(self.values - self.truth) < 2.0 * self.stds).mean())


def simulate(
    problem: Problem,
    options: Options,
    cutoff: float | None,
    mixing: Array | None = None,
    missing: float = 0.0,
    runs: int = RUNS,
) -> Scatter:
    rng = np.random.default_rng(11)
    values, stds = [], []
    for _ in range(runs):
        noise = coloured(rng, problem.W.shape[:2], cutoff)
        if mixing is not None:
            noise = noise @ mixing.T
        Y = problem.W @ problem.X + noise * problem.sigma
        Y[rng.random(len(Y)) < missing, 0] = np.nan
        result = identify(
            ArrayBlocks(problem.W, Y), problem.names, problem.equations, options=options
        )
        values.append(result.value)
        stds.append(result.std)
    return Scatter(np.array(values), np.array(stds), problem.X)


def check(scatter: Scatter, label: str) -> None:
    bias, ratio = scatter.bias_in_standard_errors, scatter.predicted_over_scatter
    print(
        f'{label}: largest bias {np.abs(bias).max():.2f} standard errors, predicted / scatter '
        f'{ratio.min():.3f} to {ratio.max():.3f}, 2-sigma coverage {scatter.coverage:.3f}'
    )
    assert np.abs(bias).max() < 3.0
    assert np.abs(ratio - 1.0).max() < 0.15
    assert 0.92 < scatter.coverage < 0.98


@pytest.mark.parametrize('cutoff', [None, 0.5, 0.1])
def test_weighted_deviations_are_true_for_white_and_filtered_noise(cutoff: float | None) -> None:
    check(simulate(arm(1000), Options(), cutoff), f'weighted, cut-off {cutoff}')


def test_counting_filtered_samples_as_independent_would_be_wrong() -> None:
    """The reason for all this: the naive deviation is far too small."""
    naive = simulate(arm(1000), Options(noise='white'), 0.1)
    assert naive.predicted_over_scatter.max() < 0.5
    assert naive.coverage < 0.7


@pytest.mark.parametrize('estimator', ['ordinary', 'gauss-markov', 'robust'])
def test_other_estimators_are_honest_too(estimator: str) -> None:
    options = Options(estimator=estimator)  # type: ignore[arg-type]
    check(simulate(arm(800), options, None), estimator)


def test_coupled_equations_are_allowed_for() -> None:
    """Noise common to both equations: weighted stays honest, Gauss-Markov gets sharper."""
    mixing = np.array([[1.0, 0.0], [0.9, 0.436]])
    plain = simulate(arm(800), Options(), None, mixing)
    sharp = simulate(arm(800), Options(estimator='gauss-markov'), None, mixing)
    check(plain, 'weighted, coupled noise')
    check(sharp, 'gauss-markov, coupled noise')
    gain = plain.values.std(axis=0) / sharp.values.std(axis=0)
    print(f'scatter of weighted over Gauss-Markov: {gain.min():.2f} to {gain.max():.2f}')
    assert gain.max() > 1.3
    assert gain.min() > 0.97


@pytest.mark.parametrize(('cutoff', 'missing'), [(None, 0.0), (0.1, 0.0), (0.1, 0.1)])
def test_deviations_are_true_for_the_tree_model(cutoff: float | None, missing: float) -> None:
    """The package's own regressor of a floating tree, also with a tenth of the rows missing."""
    problem = floating_tree(600)
    scatter = simulate(problem, Options(), cutoff, missing=missing, runs=200)
    ratio = scatter.predicted_over_scatter
    print(
        f'tree of {len(problem.X)} parameters, cut-off {cutoff}, {100 * missing:.0f} % missing: '
        f'bias up to {np.abs(scatter.bias_in_standard_errors).max():.2f} standard errors, '
        f'predicted / scatter {ratio.min():.3f} to {ratio.max():.3f}, '
        f'2-sigma coverage {scatter.coverage:.3f}'
    )
    assert 0.92 < scatter.coverage < 0.98
    # Bonferroni over about twenty parameters: three standard errors would fail by chance.
    assert np.abs(scatter.bias_in_standard_errors).max() < 4.0
    assert np.abs(np.median(ratio) - 1.0) < 0.1


@pytest.mark.parametrize('pattern', ['scattered', 'block'])
def test_missing_rows_leave_the_colour_of_the_noise_as_it_is(pattern: str) -> None:
    """Deviations over those of the same rows without gaps: the root of the rows' share, no less.

    Zero rows in place of the missing ones made them too small by the share of the missing rows.
    """
    problem = arm(4000)
    rng = np.random.default_rng(2)
    ratios = []
    for _ in range(10):
        Y = problem.noisy(rng, 0.05)
        gappy = Y.copy()
        if pattern == 'scattered':
            gappy[rng.random(len(Y)) < 0.3] = np.nan
        else:
            gappy[1000:2200] = np.nan
        full, part = (
            identify(ArrayBlocks(problem.W, right), problem.names, problem.equations)
            for right in (Y, gappy)
        )
        ratios.append(part.std / full.std)
    ratio = float(np.mean(ratios))
    print(f'{pattern}: deviation with 30 % missing over that without {ratio:.3f}')
    # Scattered rows take away hardly anything of slow noise's information, a block its share.
    expected = 1.0 if pattern == 'scattered' else 1.0 / np.sqrt(0.7)
    assert abs(ratio / expected - 1.0) < 0.08
