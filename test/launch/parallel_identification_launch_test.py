"""Under ROS: the hexapod's parameters from a played bag equal those of its replay.

Run by `colcon test` (launch_testing); not collected by pytest.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from identification_harness import PlayedBag, by_stamp, launch_test_of

PLAYED = PlayedBag(
    'parallel_identification', 'parallel_identification.yaml', 'hexapod-periodic', 10.5, by_stamp
)
generate_test_description, TestIdentification, TestShutdown = launch_test_of(
    PLAYED, '/parallel_identification/parameters'
)
