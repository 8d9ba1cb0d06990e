"""Samples that cannot be motion: markers taken for each other, angles that jump by a turn.

Motion capture that confuses markers shows another posture for a few frames and then the right one
again. Such an excursion begins and ends with a step that no smooth motion has, which the second
difference shows, and what comes after it continues what was before.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from veh_identification.types import Array, BoolArray

LONGEST_EXCURSION = 0.3  # s
FACTOR = 12.0  # over the usual second difference
SMALLEST_ANGLE = 0.08  # rad within one frame
SMALLEST_LENGTH = 0.03  # m within one frame
# If more than this share looks like excursions, it is simply how the recording is.
MOST = 0.2


def unwrapped(angles: Array) -> tuple[Array, int]:
    """Angles (N, C) without jumps by whole turns, and how many jumps there were."""
    smooth = np.unwrap(angles, axis=0)
    jumps = int(np.count_nonzero(np.abs(np.diff(smooth - angles, axis=0)) > 1.0))
    return smooth, jumps


def excursions(stamps: Array, values: Array, smallest: Array) -> BoolArray:
    """Rows (N,) at which some channel of `values` (N, C) is on an excursion."""
    found = np.zeros(len(values), dtype=bool)
    if len(values) < 16:
        return found
    for k in range(values.shape[1]):
        found |= _channel(stamps, values[:, k], float(smallest[k]))
    return found if found.mean() <= MOST else np.zeros(len(values), dtype=bool)


def _channel(stamps: Array, x: Array, smallest: float) -> BoolArray:
    found = np.zeros(len(x), dtype=bool)
    period = float(np.median(np.diff(stamps)))
    # By velocities, since a long step over lost frames is not an unusual one.
    velocity = np.diff(x) / np.maximum(np.diff(stamps), 0.5 * period)
    bend = period * np.abs(np.diff(velocity))
    limit = max(smallest, FACTOR * 1.4826 * float(np.median(bend)))
    unusual = np.zeros(len(velocity), dtype=bool)
    unusual[1:] |= bend > limit
    unusual[:-1] |= bend > limit
    edges = np.flatnonzero(unusual & (period * np.abs(velocity) > 0.5 * limit))
    last = -1
    for first in edges:
        if first < last:
            continue
        back = _return(stamps, x, edges, int(first))
        if back is not None:
            found[first + 1 : back + 1] = True
            last = back + 1
    return found


def _return(stamps: Array, x: Array, edges: NDArray[np.intp], first: int) -> int | None:
    """The last sample of an excursion that begins after sample `first`; None if it stays."""
    jump = x[first + 1] - x[first]
    # How fast it moved before tells where it should be when the excursion is over.
    before = max(first - 1, 0)
    slope = (x[first] - x[before]) / max(stamps[first] - stamps[before], 1e-9) if first else 0.0
    for edge in edges[edges > first]:
        away = stamps[edge + 1] - stamps[first]
        if away > LONGEST_EXCURSION:
            return None
        rest = x[edge + 1] - x[first] - slope * away
        if abs(rest) < 0.5 * abs(jump) or abs(x[edge + 1] - x[first]) < 0.3 * abs(jump):
            return int(edge)
    return None
