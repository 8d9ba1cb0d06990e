"""Sensors whose clocks are apart, and those that begin late or fall silent."""

import numpy as np
import pytest

from veh_identification.checks.clocks import check_clocks

WHERE = {'imu': 'imu/data', 'gps': 'gps/fix', 'wheels': 'joint_states'}


def times(begin: float, end: float) -> dict[str, np.ndarray]:
    """Half a minute, in which the receiver speaks from `begin` to `end`."""
    return {
        'imu': np.arange(0.0, 30.0, 0.01),
        'gps': np.arange(begin, end, 0.1),
        'wheels': np.arange(0.3, 29.8, 0.02),
    }


@pytest.mark.parametrize(('apart', 'word'), [(18.0, 'after'), (-3600.0, 'before')])
def test_a_clock_that_is_apart_is_told_with_its_topic(apart, word):
    (found,) = check_clocks(times(apart, 30.0 + apart), WHERE)
    assert (found.level, found.code, found.where) == ('bad', 'clock_off', 'gps/fix')
    assert f'{abs(apart):.1f} s {word} those of imu/data' in found.text


@pytest.mark.parametrize(('begin', 'end'), [(0.0, 30.0), (12.0, 30.0), (0.0, 9.0), (9.0, 20.0)])
def test_sensors_that_begin_late_or_fall_silent_are_not_told(begin, end):
    assert check_clocks(times(begin, end), WHERE) == []
