"""The frame of the chassis as a function of x, y, z, yaw, e1z and e2z, in closed form.

With a = e1z, b = e2z, c = sqrt(1 - a^2), s = b / c and k = sqrt(1 - s^2) the axes are, seen from
a frame that turns with the yaw alone,
    e1 = (c, 0, a),   e2 = (-s a, k, b),   e3 = (-a k, -s, k c).
What these and their derivatives by a and b do in time follows from numbers that carry their first
two derivatives along: three floats (value, rate, second), called jets here.
"""

from __future__ import annotations

import math

from numba import njit

from veh_identification.types import Array

Jet = tuple[float, float, float]
YAW_PLACE, E1Z, E2Z, E3Z = 12, 5, 8, 11  # among the coordinates of the car


@njit(cache=True, nogil=True)
def _times(x: Jet, y: Jet) -> Jet:
    return (
        x[0] * y[0],
        x[1] * y[0] + x[0] * y[1],
        x[2] * y[0] + 2.0 * x[1] * y[1] + x[0] * y[2],
    )


@njit(cache=True, nogil=True)
def _over(x: Jet, y: Jet) -> Jet:
    value = x[0] / y[0]
    rate = (x[1] - value * y[1]) / y[0]
    return value, rate, (x[2] - 2.0 * rate * y[1] - value * y[2]) / y[0]


@njit(cache=True, nogil=True)
def _plus(x: Jet, y: Jet) -> Jet:
    return x[0] + y[0], x[1] + y[1], x[2] + y[2]


@njit(cache=True, nogil=True)
def _scaled(x: Jet, factor: float) -> Jet:
    return factor * x[0], factor * x[1], factor * x[2]


@njit(cache=True, nogil=True)
def _cosine_of(sine: Jet) -> Jet:
    """sqrt(1 - sine^2)."""
    value = math.sqrt(1.0 - sine[0] * sine[0])
    rate = -sine[0] * sine[1] / value
    return (
        value,
        rate,
        -(sine[1] * sine[1] + sine[0] * sine[2] + rate * rate) / value,
    )


@njit(cache=True, nogil=True)
def _turned(u: Jet, v: Jet, co: Jet, si: Jet) -> tuple[Jet, Jet]:
    """World components of a horizontal vector (u, v) of the yawed frame."""
    return (
        _plus(_times(co, u), _scaled(_times(si, v), -1.0)),
        _plus(_times(si, u), _times(co, v)),
    )


@njit(cache=True, nogil=True)
def _yaw_jets(yaw: Jet) -> tuple[Jet, Jet]:
    """Cosine and sine of the yaw."""
    co, si = math.cos(yaw[0]), math.sin(yaw[0])
    return (
        (co, -si * yaw[1], -si * yaw[2] - co * yaw[1] * yaw[1]),
        (si, co * yaw[1], co * yaw[2] - si * yaw[1] * yaw[1]),
    )


@njit(cache=True, nogil=True)
def _write(out: Array, place: int, x: Jet, y: Jet, z: Jet) -> None:
    for k in range(3):
        out[k, place], out[k, place + 1], out[k, place + 2] = x[k], y[k], z[k]


@njit(cache=True, nogil=True)
def frame_of(pose: Array, upright: float, frame: Array) -> bool:
    """Fill `frame` (3, 12) for a pose (3, 6) and its derivatives; False: there is none.

    `upright` is 1 for a car on its wheels and -1 for one on its roof, which have the same pose.
    """
    a: Jet = (pose[0, 4], pose[1, 4], pose[2, 4])
    b: Jet = (pose[0, 5], pose[1, 5], pose[2, 5])
    if not a[0] * a[0] + b[0] * b[0] < 1.0:
        return False
    c = _cosine_of(a)
    s = _over(b, c)
    k = _scaled(_cosine_of(s), upright)
    zero: Jet = (0.0, 0.0, 0.0)
    co, si = _yaw_jets((pose[0, 3], pose[1, 3], pose[2, 3]))
    for row in range(3):
        for i in range(3):
            frame[row, i] = pose[row, i]
    x, y = _turned(c, zero, co, si)
    _write(frame, 3, x, y, a)
    x, y = _turned(_scaled(_times(s, a), -1.0), k, co, si)
    _write(frame, 6, x, y, b)
    x, y = _turned(_scaled(_times(a, k), -1.0), _scaled(s, -1.0), co, si)
    _write(frame, 9, x, y, _times(k, c))
    return True


@njit(cache=True, nogil=True)
def _write_column(out: Array, order: int, place: int, column: int, x: Jet, y: Jet, z: Jet) -> None:
    for k in range(order + 1):
        out[k, place, column] = x[k]
        out[k, place + 1, column] = y[k]
        out[k, place + 2, column] = z[k]


@njit(cache=True, nogil=True)
def frame_derivatives(frame: Array, yaw: Jet, order: int, derivatives: Array) -> None:
    """Derivatives (3, 12, >= 6) of a frame (3, 12) by the pose, and up to `order` by time.

    Columns beyond the pose are left alone.
    """
    a: Jet = (frame[0, E1Z], frame[1, E1Z], frame[2, E1Z])
    b: Jet = (frame[0, E2Z], frame[1, E2Z], frame[2, E2Z])
    upright = 1.0 if frame[0, E3Z] > 0.0 else -1.0
    zero: Jet = (0.0, 0.0, 0.0)
    one: Jet = (1.0, 0.0, 0.0)
    c = _cosine_of(a)
    s = _over(b, c)
    k = _scaled(_cosine_of(s), upright)
    co, si = _yaw_jets(yaw)
    c_a = _scaled(_over(a, c), -1.0)
    s_b = _over(one, c)
    s_a = _times(_times(s, a), _times(s_b, s_b))
    slope = _scaled(_over(s, k), -1.0)  # dk / ds
    k_a, k_b = _times(slope, s_a), _times(slope, s_b)
    for level in range(order + 1):
        for i in range(12):
            for j in range(6):
                derivatives[level, i, j] = 0.0
        for i in range(1, 4):
            derivatives[level, 3 * i, 3] = -frame[level, 3 * i + 1]
            derivatives[level, 3 * i + 1, 3] = frame[level, 3 * i]
    for i in range(3):
        derivatives[0, i, i] = 1.0
    x, y = _turned(c_a, zero, co, si)
    _write_column(derivatives, order, 3, 4, x, y, one)
    x, y = _turned(_scaled(_plus(_times(s_a, a), s), -1.0), k_a, co, si)
    _write_column(derivatives, order, 6, 4, x, y, zero)
    x, y = _turned(_scaled(_times(s_b, a), -1.0), k_b, co, si)
    _write_column(derivatives, order, 6, 5, x, y, one)
    x, y = _turned(_scaled(_plus(k, _times(a, k_a)), -1.0), _scaled(s_a, -1.0), co, si)
    _write_column(derivatives, order, 9, 4, x, y, _plus(_times(k_a, c), _times(k, c_a)))
    x, y = _turned(_scaled(_times(a, k_b), -1.0), _scaled(s_b, -1.0), co, si)
    _write_column(derivatives, order, 9, 5, x, y, _times(k_b, c))
