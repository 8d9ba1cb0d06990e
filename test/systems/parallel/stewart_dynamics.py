"""A second hexapod, written from Abdellatif 2009 alone: geometry and forces of its legs.

Nothing of the package is used: Newton-Euler of every body with Kane's partial velocities is this
file's own, so that an error common to the package's simulation and estimation cannot hide.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

GRAVITY = np.array([0.0, 0.0, -9.80665])


def _ring(radius: float, degrees: list[float], height: float) -> np.ndarray:
    angle = np.radians(degrees)
    return np.stack([radius * np.cos(angle), radius * np.sin(angle), np.full(6, height)], axis=1)


def _calibrated(nominal: np.ndarray, seed: int) -> np.ndarray:
    """Joints as measured after assembly: a few millimetres off the drawing."""
    return nominal + np.random.default_rng(seed).normal(0.0, 0.003, (6, 3))


@dataclass(frozen=True)
class Robot:
    """An upright Stewart platform: 20 kg on six 9 kg legs about 0.95 m long."""

    base: np.ndarray = field(
        default_factory=lambda: _calibrated(_ring(0.5, [-10, 10, 110, 130, 230, 250], 0.05), 1)
    )
    platform: np.ndarray = field(
        default_factory=lambda: _calibrated(_ring(0.3, [-50, 50, 70, 170, 190, 290], -0.06), 2)
    )
    home: np.ndarray = field(default_factory=lambda: np.array([0.0, 0.0, 1.0, 0.0, 0.0, 0.0]))
    # Platform and tool: mass, centre of mass, inertia about it, all in the end effector's axes.
    mass: float = 20.0
    centre: np.ndarray = field(default_factory=lambda: np.array([0.0, 0.0, 0.04]))
    inertia: np.ndarray = field(default_factory=lambda: np.diag([0.62, 0.58, 1.1]))
    # Leg: ring about the alpha axis; stator and rod as mass, distance of the centre from its
    # joint (base joint, platform joint), inertia across the leg (x, beta axis) and along it.
    ring: float = 0.004
    stator: tuple[float, float, float, float, float] = (6.0, 0.2, 0.055, 0.052, 0.004)
    rod: tuple[float, float, float, float, float] = (3.0, 0.35, 0.031, 0.030, 0.0007)
    # Friction: alpha and beta of the passive joints, then actuators.
    passive_dry: tuple[float, float] = (0.9, 1.3)
    dry: np.ndarray = field(default_factory=lambda: np.array([14.0, 9.0, 22.0, 11.0, 17.0, 6.0]))
    viscous: np.ndarray = field(
        default_factory=lambda: np.array([60.0, 85.0, 40.0, 70.0, 55.0, 95.0])
    )

    def axes(self) -> np.ndarray:
        """First axes of the universal joints: horizontal, along the ring's tangent."""
        across = np.stack([-self.base[:, 1], self.base[:, 0], np.zeros(6)], axis=1)
        return across / np.linalg.norm(across, axis=1)[:, None]

    def truth(self) -> dict[str, float]:
        """Table I from masses; the platform without symmetry has five entries more."""
        m2, d2, x2, z2, y2 = self.stator
        m3, d3, x3, y3, z3 = self.rod
        joints = self.platform
        total = self.inertia + self.mass * (
            self.centre @ self.centre * np.eye(3) - np.outer(self.centre, self.centre)
        )
        for joint in joints:
            total = total + m3 * (joint @ joint * np.eye(3) - np.outer(joint, joint))
        moment = self.mass * self.centre + m3 * joints.sum(axis=0)
        values = {
            'p1': self.ring + y2 + z3,
            'p2': x2 + m2 * d2**2 + x3 + m3 * d3**2 - y2 - z3,
            'p3': z2 + m2 * d2**2 + y3 + m3 * d3**2,
            'p4': m2 * d2,
            'p5': -m3 * d3,
            'p6': total[0, 0],
            'p7': total[1, 1],
            'p8': total[2, 2],
            'p9': moment[2],
            'p10': self.mass + 6 * m3,
            'p_sx': moment[0],
            'p_sy': moment[1],
            'p_Ixy': total[0, 1],
            'p_Ixz': total[0, 2],
            'p_Iyz': total[1, 2],
            'r_alpha': self.passive_dry[0],
            'r_beta': self.passive_dry[1],
        }
        values |= {f'r{j + 1}': v for j, v in enumerate(self.dry)}
        values |= {f'v{j + 1}': v for j, v in enumerate(self.viscous)}
        return {name: float(value) for name, value in values.items()}

    def configuration(self, **changes: Any) -> dict[str, Any]:
        """What a user writes for --config: geometry calibrated, masses from the drawing."""
        data: dict[str, Any] = {
            'name': 'stewart',
            'home': self.home.tolist(),
            'base': {'joints': self.base.tolist(), 'alpha_axes': 'tangential'},
            'platform': {
                'joints': self.platform.tolist(),
                'm': 18.0,
                'sz': 0.7,
                'Ixx': 0.6,
                'Iyy': 0.6,
                'Izz': 1.0,
            },
            'leg': {
                'sy2': 1.1,
                'm3': 2.8,
                'sz3': -0.9,
                'Ixx2': 0.3,
                'Izz2': 0.3,
                'Ixx3': 0.35,
                'Iyy3': 0.35,
                'Izz1': 0.005,
            },
            'limits': {
                'length_min': 0.7,
                'length_max': 1.3,
                'velocity': 1.5,
                'acceleration': 15.0,
                'condition': 60.0,
                'pose_range': [0.15, 0.15, 0.12, 0.3, 0.3, 0.3],
            },
            'sensor': {'resolution': 1e-5, 'tolerance': 1e-9},
            'model': {'passive': 'dry', 'platform': 'full'},
        }
        return {**data, **changes}


