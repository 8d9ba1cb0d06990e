"""An arm that stands before and after its motion: stiction is not its model."""

from __future__ import annotations

import numpy as np
import pytest
from paused_motion import Paused
from robot_cases import as_recording, changed, found, ideal, scores

from veh_identification.errors import EstimationError
from veh_identification.simulation.robot.closed_loop import run
from veh_identification.simulation.robot.scenarios import (
    ArmSensors,
    exciting_motion,
    measured,
    random_arm,
)


def test_stands_are_left_out() -> None:
    arm = random_arm('arm_6_axis.urdf', 3, sticking=0.3)
    times = np.arange(90_000) / arm.drive.control_rate
    wanted = Paused(lambda t: exciting_motion(arm.nominal, t, 3), 30.0, 20.0).evaluate(times)
    made = run(arm.plant, arm.nominal, arm.friction, arm.drive, wanted)
    sides = measured(made, ArmSensors(), arm.nominal.effort, 3)
    estimate = found([as_recording('stood', arm.plant.joints, *sides)])
    z = scores(estimate, arm)
    # With the stands friction was up to 15 deviations off.
    assert np.sqrt(np.mean(z**2)) < 1.4 and np.abs(z).max() < 4.0
    [note] = [one for one in estimate.setup.findings if one.code == 'stands_left_out']
    assert 'of 90 s' in note.text


def test_an_arm_that_never_moves_is_refused() -> None:
    arm = random_arm('arm_6_axis.urdf', 3)
    recording = ideal(arm, 'still', 3, 4.0)[0]
    still = np.repeat(recording.position[:1], len(recording.position), axis=0)
    with pytest.raises(EstimationError, match='no joint that moves'):
        found([changed(recording, position=still)])
