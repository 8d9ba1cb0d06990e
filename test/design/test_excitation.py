from __future__ import annotations

import numpy as np
import pytest

from veh_identification.design.excitation import (
    DesignProblem,
    design_excitation,
    random_trajectory,
)
from veh_identification.errors import EstimationError, UsageError
from veh_identification.identification.trajectory import MotionLimits

LIMITS = MotionLimits([-1.5, -2.0], [1.5, 1.0], [3.0, 4.0], [12.0, 20.0])


def two_link_arm(q, qd, qdd):
    """Base-parameter regressor (N, 2, 8) of a planar arm under gravity with friction."""
    s2, c2 = np.sin(q[:, 1]), np.cos(q[:, 1])
    g1, g12 = 9.81 * np.cos(q[:, 0]), 9.81 * np.cos(q[:, 0] + q[:, 1])
    coupling = (2 * qdd[:, 0] + qdd[:, 1]) * c2 - (2 * qd[:, 0] + qd[:, 1]) * qd[:, 1] * s2
    back = qdd[:, 0] * c2 + qd[:, 0] ** 2 * s2
    zero = np.zeros(len(q))
    first = [qdd[:, 0], qdd[:, 0] + qdd[:, 1], coupling + g12, g1, qd[:, 0], np.sign(qd[:, 0])]
    second = [zero, qdd[:, 0] + qdd[:, 1], back + g12, zero, zero, zero]
    first += [zero, zero]
    second += [qd[:, 1], np.sign(qd[:, 1])]
    return np.stack([np.stack(first, axis=1), np.stack(second, axis=1)], axis=1)


def problem(criterion='d_optimal', **changes):
    return DesignProblem(
        two_link_arm, LIMITS, 2, harmonics=3, samples=40, criterion=criterion, **changes
    )


@pytest.mark.parametrize(
    ('changes', 'message'),
    [
        ({'noise_covariance': -np.eye(2)}, 'noise variance of equation 0 must be positive'),
        ({'noise_covariance': np.array([[1.0, 2.0], [2.0, 1.0]])}, 'not positive definite'),
        ({'noise_covariance': np.full((2, 2), np.nan)}, 'must be a symmetric 2 x 2 matrix'),
        ({'noise_covariance': np.ones((2, 3))}, r'2 x 2 matrix, found shape \(2, 3\)'),
        ({'noise_covariance': np.array(1.0)}, r'1 x 1 matrix, found shape \(\)'),
        ({'harmonics': 0}, 'at least one harmonic and one channel, found 0 and 2'),
        ({'channels': 0}, 'at least one harmonic and one channel, found 3 and 0'),
    ],
)
def test_problems_that_mean_nothing_are_refused_at_once(changes, message):
    with pytest.raises((EstimationError, UsageError), match=message):
        DesignProblem(two_link_arm, LIMITS, **{'channels': 2, 'harmonics': 3, **changes})


def test_noise_covariance_must_fit_the_regressor_and_whitens_it():
    trajectory = random_trajectory(problem(), 0.3, np.random.default_rng(0))
    with pytest.raises(UsageError, match='for 3 equations, but the regressor has 2 per sample'):
        problem(noise_covariance=np.eye(3)).evaluate(trajectory)
    # log det of W' Sigma^-1 W falls by 8 log 4 when all noise variances are four times as large.
    plain = problem().evaluate(trajectory)[1]
    assert problem(noise_covariance=4.0 * np.eye(2)).evaluate(trajectory)[1] == pytest.approx(
        plain - 8.0 * np.log(4.0)
    )


@pytest.fixture(scope='module')
def designs():
    return {
        criterion: design_excitation(
            problem(criterion), 0.3, starts=2, seed=1, max_evaluations=1200
        )
        for criterion in ('condition', 'd_optimal')
    }


@pytest.mark.parametrize('criterion', ['condition', 'd_optimal'])
def test_better_than_every_random_trajectory_within_limits(designs, criterion):
    design = designs[criterion]
    assert design.limits_hold
    assert design.worst_use <= 1.0 + 1e-9
    rng = np.random.default_rng(99)
    costs = [
        problem(criterion).cost(random_trajectory(problem(criterion), 0.3, rng))
        for _ in range(200)
    ]
    assert problem(criterion).cost(design.trajectory) < min(costs)


def test_each_design_wins_its_own_criterion(designs):
    assert designs['d_optimal'].log_det > designs['condition'].log_det
    assert designs['condition'].condition_number < designs['d_optimal'].condition_number


def test_histories_only_improve(designs):
    for design in designs.values():
        assert len(design.histories) == 2
        for history in design.histories:
            assert len(history) > 3
            assert (np.diff(history) <= 0.0).all()
            assert history[-1] < history[0]


def test_limits_hold_between_the_samples_too(designs):
    trajectory = designs['d_optimal'].trajectory
    assert LIMITS.worst_use(trajectory, 5000) < 1.0 + 2e-3


