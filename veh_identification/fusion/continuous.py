"""The continuous frame of REP-105: where the twist alone leads, however the pose is corrected.

Speed and turn rate of the base link are integrated from output to output; roll and pitch are those
of the estimate. Corrections by satellites therefore show in the pose of this frame in the world,
never as a jump of the vehicle in this frame. Its uncertainty only grows.
"""

from __future__ import annotations

import math

import numpy as np

from veh_identification.fusion.kernels import continuous as kernels
from veh_identification.fusion.state import BaseState
from veh_identification.types import Array

#: Outputs further apart than this are not bridged (seconds).
LONGEST_STEP = 0.5


class ContinuousFrame:
    """Pose of the base link in the continuous frame."""

    def __init__(self) -> None:
        self._memory = np.zeros(kernels.MEMORY_SIZE)
        # Compile (or load from the cache) now, not on the first output of a running system.
        base = BaseState()
        kernels.step(self._memory, 0.0, 0.0, base.row, base.covariance, self._result())
        self._memory[:] = 0.0
        self.reset_time()

    def reset_time(self) -> None:
        """The next output follows none."""
        self._memory[kernels.TIME] = math.nan

    @staticmethod
    def _result() -> Array:
        return np.empty(kernels.RESULT_SIZE)

    def at(self, time: float, base: BaseState) -> Array | None:
        """Pose and covariance in this frame, and the pose of this frame in the world; None while
        the motion is not known.
        """
        if not (base.twist_valid and base.orientation_valid):
            # It stands still where nobody knows better, and goes on from there.
            self.reset_time()
            return None
        result = self._result()
        kernels.step(self._memory, time, LONGEST_STEP, base.row, base.covariance, result)
        return result
