"""Positions in steps."""

import numpy as np
import pytest

from veh_identification.checks.ticks import check_ticks

TIME = np.arange(0.0, 20.0, 0.005)
ANGLE = 0.4 * np.sin(1.3 * TIME)


@pytest.mark.parametrize(('step', 'level'), [(0.0873, 'bad'), (0.03, 'warn'), (0.005, None)])
def test_steps_that_make_the_accelerations_are_told(step, level):
    found = check_ticks(step * np.round(ANGLE / step), 'position[elbow]', 'rad')
    assert [(one.level, one.code) for one in found] == ([(level, 'coarse')] if level else [])


def test_small_steps_of_a_joint_that_hardly_moves_and_noise_are_no_matter():
    assert check_ticks(0.002 * np.round(0.01 * ANGLE / 0.002), 'position', 'rad') == []
    noise = 0.05 * np.random.default_rng(1).standard_normal(TIME.size)
    assert check_ticks(0.04 * np.round((ANGLE + noise) / 0.04), 'position', 'rad') == []