def test_reproducible_by_seed(designs):
    again = design_excitation(problem(), 0.3, starts=2, seed=1, max_evaluations=1200)
    np.testing.assert_array_equal(
        again.trajectory.vector(), designs['d_optimal'].trajectory.vector()
    )
    other = design_excitation(problem(), 0.3, starts=1, seed=2, max_evaluations=500)
    assert not np.array_equal(other.trajectory.vector(), again.trajectory.vector())


def test_budget_is_kept_and_the_result_is_still_feasible():
    design = design_excitation(problem(), 0.3, starts=2, seed=0, max_evaluations=120)
    assert design.evaluations <= 130
    assert design.stopped_by == 'evaluations'
    assert design.limits_hold
    out_of_time = design_excitation(problem(), 0.3, starts=2, seed=0, time_limit=0.0)
    assert out_of_time.stopped_by == 'time'
    assert out_of_time.limits_hold


def test_user_constraints_hold():
    def above_the_table(q, qd, qdd):
        return 1.2 + np.sin(q[:, 0]) + np.sin(q[:, 0] + q[:, 1])

    bound = problem(constraints=[above_the_table], home=[0.3, 0.2])
    free = design_excitation(problem(), 0.3, starts=1, seed=3, max_evaluations=300)
    kept = design_excitation(bound, 0.3, starts=1, seed=3, max_evaluations=500)
    assert bound.constraint_margin(free.trajectory) < -0.1
    assert kept.limits_hold
    assert kept.constraint_margin >= -1e-9
    q = kept.trajectory.evaluate(kept.trajectory.sample_times(999))[0]
    assert above_the_table(q, q, q).min() > -1e-3


def test_from_rest_keeps_its_boundary():
    design = design_excitation(problem(from_rest=True), 0.3, starts=1, seed=0, max_evaluations=400)
    q, qd, qdd = design.trajectory.evaluate(0.0)
    np.testing.assert_allclose(q[0], design.trajectory.offset, atol=1e-9)
    np.testing.assert_allclose(np.stack([qd, qdd]), 0.0, atol=1e-9)
    assert design.limits_hold


def test_several_fundamentals_are_tried():
    design = design_excitation(problem(), [0.1, 0.5], starts=2, seed=0, max_evaluations=400)
    singles = [
        design_excitation(problem(), f, starts=1, seed=0, max_evaluations=200).log_det
        for f in (0.1, 0.5)
    ]
    assert design.log_det >= singles[0] - 1e-9
    assert design.trajectory.fundamental_hz in (0.1, 0.5)


def test_noise_covariance_weights_the_equations():
    covariance = np.array([[4.0, 0.5], [0.5, 1.0]])
    trajectory = random_trajectory(problem(), 0.3, np.random.default_rng(0))
    weighted = problem(noise_covariance=covariance).evaluate(trajectory)[1]
    w = two_link_arm(*trajectory.evaluate(trajectory.sample_times(40)))
    information = np.einsum('nei,ef,nfj->ij', w, np.linalg.inv(covariance), w)
    assert weighted == pytest.approx(np.linalg.slogdet(information)[1], rel=1e-10)


def test_errors_are_one_sentence():
    with pytest.raises(UsageError, match="unknown criterion 'a_optimal'"):
        problem('a_optimal')
    with pytest.raises(UsageError, match='at least 9 samples per period'):
        DesignProblem(two_link_arm, LIMITS, 2, harmonics=4, samples=5)
    with pytest.raises(UsageError, match='standing still at home'):
        design_excitation(problem(home=[5.0, 0.0]), 0.3)
    with pytest.raises(UsageError, match='positive fundamentals'):
        design_excitation(problem(), -1.0)

    def doubled(q, qd, qdd):
        w = two_link_arm(q, qd, qdd)
        return np.concatenate([w, w[:, :, :1]], axis=2)

    with pytest.raises(EstimationError, match='base parameters only'):
        design_excitation(
            DesignProblem(doubled, LIMITS, 2, harmonics=3), 0.3, starts=1, max_evaluations=100
        )


def test_coordinates_without_a_velocity_limit():
    free = MotionLimits([-1.5, -2.0], [1.5, 1.0], np.inf, [12.0, np.inf])
    open_problem = DesignProblem(two_link_arm, free, 2, harmonics=3, samples=40)
    design = design_excitation(open_problem, 0.3, starts=2, seed=1, max_evaluations=800)
    assert design.limits_hold and np.isfinite(design.log_det)
    limited = design_excitation(problem(), 0.3, starts=2, seed=1, max_evaluations=800)
    assert design.log_det > limited.log_det


@pytest.mark.parametrize('end', ['position_min', 'position_max'])
def test_a_position_without_limit_is_refused(end):
    values = {
        'position_min': -1.0,
        'position_max': 1.0,
        'velocity_max': 1.0,
        'acceleration_max': 1.0,
    }
    values[end] = -np.inf if end == 'position_min' else np.inf
    with pytest.raises(UsageError, match='positions must be finite'):
        MotionLimits(**values).arrays(2)
