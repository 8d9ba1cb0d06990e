"""The road: flat, or a height map made of waves that a survey gave."""

from __future__ import annotations

import numpy as np
from numba import njit

from veh_identification.types import Array


@njit(cache=True, nogil=True)
def road_height(table: Array, x: float, y: float) -> tuple[float, float, float]:
    """Height and its two slopes; every wave is zero with zero phase at the origin."""
    height, slope_x, slope_y = 0.0, 0.0, 0.0
    for k in range(table.shape[0]):
        angle = table[k, 1] * x + table[k, 2] * y + table[k, 3]
        height += table[k, 0] * (np.sin(angle) - np.sin(table[k, 3]))
        slope = table[k, 0] * np.cos(angle)
        slope_x += table[k, 1] * slope
        slope_y += table[k, 2] * slope
    return height, slope_x, slope_y
