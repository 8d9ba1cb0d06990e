"""Motion of a body from sampled poses alone (motion capture)."""

from __future__ import annotations

import math
from collections import deque
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


#: Poses by which the usual speed is known, and that are remembered for it.
FEWEST_SPEEDS, MOST_SPEEDS = 20, 200
#: Poses that were refused but agree with each other for so long are another place (seconds).
ANOTHER_PLACE = 0.5


class PoseGate:
    """Refuses poses that no body can have reached from the one before."""

    def __init__(self, fastest: float, slack: float) -> None:
        self._fastest, self._slack = fastest, slack
        self.reset()

    def reset(self) -> None:
        """The next pose is taken as it is."""
        self._last: tuple[float, Vector] | None = None
        self._doubted: tuple[float, Vector] | None = None
        self._doubted_since = math.inf
        self._before: tuple[float, Vector] | None = None  # whether it was taken or not
        self._speeds: deque[float] = deque(maxlen=MOST_SPEEDS)

    @property
    def too_fast(self) -> float:
        """The usual speed from pose to pose where no body moves like that, else zero.

        Single jumps are lost markers; if the usual pose jumps, the unit is another one.
        """
        usual = float(np.median(self._speeds)) if len(self._speeds) >= FEWEST_SPEEDS else 0.0
        return usual if usual > self._fastest else 0.0

    def passes(self, time: float, position: Vector) -> bool:
        """Whether a pose can be; poses elsewhere that last are taken in the end."""
        if self._before is not None and time > self._before[0]:
            step = math.dist(self._before[1], position)
            self._speeds.append(step / (time - self._before[0]))
        self._before = time, position
        if self._last is None or self._near(self._last, time, position):
            self._last, self._doubted = (time, position), None
            return True
        if self._doubted is None or not self._near(self._doubted, time, position):
            self._doubted_since = time
        self._doubted = (time, position)
        if time - self._doubted_since < ANOTHER_PLACE:
            return False
        self._last, self._doubted = (time, position), None
        return True

    def _near(self, pose: tuple[float, Vector], time: float, position: Vector) -> bool:
        reach = self._slack + self._fastest * max(time - pose[0], 0.0)
        return math.dist(pose[1], position) <= reach
