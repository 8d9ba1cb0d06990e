"""A hexapod as bodies on Jacobians in base axes: shares no code with `systems/parallel`.

Ring, stator and rod of every leg and the platform have masses, centres and inertia about those;
with the twist V of the platform the equations of motion are M V' = J^T F - c, M and c summed over
the bodies from the Jacobians of their centres (D'Alembert). The identification uses Table I of
Abdellatif 2009 instead: base parameters at the joints. Friction is LuGre in all joints, actuated
and passive: bristles hold at rest and slide above their limit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit

from veh_identification.types import Array


@dataclass(frozen=True, eq=False)
class Leg:
    """Bodies of one leg, all six alike; centres on the leg's line."""

    ring: float = 0.0045  # kg m^2 about the alpha axis
    stator_mass: float = 3.0
    stator_centre: float = 0.2  # m from the base joint towards the platform
    stator: tuple[float, float, float] = (0.06, 0.0024, 0.058)  # about the centre: x, leg, beta
    rod_mass: float = 2.0
    rod_centre: float = 0.62  # m from the platform joint towards the base
    rod: tuple[float, float, float] = (0.09, 0.09, 0.0005)  # about the centre: x, beta, leg


@dataclass(frozen=True, eq=False)
class Friction:
    """LuGre friction of the 18 joints: alpha of the legs, beta, lengths."""

    dry: Array
    viscous: Array
    stiction: float = 0.0  # share by which dry friction is larger at rest
    stribeck: float = 0.01  # m/s, rad/s over which that fades
    bristle: float = 3e-6  # m, rad: deflection at which it slides


@dataclass(frozen=True, eq=False)
class Plant:
    """Geometry, bodies and friction of one hexapod."""

    base: Array  # (6, 3)
    platform: Array  # (6, 3)
    axes: Array  # (6, 3) alpha, unit
    leg: Leg
    mass: float  # of the platform
    centre: Array  # (3,) in its axes
    inertia: Array  # (3, 3) about the centre
    friction: Friction
    gravity: Array

    def truth(self) -> dict[str, float]:
        """Table I from the bodies by Steiner, the full platform, and friction."""
        leg, joints = self.leg, self.platform
        swing2 = leg.stator_mass * leg.stator_centre**2
        swing3 = leg.rod_mass * leg.rod_centre**2
        whole = self.inertia + _steiner(self.mass, self.centre)
        for joint in joints:
            whole = whole + _steiner(leg.rod_mass, joint)
        moment = self.mass * self.centre + leg.rod_mass * joints.sum(axis=0)
        found = {
            'p1': leg.ring + leg.stator[1] + leg.rod[2],
            'p2': leg.stator[0] + swing2 + leg.rod[0] + swing3 - leg.stator[1] - leg.rod[2],
            'p3': leg.stator[2] + swing2 + leg.rod[1] + swing3,
            'p4': leg.stator_mass * leg.stator_centre,
            'p5': -leg.rod_mass * leg.rod_centre,
            'p6': whole[0, 0],
            'p7': whole[1, 1],
            'p8': whole[2, 2],
            'p9': moment[2],
            'p10': self.mass + 6.0 * leg.rod_mass,
            'p_sx': moment[0],
            'p_sy': moment[1],
            'p_Ixy': whole[0, 1],
            'p_Ixz': whole[0, 2],
            'p_Iyz': whole[1, 2],
            'r_alpha': self.friction.dry[0],
            'r_beta': self.friction.dry[6],
        }
        found |= {f'r{j + 1}': self.friction.dry[12 + j] for j in range(6)}
        found |= {f'v{j + 1}': self.friction.viscous[12 + j] for j in range(6)}
        return {name: float(value) for name, value in found.items()}

    def arrays(self) -> tuple[Any, ...]:
        """What the kernels need."""
        leg = self.leg
        bodies = np.array(
            [
                leg.ring,
                leg.stator_mass,
                leg.stator_centre,
                *leg.stator,
                leg.rod_mass,
                leg.rod_centre,
                *leg.rod,
            ]
        )
        return (
            self.base,
            self.platform,
            self.axes,
            bodies,
            self.mass,
            self.centre,
            self.inertia,
            self.gravity,
        )


def leg_inertia(plant: Plant, pose: Array, R: Array) -> Array:
    """What accelerations of the legs cost in their forces (6, 6), at rest in a pose."""
    M, c, J, lengths = np.empty((6, 6)), np.empty(6), np.empty((18, 6)), np.empty(6)
    equations: Any = fill_equations
    equations(pose[:3].copy(), R, np.zeros(6), *plant.arrays(), M, c, J, lengths)
    inverse = np.linalg.inv(J[12:])
    return np.asarray(inverse.T @ M @ inverse)


def _steiner(mass: float, place: Array) -> Array:
    return np.asarray(mass * (place @ place * np.eye(3) - np.outer(place, place)))


