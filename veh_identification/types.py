"""Types that the whole package shares."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
IntArray = NDArray[np.int64]
#: x, y, z in m, or roll, pitch, yaw in rad.
Vector = tuple[float, float, float]
#: Called with how much is done and how much there is in all.
Progress = Callable[[int, int], None]
