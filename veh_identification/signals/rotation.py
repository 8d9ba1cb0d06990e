"""Orientation signals: angular velocity and acceleration, exact for turns of any size.

Quaternions (x, y, z, w) are filtered by component after their signs are unwrapped, and turned
into rates by algebra that holds for quaternions of any length:

    q' q^-1 = (ln |q|)' + omega / 2       (omega in the world frame)
    (q' q^-1)' = q'' q^-1 - (q' q^-1)^2

so what a filter does to the length of q does not touch the rates, and a steady spin passes a
zero-phase filter unchanged.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from veh_identification.errors import SignalError
from veh_identification.signals.filtering import ZeroPhaseFilter
from veh_identification.types import Array, BoolArray


def multiply(p: Array, q: Array) -> Array:
    """Quaternion product p q of (..., 4) arrays (x, y, z, w)."""
    pv, qv = p[..., :3], q[..., :3]
    pw, qw = p[..., 3:], q[..., 3:]
    vector = pw * qv + qw * pv + np.cross(pv, qv)
    scalar = pw * qw - (pv * qv).sum(axis=-1, keepdims=True)
    return np.concatenate([vector, scalar], axis=-1)


def conjugate(q: Array) -> Array:
    """Quaternion with its vector part reversed."""
    return q * np.array([-1.0, -1.0, -1.0, 1.0])


def rotation_matrix(q: Array) -> Array:
    """Rotation matrices (..., 3, 3) of quaternions of any non-zero length."""
    unit = q / np.linalg.norm(q, axis=-1, keepdims=True)
    x, y, z, w = np.moveaxis(unit, -1, 0)
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
    ]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def align_sign(previous: ArrayLike, quaternion: ArrayLike) -> Array:
    """The quaternion, or its opposite, whichever is nearer to `previous` (for live use)."""
    q = np.asarray(quaternion, dtype=float)
    return -q if float(np.asarray(previous) @ q) < 0.0 else q


def unwrap_quaternions(quaternions: Array, valid: BoolArray | None = None) -> Array:
    """Unit quaternions (N, 4) whose sign does not flip; the rows that are not valid are NaN.

    Needed before any interpolation (`synchronise`) of quaternion components, too.
    """
    q = np.asarray(quaternions, dtype=float)
    if q.ndim != 2 or q.shape[1] != 4:
        raise SignalError(f'quaternions (N, 4) expected, found {q.shape}')
    mask = np.ones(len(q), dtype=bool) if valid is None else np.asarray(valid, dtype=bool)
    norm = np.linalg.norm(q[mask], axis=1)
    bad = ~(norm > 1e-6)
    if bad.any():
        row = int(np.flatnonzero(mask)[np.argmax(bad)])
        raise SignalError(f'quaternion {row} has no length: {q[row].tolist()}')
    unit = q[mask] / norm[:, None]
    flips = (unit[1:] * unit[:-1]).sum(axis=1) < 0.0
    sign = np.concatenate([[1.0], np.where(np.cumsum(flips) % 2, -1.0, 1.0)])[: len(unit)]
    result = np.full(q.shape, np.nan)
    result[mask] = unit * sign[:, None]
    return result


def angular_rates(
    q: Array, q_dot: Array, q_ddot: Array, *, frame: str = 'world'
) -> tuple[Array, Array]:
    """Angular velocity and acceleration (..., 3) from a quaternion and its two derivatives.

    `q` turns body into world coordinates and need not have unit length; `frame` names the axes
    the result is expressed in ('world' or 'body'; the acceleration is the same vector in both).
    """
    if frame not in ('world', 'body'):
        raise SignalError(f"frame must be 'world' or 'body', found {frame!r}")
    inverse = conjugate(q) / (q * q).sum(axis=-1, keepdims=True)
    if frame == 'world':
        rate, second = multiply(q_dot, inverse), multiply(q_ddot, inverse)
    else:
        rate, second = multiply(inverse, q_dot), multiply(inverse, q_ddot)
    change = second - multiply(rate, rate)
    return 2.0 * rate[..., :3], 2.0 * change[..., :3]


@dataclass(frozen=True)
class BaseMotion:
    """Motion of a body from its pose (motion capture): use only the `valid` samples.

    `velocity` and `acceleration` are those of the body's origin in world axes (no gravity);
    `angular_velocity` and `angular_acceleration` are in body axes. `rotation` turns body into
    world coordinates; `velocity_body` and `acceleration_body` are the same vectors in body axes.
    """

    position: Array
    quaternion: Array
    rotation: Array
    velocity: Array
    acceleration: Array
    velocity_body: Array
    acceleration_body: Array
    angular_velocity: Array
    angular_acceleration: Array
    valid: BoolArray


def filter_orientation(
    quaternions: Array, filter_: ZeroPhaseFilter, valid: BoolArray | None = None
) -> tuple[Array, Array, Array, BoolArray]:
    """Smooth unit quaternions, angular velocity and acceleration (body axes), and the mask."""
    unit = unwrap_quaternions(quaternions, valid)
    smooth = filter_.derivatives(unit, valid)
    omega, alpha = angular_rates(
        smooth.position, smooth.velocity, smooth.acceleration, frame='body'
    )
    q = smooth.position / np.linalg.norm(smooth.position, axis=1, keepdims=True)
    return q, omega, alpha, smooth.valid


def base_motion(
    position: Array,
    quaternions: Array,
    filter_: ZeroPhaseFilter,
    valid: BoolArray | None = None,
) -> BaseMotion:
    """Pose (N, 3), (N, 4) on a uniform grid into twist and acceleration of the body."""
    place = filter_.derivatives(position, valid)
    q, omega, alpha, kept = filter_orientation(quaternions, filter_, valid)
    rotation = rotation_matrix(q)
    to_body = np.swapaxes(rotation, -1, -2)
    return BaseMotion(
        place.position,
        q,
        rotation,
        place.velocity,
        place.acceleration,
        np.einsum('nij,nj->ni', to_body, place.velocity),
        np.einsum('nij,nj->ni', to_body, place.acceleration),
        omega,
        alpha,
        place.valid & kept,
    )
