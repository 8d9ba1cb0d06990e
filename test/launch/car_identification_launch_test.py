"""Under ROS: the car's parameters from a played bag equal those of its replay.

Run by `colcon test` (launch_testing); not collected by pytest.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from identification_harness import PlayedBag, launch_test_of

# The end of the bag, 4.6 s, is too short for a chunk. A replay would use a longer one; under ROS
# the clock of a bag stands still behind its end, and nothing tells the node that it is over.
PLAYED = PlayedBag('car_identification', 'car_identification.yaml', 'car-sine-steer', 19.0)
generate_test_description, TestIdentification, TestShutdown = launch_test_of(
    PLAYED, '/car_identification/parameters'
)
