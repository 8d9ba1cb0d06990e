"""Layout of the simulated car's state vector, its working memory and what is recorded of it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from veh_identification.types import Array

#: First places of the parts of the state; vectors in chassis axes, quaternion (w, x, y, z).
POSITION, QUATERNION, VELOCITY, OMEGA = 0, 3, 7, 10
TRAVEL, TRAVEL_RATE, SPIN, SPIN_RATE = 13, 17, 21, 25  # the spin rate is absolute
DEFLECTION_X, DEFLECTION_Y = 29, 33  # of the tyres' contact, for the relaxation lengths
STEER, STEER_RATE, STATION, HEADING = 37, 38, 39, 40
SPEED_INTEGRAL, DRIVE = 41, 42
BRISTLE = 43  # how far the stuck surfaces of the suspensions are strained, for `Stiction` [m]
STATES = 47


class Workspace(NamedTuple):
    """Memory that the kernels use again and again."""

    matrix: Array  # (10, 10)
    right: Array  # (10,)
    unknown: Array  # a0, angular acceleration, accelerations of travel
    rotation: Array  # (3, 3) chassis to world
    axle: Array  # (4, 5, 4)
    vector: Array  # (4, 12, 3) see corner_kinematics
    contact: Array  # (4, 11) see road_wrench
    spin_acceleration: Array  # (4,) absolute
    spin_moment: Array  # (4, 3) dL/dt of the wheels without the unknowns
    wheel: Array  # (4,)
    scratch: Array  # (8, 3)


@njit(cache=True, nogil=True)
def make_workspace() -> Workspace:
    """Fresh memory."""
    return Workspace(
        np.zeros((10, 10)),
        np.zeros(10),
        np.zeros(10),
        np.zeros((3, 3)),
        np.zeros((4, 5, 4)),
        np.zeros((4, 12, 3)),
        np.zeros((4, 11)),
        np.zeros(4),
        np.zeros((4, 3)),
        np.zeros(4),
        np.zeros((8, 3)),
    )
