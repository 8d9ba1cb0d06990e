"""Exact data of a car that the 20-dof model fits perfectly.

Chassis rotation, horizontal motion and suspension travel are sums of sines with body and wheel-hop
content. The suspension equations give the vertical wheel forces, the vertical chassis equation the
vertical acceleration, and the other five chassis equations the remaining wheel forces and moments
(the smallest ones that fulfil them). The equations are written out here by hand, independent of
the multibody code that identifies them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from veh_identification.simulation.drive import BodyMotion, Drive, Sines
from veh_identification.systems.car.configuration import CarDescription
from veh_identification.systems.car.parameters import CORNERS
from veh_identification.types import Array

#: A Peugeot 406 with driver and equipment: near Table II, but nothing is symmetric, and of an
#: inertia that a body can have (that of the table breaks the triangle inequality).
EXACT_TRUTH: dict[str, float] = {
    'Mc': 1496.6,
    'MXc': 2003.0,
    'MYc': 8.7,
    'MZc': 312.2,
    'XXc': 613.8,
    'YYc': 5256.7,
    'ZZc': 5381.0,
    'XZc': -437.0,
    'XYc': -31.2,
    'YZc': -25.3,
    'M1': 31.2,
    'M2': 27.4,
    'M3': 25.6,
    'M4': 23.1,
    'karr': 13639.0,
    'karf': 21820.5,
    'k1': 26608.9,
    'fs1': 29.1,
    'h1': 3528.4,
    'off1': 3620.0,
    'k2': 26254.9,
    'fs2': 35.8,
    'h2': 2981.1,
    'off2': 3560.0,
    'k3': 28856.4,
    'fs3': 22.1,
    'h3': 3832.5,
    'off3': 3710.0,
    'k4': 31663.3,
    'fs4': 25.0,
    'h4': 2899.8,
    'off4': 3786.0,
    'Cx': 0.472,
}


@dataclass(frozen=True)
class ExactState:
    """All quantities of the car at given times; vectors in base axes, wheels fl, fr, rl, rr."""

    body: BodyMotion
    specific_force: Array  # (N, 3) at the base_link origin
    travel: Array  # (N, 4)
    steering: Array  # (N, 4)
    wheel_angle: Array  # (N, 4)
    wrench: Array  # (N, 4, 6) force and moment of the wheel on the hub carrier, in hub axes
    wheel_position: Array  # (N, 4, 3)


@dataclass(frozen=True)
class ExactCar:
    """A car with prescribed motion; call `at` with any times, every value is analytic."""

    configuration: CarDescription
    truth: Mapping[str, float] = field(default_factory=lambda: dict(EXACT_TRUTH))
    seed: int = 0
    speed: float = 30.0
    standstill: bool = False

    def drive(self) -> Drive:
        """Sine steering with roll, pitch and speed that go with it, and road unevenness."""
        generator = np.random.default_rng([self.seed, 1])
        if self.standstill:
            still = Sines(())
            return Drive(still, still, still, still, still)
        v = self.speed
        yaw = _chirps(
            generator,
            [(0.22, 1.2 / v), (0.53, 3.4 / v), (0.87, 2.2 / v), (1.31, 1.4 / v), (2.3, 0.5 / v)],
            derivative=1,
        )
        roll = _chirps(
            generator,
            [
                (0.53, 0.03),
                (0.87, 0.02),
                (1.7, 0.012),
                (2.6, 0.006),
                (4.7, 0.0015),
                (7.9, 0.0006),
                (12.1, 0.0003),
            ],
        )
        pitch = _chirps(
            generator,
            [
                (0.31, 0.006),
                (1.25, 0.009),
                (1.9, 0.006),
                (3.1, 0.003),
                (5.2, 0.001),
                (8.3, 0.0005),
                (12.9, 0.00025),
            ],
        )
        speed = Sines(_chirps(generator, [(0.05, 0.1 * v), (0.13, 0.6), (0.9, 0.05)]), offset=v)
        return Drive(speed, Sines(yaw), Sines(roll), Sines(pitch), Sines(()))

    def travels(self) -> tuple[Sines, ...]:
        """Suspension travel from roll, pitch and the road, with wheel hop between 10 and 15 Hz."""
        if self.standstill:
            return tuple(Sines(()) for _ in CORNERS)
        drive, geometry = self.drive(), self.configuration.geometry
        result = []
        for j in range(len(CORNERS)):
            generator = np.random.default_rng([self.seed, 10 + j])
            road = _chirps(
                generator,
                [
                    (0.41 + 0.07 * j, 0.006),
                    (1.1 + 0.11 * j, 0.008),
                    (1.9 + 0.2 * j, 0.005),
                    (3.3 + 0.3 * j, 0.0025),
                    (6.1 + 0.4 * j, 0.0012),
                    (9.4 + 0.5 * j, 0.0009),
                    (11.8 + 0.4 * j, 0.0016),
                    (13.2 + 0.3 * j, 0.0012),
                ],
            )
            x, y = geometry.wheel_x[j], geometry.wheel_y[j]
            lean = [(-a * y, w, p) for a, w, p in drive.roll.terms if w < 20.0]
            dive = [(a * x * 0.5, w, p) for a, w, p in drive.pitch.terms if w < 20.0]
            result.append(Sines((*lean, *dive, *road)))
        return tuple(result)

    def at(self, t: Array) -> ExactState:
        """Everything at the increasing times `t`."""
        body = self.drive().at(t)
        curves = self.travels()
        q, qd, qdd = (np.stack([curve(t, k) for curve in curves], axis=1) for k in range(3))
        omega, alpha = body.angular_velocity, body.angular_acceleration
        wheels = np.stack(
            [
                np.broadcast_to(self.configuration.geometry.wheel_x, q.shape),
                np.broadcast_to(self.configuration.geometry.wheel_y, q.shape),
                q,
            ],
            axis=2,
        )
        springs = self._spring_forces(q, qd)
        p = self.truth
        first_moment = np.array([p['MXc'], p['MYc'], p['MZc']])
        specific = body.acceleration - body.gravity
        # Vertical chassis equation: Mc f_z + (alpha x MS + omega x (omega x MS))_z = springs
        turning = np.cross(alpha, first_moment) + np.cross(omega, np.cross(omega, first_moment))
        specific[:, 2] = (springs.sum(axis=1) - turning[:, 2]) / p['Mc']
        hub = self._hub_accelerations(specific, omega, alpha, wheels, qd, qdd)
        vertical = springs + np.array([p[f'M{j}'] for j in range(1, 5)]) * hub[:, :, 2]
        total = self._total_wrench(body, specific, hub, wheels)
        steering = self._steering(t)
        wrench = _share_out(total, vertical, wheels)
        return ExactState(
            body,
            specific,
            q,
            steering,
            self._wheel_angles(t, body),
            _to_hub(wrench, steering),
            wheels,
        )

    def _spring_forces(self, q: Array, qd: Array) -> Array:
        """What springs, dampers and anti-roll bars push down on the hubs (and up on the body)."""
        p = self.truth
        forces = np.stack(
            [
                p[f'k{j}'] * q[:, j - 1]
                + p[f'h{j}'] * qd[:, j - 1]
                + p[f'fs{j}'] * np.sign(qd[:, j - 1])
                + p[f'off{j}']
                for j in range(1, 5)
            ],
            axis=1,
        )
        for left, right, bar in ((0, 1, p['karf']), (2, 3, p['karr'])):
            couple = bar * (q[:, left] - q[:, right])
            forces[:, left] += couple
            forces[:, right] -= couple
        return forces

    @staticmethod
    def _hub_accelerations(
        specific: Array, omega: Array, alpha: Array, wheels: Array, qd: Array, qdd: Array
    ) -> Array:
        """Specific force (N, 4, 3) of the unsprung masses, which slide along z of the body."""
        w, a = omega[:, None, :], alpha[:, None, :]
        up = np.array([0.0, 0.0, 1.0])
        return (
            specific[:, None, :]
            + np.cross(a, wheels)
            + np.cross(w, np.cross(w, wheels))
            + 2.0 * np.cross(np.broadcast_to(w, wheels.shape), qd[:, :, None] * up)
            + qdd[:, :, None] * up
        )

    def _total_wrench(self, body: BodyMotion, specific: Array, hub: Array, wheels: Array) -> Array:
        """Sum (N, 6) of what the four wheels must exert, force and moment at the origin."""
        p = self.truth
        omega, alpha = body.angular_velocity, body.angular_acceleration
        first_moment = np.array([p['MXc'], p['MYc'], p['MZc']])
        inertia = np.array(
            [
                [p['XXc'], p['XYc'], p['XZc']],
                [p['XYc'], p['YYc'], p['YZc']],
                [p['XZc'], p['YZc'], p['ZZc']],
            ]
        )
        force = (
            p['Mc'] * specific
            + np.cross(alpha, first_moment)
            + np.cross(omega, np.cross(omega, first_moment))
        )
        moment = (
            alpha @ inertia
            + np.cross(omega, omega @ inertia)
            + np.cross(np.broadcast_to(first_moment, specific.shape), specific)
        )
        for j in range(4):
            push = p[f'M{j + 1}'] * hub[:, j]
            force = force + push
            moment = moment + np.cross(wheels[:, j], push)
        force[:, 0] += p['Cx'] * (body.velocity[:, 0] ** 2 + body.velocity[:, 1] ** 2)
        return np.concatenate([force, moment], axis=1)

    def _steering(self, t: Array) -> Array:
        if self.standstill:
            return np.zeros((len(t), 4))
        drive = self.drive()
        front = 2.7 / self.speed * drive.yaw(t, 1) * 1.4
        rear = 0.02 * front
        return np.stack(
            [1.01 * front + 0.002, 0.99 * front - 0.002, rear + 0.001, rear - 0.001], axis=1
        )

    def _wheel_angles(self, t: Array, body: BodyMotion) -> Array:
        if self.standstill:
            return np.zeros((len(t), 4))
        rolled = drive_distance(self.drive(), t) / self.configuration.geometry.wheel_radius
        return np.repeat(rolled[:, None], 4, axis=1)


def drive_distance(drive: Drive, t: Array) -> Array:
    """Integral of the speed from time zero."""
    speed = drive.speed
    total = speed.offset * t
    for amplitude, frequency, phase in speed.terms:
        total = total - amplitude / frequency * (np.cos(frequency * t + phase) - np.cos(phase))
    return total


def _chirps(
    generator: np.random.Generator, lines: list[tuple[float, float]], derivative: int = 0
) -> tuple[tuple[float, float, float], ...]:
    """Sine terms at jittered frequencies; the size is that of the given derivative."""
    terms = []
    for frequency, amplitude in lines:
        for _ in range(2):
            w = 2.0 * np.pi * frequency * generator.uniform(0.94, 1.06)
            size = amplitude * generator.uniform(0.6, 1.0) / w**derivative
            terms.append((size, w, generator.uniform(0.0, 2.0 * np.pi)))
    return tuple(terms)


def _share_out(total: Array, vertical: Array, wheels: Array) -> Array:
    """Wheel wrenches (N, 4, 6) in base axes: given vertical forces, the rest of minimum norm."""
    count = len(total)
    matrix = np.zeros((count, 6, 4, 6))
    for axis in range(3):
        matrix[:, axis, :, axis] = 1.0
        matrix[:, 3 + axis, :, 3 + axis] = 1.0
    x, y, z = wheels[:, :, 0], wheels[:, :, 1], wheels[:, :, 2]
    matrix[:, 3, :, 1], matrix[:, 3, :, 2] = -z, y
    matrix[:, 4, :, 0], matrix[:, 4, :, 2] = z, -x
    matrix[:, 5, :, 0], matrix[:, 5, :, 1] = -y, x
    missing = total - np.einsum('nrj,nj->nr', matrix[:, :, :, 2], vertical)
    free = [0, 1, 3, 4, 5]
    # Moments cost as much as forces: a wheel's moment in N m stays as small as its force in N.
    unknown = matrix[:, :, :, free].reshape(count, 6, 20)[:, [0, 1, 3, 4, 5]]
    gram = unknown @ np.swapaxes(unknown, 1, 2)
    multiplier = np.linalg.solve(gram, missing[:, [0, 1, 3, 4, 5], None])
    solution = (np.swapaxes(unknown, 1, 2) @ multiplier)[:, :, 0]
    wrench = np.zeros((count, 4, 6))
    wrench[:, :, free] = solution.reshape(count, 4, 5)
    wrench[:, :, 2] = vertical
    return wrench


def _to_hub(wrench: Array, steering: Array) -> Array:
    """Wrenches from base axes to hub axes, which are turned left by the steering angle."""
    cosine, sine = np.cos(steering), np.sin(steering)
    result = wrench.copy()
    for start in (0, 3):
        x, y = wrench[:, :, start], wrench[:, :, start + 1]
        result[:, :, start] = cosine * x + sine * y
        result[:, :, start + 1] = -sine * x + cosine * y
    return result
