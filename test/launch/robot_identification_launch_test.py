"""Under ROS: an arm's parameters from a played bag equal those of its replay.

Run by `colcon test` (launch_testing); not collected by pytest.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from identification_harness import PlayedBag, launch_test_of

PLAYED = PlayedBag('robot_identification', 'robot_identification.yaml', 'arm-free', 12.0)
generate_test_description, TestIdentification, TestShutdown = launch_test_of(
    PLAYED, '/robot_identification/parameters'
)
