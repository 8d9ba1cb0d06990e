"""A start at speed: places are those of the moment at which the filter begins."""

from __future__ import annotations

import numpy as np
import pytest

from veh_identification.systems.vehicle.observer.start import (
    Start,
    _carried,
    _Motion,
    carried_back,
)


def test_the_way_to_the_first_fix_has_no_gaps_at_its_ends():
    """20 m/s, samples from 3 to 13 ms, a fix at 19 ms: 0.38 m, not the 0.2 m between samples."""
    time = np.array([0.003, 0.013, 0.023])
    motion = _Motion(time, np.zeros((3, 3)), np.zeros(3), np.full(3, 20.0), np.zeros(3), None)
    way = _carried(motion, np.pi / 2, 0.0, 0.019, np.zeros(2))
    assert way == pytest.approx([0.0, 0.38], abs=1e-9)


def test_the_filter_begins_a_step_before_the_first_message():
    at = Start(np.array([3.0, 4.0, 0.3]), 0.5, np.array([20.0, -10.0]), 0.2, 0.1, 0.1, 0.0)
    back = carried_back(at, 0.005)
    assert back.position == pytest.approx([2.9, 4.05, 0.3]) and back.yaw == pytest.approx(0.499)
    assert at.position[0] == 3.0
