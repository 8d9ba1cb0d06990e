"""Where the soles are, how they move and lean: what stands, stands still and flat."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass

import numpy as np

from veh_identification.multibody.kinematics import body_motion
from veh_identification.multibody.motion import fixed_base_motion
from veh_identification.multibody.tree import ROOT, TreeModel
from veh_identification.signals import rotation_matrix
from veh_identification.systems.humanoid.processing.signals import Raw, Samples
from veh_identification.types import Array, IntArray

#: One unit of a sole that is not where the plates are pressed, over the length of the legs, and of
#: a standing one that moves, in the same each second: heels are lifted while one stands.
SOLE_UNIT, SOLE_SPEED = 0.25, 0.1
#: One unit [rad] of a standing sole that is not flat: models stand flat when all joints are zero,
#: but for heels and slopes.
SOLE_TILT = 0.3
#: Sine of the angle between a joint's axis and the vertical below which it does not level a sole.
LEVER = 0.3


@dataclass(frozen=True, eq=False)
class Stance:
    """The soles at some samples, in the world."""

    places: Array  # (feet, n, 3)
    speed: Array  # (feet, n)
    tilt: Array  # (feet, n) rad
    level: Array  # (feet, n, 3) where what is vertical in a flat sole points to


class Soles:
    """The soles of one robot."""

    def __init__(self, model: TreeModel, frames: Sequence[str]) -> None:
        self.model = model
        self._frames = [model.frame(name) for name in frames]
        places, turns = self.in_base(np.zeros((1, model.dof)))
        #: Length of the legs [m], and the vertical in the axes of each sole, all joints at zero.
        self.legs = float(np.linalg.norm(places[:, 0], axis=1).mean())
        self.flat = turns[:, 0, 2]

    def with_model(self, model: TreeModel) -> Soles:
        """The same soles on a model whose links differ."""
        if model is self.model:
            return self
        made = copy(self)
        made.model = model
        return made

    def chain(self) -> set[int]:
        """Bodies between the base and the soles."""
        found: set[int] = set()
        for frame in self._frames:
            body = frame.body
            while body != ROOT:
                found.add(body)
                body = int(self.model.parent[body])
        return found

    def in_base(self, q: Array) -> tuple[Array, Array]:
        """Places (feet, N, 3) and orientations (feet, N, 3, 3) in the base."""
        bodies = body_motion(self.model, fixed_base_motion(q, 0.0 * q, 0.0 * q))
        places, turns = [], []
        for frame in self._frames:
            turn = bodies.orientation[:, frame.body]
            places.append(bodies.position[:, frame.body] + turn @ frame.translation)
            turns.append(turn @ frame.rotation)
        return np.array(places), np.array(turns)

    def stance(self, raw: Raw, rows: IntArray) -> Stance:
        """The soles at some samples of a recording with base poses."""
        around = np.concatenate([rows - 1, rows, rows + 1])
        places, turns = self.in_base(np.ascontiguousarray(raw.joints[around]))
        base = rotation_matrix(raw.pose[around, 3:])
        places = raw.pose[around, :3] + np.einsum('nij,fnj->fni', base, places)
        before, here, after = np.split(places, 3, axis=1)
        speed = np.linalg.norm(after - before, axis=2) * (0.5 * raw.rate)
        middle = slice(len(rows), 2 * len(rows))
        level = np.einsum('nij,fnjk,fk->fni', base[middle], turns[:, middle], self.flat)
        tilt = np.arccos(np.clip(level[:, :, 2], -1.0, 1.0))
        return Stance(here, speed, tilt, level)

    def flat_angles(self, raw: Raw, column: int) -> Array:
        """By how much a joint must turn further that each sole is as level as it can be (feet, N).

        The vertical of a sole turns on a cone about the joint's axis, which three postures give.
        Zero where the joint does not turn the sole.
        """
        base = rotation_matrix(raw.pose[:, 3:])[:, 2]
        height = []
        for turn in (0.0, 0.5 * np.pi, np.pi):
            q = np.array(raw.joints)
            q[:, column] += turn
            _, turns = self.in_base(q)
            height.append(np.einsum('nj,fnjk,fk->fn', base, turns, self.flat))
        start, quarter, half = height
        across, along = 0.5 * (start - half), quarter - 0.5 * (start + half)
        found = np.arctan2(along, across)
        return np.where(np.hypot(across, along) > LEVER, found, 0.0)

    def errors(self, stance: Stance) -> list[Array]:
        """How far from standing the better of the soles is, in units: still, and flat."""
        moving = stance.speed.min(axis=0)
        # All that stand must be flat; the one that is slowest stands in any case.
        stands = stance.speed <= np.maximum(moving, SOLE_SPEED * self.legs)
        tilt = np.where(stands, stance.tilt, 0.0).max(axis=0)
        return [moving / (SOLE_SPEED * self.legs), np.maximum(tilt / SOLE_TILT - 1.0, 0.0)]

    def pressed(self, raw: Raw, samples: Samples, feet: Array, least: float) -> list[Array]:
        """How far soles and pressed places lie apart, in units: up, and along the ground.

        Below `least` [N] nothing is pressed.
        """
        heights = [one.pose.position[2] for one in raw.sources if one.pose is not None]
        lowest = feet[:, :, 2].min(axis=0)
        nearest = np.min([np.abs(lowest - height) for height in heights], axis=0)
        force = np.einsum('nij,nj->ni', samples.rotation, samples.wrench[:, :3])
        moment = np.einsum('nij,nj->ni', samples.rotation, samples.wrench[:, 3:])
        moment = moment + np.cross(samples.position - [0.0, 0.0, heights[0]], force)
        fz = np.where(np.abs(force[:, 2]) < least, np.nan, force[:, 2])
        pressed = np.stack([-moment[:, 1] / fz, moment[:, 0] / fz], axis=1)
        apart = _distance(pressed, feet[0, :, :2], feet[-1, :, :2])
        unit = SOLE_UNIT * self.legs
        apart = np.where(np.isfinite(apart), apart, 4.0 * unit)
        # Nothing is gained by being nearer than a foot is long.
        return [np.maximum(one / unit - 1.0, 0.0) for one in (nearest, apart)]


def _distance(points: Array, a: Array, b: Array) -> Array:
    """From points (n, 2) to the stretches between a and b."""
    along = b - a
    length = np.maximum(np.square(along).sum(axis=1), 1e-12)
    share = np.clip(((points - a) * along).sum(axis=1) / length, 0.0, 1.0)
    return np.asarray(np.linalg.norm(points - a - share[:, None] * along, axis=1))