@njit(cache=True, nogil=True)
def _cross(a, b):  # type: ignore[no-untyped-def]
    return np.array(
        [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
    )


@njit(cache=True, nogil=True)
def _dot(a, b):  # type: ignore[no-untyped-def]
    """Of three numbers each; calling BLAS for them would take most of the time."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@njit(cache=True, nogil=True)
def _turned(R, a):  # type: ignore[no-untyped-def]
    return np.array([_dot(R[0], a), _dot(R[1], a), _dot(R[2], a)])


@njit(cache=True, nogil=True)
def _along(u, lever, out):  # type: ignore[no-untyped-def]
    """Row of the twist that gives u . (v + w x lever)."""
    turn = _cross(lever, u)
    for i in range(3):
        out[i], out[3 + i] = u[i], turn[i]


@njit(cache=True, nogil=True)
def _add_body(M, c, mass, Jc, bias, gravity):  # type: ignore[no-untyped-def]
    """A point mass with Jacobian Jc (3, 6) and acceleration `bias` where V' = 0."""
    for i in range(3):
        rest = mass * (bias[i] - gravity[i])
        for a in range(6):
            c[a] += Jc[i, a] * rest
            part = mass * Jc[i, a]
            for b in range(6):
                M[a, b] += part * Jc[i, b]


@njit(cache=True, nogil=True)
def _add_turning(M, c, axes, inertia, Jw, w, wd):  # type: ignore[no-untyped-def]
    """A body with principal inertia about unit axes (3, 3 rows): its angular momentum."""
    local = np.empty(3)
    for k in range(3):
        local[k] = _dot(axes[k], w)
    for k in range(3):
        n, m = (k + 1) % 3, (k + 2) % 3
        rest = inertia[k] * (_dot(axes[k], wd)) - (inertia[n] - inertia[m]) * local[n] * local[m]
        row = np.zeros(6)
        for i in range(3):
            for a in range(6):
                row[a] += axes[k, i] * Jw[i, a]
        for a in range(6):
            c[a] += row[a] * rest
            for b in range(6):
                M[a, b] += inertia[k] * row[a] * row[b]


@njit(cache=True, nogil=True)
def fill_equations(  # type: ignore[no-untyped-def]
    place, R, V, base, platform, alpha, bodies, mass, centre, inertia, gravity, M, c, J, lengths
):
    """M and c of M V' + c = J^T forces; J (18, 6) gives all joint speeds: alpha, beta, lengths."""
    M[:], c[:] = 0.0, 0.0
    v, w = V[:3].copy(), V[3:].copy()
    ring, m2, d2, m3, d3 = bodies[0], bodies[1], bodies[2], bodies[6], bodies[7]
    stator = np.array([bodies[3], bodies[4], bodies[5]])
    rod = np.array([bodies[8], bodies[10], bodies[9]])  # x, leg, beta like the stator's
    Jp, Ju, Jw, Jc = np.empty((3, 6)), np.empty((3, 6)), np.empty((3, 6)), np.empty((3, 6))
    row = np.empty(6)
    unit = np.eye(3)
    for j in range(6):
        lever = _turned(R, platform[j])
        for i in range(3):
            _along(unit[i], lever, Jp[i])
        speed = v + _cross(w, lever)
        bend = _cross(w, _cross(w, lever))  # acceleration of the joint where V' = 0
        d = place + lever - base[j]
        q = np.sqrt(_dot(d, d))
        u = d / q
        qd = _dot(u, speed)
        ud = (speed - qd * u) / q
        qdd = _dot(u, bend) + _dot(ud, speed)
        udd = (bend - qdd * u - 2.0 * qd * ud) / q
        a = alpha[j]
        across = _cross(a, u)
        s = np.sqrt(_dot(across, across))
        b = across / s
        sd = _dot(b, _cross(a, ud))
        bd = (_cross(a, ud) - sd * b) / s
        x = _cross(b, u)  # minus x2: of principal axes only the lines count
        ad = _dot(ud, b) / s
        add = (_dot(udd, b) + _dot(ud, bd) - ad * sd) / s
        turning = _dot(ud, x)
        turning_d = _dot(udd, x) + _dot(ud, _cross(bd, u))
        omega = ad * a + turning * b
        omega_d = add * a + turning_d * b + turning * bd
        for k in range(6):
            row[k] = u[0] * Jp[0, k] + u[1] * Jp[1, k] + u[2] * Jp[2, k]
        for i in range(3):
            for k in range(6):
                Ju[i, k] = (Jp[i, k] - u[i] * row[k]) / q
        for k in range(6):
            J[12 + j, k] = row[k]
            J[j, k] = (b[0] * Ju[0, k] + b[1] * Ju[1, k] + b[2] * Ju[2, k]) / s
            J[6 + j, k] = x[0] * Ju[0, k] + x[1] * Ju[1, k] + x[2] * Ju[2, k]
        for i in range(3):
            for k in range(6):
                Jw[i, k] = a[i] * J[j, k] + b[i] * J[6 + j, k]
        lengths[j] = q
        for k in range(6):  # the ring turns about a fixed axis
            c[k] += J[j, k] * ring * add
            for n in range(6):
                M[k, n] += ring * J[j, k] * J[j, n]
        _add_body(M, c, m2, d2 * Ju, d2 * udd, gravity)
        for i in range(3):
            for k in range(6):
                Jc[i, k] = Jp[i, k] - d3 * Ju[i, k]
        _add_body(M, c, m3, Jc, bend - d3 * udd, gravity)
        principal = np.empty((3, 3))
        principal[0], principal[1], principal[2] = x, u, b
        # x, u, b is left handed: (b x u) x u = -b, so the leg's axis is turned round.
        principal[1] = -u
        _add_turning(M, c, principal, stator + rod, Jw, omega, omega_d)
    lever = _turned(R, centre)
    for i in range(3):
        _along(unit[i], lever, Jc[i])
    _add_body(M, c, mass, Jc, _cross(w, _cross(w, lever)), gravity)
    turned = R @ inertia @ R.T
    momentum = _cross(w, _turned(turned, w))
    for i in range(3):
        c[3 + i] += momentum[i]
        for k in range(3):
            M[3 + i, 3 + k] += turned[i, k]


@njit(cache=True, nogil=True)
def _turn(R, w, dt):  # type: ignore[no-untyped-def]
    """R after turning with w (base axes) for dt: Rodrigues."""
    angle = np.sqrt(_dot(w, w)) * dt
    if angle < 1e-15:
        return R
    n = w * (dt / angle)
    K = np.array([[0.0, -n[2], n[1]], [n[2], 0.0, -n[0]], [-n[1], n[0], 0.0]])
    return (np.eye(3) + np.sin(angle) * K + (1.0 - np.cos(angle)) * (K @ K)) @ R


@njit(cache=True, nogil=True)
def control(  # type: ignore[no-untyped-def]
    plant, friction, wanted, noise, step_of_lengths, place, R, V, gains, ripple, step, substeps
):
    """Follow wanted lengths (N, 6) by PID on measured ones: true lengths, measured, commands."""
    dry, viscous, stiction, stribeck, bristle = friction
    decoupling, proportional, integral, derivative, filtering = gains
    amplitude, pitch = ripple
    count = len(wanted)
    M, c, J, q = np.empty((6, 6)), np.empty(6), np.empty((18, 6)), np.empty(6)
    z, total, rate = np.zeros(18), np.zeros(6), np.zeros(6)
    lengths, seen, commands = np.empty((count, 6)), np.empty((count, 6)), np.empty((count, 6))
    dt = step / substeps
    before = wanted[0].copy()
    for n in range(count):
        fill_equations(place, R, V, *plant, M, c, J, q)  # type: ignore[call-arg]
        if n == 0:  # brakes are released under the force that holds the robot
            held = np.linalg.solve(np.ascontiguousarray(J[12:].T), c)
        force = np.empty(6)
        for j in range(6):
            lengths[n, j] = q[j]
            told = q[j] + noise[n, j]
            if step_of_lengths > 0.0:
                told = np.round(told / step_of_lengths) * step_of_lengths
            seen[n, j] = told
            error = wanted[n, j] - told
            total[j] += error * step
            new = error - before[j] if n else 0.0
            before[j] = error
            rate[j] += filtering * (new / step - rate[j])
            force[j] = proportional * error + integral * total[j] + derivative * rate[j]
        force = held + decoupling @ force
        commands[n] = force
        for _ in range(substeps):
            fill_equations(place, R, V, *plant, M, c, J, q)  # type: ignore[call-arg]
            rates = J @ V
            net = -c
            for k in range(18):
                push = -viscous[k] * rates[k]
                if dry[k] > 0.0:
                    level = dry[k] * (1.0 + stiction * np.exp(-((rates[k] / stribeck) ** 2)))
                    slack = bristle * level / dry[k]
                    new = (z[k] + dt * rates[k]) / (1.0 + dt * abs(rates[k]) / slack)
                    stiffness = dry[k] / bristle
                    # Bristles damp their own vibration; the damper fades once they slide.
                    damper = 0.2 * stiffness * dt * np.exp(-((rates[k] / 0.005) ** 2))
                    push -= stiffness * new + damper * (new - z[k]) / dt
                    z[k] = new
                if k >= 12:
                    push += force[k - 12] + amplitude[k - 12] * np.sin(
                        2.0 * np.pi * q[k - 12] / pitch
                    )
                for i in range(6):
                    net[i] += J[k, i] * push
            V = V + dt * np.linalg.solve(M, net)
            place = place + dt * V[:3]
            R = _turn(R, V[3:].copy(), dt)
    return lengths, seen, commands
