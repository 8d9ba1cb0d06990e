"""Exact motion of the simulated humanoid: splines of base and joints, wrenches under the feet.

The base is moved by the cart-table equation x - (z/g) x'' = p so that the zero moment point of
the whole tree follows its reference (two corrections with the true inverse dynamics). What is
simulated is the spline through the resulting poses, whose derivatives are exact; the total wrench
is the exact inverse dynamics of that spline, shared between the feet so that the sum stays exact.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.interpolate import BSpline, make_interp_spline
from scipy.linalg import solve_banded
from scipy.spatial.transform import Rotation

from veh_identification.multibody.dynamics import inverse_dynamics
from veh_identification.multibody.motion import Motion, floating_base_motion
from veh_identification.multibody.tree import TreeModel
from veh_identification.simulation.humanoid.gait import GRID_SECONDS, SIDES, References
from veh_identification.simulation.humanoid.legs import find_leg, leg_angles
from veh_identification.types import Array

GRAVITY = 9.80665
SOLE_DROP = 0.035  # of the sole below the ankle's axes
ARM_POSTURE = {'shoulder_pitch': 0.15, 'shoulder_roll': 0.12, 'shoulder_yaw': 0.0, 'elbow': -0.4}


@dataclass(frozen=True, eq=False)
class Sampled:
    """The state at given times: `motion` for the multibody functions, poses, wrenches."""

    t: Array
    motion: Motion
    position: Array  # of the base in the world
    rotation: Array  # base to world
    total: Array  # (N, 6) wrench on the robot at the base origin in base axes
    feet: dict[str, Array]  # (N, 6) wrench on each foot at the WORLD origin in world axes


class HumanoidMotion:
    """A humanoid of the structure of `ut_mu2_like.urdf` moving through references."""

    def __init__(self, model: TreeModel, references: References, corrections: int = 4) -> None:
        self.model, self.references = model, references
        self._legs = {side: find_leg(model, side) for side in SIDES}
        self._middle = np.zeros(2)
        self._mass = float(model.parameters[:, 0].sum())
        point = references.zero_moment_point
        self._base = _cart_table(point, 0.24)
        self._spline = self._fit()
        for _ in range(corrections):
            actual = self.zero_moment_point(references.t)
            self._base = self._base + _cart_table(point - actual, 0.24)
            self._spline = self._fit()

    def _fit(self) -> BSpline:
        """Spline through base position, base angles and all joint angles."""
        r = self.references
        rotation = Rotation.from_euler('xyz', r.trunk).as_matrix()
        position = np.column_stack([self._base, r.base_height])
        q = np.zeros((len(r.t), self.model.dof))
        arms = [
            name for name in self.model.coordinate_names if 'shoulder' in name or 'elbow' in name
        ]
        for k, name in enumerate(arms):
            kind = name[2:].removesuffix('_joint')
            mirror = 1.0 if name.startswith('l') or kind != 'shoulder_roll' else -1.0
            posture = mirror * ARM_POSTURE[kind]
            q[:, self.model.coordinate_index(name)] = posture + r.arms[:, k % 8]
        for side, leg in self._legs.items():
            foot = Rotation.from_euler('xyz', r.foot_angles[side]).as_matrix()
            ankle = r.foot_position[side] + foot @ np.array([0.0, 0.0, SOLE_DROP])
            local = np.einsum('nji,nj->ni', rotation, ankle - position)
            relative = np.einsum('nji,njk->nik', rotation, foot)
            q[:, leg.indices] = leg_angles(leg, local, relative)
        return make_interp_spline(r.t, np.hstack([position, r.trunk, q]), k=5)

    def at(self, t: Array) -> Sampled:
        """Exact state and wrenches at any times within the references."""
        times = np.clip(t, self.references.t[0], self.references.t[-1])
        value, rate, second = (self._spline(times, order) for order in range(3))
        rotation = Rotation.from_euler('xyz', value[:, 3:6]).as_matrix()
        omega, alpha = euler_rates(value[:, 3:6], rate[:, 3:6], second[:, 3:6])
        acceleration = np.einsum('nji,nj->ni', rotation, second[:, :3])
        motion = floating_base_motion(
            value[:, 6:], rate[:, 6:], second[:, 6:], acceleration, omega, alpha, rotation
        )
        total = inverse_dynamics(self.model, motion)[:, :6]
        world = world_wrench(total, rotation, value[:, :3])
        return Sampled(times, motion, value[:, :3], rotation, total, self._share(times, world))

    def zero_moment_point(self, t: Array) -> Array:
        """Point (N, 2) on the ground at which the total wrench has no horizontal moment."""
        state = self.at(t)
        world = world_wrench(state.total, state.rotation, state.position)
        return np.column_stack([-world[:, 4], world[:, 3]]) / world[:, 2:3]

    def _share(self, t: Array, world: Array) -> dict[str, Array]:
        """Split the total between the feet: shares of the force, what is left of the moment."""
        r = self.references
        left = np.interp(t, r.t, r.left_share)
        shares = {'l': left, 'r': 1.0 - left}
        parts, moment = {}, world[:, 3:].copy()
        for side, share in shares.items():
            force = share[:, None] * world[:, :3]
            place = np.column_stack(
                [np.interp(t, r.t, r.foot_position[side][:, k]) for k in range(2)]
                + [np.zeros(len(t))]
            )
            parts[side] = np.hstack([force, np.cross(place, force)])
            moment -= parts[side][:, 3:]
        for side, share in shares.items():
            parts[side][:, 3:] += share[:, None] * moment
        return parts


def world_wrench(wrench: Array, rotation: Array, position: Array) -> Array:
    """A wrench at the base origin in base axes, moved to the world origin and axes."""
    force = np.einsum('nij,nj->ni', rotation, wrench[:, :3])
    moment = np.einsum('nij,nj->ni', rotation, wrench[:, 3:]) + np.cross(position, force)
    return np.hstack([force, moment])


def euler_rates(angles: Array, rates: Array, seconds: Array) -> tuple[Array, Array]:
    """Angular velocity and acceleration in body axes of Rz(yaw) Ry(pitch) Rx(roll)."""
    (roll, pitch, _), (dr, dp, dy) = angles.T, rates.T
    ddr, ddp, ddy = seconds.T
    sr, cr, sp, cp = np.sin(roll), np.cos(roll), np.sin(pitch), np.cos(pitch)
    omega = np.column_stack([dr - dy * sp, dp * cr + dy * cp * sr, -dp * sr + dy * cp * cr])
    alpha = np.column_stack(
        [
            ddr - ddy * sp - dy * dp * cp,
            ddp * cr - dp * dr * sr + ddy * cp * sr - dy * dp * sp * sr + dy * dr * cp * cr,
            -ddp * sr - dp * dr * cr + ddy * cp * cr - dy * dp * sp * cr - dy * dr * cp * sr,
        ]
    )
    return omega, alpha


def _cart_table(point: Array, height: float) -> Array:
    """Solve x - (z/g) x'' = p on the grid with x'' = 0 at both ends."""
    k = height / GRAVITY / GRID_SECONDS**2
    bands = np.zeros((3, len(point)))
    bands[0, 2:], bands[1], bands[2, :-2] = -k, 1.0 + 2.0 * k, -k
    bands[1, 0] = bands[1, -1] = 1.0
    return np.asarray(solve_banded((1, 1), bands, point))
