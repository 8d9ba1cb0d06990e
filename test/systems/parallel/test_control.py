"""The use of the result: feedforward compensation (Fig. 6)."""

from __future__ import annotations

import numpy as np

from veh_identification.identification.trajectory import FourierTrajectory
from veh_identification.simulation.parallel.closed_loop import mean_square, tracking_errors
from veh_identification.simulation.parallel.scenarios import circle, true_parameters
from veh_identification.systems.parallel.configuration import load_configuration
from veh_identification.systems.parallel.model.geometry import POSE_NAMES

CONFIGURATION = load_configuration()
MODEL = CONFIGURATION.model()


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
