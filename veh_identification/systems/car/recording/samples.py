"""Synchronised, filtered signals of a car on one uniform grid: what the equations are made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numba import njit

from veh_identification.types import Array


@dataclass(frozen=True)
class JointMotion:
    """One kind of joint at the four corners (fl, fr, rl, rr), each array (N, 4)."""

    position: Array
    velocity: Array
    acceleration: Array

    def __getitem__(self, rows: slice) -> JointMotion:
        return JointMotion(self.position[rows], self.velocity[rows], self.acceleration[rows])


@dataclass(frozen=True)
class CarSamples:
    """One contiguous stretch; vectors in base axes at the `base_link` origin."""

    rate: float
    epoch_ns: int
    stamps: Array  # (N,) seconds after the epoch
    specific_force: Array  # (N, 3)
    angular_velocity: Array  # (N, 3)
    angular_acceleration: Array  # (N, 3)
    velocity: Array  # (N, 2) longitudinal and lateral speed of the origin
    friction_sign: Array  # (N, 4) smoothed sign of the suspension velocity
    joints: Mapping[str, JointMotion]  # suspension, steering, half_track, wheelbase, camber, ...
    wrench: Array  # (N, 4, 6) force and moment of the wheel on the hub carrier, hub axes
    attitude: Array | None = None  # (N, 3) yaw, pitch, roll; only the 2002 model needs it

    def __len__(self) -> int:
        return len(self.stamps)

    @property
    def air_speed_squared(self) -> Array:
        """V_a^2 of equation 32: still air."""
        return np.square(self.velocity).sum(axis=1)

    def __getitem__(self, rows: slice) -> CarSamples:
        return CarSamples(
            self.rate,
            self.epoch_ns,
            self.stamps[rows],
            self.specific_force[rows],
            self.angular_velocity[rows],
            self.angular_acceleration[rows],
            self.velocity[rows],
            self.friction_sign[rows],
            {kind: joint[rows] for kind, joint in self.joints.items()},
            self.wrench[rows],
            None if self.attitude is None else self.attitude[rows],
        )


def carried_acceleration(omega: Array, alpha: Array, arm: Array) -> Array:
    """Acceleration of a point of the body beyond that of its origin."""
    return np.asarray(np.cross(alpha, arm) + np.cross(omega, np.cross(omega, arm)))


def hub_rotation(steering: Array, camber: Array, kingpin: Array) -> Array:
    """Rotation (..., 3, 3) from hub axes to base axes: Rz(beta) Rx(gamma) Ry(zeta), Table I."""
    cs, ss = np.cos(steering), np.sin(steering)
    cc, sc = np.cos(camber), np.sin(camber)
    ck, sk = np.cos(kingpin), np.sin(kingpin)
    rows = [
        [cs * ck - ss * sc * sk, -ss * cc, cs * sk + ss * sc * ck],
        [ss * ck + cs * sc * sk, cs * cc, ss * sk - cs * sc * ck],
        [-cc * sk, sc, cc * ck],
    ]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def wheel_loads(samples: CarSamples, wheel_x: Array, wheel_y: Array) -> tuple[Array, Array]:
    """Left side of the equations: total wrench (N, 6) at the origin, vertical forces (N, 4).

    Both are what the wheels exert on the car, in base axes; the force of a wheel acts at
    (x, y, q), its centre.
    """
    joints = samples.joints
    total, vertical = np.zeros((len(samples), 6)), np.empty((len(samples), 4))
    # One memory layout: the kernel would be compiled anew for slices and broadcast arrays.
    steering, camber, kingpin, x, y, z, wrench = (
        np.ascontiguousarray(one, dtype=np.float64)
        for one in (
            joints['steering'].position,
            joints['camber'].position,
            joints['kingpin'].position,
            wheel_x,
            wheel_y,
            joints['suspension'].position,
            samples.wrench,
        )
    )
    _add_wheels(steering, camber, kingpin, x, y, z, wrench, total, vertical)
    return total, vertical


@njit(cache=True, nogil=True)
def _add_wheels(
    steering: Array,
    camber: Array,
    kingpin: Array,
    x: Array,
    y: Array,
    z: Array,
    wrench: Array,
    total: Array,
    vertical: Array,
) -> None:  # pragma: no cover
    """Compiled sums of `wheel_loads`: Rz(beta) Rx(gamma) Ry(zeta) on every force and moment."""
    turned = np.empty(6)
    for n in range(wrench.shape[0]):
        for j in range(4):
            cs, ss = np.cos(steering[n, j]), np.sin(steering[n, j])
            cc, sc = np.cos(camber[n, j]), np.sin(camber[n, j])
            ck, sk = np.cos(kingpin[n, j]), np.sin(kingpin[n, j])
            for part in (0, 3):
                a, b, c = wrench[n, j, part], wrench[n, j, part + 1], wrench[n, j, part + 2]
                along, up = ck * a + sk * c, -sk * a + ck * c
                left, up = cc * b - sc * up, sc * b + cc * up
                turned[part] = cs * along - ss * left
                turned[part + 1] = ss * along + cs * left
                turned[part + 2] = up
            vertical[n, j] = turned[2]
            for k in range(3):
                total[n, k] += turned[k]
            total[n, 3] += turned[3] + y[n, j] * turned[2] - z[n, j] * turned[1]
            total[n, 4] += turned[4] + z[n, j] * turned[0] - x[n, j] * turned[2]
            total[n, 5] += turned[5] + x[n, j] * turned[1] - y[n, j] * turned[0]
