"""Excitation design and the use of the result: feedforward compensation (Figs. 5 and 6)."""

from __future__ import annotations

import numpy as np
import pytest

from veh_identification.design.parallel.excitation import (
    actuator_constraint,
    design,
    design_problem,
    limits_use,
    singularity_constraint,
)
from veh_identification.errors import UsageError
from veh_identification.identification.trajectory import FourierTrajectory
from veh_identification.simulation.parallel.closed_loop import mean_square, tracking_errors
from veh_identification.simulation.parallel.scenarios import (
    HexapodSensors,
    circle,
    default_excitation,
    true_parameters,
)
from veh_identification.systems.parallel.configuration import (
    load_configuration,
    parse_configuration,
)
from veh_identification.systems.parallel.model.geometry import POSE_NAMES

CONFIGURATION = load_configuration()
MODEL = CONFIGURATION.model()


@pytest.mark.parametrize('criterion', ['d_optimal', 'condition'])
def test_short_design_improves_and_keeps_actuator_limits(criterion: str) -> None:
    covariance = HexapodSensors().force_covariance()
    found = design(
        MODEL,
        0.4,
        criterion=criterion,
        harmonics=3,
        samples=40,
        starts=1,
        seed=2,
        max_iterations=6,
        force_covariance=covariance,
    )
    history = found.histories[0]
    assert history[-1] < history[0] - 1.0
    assert found.limits_hold
    use, limits = limits_use(MODEL, found.trajectory), MODEL.robot.limits
    assert limits.length_min <= use['length_min'] and use['length_max'] <= limits.length_max
    assert use['velocity'] <= limits.velocity and use['acceleration'] <= limits.acceleration
    assert use['condition'] <= limits.condition


def test_constraints_see_each_limit() -> None:
    robot = MODEL.robot
    margin = actuator_constraint(robot)
    zero = np.zeros((1, 6))
    assert (margin(robot.home[None], zero, zero) > 0.0).all()
    low = robot.home + np.array([0, 0, -0.3, 0, 0, 0])
    assert margin(low[None], zero, zero)[0, 1] < 0.0
    fast, hard = zero.copy(), zero.copy()
    fast[0, 2], hard[0, 2] = 3.0, 30.0
    assert margin(robot.home[None], fast, zero)[0, 2] < 0.0
    assert margin(robot.home[None], zero, hard)[0, 3] < 0.0
    turned = robot.home + np.array([0, 0, 0, 0, 0, 1.5])
    assert singularity_constraint(robot)(turned[None], zero, zero)[0, 0] < 0.0


def test_stored_excitation_is_better_than_random_ones() -> None:
    problem = design_problem(
        MODEL, 0.4, force_covariance=HexapodSensors().force_covariance(), samples=100
    )
    stored = problem.evaluate(default_excitation(CONFIGURATION))[1]
    from veh_identification.design.excitation import random_trajectory

    others = [
        problem.evaluate(random_trajectory(problem, 0.4, np.random.default_rng(k)))[1]
        for k in range(20)
    ]
    assert stored > max(others) + 20.0


def test_design_without_limits_is_refused() -> None:
    import yaml

    from veh_identification.runtime.graph import find_config

    data = yaml.safe_load(find_config('hexapod_palida.yaml').read_text())
    del data['limits']
    with pytest.raises(UsageError, match='the design needs limits'):
        design(parse_configuration(data).model())


def test_feedforward_order_of_figure_six() -> None:
    """No model, a-priori model, the true one, at two speeds."""
    truth = true_parameters(MODEL)
    for speed in (0.3, 0.7):
        path = circle(CONFIGURATION, speed=speed)
        none, prior, right = (
            mean_square(tracking_errors(MODEL, truth, path, model, settle=1.5))
            for model in (None, MODEL.a_priori(), truth)
        )
        assert right < 0.01 * min(prior, none)
        assert np.sqrt(right) < 1e-4
    # slowly it is friction that counts, which no a-priori model knows; fast it is inertia
    assert prior < 0.5 * none


def test_forward_dynamics_holds_still_with_gravity_feedforward() -> None:
    truth = true_parameters(MODEL)
    zero = np.zeros((1, 6))
    still = FourierTrajectory(MODEL.robot.home, zero, zero, 4.0, POSE_NAMES)
    assert np.abs(tracking_errors(MODEL, truth, still, truth, settle=0.2)).max() < 1e-9
    assert np.abs(tracking_errors(MODEL, truth, still, None, settle=0.2)).max() > 1e-4
