"""Motions of a humanoid whose supporting feet stay where they are.

The free coordinates are the pose of the base and every joint outside the supporting legs; the
supporting legs follow by inverse kinematics. Everything is periodic, so that derivatives of the
legs' angles come from their Fourier series.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.spatial.transform import Rotation

from veh_identification.errors import ModelError
from veh_identification.identification.trajectory import pose_rates
from veh_identification.multibody.dynamics import inverse_dynamics
from veh_identification.multibody.kinematics import body_motion
from veh_identification.multibody.motion import Motion, fixed_base_motion, floating_base_motion
from veh_identification.multibody.tree import TreeModel
from veh_identification.types import Array

BASE_NAMES = ('base.x', 'base.y', 'base.z', 'base.roll', 'base.pitch', 'base.yaw')
NEWTON_STEPS = 12
REACHED = 1e-8  # m and rad
DAMPING = 1e-10
DIFFERENCE = 1e-6
LARGEST_STEP = 0.3


class OutOfReachError(ModelError):
    """A supporting leg cannot follow the base."""


@dataclass(frozen=True, eq=False)
class StanceMotion:
    """One period: `motion` for the multibody functions, poses of the base, soles of all feet."""

    motion: Motion
    position: Array  # (N, 3) of the base in the world
    rotation: Array  # (N, 3, 3)
    feet: Array  # (feet, N, 3) in the world

    def zero_moment_point(
        self, model: TreeModel, parameters: Array | None = None
    ) -> tuple[Array, Array]:
        """Point (N, 2) on the ground without horizontal moment, and the vertical force (N,)."""
        total = inverse_dynamics(model, self.motion, parameters)[:, :6]
        force = np.einsum('nij,nj->ni', self.rotation, total[:, :3])
        moment = np.einsum('nij,nj->ni', self.rotation, total[:, 3:]) + np.cross(
            self.position, force
        )
        point = np.column_stack([-moment[:, 1], moment[:, 0]]) / force[:, 2:3]
        return point, force[:, 2]


class Stance:
    """A robot on one or more of its feet; the first foot's sole is the origin of the world."""

    def __init__(
        self, model: TreeModel, feet: Sequence[str], supports: Sequence[int], places: Array
    ) -> None:
        """`places` (feet, 3) are the soles' positions in the world, level and facing forward."""
        self.model, self.feet, self.supports = model, tuple(feet), tuple(supports)
        self.places = np.asarray(places, float)
        self._frames = [model.frame(name) for name in feet]
        self.legs = [chain(model, name) for name in feet]
        held = {index for k in self.supports for index in self.legs[k]}
        self.free = [k for k in range(model.dof) if k not in held]
        self.names = (*BASE_NAMES, *(model.coordinate_names[k] for k in self.free))

    def joints(self, coordinates: Array, start: Array) -> Array:
        """Joint positions (N, dof) for free coordinates (N, C), legs searched from `start`."""
        q = np.tile(start, (len(coordinates), 1))
        q[:, self.free] = coordinates[:, 6:]
        rotation = base_rotation(coordinates)
        for k in self.supports:
            # Seen from the base, where the sole must be and how it must be turned.
            place = np.einsum('nji,nj->ni', rotation, self.places[k] - coordinates[:, :3])
            self._solve(q, k, place, np.swapaxes(rotation, 1, 2))
        return q

    def _solve(self, q: Array, foot: int, place: Array, turn: Array) -> None:
        """Damped Newton iteration of one leg, all samples at once; q is changed in place."""
        leg = self.legs[foot]
        for _ in range(NEWTON_STEPS):
            error = self._error(q, foot, place, turn)
            if np.abs(error).max() < REACHED:
                return
            columns = []
            for joint in leg:
                moved = q.copy()
                moved[:, joint] += DIFFERENCE
                columns.append((self._error(moved, foot, place, turn) - error) / DIFFERENCE)
            J = np.stack(columns, axis=2)
            JT = np.swapaxes(J, 1, 2)
            step = -np.linalg.solve(JT @ J + DAMPING * np.eye(len(leg)), (JT @ error[..., None]))
            q[:, leg] += np.clip(step[..., 0], -LARGEST_STEP, LARGEST_STEP)
        if np.abs(self._error(q, foot, place, turn)).max() > 1e-5:
            raise OutOfReachError(f'leg {self.feet[foot]} of {self.model.name} cannot follow')

    def _error(self, q: Array, foot: int, place: Array, turn: Array) -> Array:
        """Position and rotation vector (N, 6) by which the sole misses its pose in the base."""
        position, rotation = self._sole(q, foot)
        vector = Rotation.from_matrix(np.swapaxes(turn, 1, 2) @ rotation).as_rotvec()
        return np.hstack([position - place, vector])

    def _sole(self, q: Array, foot: int) -> tuple[Array, Array]:
        frame, still = self._frames[foot], np.zeros_like(q)
        bodies = body_motion(self.model, fixed_base_motion(q, still, still))
        local = bodies.orientation[:, frame.body]
        return bodies.position[:, frame.body] + local @ frame.translation, local @ frame.rotation

    def motion(
        self, coordinates: Array, rates: Array, seconds: Array, period: float, start: Array
    ) -> StanceMotion:
        """One period sampled uniformly without its end; derivatives of the coordinates given."""
        q = self.joints(coordinates, start)
        qd, qdd = periodic_derivatives(q, period)
        qd[:, self.free], qdd[:, self.free] = rates[:, 6:], seconds[:, 6:]
        velocity, acceleration = pose_rates(coordinates[:, :6], rates[:, :6], seconds[:, :6])
        rotation = base_rotation(coordinates)
        linear, omega, alpha = (
            np.einsum('nji,nj->ni', rotation, one)
            for one in (acceleration[:, :3], velocity[:, 3:], acceleration[:, 3:])
        )
        motion = floating_base_motion(q, qd, qdd, linear, omega, alpha, rotation)
        position = coordinates[:, :3]
        feet = np.array(
            [
                position + np.einsum('nij,nj->ni', rotation, self._sole(q, k)[0])
                for k in range(len(self.feet))
            ]
        )
        return StanceMotion(motion, position, rotation, feet)


def base_rotation(coordinates: Array) -> Array:
    """Rotations (N, 3, 3) of the base: Rx(roll) Ry(pitch) Rz(yaw) (Abdellatif 2009, (16))."""
    return np.asarray(Rotation.from_euler('XYZ', coordinates[:, 3:6]).as_matrix())


def chain(model: TreeModel, frame: str) -> list[int]:
    """Coordinates of the joints between the base and a frame."""
    body, found = model.frame(frame).body, []
    while body > 0:
        if model.coordinate[body] >= 0:
            found.append(int(model.coordinate[body]))
        body = int(model.parent[body])
    return found[::-1]


def periodic_derivatives(values: Array, period: float) -> tuple[Array, Array]:
    """First and second derivative of uniform samples (N, C) of one period."""
    omega = 2.0j * np.pi * np.fft.rfftfreq(len(values), period / len(values))
    spectrum = np.fft.rfft(values - values[:1], axis=0)
    if len(values) % 2 == 0:
        spectrum[-1] = 0.0  # its derivative cannot be told from its samples
    first = np.fft.irfft(omega[:, None] * spectrum, len(values), axis=0)
    second = np.fft.irfft(omega[:, None] ** 2 * spectrum, len(values), axis=0)
    return first, second
