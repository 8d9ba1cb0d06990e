"""A rigid car body on a known smooth path: exact ground truth for the sensor fusion.

Speed, yaw rate, roll, pitch and heave are sums of sines, so that every derivative is analytic;
only the position is integrated, by a rule whose error is far below any sensor's noise.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from veh_identification.types import Array

GRAVITY = 9.80665


@dataclass(frozen=True)
class Sines:
    """offset + slope t + sum a sin(w t + p): value, first and second derivative."""

    terms: tuple[tuple[float, float, float], ...]  # amplitude, angular frequency, phase
    offset: float = 0.0
    slope: float = 0.0

    def __call__(self, t: Array, derivative: int = 0) -> Array:
        """The value or a derivative at the times `t`."""
        total = np.zeros_like(t)
        if derivative == 0:
            total = total + self.offset + self.slope * t
        elif derivative == 1:
            total = total + self.slope
        for amplitude, frequency, phase in self.terms:
            total = total + amplitude * frequency**derivative * np.sin(
                frequency * t + phase + derivative * np.pi / 2
            )
        return total


@dataclass(frozen=True)
class BodyMotion:
    """Motion of `base_link` at the sample times; vectors of the base are in base axes."""

    t: Array
    position: Array  # (N, 3) in odom
    rotation: Array  # (N, 3, 3) base to odom
    velocity: Array  # (N, 3)
    angular_velocity: Array  # (N, 3)
    acceleration: Array  # (N, 3) without gravity
    angular_acceleration: Array  # (N, 3)
    gravity: Array  # (N, 3) gravity vector


@dataclass(frozen=True)
class Drive:
    """A drive: the five sums of sines that define it."""

    speed: Sines
    yaw: Sines
    roll: Sines
    pitch: Sines
    heave: Sines

    @classmethod
    def example(cls, seed: int = 0) -> Drive:
        """A minute's city drive with turns; phases depend on the seed."""
        phase = np.random.default_rng(seed).uniform(0.0, 2 * np.pi, 12)
        return cls(
            speed=Sines(((3.0, 0.25, phase[0]), (0.8, 0.9, phase[1])), offset=9.0),
            yaw=Sines(((0.6, 0.3, phase[2]), (0.12, 1.4, phase[3])), slope=0.06),
            roll=Sines(((0.03, 1.4, phase[4]), (0.006, 8.0, phase[5]))),
            pitch=Sines(((0.015, 0.9, phase[6]), (0.005, 9.0, phase[7])), offset=0.01),
            heave=Sines(((0.02, 7.0, phase[8]), (0.01, 2.0, phase[9]))),
        )

    def at(self, t: Array, start: float = 0.0) -> BodyMotion:
        """The exact motion at the increasing times `t`; the position is zero at `start`."""
        yaw, yaw1, yaw2 = (self.yaw(t, k) for k in range(3))
        roll, roll1, roll2 = (self.roll(t, k) for k in range(3))
        pitch, pitch1, pitch2 = (self.pitch(t, k) for k in range(3))
        rotation = _rotation(roll, pitch, yaw)
        velocity_world, acceleration_world = self._world_motion(t)
        omega = _body_rates(roll, pitch, roll1, pitch1, yaw1)
        omega_dot = _body_rate_derivatives(roll, pitch, roll1, pitch1, yaw1, roll2, pitch2, yaw2)
        to_base = np.swapaxes(rotation, -1, -2)
        gravity = np.broadcast_to([0.0, 0.0, -GRAVITY], (len(t), 3))
        return BodyMotion(
            t=t,
            position=self._position(t, start),
            rotation=rotation,
            velocity=np.einsum('nij,nj->ni', to_base, velocity_world),
            angular_velocity=omega,
            acceleration=np.einsum('nij,nj->ni', to_base, acceleration_world),
            angular_acceleration=omega_dot,
            gravity=np.einsum('nij,nj->ni', to_base, gravity),
        )

    def _world_motion(self, t: Array) -> tuple[Array, Array]:
        speed, speed1 = self.speed(t), self.speed(t, 1)
        yaw, yaw1 = self.yaw(t), self.yaw(t, 1)
        cosine, sine = np.cos(yaw), np.sin(yaw)
        velocity = np.stack([speed * cosine, speed * sine, self.heave(t, 1)], axis=-1)
        acceleration = np.stack(
            [
                speed1 * cosine - speed * yaw1 * sine,
                speed1 * sine + speed * yaw1 * cosine,
                self.heave(t, 2),
            ],
            axis=-1,
        )
        return velocity, acceleration

    def _position(self, t: Array, start: float) -> Array:
        """Integral of the velocity by 8-point Gauss-Legendre between neighbouring times."""
        nodes, weights = np.polynomial.legendre.leggauss(8)
        edges = np.concatenate([[start], t])
        half = np.diff(edges)[:, None] / 2
        middle = (edges[:-1] + edges[1:])[:, None] / 2
        inner = middle + half * nodes
        speed, yaw = self.speed(inner.ravel()), self.yaw(inner.ravel())
        dx = (half * weights * (speed * np.cos(yaw)).reshape(inner.shape)).sum(axis=1)
        dy = (half * weights * (speed * np.sin(yaw)).reshape(inner.shape)).sum(axis=1)
        return np.stack([np.cumsum(dx), np.cumsum(dy), self.heave(t)], axis=-1)


def _rotation(roll: Array, pitch: Array, yaw: Array) -> Array:
    """Base to odom, yaw-pitch-roll (REP-103)."""
    cr, sr, cp, sp = np.cos(roll), np.sin(roll), np.cos(pitch), np.sin(pitch)
    cy, sy = np.cos(yaw), np.sin(yaw)
    rows = [
        [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
        [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
        [-sp, cp * sr, cp * cr],
    ]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def _body_rates(roll: Array, pitch: Array, roll1: Array, pitch1: Array, yaw1: Array) -> Array:
    return np.stack(
        [
            roll1 - yaw1 * np.sin(pitch),
            pitch1 * np.cos(roll) + yaw1 * np.cos(pitch) * np.sin(roll),
            -pitch1 * np.sin(roll) + yaw1 * np.cos(pitch) * np.cos(roll),
        ],
        axis=-1,
    )


def _body_rate_derivatives(
    roll: Array,
    pitch: Array,
    roll1: Array,
    pitch1: Array,
    yaw1: Array,
    roll2: Array,
    pitch2: Array,
    yaw2: Array,
) -> Array:
    cr, sr, cp, sp = np.cos(roll), np.sin(roll), np.cos(pitch), np.sin(pitch)
    return np.stack(
        [
            roll2 - yaw2 * sp - yaw1 * cp * pitch1,
            pitch2 * cr
            - pitch1 * sr * roll1
            + yaw2 * cp * sr
            - yaw1 * sp * pitch1 * sr
            + yaw1 * cp * cr * roll1,
            -pitch2 * sr
            - pitch1 * cr * roll1
            + yaw2 * cp * cr
            - yaw1 * sp * pitch1 * cr
            - yaw1 * cp * sr * roll1,
        ],
        axis=-1,
    )
