"""Moves the assembled car as one piece and turns its wheels, without a position problem.

The observer corrects the chassis' pose and the wheel angles and leaves damper strokes and rack
alone, so nothing but the chassis and the spokes moves relative to the chassis: the solution of the
kinematic problems of section 4.5.4 is known in closed form. With p = o + E r every point keeps
its local r, r', r''; vectors follow E alone.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from veh_identification.systems.vehicle.model.chassis_frame import (
    E1Z,
    E2Z,
    E3Z,
    YAW_PLACE,
    frame_of,
)
from veh_identification.systems.vehicle.model.stepper import ANGLE, AXIS, FORWARD, SPOKE_1, SPOKE_2
from veh_identification.types import Array, IntArray


@njit(cache=True, nogil=True)
def _local(frame: Array, x: float, y: float, z: float) -> tuple[float, float, float]:
    """Components of a vector along the axes of a frame."""
    return (
        frame[0, 3] * x + frame[0, 4] * y + frame[0, 5] * z,
        frame[0, 6] * x + frame[0, 7] * y + frame[0, 8] * z,
        frame[0, 9] * x + frame[0, 10] * y + frame[0, 11] * z,
    )


@njit(cache=True, nogil=True)
def _along(frame: Array, row: int, k: int, p: tuple[float, float, float]) -> float:
    """Component k of the axes of a frame, or of one of their derivatives, times `p`."""
    return frame[row, 3 + k] * p[0] + frame[row, 6 + k] * p[1] + frame[row, 9 + k] * p[2]


@njit(cache=True, nogil=True)
def _carry(
    old: Array, new: Array, start: int, weight: float, q: Array, qd: Array, qdd: Array
) -> None:
    """Carry one point (weight 1) or vector (weight 0) from the old chassis frame to the new."""
    place = _local(
        old,
        q[start] - weight * old[0, 0],
        q[start + 1] - weight * old[0, 1],
        q[start + 2] - weight * old[0, 2],
    )
    rate = _local(
        old,
        qd[start] - weight * old[1, 0] - _along(old, 1, 0, place),
        qd[start + 1] - weight * old[1, 1] - _along(old, 1, 1, place),
        qd[start + 2] - weight * old[1, 2] - _along(old, 1, 2, place),
    )
    twice = (2.0 * rate[0], 2.0 * rate[1], 2.0 * rate[2])
    second = _local(
        old,
        qdd[start] - weight * old[2, 0] - _along(old, 2, 0, place) - _along(old, 1, 0, twice),
        qdd[start + 1] - weight * old[2, 1] - _along(old, 2, 1, place) - _along(old, 1, 1, twice),
        qdd[start + 2] - weight * old[2, 2] - _along(old, 2, 2, place) - _along(old, 1, 2, twice),
    )
    for k in range(3):
        q[start + k] = weight * new[0, k] + _along(new, 0, k, place)
        qd[start + k] = weight * new[1, k] + _along(new, 1, k, place) + _along(new, 0, k, rate)
        qdd[start + k] = (
            weight * new[2, k]
            + _along(new, 2, k, place)
            + _along(new, 1, k, twice)
            + _along(new, 0, k, second)
        )


@njit(cache=True, nogil=True)
def _turn_spokes(row: IntArray, q: Array, qd: Array, qdd: Array) -> None:
    """Spokes, their rates and accelerations from the wheel angle and the hub's vectors."""
    a, f, c = row[AXIS], row[FORWARD], row[ANGLE]
    co, si, w, dw = np.cos(q[c]), np.sin(q[c]), qd[c], qdd[c]
    for k in range(3):
        i, j = (k + 1) % 3, (k + 2) % 3
        g = q[a + i] * q[f + j] - q[a + j] * q[f + i]
        g1 = (
            qd[a + i] * q[f + j]
            - qd[a + j] * q[f + i]
            + q[a + i] * qd[f + j]
            - q[a + j] * qd[f + i]
        )
        g2 = (
            qdd[a + i] * q[f + j]
            - qdd[a + j] * q[f + i]
            + 2.0 * (qd[a + i] * qd[f + j] - qd[a + j] * qd[f + i])
            + q[a + i] * qdd[f + j]
            - q[a + j] * qdd[f + i]
        )
        x, x1, x2 = q[f + k], qd[f + k], qdd[f + k]
        cosine_1, sine_1 = x1 + w * g, g1 - w * x
        cosine_2 = x2 + 2.0 * w * g1 + dw * g - w * w * x
        sine_2 = g2 - 2.0 * w * x1 - dw * x - w * w * g
        s, t = row[SPOKE_1] + k, row[SPOKE_2] + k
        q[s], q[t] = co * x + si * g, si * x - co * g
        qd[s], qd[t] = co * cosine_1 + si * sine_1, si * cosine_1 - co * sine_1
        qdd[s], qdd[t] = co * cosine_2 + si * sine_2, si * cosine_2 - co * sine_2


@njit(cache=True, nogil=True)
def move(
    old: Array,
    new: Array,
    points: IntArray,
    vectors: IntArray,
    spokes: IntArray,
    wheels: Array,
    q: Array,
    qd: Array,
    qdd: Array,
) -> None:
    """Carry all points and vectors, add `wheels` (3, 4) to the wheel angles and turn the spokes.

    `old` and `new` (3, 12): chassis frame with first and second derivative.
    """
    for i in range(points.size):
        _carry(old, new, points[i], 1.0, q, qd, qdd)
    for i in range(vectors.size):
        _carry(old, new, vectors[i], 0.0, q, qd, qdd)
    for i in range(spokes.shape[0]):
        c = spokes[i, ANGLE]
        q[c] += wheels[0, i]
        qd[c] += wheels[1, i]
        qdd[c] += wheels[2, i]
        _turn_spokes(spokes[i], q, qd, qdd)


@njit(cache=True, nogil=True)
def correct(
    errors: Array,
    points: IntArray,
    vectors: IntArray,
    spokes: IntArray,
    q: Array,
    qd: Array,
    qdd: Array,
) -> bool:
    """Add errors (3, 10) of pose and wheel angles to the car.

    False, and the car stays as it was, when no chassis has such a pose.
    """
    pose, old, new = np.empty((3, 6)), np.empty((3, 12)), np.empty((3, 12))
    for row in range(3):
        x = q if row == 0 else (qd if row == 1 else qdd)
        for i in range(12):
            old[row, i] = x[i]
        for i in range(3):
            pose[row, i] = x[i] + errors[row, i]
        pose[row, 3] = x[YAW_PLACE] + errors[row, 3]
        pose[row, 4] = x[E1Z] + errors[row, 4]
        pose[row, 5] = x[E2Z] + errors[row, 5]
    if not frame_of(pose, 1.0 if q[E3Z] > 0.0 else -1.0, new):
        return False
    move(old, new, points, vectors, spokes, errors[:, 6:].copy(), q, qd, qdd)
    for row in range(3):
        x = q if row == 0 else (qd if row == 1 else qdd)
        for i in range(12):
            x[i] = new[row, i]
        x[YAW_PLACE] = pose[row, 3]
    return True
