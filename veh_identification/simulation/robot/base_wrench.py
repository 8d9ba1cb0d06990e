"""The wrench below the base of a simulated arm, from the balance of momentum.

Linear and angular momentum of all links are summed in world axes about the origin of the base, and
differentiated over two samples of the control: no accelerations, no link axes, nothing that the
identification computes with.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from veh_identification.simulation.robot.closed_loop import Run
from veh_identification.simulation.robot.plant import Plant
from veh_identification.types import Array


@dataclass(frozen=True, eq=False)
class BasePlate:
    """A six-axis sensor below the base; its pose is that of its frame in `base_link`."""

    position: tuple[float, float, float] = (0.06, -0.04, -0.12)
    yaw: float = np.pi / 2.0
    rate: float = 500.0  # Hz
    force_noise: float = 0.5  # N
    moment_noise: float = 0.1  # N m
    offset: tuple[float, ...] = (2.0, -3.0, 60.0, 1.0, -0.5, 0.3)  # base link and zero, N and N m
    delay: float = 0.002  # s
    phase: float = 0.0007  # s between the stamps of joints and plate

    def scaled(self, noise: float) -> BasePlate:
        """Noise and delay multiplied."""
        return replace(
            self,
            force_noise=self.force_noise * noise,
            moment_noise=self.moment_noise * noise,
            delay=self.delay * noise,
        )

    @property
    def rotation(self) -> Array:
        """From the axes of the sensor to those of the base."""
        c, s = np.cos(self.yaw), np.sin(self.yaw)
        return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def momenta(plant: Plant, q: Array, qd: Array) -> tuple[Array, Array, Array]:
    """Linear and angular momentum (N, 3) about the base, and moments of the weight (N, 3)."""
    count = len(q)
    R = np.broadcast_to(np.eye(3), (count, 3, 3))
    p, v, w = np.zeros((count, 3)), np.zeros((count, 3)), np.zeros((count, 3))
    linear, angular, weight = np.zeros((count, 3)), np.zeros((count, 3)), np.zeros((count, 3))
    for k in range(q.shape[1]):
        arm = R @ plant.position[k]
        p, v = p + arm, v + np.cross(w, arm)
        cosine, sine = np.cos(q[:, k]), np.sin(q[:, k])
        turn = np.zeros((count, 3, 3))
        turn[:, 0, 0] = turn[:, 1, 1] = cosine
        turn[:, 1, 0], turn[:, 0, 1], turn[:, 2, 2] = sine, -sine, 1.0
        R = R @ plant.placement[k] @ turn
        w = w + R[:, :, 2] * qd[:, k : k + 1]
        centre = R @ plant.centre[k]
        own = plant.mass[k] * (v + np.cross(w, centre))
        spin = np.einsum('nij,jk,nlk,nl->ni', R, plant.inertia[k], R, w)
        linear = linear + own
        angular = angular + np.cross(p + centre, own) + spin
        weight = weight + np.cross(p + centre, plant.mass[k] * plant.gravity)
    return linear, angular, weight


def base_wrench(plant: Plant, made: Run) -> Array:
    """What the ground exerts on the base at its origin (N, 6), at the samples of the control."""
    linear, angular, weight = momenta(plant, made.position, made.velocity)
    force = np.gradient(linear, 1.0 / made.rate, axis=0) - plant.mass.sum() * plant.gravity
    moment = np.gradient(angular, 1.0 / made.rate, axis=0) - weight
    return np.concatenate([force, moment], axis=1)


def measured_wrench(plant: Plant, made: Run, plate: BasePlate, seed: int) -> tuple[Array, Array]:
    """Times and wrenches (N, 6) as the sensor gives them: at its origin, in its axes."""
    at_base = base_wrench(plant, made)
    R, place = plate.rotation, np.array(plate.position)
    force = at_base[:, :3] @ R
    moment = (at_base[:, 3:] - np.cross(place, at_base[:, :3])) @ R
    whole = np.concatenate([force, moment], axis=1)
    times = np.arange(len(whole)) / made.rate
    stamps = np.arange(plate.phase, times[-1], 1.0 / plate.rate)
    # The integrator acts half a substep early: its speeds stand between its positions.
    late = stamps - plate.delay + 0.5 * made.substep
    values = np.stack([np.interp(late, times, column) for column in whole.T], axis=1)
    rng = np.random.default_rng([seed, 13])
    noise = np.repeat([plate.force_noise, plate.moment_noise], 3)
    return stamps, values + np.array(plate.offset) + noise * rng.standard_normal(values.shape)
