"""Where the vehicle was when a process ended: what the next one goes on from.

Behind the gap the filter is what it would be had no sensor been heard meanwhile: it coasts, and a
gap that is too long for that counts as a silence of the IMU (`ImuNavigation`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from veh_identification.fusion.inertial import ERRORS, InertialFilter
from veh_identification.saved_state import SavedState
from veh_identification.types import Array

#: Entries of the state that are the motion: position, velocity, orientation.
MOTION = 10


@dataclass(frozen=True)
class KeptMotion:
    """State of a filter that navigated, with its covariance (motion, biases, calibration)."""

    stamp_ns: int
    motion: Array
    covariance: Array
    sample: Array  # the last one of the IMU
    gravity_removed: bool

    def entries(self) -> dict[str, Any]:
        """For a stored state."""
        return {
            'motion': self.motion,
            'motion_covariance': self.covariance,
            'motion_sample': self.sample,
            'motion_stamp': np.array([self.stamp_ns], np.int64),
            'gravity_removed': np.bool_(self.gravity_removed),
        }

    def give(self, state: InertialFilter, time: float) -> None:
        """Put a filter, whose biases and calibration are known, where it was at `time`."""
        state.x[:MOTION] = self.motion
        state.gravity_removed = self.gravity_removed
        state.go_on(time, self.covariance, self.sample)


def motion_of(state: InertialFilter, stamp_ns: int) -> KeptMotion:
    """What to keep of a filter that navigates."""
    return KeptMotion(
        stamp_ns,
        state.x[:MOTION].copy(),
        state.P.copy(),
        state.sample.copy(),
        state.gravity_removed,
    )


def read_motion(stored: SavedState, fastest: float, furthest: float) -> KeptMotion | None:
    """The motion in a stored state; None where there is none, StateError where it cannot be."""
    if 'motion' not in stored:
        return None
    motion = stored.array('motion', (MOTION,))
    if not (abs(motion[:3]) <= furthest).all() or not np.linalg.norm(motion[3:6]) <= fastest:
        raise stored.refused('motion', 'is further or faster than a vehicle can be')
    size = float(np.linalg.norm(motion[6:]))
    if not abs(size - 1.0) < 1e-3:
        raise stored.refused('motion', f'holds an orientation of length {size:.3g}, expected 1')
    motion[6:] /= size
    covariance = stored.covariance('motion_covariance', ERRORS)
    sample = stored.array('motion_sample', (6,))
    stamp = stored.stamps('motion_stamp')
    if len(stamp) != 1:
        raise stored.refused('motion_stamp', 'is not one stamp')
    return KeptMotion(int(stamp[0]), motion, covariance, sample, stored.flag('gravity_removed'))
