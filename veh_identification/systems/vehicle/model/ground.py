"""The ground that carries a car where no map gives the road: its height and its two tilts.

The model drives on a plane. On an unknown road that plane is carried along under the car: what
sensors tell of height and tilt moves the ground and not the body against its springs, so a slope
is in the pose, and no spring answers a correction of it.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from veh_identification.types import Array

#: Coordinates of the observer that the ground takes: height, and the heights of e1 and e2.
CARRIED = (2, 4, 5)


@njit(cache=True, nogil=True)
def lift(frame: Array, ground: Array) -> None:
    """Put a frame (3, 12) and its derivatives on the ground (2, 3): values and rates.

    The ground has the height, and the tilts that it adds to the z components of e1 and e2.
    """
    c, s = frame[0, 3], frame[0, 4]
    norm = np.hypot(c, s)
    c, s = c / norm, s / norm
    frame[0, 2] += ground[0, 0]
    frame[1, 2] += ground[1, 0]
    # the horizontal turn that gives e1 and e2 these heights, and its rate
    x, y = s * ground[0, 1] + c * ground[0, 2], s * ground[0, 2] - c * ground[0, 1]
    xd, yd = s * ground[1, 1] + c * ground[1, 2], s * ground[1, 2] - c * ground[1, 1]
    angle = np.hypot(x, y)
    a = 1.0 if angle < 1e-9 else np.sin(angle) / angle
    b = 0.5 if angle < 1e-9 else (1.0 - np.cos(angle)) / angle**2
    for order in range(3):
        for i in range(4):
            if i == 0 and order < 2:
                continue  # the origin and its velocity are coordinates of their own
            u, v, w = (
                frame[order, 3 * i],
                frame[order, 3 * i + 1],
                frame[order, 3 * i + 2],
            )
            # Rodrigues for the axis (x, y, 0)
            along = b * (x * u + y * v)
            frame[order, 3 * i] = u + a * y * w + x * along - b * angle**2 * u
            frame[order, 3 * i + 1] = v - a * x * w + y * along - b * angle**2 * v
            frame[order, 3 * i + 2] = w + a * (x * v - y * u) - b * angle**2 * w
    for i in range(1, 4):
        u, v, w = frame[0, 3 * i], frame[0, 3 * i + 1], frame[0, 3 * i + 2]
        frame[1, 3 * i] += yd * w
        frame[1, 3 * i + 1] -= xd * w
        frame[1, 3 * i + 2] += xd * v - yd * u


@njit(cache=True, nogil=True)
def carry(ground: Array, turn: float, dt: float) -> None:
    """Move the ground on for a step in which the car turned: its slope stays in the world."""
    first, second = ground[0, 1], ground[0, 2]
    ground[0, 1] += turn * second
    ground[0, 2] -= turn * first
    ground[0] += dt * ground[1]


@njit(cache=True, nogil=True)
def turn_tilts(P: Array, first: int, turn: float) -> None:
    """Covariance after `carry`; `first`: place of the errors of the two tilts."""
    for _ in range(2):  # rows, then columns of the transpose: F P F^T
        for j in range(P.shape[0]):
            pitch, roll = P[first, j], P[first + 1, j]
            P[first, j] += turn * roll
            P[first + 1, j] -= turn * pitch
        P = P.T


@njit(cache=True, nogil=True)
def tilt_derivatives(frame: Array, order: int, derivatives: Array) -> None:
    """Columns of the two tilts for a lifted frame: the ground turns the axes and their rates.

    Those of the chassis alone belong to tilts that turn with the car; a gyroscope would seem to
    measure them in every bend.
    """
    c, s = frame[0, 3], frame[0, 4]
    norm = np.hypot(c, s)
    c, s = c / norm, s / norm
    for k in range(order + 1):
        for i in range(1, 4):
            u, v, w = frame[k, 3 * i], frame[k, 3 * i + 1], frame[k, 3 * i + 2]
            for column, x, y in ((4, s, -c), (5, c, s)):
                derivatives[k, 3 * i, column] = y * w
                derivatives[k, 3 * i + 1, column] = -x * w
                derivatives[k, 3 * i + 2, column] = x * v - y * u
