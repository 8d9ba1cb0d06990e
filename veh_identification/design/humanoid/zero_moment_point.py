"""Zero moment point of a whole designed motion, transitions between its stages included."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.spatial import ConvexHull

from veh_identification.design.humanoid.stance import StanceMotion, base_rotation
from veh_identification.identification.trajectory import pose_rates
from veh_identification.multibody.motion import floating_base_motion
from veh_identification.multibody.tree import TreeModel
from veh_identification.types import Array


@dataclass(frozen=True, eq=False)
class Part:
    """A stretch of the motion on one support: name, base poses (N, 6), joints (N, dof)."""

    label: str
    base: Array
    q: Array
    corners: Array  # (n, 2) of the soles that certainly carry
    between: str = ''  # the stages that it joins; empty for a stage


@dataclass(frozen=True, eq=False)
class Checked:
    """Zero moment points (N, 2) of all samples and how far inside their support they are (N,)."""

    points: Array
    margin: Array
    parts: list[dict[str, object]]  # name and smallest margin of each transition

    @property
    def worst_transition(self) -> float:
        """Smallest margin outside the stages."""
        return min((float(str(part['zmp_margin'])) for part in self.parts), default=np.inf)


def check(model: TreeModel, parts: Sequence[Part], rate_hz: float) -> Checked:
    """Differences of the sampled motion give its accelerations: stages join at rest."""
    points = zero_moment_points(
        model,
        np.concatenate([one.base for one in parts]),
        np.concatenate([one.q for one in parts]),
        rate_hz,
    )
    margins, found, first = [], [], 0
    for one in parts:
        mine = slice(first, first + len(one.q))
        margins.append(inside(one.corners, points[mine]))
        if one.between:
            found.append(
                {'name': f'{one.between}: {one.label}', 'zmp_margin': float(margins[-1].min())}
            )
        first = mine.stop
    return Checked(points, np.concatenate(margins), found)


def zero_moment_points(model: TreeModel, base: Array, q: Array, rate_hz: float) -> Array:
    """Points (N, 2) on the ground for base poses (N, 6) and joints (N, dof) at a fixed rate."""
    both = np.hstack([base, q])
    rates = np.gradient(both, 1.0 / rate_hz, axis=0)
    seconds = np.zeros_like(both)
    seconds[1:-1] = (both[2:] - 2.0 * both[1:-1] + both[:-2]) * rate_hz**2
    velocity, acceleration = pose_rates(base, rates[:, :6], seconds[:, :6])
    rotation = base_rotation(base)
    linear, omega, alpha = (
        np.einsum('nji,nj->ni', rotation, one)
        for one in (acceleration[:, :3], velocity[:, 3:], acceleration[:, 3:])
    )
    motion = floating_base_motion(q, rates[:, 6:], seconds[:, 6:], linear, omega, alpha, rotation)
    made = StanceMotion(motion, base[:, :3], rotation, np.zeros((0, len(q), 3)))
    return made.zero_moment_point(model)[0]


def inside(corners: Array, points: Array) -> Array:
    """Distance (N,) of points (N, 2) to the border of the support; negative outside."""
    facets = ConvexHull(corners).equations
    return np.asarray(-(points @ facets[:, :2].T + facets[:, 2]).max(axis=1))
