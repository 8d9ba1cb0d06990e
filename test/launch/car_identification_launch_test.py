"""Under ROS: the car's parameters from a played bag equal those of its replay.

Run by `colcon test` (launch_testing); not collected by pytest.
"""

from __future__ import annotations

import sys
import unittest
from pathlib import Path

import launch_testing.asserts
import pytest

sys.path.insert(0, str(Path(__file__).parent))

from identification_harness import PlayedBag

TOPIC = '/car_identification/parameters'
PLAYED = PlayedBag('car_identification', 'car_identification.yaml', 'car-sine-steer', 20.0)


@pytest.mark.launch_test
def generate_test_description():
    return PLAYED.description()


class TestIdentification(unittest.TestCase):
    """Estimates arrive while the bag plays."""

    def test_estimates_arrive(self) -> None:
        PLAYED.receive(TOPIC)
        self.assertTrue(PLAYED.estimates, f'nothing on {TOPIC}')


@launch_testing.post_shutdown_test()
class TestShutdown(unittest.TestCase):
    """Everything ended cleanly and equals the replay."""

    def test_exit_codes(self, proc_info) -> None:
        launch_testing.asserts.assertExitCodes(proc_info)

    def test_same_as_replay(self) -> None:
        common, replayed, worst = PLAYED.worst_difference(TOPIC)
        print(f'{common} of {replayed} estimates, largest relative difference {worst:.3g}')
        self.assertLess(worst, 1e-9)