def _cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.cross(a, b)


def _dot(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return (a * b).sum(axis=-1, keepdims=True)


def rotation(angles: np.ndarray) -> np.ndarray:
    """Rx(phi) Ry(theta) Rz(psi) for (N, 3) angles."""

    def about(axis: int, angle: np.ndarray) -> np.ndarray:
        R = np.zeros((len(angle), 3, 3))
        i, j = (axis + 1) % 3, (axis + 2) % 3
        R[:, axis, axis] = 1.0
        R[:, i, i] = R[:, j, j] = np.cos(angle)
        R[:, j, i], R[:, i, j] = np.sin(angle), -np.sin(angle)
        return R

    return about(0, angles[:, 0]) @ about(1, angles[:, 1]) @ about(2, angles[:, 2])


def twist(x: np.ndarray, xd: np.ndarray, xdd: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Angular velocity and acceleration in base axes, from the axis of each angle."""
    phi, theta = x[:, 3], x[:, 4]
    zero, one = np.zeros_like(phi), np.ones_like(phi)
    first = np.stack([one, zero, zero], axis=1)
    second = np.stack([zero, np.cos(phi), np.sin(phi)], axis=1)
    third = np.stack([np.sin(theta), -np.sin(phi) * np.cos(theta), np.cos(phi) * np.cos(theta)], 1)
    d = xd[:, 3:, None]
    # Every axis is carried along by the rotations before it.
    second_dot = _cross(d[:, 0] * first, second)
    third_dot = _cross(d[:, 0] * first + d[:, 1] * second, third)
    omega = d[:, 0] * first + d[:, 1] * second + d[:, 2] * third
    dd = xdd[:, 3:, None]
    alpha = dd[:, 0] * first + dd[:, 1] * second + dd[:, 2] * third
    return omega, alpha + d[:, 1] * second_dot + d[:, 2] * third_dot


@dataclass
class _LegState:
    u: np.ndarray
    length: np.ndarray
    across: np.ndarray  # beta axis
    sine: np.ndarray  # of beta


def _leg_state(robot: Robot, j: int, arm: np.ndarray, position: np.ndarray) -> _LegState:
    along = position + arm - robot.base[j]
    length = np.linalg.norm(along, axis=1, keepdims=True)
    u = along / length
    normal = _cross(np.broadcast_to(robot.axes()[j], u.shape), u)
    sine = np.linalg.norm(normal, axis=1, keepdims=True)
    return _LegState(u, length, normal / sine, sine)


def _rates(leg: _LegState, velocity: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rates of alpha, beta and length that move the platform joint with a velocity."""
    stretch = _dot(leg.u, velocity)
    turn = (velocity - stretch * leg.u) / leg.length
    alpha = _dot(turn, leg.across) / leg.sine
    beta = _dot(turn, _cross(leg.across, leg.u))
    return alpha, beta, stretch


def _leg_forces(
    robot: Robot,
    j: int,
    leg: _LegState,
    arm: np.ndarray,
    v: np.ndarray,
    a: np.ndarray,
    omega: np.ndarray,
    alpha: np.ndarray,
    friction: Any,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Force at the platform joint that moves the leg's bodies, and its rate of length."""
    e = np.broadcast_to(robot.axes()[j], arm.shape)
    vB = v + _cross(omega, arm)
    aB = a + _cross(alpha, arm) + _cross(omega, _cross(omega, arm))
    ad, bd, ld = _rates(leg, vB)
    w = ad * e + bd * leg.across
    # aB = wd x l u + w x (w x l u) + 2 w x ld u + ldd u; what is left after the known parts
    # (wd holds the turning of the beta axis with alpha) is again linear in the unknown rates.
    carried = bd * _cross(ad * e, leg.across)
    known = (
        _cross(carried, leg.length * leg.u)
        + _cross(w, _cross(w, leg.length * leg.u))
        + 2.0 * ld * _cross(w, leg.u)
    )
    add, bdd, ldd = _rates(leg, aB - known)
    wd = add * e + bdd * leg.across + carried
    m2, d2, x2, z2, y2 = robot.stator
    m3, d3, x3, y3, z3 = robot.rod
    third = _cross(leg.u, leg.across)

    def turning(sideways: float, about_beta: float, along: float) -> np.ndarray:
        """Rate of angular momentum of a body on the leg about its centre of mass."""

        def momentum(r: np.ndarray) -> np.ndarray:
            return (
                sideways * _dot(r, third) * third
                + about_beta * _dot(r, leg.across) * leg.across
                + along * _dot(r, leg.u) * leg.u
            )

        return momentum(wd) + _cross(w, momentum(w))

    def acceleration(distance: np.ndarray) -> np.ndarray:
        return _cross(wd, distance * leg.u) + _cross(w, _cross(w, distance * leg.u))

    here = leg.length - d3
    stator_force = m2 * (acceleration(np.full_like(leg.length, d2)) - GRAVITY)
    rod_force = m3 * (acceleration(here) + 2.0 * ld * _cross(w, leg.u) + ldd * leg.u - GRAVITY)
    moment = (
        turning(x2, z2, y2)
        + turning(x3, y3, z3)
        + _cross(d2 * leg.u, stator_force)
        + _cross(here * leg.u, rod_force)
    )
    # Kane: power of these forces for unit rates of alpha, beta, length; ring and friction added.
    Q_alpha = _dot(moment, e) + robot.ring * add + robot.passive_dry[0] * friction(ad)
    Q_beta = _dot(moment, leg.across) + robot.passive_dry[1] * friction(bd)
    Q_length = _dot(rod_force, leg.u)
    force = (
        Q_alpha / (leg.length * leg.sine) * leg.across
        + Q_beta / leg.length * _cross(leg.across, leg.u)
        + Q_length * leg.u
    )
    return force, ld, ldd


def inverse_dynamics(
    robot: Robot, x: np.ndarray, xd: np.ndarray, xdd: np.ndarray, friction: Any = np.sign
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Leg lengths, rates and actuator forces (N, 6)."""
    R = rotation(x[:, 3:])
    omega, alpha = twist(x, xd, xdd)
    v, a = xd[:, :3], xdd[:, :3]
    arm = R @ robot.centre
    force = robot.mass * (a + _cross(alpha, arm) + _cross(omega, _cross(omega, arm)) - GRAVITY)
    I = R @ robot.inertia @ R.transpose(0, 2, 1)  # noqa: E741
    moment = (I @ alpha[:, :, None])[:, :, 0] + _cross(omega, (I @ omega[:, :, None])[:, :, 0])
    moment = moment + _cross(arm, force)
    lengths, rates, directions = [], [], []
    for j in range(6):
        arm = R @ robot.platform[j]
        leg = _leg_state(robot, j, arm, x[:, :3])
        needed, ld, _ = _leg_forces(robot, j, leg, arm, v, a, omega, alpha, friction)
        force, moment = force + needed, moment + _cross(arm, needed)
        lengths.append(leg.length)
        rates.append(ld)
        directions.append(np.concatenate([leg.u, _cross(arm, leg.u)], axis=1))
    # Six forces along the legs carry the whole wrench.
    G = np.stack(directions, axis=2)
    Q = np.linalg.solve(G, np.concatenate([force, moment], axis=1)[:, :, None])[:, :, 0]
    q, qd = np.concatenate(lengths, axis=1), np.concatenate(rates, axis=1)
    return q, qd, Q + robot.dry * friction(qd) + robot.viscous * qd
