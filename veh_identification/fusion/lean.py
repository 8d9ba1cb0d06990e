"""How a vehicle leans in the mean while it drives: roads are level, mountings are not."""

from __future__ import annotations

import math
from collections import deque

import numpy as np

from veh_identification.types import Array

#: m/s from which on it drives, and looks (one a second) that count, the latest ones.
DRIVES, FEWEST, MOST = 2.0, 20, 120
#: Radians in the median: a crowned road leans by 0.03, ten simulated drives by 0.029 at most.
LEANS = 0.06


class Lean:
    """Roll, and pitch over the slope of the way."""

    def __init__(self) -> None:
        self._seen: deque[tuple[float, float]] = deque(maxlen=MOST)

    def note(self, R: Array, velocity: Array) -> None:
        """The attitude of the base link in the world and its velocity there."""
        speed = float(np.linalg.norm(velocity))
        if not speed > DRIVES:
            return
        ahead = math.copysign(1.0, float(R[:, 0] @ velocity))
        slope = ahead * float(velocity[2]) / speed
        pitch = math.asin(min(max(slope, -1.0), 1.0)) - math.asin(min(max(R[2, 0], -1.0), 1.0))
        self._seen.append((math.atan2(R[2, 1], R[2, 2]), pitch))

    def warning(self) -> str:
        """A sentence where no road leans so."""
        if len(self._seen) < FEWEST:
            return ''
        roll, pitch = np.median(np.array(self._seen), axis=0)
        if max(abs(roll), abs(pitch)) <= LEANS:
            return ''
        about, angle = ('x', roll) if abs(roll) >= abs(pitch) else ('y', pitch)
        return (
            f'the vehicle leans {math.degrees(abs(angle)):.2g} degrees while it drives, in the '
            f'median: the IMU seems to be turned by {math.degrees(angle):+.2g} degrees about '
            f'{about} of the base link against imu.orientation_rpy or /tf_static; antennas and '
            'what lies far from it are told aside'
        )
