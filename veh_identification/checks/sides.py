"""Right and left wheels tell the yaw rate as the gyroscope does, and at the same time."""

from __future__ import annotations

import numpy as np

from veh_identification.checks.lags import Pair
from veh_identification.types import Array

FEWEST_SIDES = 100  # samples that tell how wheels of both sides differ
#: Deviations of the lag that are no chance: 2.5 at most on nine clean simulated drives where they
#: are longer than 0.03 s, and a smoothed gyroscope in wide bends shows 4.4.
SIGMAS = 4.0


def sides_pair(turn: Array, speed: Array, by_wheels: Array) -> Pair:
    """Yaw rates of gyroscope and wheels, forward speed: which of the two sensors is late?

    Wheels of unequal radii differ by a share of the speed. In bends the outer ones carry more and
    roll on less radius: by a share of the speed times the lateral acceleration, which leads the
    yaw rate of a car that slows down into a bend.
    """
    leaning = speed**2 * turn
    good = np.isfinite(by_wheels + leaning)
    share, unequal = 0.0, 0.0
    if good.sum() > FEWEST_SIDES:
        columns = np.column_stack([leaning, speed])[good]
        rest = by_wheels[good] - turn[good]
        (share, unequal), *_ = np.linalg.lstsq(columns, rest, rcond=None)
    expected = turn + max(float(share), 0.0) * leaning
    told = by_wheels - unequal * speed
    text = 'yaw rate against right and left wheels'
    return Pair(text, 'gyro', 'wheels', expected, told, 0.0, 0.1, 0.02, sigmas=SIGMAS)
