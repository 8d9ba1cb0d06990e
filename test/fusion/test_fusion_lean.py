"""Roads are level in the mean; a vehicle that leans all the time has an IMU that is askew."""

from __future__ import annotations

import numpy as np
import pytest

from veh_identification.fusion.lean import FEWEST, Lean
from veh_identification.orientations import matrix_of_rpy


def seen(roll: float, pitch: float, climb: float, speed: float = 10.0, looks: int = FEWEST) -> str:
    """What is told of a vehicle that drives so (degrees), up a way that climbs."""
    lean = Lean()
    for yaw in np.linspace(0.0, 5.0, looks):
        R = matrix_of_rpy((np.radians(roll), np.radians(pitch - climb), yaw))
        up = np.radians(climb)
        way = np.array([np.cos(yaw) * np.cos(up), np.sin(yaw) * np.cos(up), np.sin(up)])
        lean.note(R, speed * way)
    return lean.warning()


@pytest.mark.parametrize(
    ('roll', 'pitch', 'word'),
    [(-5.0, 0.0, '-5 degrees about x'), (0.5, 6.0, '+6 degrees about y')],
)
def test_an_imu_askew_is_told_with_its_angle(roll: float, pitch: float, word: str) -> None:
    assert word in seen(roll, pitch, 0.0)
    assert word in seen(roll, pitch, 8.0)


def test_roads_that_lean_or_climb_are_no_reason() -> None:
    assert seen(2.0, -2.0, 0.0) == ''
    assert seen(0.0, 0.0, 12.0) == ''  # a climb is no lean
    assert seen(0.0, 0.0, 12.0, speed=-10.0) == ''  # nor backwards


def test_standing_or_a_few_looks_say_nothing() -> None:
    assert seen(8.0, 0.0, 0.0, speed=1.0) == ''
    assert seen(8.0, 0.0, 0.0, looks=FEWEST - 1) == ''
