"""Physically consistent fits: no body may violate anything."""

from __future__ import annotations

import numpy as np
import pytest
from known_problems import Array

from veh_identification.errors import EstimationError
from veh_identification.identification.consistent import (
    Body,
    _inside,
    consistent_fit,
    violations,
)
from veh_identification.identification.factor import Factor, triangular_factor
from veh_identification.multibody.inertia import from_pseudo_inertia, pseudo_inertia


def random_body(rng: np.random.Generator) -> Array:
    """A realisable body: second moments of a random cloud of mass points, often nearly flat."""
    points = rng.standard_normal((6, 3)) * 0.1 * 10.0 ** rng.uniform(-1.5, 0.0, 3)
    points += 0.1 * rng.standard_normal(3)
    masses = rng.uniform(0.05, 1.0, 6)
    homogeneous = np.column_stack([points, np.ones(6)])
    return from_pseudo_inertia((homogeneous * masses[:, None]).T @ homogeneous)


def noisy_factor(rng: np.random.Generator, truth: Array, rows: int, noise: float) -> Factor:
    """A regressor whose columns see mass and inertia with realistic unequal strength."""
    strength = np.tile([10.0, 10.0, 10.0, 10.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0], len(truth) // 10)
    W = rng.standard_normal((rows, len(truth))) * strength
    Y = W @ truth + noise * rng.standard_normal(rows)
    return Factor.from_triangle(triangular_factor(np.column_stack([W, Y]) / noise), rows)


def bodies(count: int) -> list[Body]:
    return [Body(f'b{i}', np.arange(10 * i, 10 * i + 10)) for i in range(count)]


def test_a_thousand_noisy_problems_without_a_violation() -> None:
    rng = np.random.default_rng(0)
    relative, broken_before = [], 0
    for _ in range(1000):
        count = int(rng.integers(1, 3))
        truth = np.concatenate([random_body(rng) for _ in range(count)])
        factor = noisy_factor(rng, truth, 60 * count, float(10.0 ** rng.uniform(-2.0, 1.0)))
        broken_before += bool(violations(factor.solve(), bodies(count)))
        fit = consistent_fit(factor, bodies(count))
        assert not violations(fit.value, bodies(count))
        assert fit.cost >= fit.unconstrained_cost * (1.0 - 1e-9)
        relative.append(fit.relative_cost)
    print(
        f'{broken_before} of 1000 unconstrained fits were inconsistent, 0 constrained ones; cost '
        f'over the unconstrained fit: median {np.median(relative):.4f}, '
        f'95 % {np.quantile(relative, 0.95):.4f}, largest {max(relative):.4f}'
    )
    assert broken_before > 500


def test_a_consistent_unconstrained_fit_is_left_alone() -> None:
    rng = np.random.default_rng(1)
    truth = from_pseudo_inertia(np.diag([0.02, 0.03, 0.025, 2.0]))
    factor = noisy_factor(rng, truth, 400, 1e-3)
    fit = consistent_fit(factor, bodies(1))
    np.testing.assert_allclose(fit.value, factor.solve(), rtol=1e-5, atol=1e-8)
    assert fit.relative_cost == pytest.approx(1.0, abs=1e-9)
    assert fit.active == []


def test_it_is_the_best_consistent_point() -> None:
    """No feasible step towards the unconstrained fit or a random body lowers the cost."""
    rng = np.random.default_rng(2)
    factor = noisy_factor(rng, random_body(rng), 30, 3.0)
    fit = consistent_fit(factor, bodies(1), margin=1e-6)
    assert fit.active == ['b0']
    for _ in range(300):
        other = random_body(rng) * rng.uniform(0.1, 10.0)
        step = fit.value + 1e-3 * (other - fit.value)  # convex: feasible again
        assert factor.cost(step) >= fit.cost * (1.0 - 1e-6)


def test_prior_decides_only_what_the_data_leave_open() -> None:
    """Rank-deficient data (each body's mass seen only as a sum): the prior splits it."""
    rng = np.random.default_rng(3)
    prior = np.concatenate([from_pseudo_inertia(np.diag([0.02, 0.03, 0.025, m])) for m in (2, 3)])
    truth = prior.copy()
    truth[[0, 10]] += 0.4
    W = rng.standard_normal((200, 20))
    W[:, 10] = W[:, 0]
    rows = np.column_stack([W, W @ truth]) / 1e-3
    factor = Factor.from_triangle(triangular_factor(rows), 200)
    fit = consistent_fit(factor, bodies(2), prior=prior, prior_weight=1e-3)
    assert not violations(fit.value, bodies(2))
    assert fit.value[0] + fit.value[10] == pytest.approx(truth[0] + truth[10], abs=1e-4)
    np.testing.assert_allclose(fit.value[[0, 10]], truth[[0, 10]], atol=1e-3)


def test_deficient_data_without_a_prior_are_refused() -> None:
    W = np.random.default_rng(0).standard_normal((50, 10))
    W[:, 4] = 0.0
    factor = Factor.from_triangle(triangular_factor(np.column_stack([W, W.sum(axis=1)])), 50)
    with pytest.raises(EstimationError, match='9 of 10 standard parameters'):
        consistent_fit(factor, bodies(1))


def test_bounds_hold_for_the_other_columns() -> None:
    rng = np.random.default_rng(4)
    truth = np.append(random_body(rng), [-0.5, 0.7])
    W = rng.standard_normal((100, 12))
    factor = Factor.from_triangle(triangular_factor(np.column_stack([W, W @ truth])), 100)
    lower = np.full(12, -np.inf)
    lower[10] = 0.0  # friction cannot drive
    upper = np.full(12, np.inf)
    upper[11] = 0.6
    fit = consistent_fit(factor, bodies(1), lower=lower, upper=upper)
    assert fit.value[10] >= -1e-7
    assert fit.value[11] <= 0.6 + 1e-7
    assert not violations(fit.value, bodies(1))


def test_a_lower_bound_in_the_units_of_a_body_is_met_exactly() -> None:
    """Bounds and bodies are scaled alike: a mass of at least 3 kg where 2 kg fit best."""
    rng = np.random.default_rng(5)
    truth = from_pseudo_inertia(np.diag([0.02, 0.03, 0.025, 2.0]))
    W = rng.standard_normal((100, 10))
    factor = Factor.from_triangle(triangular_factor(np.column_stack([W, W @ truth])), 100)
    body = Body('b0', np.arange(10), mass=20.0, length=0.3)
    lower = np.where(np.arange(10) == np.argmax(truth), 3.0, -np.inf)
    fit = consistent_fit(factor, [body], lower=lower)
    assert fit.value[np.argmax(truth)] == pytest.approx(3.0, abs=1e-5)


def test_bodies_a_little_outside_are_lifted_and_others_left_alone() -> None:
    inside = from_pseudo_inertia(np.diag([0.02, 0.03, 0.025, 2.0]))
    outside = from_pseudo_inertia(np.diag([0.02, -1e-6, 0.025, 2.0]))
    value = np.concatenate([inside, outside])
    assert list(violations(value, bodies(2))) == ['b1']
    lifted = _inside(value, bodies(2), 1e-5)
    assert not violations(lifted, bodies(2))
    assert np.array_equal(lifted[:10], inside)
    second = bodies(2)[1]
    matrix = pseudo_inertia(lifted[second.columns] / second.scale())
    assert np.linalg.eigvalsh(matrix)[0] == pytest.approx(1e-5, rel=1e-6)


POINT = 2.0 * np.outer([0.1, 0.2, 0.3, 1.0], [0.1, 0.2, 0.3, 1.0])
BORDER = {
    'point mass': POINT,
    'rod': POINT + np.diag([0.0, 0.0, 0.25, 0.0]),
    'plate': np.diag([0.02, 0.03, 0.0, 2.0]),
    'interior': np.diag([0.02, 0.03, 0.025, 2.0]),
}


@pytest.mark.parametrize('kind', list(BORDER))
@pytest.mark.parametrize('noise', [1e-12, 1e-9, 1e-6, 1e-3, 1.0])
def test_border_bodies_with_hardly_any_noise_are_solved(kind: str, noise: float) -> None:
    rng = np.random.default_rng(5)
    truth = from_pseudo_inertia(BORDER[kind])
    body = [Body('b0', np.arange(10), 2.0, 0.1)]
    for _ in range(3):
        fit = consistent_fit(noisy_factor(rng, truth, 200, noise), body)
        assert not violations(fit.value, body)
        # The margin of 1e-4 lifts a flat body by up to that share of 2 kg, 0.2 kg m, 0.02 kg m^2.
        assert np.abs(fit.value - truth).max() < 3e-4 + noise


@pytest.mark.parametrize('kind', list(BORDER))
@pytest.mark.parametrize(('mass', 'length'), [(1e-3, 0.1), (1e3, 3.0), (2.0, 1e-3), (2.0, 10.0)])
def test_wrong_typical_sizes_cost_nothing(kind: str, mass: float, length: float) -> None:
    """The body weighs 2 kg: margins of a gram or a tonne would fail or displace the fit."""
    rng = np.random.default_rng(6)
    truth = from_pseudo_inertia(BORDER[kind])
    for noise in (1e-6, 1e-2, 1.0, 10.0):
        factor = noisy_factor(rng, truth, 200, noise)
        right = consistent_fit(factor, [Body('b0', np.arange(10), 2.0, 0.1)])
        wrong = consistent_fit(factor, [Body('b0', np.arange(10), mass, length)])
        assert not violations(wrong.value, bodies(1))
        if noise >= 1e-2:
            assert wrong.cost < 1.05 * right.cost
        else:  # here the margin itself costs: only the displacement can be compared
            assert np.abs(wrong.value - truth).max() < 5e-3


def test_a_fit_that_fails_names_its_bodies() -> None:
    """A mass that may not exceed -1 kg contradicts every body."""
    factor = noisy_factor(
        np.random.default_rng(7), np.tile(random_body(np.random.default_rng(1)), 2), 100, 1e-2
    )
    upper = np.full(20, np.inf)
    upper[10] = -1.0
    with pytest.raises(EstimationError, match=r'found for .*b1 \(.* PrimalInfeasible\)'):
        consistent_fit(factor, bodies(2), upper=upper)


def test_bad_bodies_are_named() -> None:
    factor = Factor(np.eye(10), np.ones(10), 0.0, 20)
    with pytest.raises(EstimationError, match='body leg needs ten columns'):
        consistent_fit(factor, [Body('leg', np.arange(9))])
    with pytest.raises(EstimationError, match='at least one body'):
        consistent_fit(factor, [])
