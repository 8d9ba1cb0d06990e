"""An arm under its controller: computed torque with PD, friction that sticks, torque ripple.

The controller knows the CAD model only and runs at its own rate; between its samples the plant is
integrated with smaller steps (semi-implicit Euler; the bristles of the friction implicitly, so
that sticking joints stay stable).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numba import njit

from veh_identification.simulation.robot.plant import Plant, fill_equations
from veh_identification.types import Array


@dataclass(frozen=True, eq=False)
class Friction:
    """LuGre friction of each joint: bristles give way over `bristle` rad, then it slides."""

    coulomb: Array  # N m
    stiction: Array  # N m, at rest (Stribeck); equal to coulomb: none
    stribeck: Array  # rad/s, speed over which stiction fades
    viscous: Array  # N m s/rad
    bristle: Array  # rad, deflection at which it slides
    offset: Array  # N m, difference of the directions


@dataclass(frozen=True, eq=False)
class Drive:
    """Motors and controller."""

    motor_inertia: Array  # kg m^2, at the joint
    stiffness: float = 900.0  # 1/s^2, of the error's dynamics
    damping: float = 50.0  # 1/s
    control_rate: float = 1000.0  # Hz
    substeps: int = 4
    ripple: float = 0.0  # share of the friction, torque over the angle that no sensor sees
    ripple_order: float = 100.0  # waves in a turn (a gear's teeth)
    feedforward: float = 1.0  # share of the CAD model's torque that the controller adds

    def scaled(self, noise: float) -> Drive:
        """With that much of the disturbances."""
        return replace(self, ripple=self.ripple * noise)


@njit(cache=True, nogil=True)
def _bristle(v, z, coulomb, stiction, stribeck, bristle, dt):  # type: ignore[no-untyped-def]
    """The deflection after one step (implicit), and its rate."""
    level = coulomb + (stiction - coulomb) * np.exp(-((v / stribeck) ** 2))
    slack = bristle * level / coulomb  # deflection at which it slides at this speed
    new = (z + dt * v) / (1.0 + dt * abs(v) / slack)
    return new, (new - z) / dt


@njit(cache=True, nogil=True)
def simulate(  # type: ignore[no-untyped-def]
    plant, nominal, friction, drive, limits, wanted, wanted_rate, wanted_acceleration, settings
):
    """States and motor torques at the control samples: q, qd, motor torque, each (N, n)."""
    coulomb, stiction, stribeck, viscous, bristle, offset = friction
    stiffness, damping, step, substeps, ripple, order, feedforward = settings
    count, n = wanted.shape
    q, qd, z = wanted[0].copy(), wanted_rate[0].copy(), np.zeros(n)
    qs, qds, torques = np.empty((count, n)), np.empty((count, n)), np.empty((count, n))
    dt = step / substeps
    sigma0 = coulomb / bristle
    axes, origins, work = np.empty((n, 3)), np.empty((n, 3)), np.empty((4 + (n + 2) // 3, 3, 3))
    M, c, before = np.empty((n, n)), np.empty(n), np.zeros(n)
    for k in range(count):
        fill_equations(q, qd, *nominal, axes, origins, work, M, c)  # type: ignore[call-arg]
        command = wanted_acceleration[k] + stiffness * (wanted[k] - q)
        command = command + damping * (wanted_rate[k] - qd)
        tau = M @ command + drive * command + feedforward * c
        for j in range(n):
            tau[j] += feedforward * coulomb[j] * np.tanh(20.0 * wanted_rate[k, j])
            tau[j] = min(max(tau[j], -limits[j]), limits[j])
        # A current sensor at this moment sees the step of the command half done.
        qs[k], qds[k], torques[k] = q, qd, 0.5 * (tau + (before if k else tau))
        before = tau
        for _ in range(int(substeps)):
            fill_equations(q, qd, *plant, axes, origins, work, M, c)  # type: ignore[call-arg]
            net = tau - c - offset - viscous * qd
            for j in range(n):
                M[j, j] += drive[j]
                new, rate = _bristle(
                    qd[j], z[j], coulomb[j], stiction[j], stribeck[j], bristle[j], dt
                )
                # Bristles damp their own vibration critically enough to be integrated.
                damper = 0.7 * np.sqrt(sigma0[j] * M[j, j]) * np.exp(-((qd[j] / 0.02) ** 2))
                net[j] -= sigma0[j] * new + damper * rate
                net[j] += ripple * coulomb[j] * np.sin(order * q[j])
                z[j] = new
            qd = qd + dt * np.linalg.solve(M, net)
            q = q + dt * qd
    return qs, qds, torques


@dataclass(frozen=True, eq=False)
class Run:
    """What happened, at the control rate."""

    rate: float
    substep: float  # s, of the integrator
    position: Array
    velocity: Array
    torque: Array  # of the motors, as commanded


def run(
    plant: Plant,
    nominal: Plant,
    friction: Friction,
    drive: Drive,
    wanted: tuple[Array, Array, Array],
) -> Run:
    """The plant under its controller along wanted positions, velocities and accelerations."""
    settings = (
        drive.stiffness,
        drive.damping,
        1.0 / drive.control_rate,
        float(drive.substeps),
        drive.ripple,
        drive.ripple_order,
        drive.feedforward,
    )
    bristles = (
        friction.coulomb,
        friction.stiction,
        friction.stribeck,
        friction.viscous,
        friction.bristle,
        friction.offset,
    )
    integrate: Any = simulate
    made = integrate(
        plant.arrays(),
        nominal.arrays(),
        bristles,
        drive.motor_inertia,
        plant.effort,
        *(np.ascontiguousarray(one) for one in wanted),
        settings,
    )
    return Run(drive.control_rate, 1.0 / (drive.control_rate * drive.substeps), *made)
