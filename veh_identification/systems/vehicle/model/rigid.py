"""Moves the assembled car as one piece and turns its wheels, without a position problem.

The observer corrects the chassis' pose and the wheel angles and leaves damper strokes and rack
alone, so nothing but the chassis and the spokes moves relative to the chassis: the solution of the
kinematic problems of section 4.5.4 is known in closed form. With p = o + E r every point keeps
its local r, r', r''; vectors follow E alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from veh_identification.multibody.natural.kinematics import set_independent
from veh_identification.multibody.natural.model import POSITION_TOLERANCE
from veh_identification.multibody.natural.views import body_values
from veh_identification.systems.vehicle.model.stepper import ANGLE, AXIS, FORWARD, SPOKE_1, SPOKE_2
from veh_identification.types import Array, IntArray

Memory = tuple[Any, ...]
ITERATIONS = 60


@njit(cache=True, nogil=True)
def _carry(
    old: Array, new: Array, start: int, weight: float, q: Array, qd: Array, qdd: Array
) -> None:
    """Carry one point (weight 1) or vector (weight 0) from the old chassis frame to the new."""
    local, rate, second = np.zeros(3), np.zeros(3), np.zeros(3)
    p, v, a = np.empty(3), np.empty(3), np.empty(3)
    for k in range(3):
        p[k] = q[start + k] - weight * old[0, k]
        v[k] = qd[start + k] - weight * old[1, k]
        a[k] = qdd[start + k] - weight * old[2, k]
    for i in range(3):
        e = 3 * i + 3
        local[i] = old[0, e] * p[0] + old[0, e + 1] * p[1] + old[0, e + 2] * p[2]
    for k in range(3):
        for i in range(3):
            v[k] -= old[1, 3 * i + 3 + k] * local[i]
    for i in range(3):
        e = 3 * i + 3
        rate[i] = old[0, e] * v[0] + old[0, e + 1] * v[1] + old[0, e + 2] * v[2]
    for k in range(3):
        for i in range(3):
            a[k] -= old[2, 3 * i + 3 + k] * local[i] + 2.0 * old[1, 3 * i + 3 + k] * rate[i]
    for i in range(3):
        e = 3 * i + 3
        second[i] = old[0, e] * a[0] + old[0, e + 1] * a[1] + old[0, e + 2] * a[2]
    for k in range(3):
        p[k], v[k], a[k] = weight * new[0, k], weight * new[1, k], weight * new[2, k]
        for i in range(3):
            e0, e1, e2 = new[0, 3 * i + 3 + k], new[1, 3 * i + 3 + k], new[2, 3 * i + 3 + k]
            p[k] += e0 * local[i]
            v[k] += e1 * local[i] + e0 * rate[i]
            a[k] += e2 * local[i] + 2.0 * e1 * rate[i] + e0 * second[i]
        q[start + k], qd[start + k], qdd[start + k] = p[k], v[k], a[k]


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
    chassis: Memory,
    drive: Array,
    independent: IntArray,
    part: Array,
    memory: Memory,
    body: int,
    errors: Array,
    points: IntArray,
    vectors: IntArray,
    spokes: IntArray,
    q: Array,
    qd: Array,
    qdd: Array,
) -> int:
    """Add errors (3, 10) of pose and wheel angles to the car; negative when it cannot follow.

    `chassis`, `drive`, `independent` and `part` (3, 13) belong to the model of the chassis alone,
    `body` is the chassis in the car. The car stays as it was when this fails.
    """
    pose, size = independent.size, part.shape[1]
    part[0], part[1], part[2] = q[:size], qd[:size], qdd[:size]
    wanted = np.empty((3, pose))
    for row in range(3):
        for i in range(pose):
            wanted[row, i] = part[row, independent[i]] + errors[row, i]
    status = set_independent(
        chassis,
        drive,
        part[0],
        part[1],
        part[2],
        wanted[0],
        wanted[1],
        wanted[2],
        POSITION_TOLERANCE,
        ITERATIONS,
        False,
    )
    if status < 0:
        return status
    old, new = np.empty((3, 12)), np.empty((3, 12))
    body_values(chassis, 0, part[0], part[1], part[2], new)
    body_values(memory, body, q, qd, qdd, old)
    move(old, new, points, vectors, spokes, errors[:, pose:].copy(), q, qd, qdd)
    q[:size], qd[:size], qdd[:size] = part[0], part[1], part[2]
    return status
