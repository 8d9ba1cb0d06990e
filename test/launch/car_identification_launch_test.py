"""Under ROS: the car's parameters from a played bag equal those of its replay.

Run by `colcon test` (launch_testing); not collected by pytest.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from identification_harness import PlayedBag, launch_test_of

# One chunk of 15 s and the rest (5.6 s with what it shares), used behind the end of the bag.
PLAYED = PlayedBag('car_identification', 'car_identification.yaml', 'car-sine-steer', 20.0)
generate_test_description, TestIdentification, TestShutdown = launch_test_of(
    PLAYED, '/car_identification/parameters'
)
