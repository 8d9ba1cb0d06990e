"""Rotations on plain floats, beside those of `orientations`: quaternions are (x, y, z, w) tuples.

The fusion handles thousands of single rotations a second, where numpy's call overhead would
dominate; tuples of floats are several times faster and never alias.
"""

from __future__ import annotations

import math

import numpy as np

from veh_identification.orientations import Quaternion, normalise, quaternion_of_rpy
from veh_identification.types import Array, Vector


def cross(a: Vector, b: Vector) -> Vector:
    """a x b."""
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


def cross_array(a: Array, b: Array) -> Array:
    """a x b of arrays; np.cross costs 20 times as much for single vectors."""
    return np.array(cross(tuple(a.tolist()), tuple(b.tolist())))


def from_rotation_vector(x: float, y: float, z: float) -> Quaternion:
    """exp of half the rotation vector, exact also for tiny angles."""
    angle2 = x * x + y * y + z * z
    if angle2 < 1e-8:
        # sin(a/2)/a to fourth order: relative error below 1e-19 here
        s = 0.5 - angle2 / 48.0
        return normalise((s * x, s * y, s * z, 1.0 - angle2 / 8.0))
    angle = math.sqrt(angle2)
    s = math.sin(0.5 * angle) / angle
    return (s * x, s * y, s * z, math.cos(0.5 * angle))


def to_rotation_vector(q: Quaternion) -> Vector:
    """The shortest rotation vector of q."""
    x, y, z, w = q if q[3] >= 0.0 else (-q[0], -q[1], -q[2], -q[3])
    n = math.sqrt(x * x + y * y + z * z)
    s = 2.0 if n < 1e-12 else 2.0 * math.atan2(n, w) / n
    return (s * x, s * y, s * z)


def yaw_of(q: Quaternion) -> float:
    """Heading alone."""
    x, y, z, w = q
    return math.atan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z))


def matrix(q: Quaternion) -> Array:
    """Rotation matrix (3, 3)."""
    x, y, z, w = q
    return np.array(
        [
            [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y)],
            [2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x)],
            [2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y)],
        ]
    )


def level_from_specific_force(force: Vector, yaw: float = 0.0) -> Quaternion:
    """Attitude at rest: the specific force points up in the world; heading is chosen."""
    fx, fy, fz = force
    roll = math.atan2(fy, fz)
    pitch = math.atan2(-fx, math.hypot(fy, fz))
    return quaternion_of_rpy((roll, pitch, yaw))


def skew(v: Array | Vector) -> Array:
    """Matrix of the cross product v x."""
    return np.array([[0.0, -v[2], v[1]], [v[2], 0.0, -v[0]], [-v[1], v[0], 0.0]])
