"""Orientations at the edge: quaternions, matrices and roll, pitch, yaw of single poses.

Quaternions are (x, y, z, w) as in ROS messages and need not have unit length; roll, pitch, yaw
turn about the fixed axes x, y, z in this order as in URDF: R = Rz(yaw) Ry(pitch) Rx(roll). The
conversions are those of ROS' tf_transformations where it is installed, and of transforms3d, which
that one wraps (scalar first), elsewhere. They take 7 to 40 us each: where whole recordings are
turned, scipy's Rotation and `signals.rotation` stand, which take arrays.

The products on plain floats are our own: the fusion composes thousands of single rotations a
second and compiles them into its kernels; `rotate` takes 0.8 us, transforms3d's rotate_vector 14.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from veh_identification.types import Array, Vector

try:
    from tf_transformations import (
        euler_from_matrix,
        euler_matrix,
        quaternion_from_euler,
        quaternion_from_matrix,
        quaternion_matrix,
    )
except ImportError:
    from transforms3d.euler import euler2mat as euler_matrix
    from transforms3d.euler import euler2quat
    from transforms3d.euler import mat2euler as euler_from_matrix
    from transforms3d.quaternions import mat2quat, quat2mat

    SCALAR_LAST, SCALAR_FIRST = [1, 2, 3, 0], [3, 0, 1, 2]

    def quaternion_from_euler(roll: float, pitch: float, yaw: float) -> Array:
        """Scalar last."""
        return np.asarray(euler2quat(roll, pitch, yaw)[SCALAR_LAST])

    def quaternion_from_matrix(matrix: Array) -> Array:
        """Scalar last."""
        return np.asarray(mat2quat(matrix[:3, :3])[SCALAR_LAST])

    def quaternion_matrix(quaternion: Array) -> Array:
        """From scalar last."""
        return np.asarray(quat2mat(quaternion[SCALAR_FIRST]))


Quaternion = tuple[float, float, float, float]

IDENTITY: Quaternion = (0.0, 0.0, 0.0, 1.0)


def matrix_of_quaternion(quaternion: Sequence[float] | Array) -> Array:
    """Rotation matrix (3, 3) of a quaternion of any length but zero."""
    # transforms3d takes a short quaternion for none at all.
    q = np.asarray(quaternion, dtype=float)
    return np.array(quaternion_matrix(q / np.linalg.norm(q)))[:3, :3]


def matrix_of_rpy(rpy: Sequence[float] | Array) -> Array:
    """Rotation matrix (3, 3) of roll, pitch, yaw."""
    return np.array(euler_matrix(*map(float, rpy)))[:3, :3]


def quaternion_of_matrix(matrix: Array) -> Quaternion:
    """Unit quaternion with w >= 0 of a rotation matrix (3, 3)."""
    affine = np.eye(4)
    affine[:3, :3] = matrix
    return _quaternion(quaternion_from_matrix(affine))


def quaternion_of_rpy(rpy: Sequence[float] | Array) -> Quaternion:
    """Unit quaternion of roll, pitch, yaw."""
    return _quaternion(quaternion_from_euler(*map(float, rpy)))


def rpy_of_matrix(matrix: Array) -> Vector:
    """Roll, pitch, yaw of a rotation matrix (3, 3)."""
    affine = np.eye(4)
    affine[:3, :3] = matrix
    roll, pitch, yaw = euler_from_matrix(affine)
    return float(roll), float(pitch), float(yaw)


def rpy_of_quaternion(quaternion: Sequence[float] | Array) -> Vector:
    """Roll, pitch, yaw of a quaternion of any length but zero."""
    return rpy_of_matrix(matrix_of_quaternion(quaternion))


def _quaternion(values: Array) -> Quaternion:
    x, y, z, w = (float(value) for value in values)
    return x, y, z, w


def is_unit(q: Quaternion, tolerance: float = 0.01) -> bool:
    """Whether q is a usable orientation; a norm off by more than 1 % is a broken sensor."""
    n = q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]
    return math.isfinite(n) and abs(math.sqrt(n) - 1.0) <= tolerance


def multiply(a: Quaternion, b: Quaternion) -> Quaternion:
    """Hamilton product a b: first b, then a."""
    ax, ay, az, aw = a
    bx, by, bz, bw = b
    return (
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx,
        aw * bz + ax * by - ay * bx + az * bw,
        aw * bw - ax * bx - ay * by - az * bz,
    )


def conjugate(q: Quaternion) -> Quaternion:
    """The inverse rotation."""
    return (-q[0], -q[1], -q[2], q[3])


def normalise(q: Quaternion) -> Quaternion:
    """Unit quaternion of the same direction."""
    n = 1.0 / math.sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3])
    return (q[0] * n, q[1] * n, q[2] * n, q[3] * n)


def rotate(q: Quaternion, v: Vector) -> Vector:
    """The vector v turned by q."""
    x, y, z, w = q
    tx = 2.0 * (y * v[2] - z * v[1])
    ty = 2.0 * (z * v[0] - x * v[2])
    tz = 2.0 * (x * v[1] - y * v[0])
    return (
        v[0] + w * tx + y * tz - z * ty,
        v[1] + w * ty + z * tx - x * tz,
        v[2] + w * tz + x * ty - y * tx,
    )
