"""The estimators on the real regressor: base-link rows of the two-leg humanoid (94 parameters)."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from known_problems import Array

from veh_identification.errors import EstimationError
from veh_identification.identification import (
    FactoryBlocks,
    accumulate,
    identify,
    select_columns,
    weighted,
)
from veh_identification.identification.blocks import Block
from veh_identification.identification.consistent import Body, consistent_fit, violations
from veh_identification.multibody.base_parameters import (
    BaseParameters,
    structural_base_parameters,
)
from veh_identification.multibody.motion import Motion, random_motion
from veh_identification.multibody.regressor import Regressor
from veh_identification.multibody.urdf import load_urdf

URDF = Path(__file__).parents[2] / 'config' / 'models' / 'humanoid_two_legs.urdf'
SIGMA = np.array([5.0, 5.0, 8.0, 1.0, 1.5, 1.0])


@dataclass(frozen=True)
class Humanoid:
    regressor: Regressor
    base: BaseParameters
    motion: Motion
    X: Array

    def source(self, seed: int) -> FactoryBlocks:
        """Blocks as the regressor makes them: one array that is overwritten again and again."""

        def blocks() -> Iterator[Block]:
            rng = np.random.default_rng(seed)
            for _, W in self.regressor.blocks(self.motion, 300):
                yield W, W @ self.X + rng.standard_normal(W.shape[:2]) * SIGMA

        return FactoryBlocks(blocks)


@pytest.fixture(scope='module')
def humanoid() -> Humanoid:
    model = load_urdf(URDF)
    regressor = Regressor(model, rows='base')
    motion = random_motion(model, 2000, 1)
    X = np.concatenate([model.parameters[i] for i in range(model.bodies)])
    return Humanoid(regressor, structural_base_parameters(regressor), motion, X)


def test_ninety_four_parameters_with_true_deviations(humanoid: Humanoid) -> None:
    truth = humanoid.base.full_to_base @ humanoid.X
    inside, squares = [], []
    for seed in range(10):
        source = select_columns(humanoid.source(seed), humanoid.base.base)
        result = identify(source, humanoid.base.names, humanoid.regressor.row_names)
        z = (result.value - truth) / result.std
        inside.append(np.abs(z) < 2.0)
        squares.append(z**2)
    coverage, spread = float(np.mean(inside)), float(np.mean(squares))
    print(
        f'2-sigma coverage {coverage:.3f}, mean square of the scaled error {spread:.3f}, '
        f'condition number {result.condition_number:.0f}'
    )
    assert len(result.names) == 94
    assert 0.92 < coverage < 0.98
    assert 0.8 < spread < 1.25


def test_fast_and_orthogonal_passes_agree(humanoid: Humanoid) -> None:
    source = select_columns(humanoid.source(0), humanoid.base.base)
    rows = humanoid.regressor.row_names
    fast = identify(source, humanoid.base.names, rows)
    orthogonal = weighted(accumulate(source), humanoid.base.names, rows)
    difference = np.abs(fast.value - orthogonal.value) / np.abs(orthogonal.value)
    print(f'largest relative difference {difference.max():.1e}')
    np.testing.assert_allclose(fast.value, orthogonal.value, rtol=1e-9)
    np.testing.assert_allclose(fast.std**2, np.diag(orthogonal.covariance), rtol=1e-6)


def test_standard_parameters_are_refused_by_name(humanoid: Humanoid) -> None:
    names = humanoid.regressor.columns.names
    with pytest.raises(EstimationError, match=r'rank 94 of 130\); undetermined: '):
        identify(humanoid.source(0), names, humanoid.regressor.row_names)


def test_every_link_can_be_made_consistent(humanoid: Humanoid) -> None:
    """All 130 standard parameters from rank 94: data fix the base, the prior the rest."""
    information = accumulate(humanoid.source(3))
    base_only = information.select(humanoid.base.base)
    free = weighted(base_only, humanoid.base.names, humanoid.regressor.row_names)
    parameters = humanoid.X.reshape(-1, 10)
    bodies = [
        Body(f'link {i}', np.arange(10 * i, 10 * i + 10), mass=max(p[0], 0.01))
        for i, p in enumerate(parameters)
    ]
    lifted = humanoid.base.base_to_full @ free.value
    assert len(violations(lifted, bodies)) > 0  # the plain fit is not realisable
    rng = np.random.default_rng(0)
    prior = humanoid.X * (1.0 + 0.1 * rng.standard_normal(130))
    start = time.perf_counter()
    fit = consistent_fit(
        information.combined(free.weights), bodies, prior=prior, prior_weight=1e-3
    )
    print(
        f'13 links, 130 parameters: {time.perf_counter() - start:.2f} s, cost over the '
        f'unconstrained fit {fit.relative_cost:.5f}, {len(fit.active)} links on the border'
    )
    assert violations(fit.value, bodies) == {}
    assert 1.0 - 1e-9 < fit.relative_cost < 1.01
    error = humanoid.base.full_to_base @ fit.value - humanoid.base.full_to_base @ humanoid.X
    scaled = error / np.sqrt(np.diag(free.covariance))
    print(f'rms error in sigmas of the free fit: {np.sqrt(np.mean(scaled**2)):.2f}')
    assert np.sqrt(np.mean(scaled**2)) < 1.3
