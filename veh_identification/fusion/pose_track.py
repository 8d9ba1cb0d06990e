"""Motion of a body from sampled poses alone (motion capture)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from veh_identification import orientations
from veh_identification.fusion import rotation
from veh_identification.fusion.track import Track
from veh_identification.orientations import Quaternion
from veh_identification.types import Array, Vector


@dataclass(frozen=True)
class BodyMotion:
    """Pose in the world; velocities and accelerations in body axes (NaN where unknown)."""

    position: Vector
    orientation: Quaternion
    velocity: Array
    angular_velocity: Array
    acceleration: Array
    angular_acceleration: Array


def _product(a: Array, b: Array) -> Array:
    """Quaternion product of arrays."""
    return np.array(orientations.multiply(tuple(a.tolist()), tuple(b.tolist())))


def angular_motion(q: Array, q1: Array, q2: Array) -> tuple[Quaternion, Array, Array]:
    """Orientation, angular velocity and acceleration (body axes) of a smoothed quaternion.

    Smoothing leaves |q| slightly off one. With q = n u, u a unit quaternion:
    u* q' / n = n'/n + w/2 and u* q'' / n = n''/n + (n'/n) w + w w/4 + al/2; the square of w is a
    scalar, so the vector parts give w and al.
    """
    squared = float(q @ q)
    back = np.array([-q[0], -q[1], -q[2], q[3]]) / squared
    first = _product(back, q1)
    second = _product(back, q2)
    omega = 2.0 * first[:3]
    alpha = 2.0 * (second[:3] - first[3] * omega)
    return orientations.normalise(tuple(q.tolist())), omega, alpha


class PoseTrack:
    """Poses of a body in order of time; motion at any stamp in the window."""

    def __init__(self, half_width: float, order: int, timeout: float) -> None:
        self._track = Track(7, half_width, order, timeout)
        self._last: Quaternion | None = None

    def add(self, time: float, position: Vector, orientation: Quaternion) -> None:
        """Take one pose; q and -q are the same, so follow the sign of the one before."""
        last, q = self._last, orientation
        if last is not None and sum(a * b for a, b in zip(last, q, strict=True)) < 0.0:
            q = (-q[0], -q[1], -q[2], -q[3])
        self._last = q
        self._track.add(time, (*position, *q))

    def at(self, time: float) -> BodyMotion | None:
        """Motion at `time`; None where no pose supports it."""
        found = self._track.at(time)
        if found is None:
            return None
        x, x1, x2 = found
        q, omega, alpha = angular_motion(x[3:], x1[3:], x2[3:])
        R = rotation.matrix(q)
        px, py, pz = x[:3].tolist()
        return BodyMotion((px, py, pz), q, x1[:3] @ R, omega, x2[:3] @ R, alpha)

    def reset(self) -> None:
        """Forget all samples."""
        self._track.reset()
        self._last = None
