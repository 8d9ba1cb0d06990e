"""The continuous frame of REP-105: where the twist alone leads, however the pose is corrected.

Speed and turn rate of the base link are integrated from output to output; roll and pitch are those
of the estimate. Corrections by satellites therefore show in the pose of this frame in the world,
never as a jump of the vehicle in this frame. Its uncertainty only grows.
"""

from __future__ import annotations

import math

import numpy as np

from veh_identification import orientations
from veh_identification.fusion import rotation
from veh_identification.fusion.state import BaseState
from veh_identification.types import Array

#: Outputs further apart than this are not bridged (seconds).
LONGEST_STEP = 0.5


class ContinuousFrame:
    """Pose of the base link in the continuous frame."""

    def __init__(self) -> None:
        self._yaw = 0.0
        self._position = np.zeros(3)
        #: Standard deviations of the position and of the heading since the beginning.
        self._sigma, self._yaw_sigma = np.zeros(3), 0.0
        self._known = False
        self.reset_time()

    def reset_time(self) -> None:
        """The next output follows none."""
        self._time = math.nan
        self._speed = np.zeros(3)
        self._turn = 0.0

    def at(self, time: float, base: BaseState) -> Array | None:
        """Pose and covariance in this frame, and the pose of this frame in the world; None before
        the motion was known for the first time.
        """
        if not (base.twist_valid and base.orientation_valid):
            # It stands still where nobody knows better, and goes on from there.
            self.reset_time()
            return None
        q = base.orientation
        heading = rotation.yaw_of(q)
        tilt = orientations.multiply(rotation.from_rotation_vector(0.0, 0.0, -heading), q)
        turn = _yaw_rate(tilt, base.angular_velocity)
        step = time - self._time
        if 0.0 < step <= LONGEST_STEP:
            self._yaw += 0.5 * step * (turn + self._turn)
        here = rotation.from_rotation_vector(0.0, 0.0, self._yaw)
        q_here = orientations.multiply(here, tilt)
        speed = rotation.matrix(q_here) @ base.velocity
        if 0.0 < step <= LONGEST_STEP:
            self._position = self._position + 0.5 * step * (speed + self._speed)
            self._grow(step, base.covariance, speed)
        self._time, self._speed, self._turn = time, speed, turn
        self._known = True
        back = math.remainder(heading - self._yaw, 2.0 * math.pi)
        shift = rotation.from_rotation_vector(0.0, 0.0, back)
        origin = np.array(base.position) - rotation.matrix(shift) @ self._position
        return np.concatenate([self._position, q_here, self._covariance(), origin, shift])

    def _grow(self, step: float, covariance: Array, speed: Array) -> None:
        """Errors of speed last: their deviations add, not their variances."""
        twist = covariance[36:].reshape(6, 6)
        self._yaw_sigma += step * math.sqrt(max(twist[5, 5], 0.0))
        sideways = self._yaw_sigma * np.array([abs(speed[1]), abs(speed[0]), 0.0])
        along = math.sqrt(max(twist[0, 0], twist[1, 1], 0.0))
        up = math.sqrt(max(twist[2, 2], 0.0))
        self._sigma = self._sigma + step * (np.array([along, along, up]) + sideways)

    def _covariance(self) -> Array:
        variances = [*np.square(self._sigma), 1e-4, 1e-4, self._yaw_sigma**2]
        return np.diag(variances).ravel()


def _yaw_rate(tilt: orientations.Quaternion, rate: Array) -> float:
    """Turn rate about the vertical of a body with roll and pitch."""
    roll, pitch, _ = orientations.rpy_of_quaternion(tilt)
    cosine = max(math.cos(pitch), 0.1)
    return float(rate[1] * math.sin(roll) + rate[2] * math.cos(roll)) / cosine
