"""One stage of an excitation: the robot on some of its feet, within all limits.

Limits: travel, speed and acceleration of every joint, the zero moment point inside the supporting
soles, feet in the air above the ground, a base that stays near where it stands.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.spatial import ConvexHull

from veh_identification.design.humanoid.stance import OutOfReachError, Stance, StanceMotion
from veh_identification.identification.trajectory import FourierTrajectory
from veh_identification.multibody.tree import TreeModel
from veh_identification.types import Array


@dataclass(frozen=True, eq=False)
class JointLimits:
    """Per coordinate of the model."""

    low: Array
    high: Array
    velocity: Array
    acceleration: Array


@dataclass(frozen=True)
class StageLimits:
    """What a stage must keep beside the joints' limits; lengths in metres."""

    zmp_margin: float
    clearance: float  # of feet in the air
    base_shift: float
    base_turn: float
    lightest: float = 0.3  # share of the weight that the ground must carry


class Stage:
    """Free coordinates, home, and the check of a trajectory."""

    def __init__(
        self,
        label: str,
        stance: Stance,
        home: Array,
        start: Array,
        corners: Array,
        joints: JointLimits,
        limits: StageLimits,
    ) -> None:
        """`corners` (n, 2): the supporting soles; `start` (dof,): joints at home."""
        self.label, self.stance, self.home, self.start = label, stance, home, start
        self.joints, self.limits = joints, limits
        self.corners = corners
        hull = ConvexHull(corners)
        self._facets: Array = hull.equations
        self.weight = float(stance.model.parameters[:, 0].sum()) * 9.80665
        self._air = [k for k in range(len(stance.feet)) if k not in stance.supports]

    @property
    def model(self) -> TreeModel:
        """The robot."""
        return self.stance.model

    def sizes(self) -> Array:
        """Amplitudes (C,) that the free coordinates may about have."""
        room = np.minimum(self.joints.high - self.start, self.start - self.joints.low)
        base = [self.limits.base_shift] * 3 + [self.limits.base_turn] * 3
        return np.concatenate([base, np.clip(room[self.stance.free], 0.02, 0.8)])

    def motion(self, trajectory: FourierTrajectory, samples: int) -> StanceMotion:
        """One period of it."""
        motion = trajectory.evaluate(trajectory.sample_times(samples))
        return self.stance.motion(*motion, trajectory.period, self.start)

    def margins(self, made: StanceMotion) -> dict[str, float]:
        """Room to every limit as a share of it (zero moment point, clearance: metres)."""
        m, j = made.motion, self.joints
        point, force = made.zero_moment_point(self.model)
        half = 0.5 * (j.high - j.low)
        room = {
            'position': float((1.0 - np.abs(m.q - 0.5 * (j.high + j.low)) / half).min()),
            'velocity': float((1.0 - np.abs(m.qd) / j.velocity).min()),
            'acceleration': float((1.0 - np.abs(m.qdd) / j.acceleration).min()),
            'zmp': self.point_margin(point) - self.limits.zmp_margin,
            'load': float(force.min()) / self.weight - self.limits.lightest,
        }
        if self._air:
            heights = made.feet[self._air][:, :, 2]
            room['clearance'] = float(heights.min()) - self.limits.clearance
        return room

    def point_margin(self, points: Array) -> float:
        """Smallest distance of points (N, 2) to the border of the support; negative outside."""
        return float(-(points @ self._facets[:, :2].T + self._facets[:, 2]).max())

    def checked(self, trajectory: FourierTrajectory, samples: int) -> StanceMotion | None:
        """The motion if it keeps all limits."""
        try:
            made = self.motion(trajectory, samples)
        except OutOfReachError:
            return None
        return made if min(self.margins(made).values()) >= 0.0 else None


def sole_corners(places: Array, size: tuple[float, float], supports: Sequence[int]) -> Array:
    """Corners (4 n, 2) of the supporting soles: rectangles about the soles' frames."""
    half = 0.5 * np.asarray(size)
    signs = np.array([[1, 1], [1, -1], [-1, 1], [-1, -1]], float)
    return np.concatenate([places[k, :2] + signs * half for k in supports])
