"""Equations of motion of the simulated car, hand-derived Newton-Euler in chassis axes.

Unknowns: acceleration a0 of the `base_link` origin minus gravity, angular acceleration of the
chassis, and the four accelerations of suspension travel. Bodies: chassis; at each corner a hub
carrier (a point mass at the wheel centre) and an axisymmetric wheel. The places and angles of the
hubs follow from travel and steering (`car_axle`). The six chassis rows are the balance of the
whole car; a suspension row is the balance of hub and wheel along z of the chassis, which is what
Venture 2006 writes with half track, wheelbase and angles as joints of their own.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from veh_identification.simulation.car.axle import (
    BETA,
    BIAS,
    GAMMA,
    RATE,
    SLOPE,
    VALUE,
    ZETA,
    X,
    Y,
    axle_motion,
)
from veh_identification.simulation.car.forces import (
    SLIP_RATE_X,
    SLIP_RATE_Y,
    bristle_rate,
    cross,
    dot,
    road_wrench,
    suspension_force,
)
from veh_identification.simulation.car.state import (
    BRISTLE,
    DEFLECTION_X,
    DEFLECTION_Y,
    OMEGA,
    POSITION,
    QUATERNION,
    SPIN,
    SPIN_RATE,
    STATION,
    TRAVEL,
    TRAVEL_RATE,
    VELOCITY,
    Workspace,
)
from veh_identification.simulation.car.vehicle import GRAVITY, CarArrays
from veh_identification.types import Array


@njit(cache=True, nogil=True)
def rotation_rows(y: Array, out: Array) -> None:
    """Rotation matrix, chassis to world, of the state's quaternion (w, x, y, z)."""
    w, i, j, k = (y[QUATERNION], y[QUATERNION + 1], y[QUATERNION + 2], y[QUATERNION + 3])
    s = 2.0 / (w * w + i * i + j * j + k * k)
    out[0, 0], out[0, 1], out[0, 2] = (
        1 - s * (j * j + k * k),
        s * (i * j - k * w),
        s * (i * k + j * w),
    )
    out[1, 0], out[1, 1], out[1, 2] = (
        s * (i * j + k * w),
        1 - s * (i * i + k * k),
        s * (j * k - i * w),
    )
    out[2, 0], out[2, 1], out[2, 2] = (
        s * (i * k - j * w),
        s * (j * k + i * w),
        1 - s * (i * i + j * j),
    )


@njit(cache=True, nogil=True)
def corner_kinematics(car: CarArrays, i: int, y: Array, steer: Array, w: Workspace) -> None:
    """Place, axes and rates of hub i; accelerations without the unknowns."""
    axle_motion(
        car.axles[i], y[TRAVEL + i], y[TRAVEL_RATE + i], steer[0], steer[1], steer[2], w.axle[i]
    )
    a, v = w.axle[i], w.vector[i]
    place, slope, rate, bias = v[0], v[1], v[2], v[3]
    place[0], place[1], place[2] = a[X, VALUE], a[Y, VALUE], y[TRAVEL + i]
    slope[0], slope[1], slope[2] = a[X, SLOPE], a[Y, SLOPE], 1.0
    rate[0], rate[1], rate[2] = a[X, RATE], a[Y, RATE], y[TRAVEL_RATE + i]
    sb, cb = np.sin(a[BETA, VALUE]), np.cos(a[BETA, VALUE])
    sg, cg = np.sin(a[GAMMA, VALUE]), np.cos(a[GAMMA, VALUE])
    # Axes of the three turns of the hub: z of the chassis, x after it, y after both (the spin).
    lean, spin = v[4], v[5]
    lean[0], lean[1], lean[2] = cb, sb, 0.0
    spin[0], spin[1], spin[2] = -sb * cg, cb * cg, sg
    turn, turn_slope, turn_bias, omega = v[6], v[7], v[8], y[OMEGA : OMEGA + 3]
    for k in range(3):
        vertical = 1.0 if k == 2 else 0.0
        turn[k] = vertical * a[BETA, RATE] + lean[k] * a[GAMMA, RATE]
        turn_slope[k] = (
            vertical * a[BETA, SLOPE] + lean[k] * a[GAMMA, SLOPE] + spin[k] * a[ZETA, SLOPE]
        )
    cross(turn, spin, v[11])
    # d(lean)/dt = beta_dot z x lean; z x (cb, sb, 0) = (-sb, cb, 0).
    gyro = a[GAMMA, RATE] * a[BETA, RATE]
    for k in range(3):
        vertical = 1.0 if k == 2 else 0.0
        turn_bias[k] = (
            vertical * a[BETA, BIAS]
            + lean[k] * a[GAMMA, BIAS]
            + spin[k] * a[ZETA, BIAS]
            + a[ZETA, RATE] * v[11, k]
        )
        turn[k] += spin[k] * a[ZETA, RATE]
    turn_bias[0] -= gyro * sb
    turn_bias[1] += gyro * cb
    cross(omega, turn, v[11])
    for k in range(3):
        turn_bias[k] += v[11, k]
        v[9, k] = omega[k] + turn[k]  # angular velocity of the hub
    # omega x (omega x P) + 2 omega x Pdot + bias of Pdd
    cross(omega, place, v[11])
    for k in range(3):
        v[10, k] = y[VELOCITY + k] + v[11, k] + rate[k]  # velocity of the wheel centre
        v[11, k] += 2.0 * rate[k]
    cross(omega, v[11], bias)
    bias[0] += a[X, BIAS]
    bias[1] += a[Y, BIAS]


@njit(cache=True, nogil=True)
def add_chassis(car: CarArrays, y: Array, w: Workspace) -> None:
    """Rows of the chassis body and the air."""
    A, b, omega, turned = w.matrix, w.right, y[OMEGA : OMEGA + 3], w.scratch
    A[:], b[:] = 0.0, 0.0
    m = car.first
    for r in range(3):
        A[r, r] = car.mass
        for c in range(3):
            A[3 + r, 3 + c] = car.inertia[r, c]
    _add_skew(A, 3, 0, m, 1.0)
    _add_skew(A, 0, 3, m, -1.0)
    cross(omega, m, turned[0])
    cross(omega, turned[0], turned[1])
    for r in range(3):
        turned[0, r] = dot(car.inertia[r], omega)
    cross(omega, turned[0], turned[2])
    speed = y[VELOCITY] ** 2 + y[VELOCITY + 1] ** 2
    for r in range(3):
        b[r] = -turned[1, r] - car.air[r] * speed
        b[3 + r] = -turned[2, r] - car.air[3 + r] * speed


@njit(cache=True, nogil=True)
def _add_skew(A: Array, row: int, column: int, v: Array, factor: float) -> None:
    """Add factor * [v]x to a block."""
    A[row, column + 1] -= factor * v[2]
    A[row, column + 2] += factor * v[1]
    A[row + 1, column] += factor * v[2]
    A[row + 1, column + 2] -= factor * v[0]
    A[row + 2, column] -= factor * v[1]
    A[row + 2, column + 1] += factor * v[0]


@njit(cache=True, nogil=True)
def add_corner(
    car: CarArrays, i: int, spin_rate: float, spin_acceleration: float, push: float, w: Workspace
) -> None:
    """Hub and wheel i into all rows; `push` is the suspension force down on the hub."""
    A, b, v, s = w.matrix, w.right, w.vector[i], w.scratch
    place, slope, bias, spin = v[0], v[1], v[3], v[5]
    turn_slope, turn_bias, hub_rate = v[7], v[8], v[9]
    mass, turn_inertia = car.corners[i, 4] + car.wheel[0], car.wheel[2]
    road = w.contact[i]
    # Part of dL/dt of the wheel that needs no unknown acceleration.
    cross(hub_rate, spin, s[0])
    gyro = car.wheel[1] * spin_rate - turn_inertia * dot(hub_rate, spin)
    along, slope_along = dot(turn_bias, spin), dot(turn_slope, spin)
    for k in range(3):
        s[1, k] = (
            gyro * s[0, k]
            + car.wheel[1] * spin_acceleration * spin[k]
            + turn_inertia * (turn_bias[k] - along * spin[k])
        )
        s[2, k] = road[k] - mass * bias[k]
        s[3, k] = turn_inertia * (turn_slope[k] - slope_along * spin[k])
        w.spin_moment[i, k] = s[1, k]
        # What the suspension row projects on: z, or the path of the wheel in a linkage.
        s[4, k] = car.linkage * slope[k]
    s[4, 2] = 1.0
    cross(place, s[2], s[5])
    cross(place, slope, s[6])
    cross(place, s[4], s[7])
    place_squared, q = dot(place, place), 6 + i
    for r in range(3):
        A[r, r] += mass
        A[r, q] += mass * slope[r]
        A[3 + r, q] += mass * s[6, r] + s[3, r]
        A[q, r] = mass * s[4, r]
        A[q, 3 + r] = mass * s[7, r] + car.linkage * s[3, r]
        b[r] += s[2, r]
        b[3 + r] += s[5, r] + road[3 + r] - s[1, r]
        for c in range(3):
            A[3 + r, 3 + c] -= mass * place[r] * place[c] + turn_inertia * spin[r] * spin[c]
        A[3 + r, 3 + r] += mass * place_squared + turn_inertia
    _add_skew(A, 3, 0, place, mass)
    _add_skew(A, 0, 3, place, -mass)
    A[q, q] = mass * dot(s[4], slope) + car.linkage * dot(turn_slope, s[3])
    b[q] = dot(s[4], s[2]) - push
    for k in range(3):
        b[q] += car.linkage * turn_slope[k] * (road[3 + k] - s[1, k])


@njit(cache=True, nogil=True)
def solve(w: Workspace) -> None:
    """All ten unknowns; the suspensions are eliminated first, each stands alone in its row."""
    A, b, x = w.matrix, w.right, w.unknown
    for q in range(6, 10):
        for r in range(6):
            factor = A[r, q] / A[q, q]
            if factor != 0.0:
                for c in range(6):
                    A[r, c] -= factor * A[q, c]
                b[r] -= factor * b[q]
    for p in range(6):
        for r in range(p + 1, 6):
            factor = A[r, p] / A[p, p]
            for c in range(p, 6):
                A[r, c] -= factor * A[p, c]
            b[r] -= factor * b[p]
    for p in range(5, -1, -1):
        total = b[p]
        for c in range(p + 1, 6):
            total -= A[p, c] * x[c]
        x[p] = total / A[p, p]
    for q in range(6, 10):
        total = b[q]
        for c in range(6):
            total -= A[q, c] * x[c]
        x[q] = total / A[q, q]


@njit(cache=True, nogil=True)
def accelerate(
    car: CarArrays,
    profile: Array,
    start: float,
    y: Array,
    steer: Array,
    torque: Array,
    w: Workspace,
) -> None:
    """Contact forces, spin accelerations and the ten unknowns for one state."""
    rotation_rows(y, w.rotation)
    up = w.rotation[2]
    add_chassis(car, y, w)
    for i in range(4):
        corner_kinematics(car, i, y, steer, w)
        v = w.vector[i]
        wheel = w.wheel
        wheel[0], wheel[1] = y[SPIN + i], y[SPIN_RATE + i]
        wheel[2], wheel[3] = y[DEFLECTION_X + i], y[DEFLECTION_Y + i]
        road_wrench(
            car,
            profile,
            start,
            i % 2,
            y[STATION] + v[0, 0],
            y[VELOCITY] + v[2, 0],
            y[POSITION + 2] + dot(up, v[0]),
            up,
            v[5],
            v[10],
            v[9],
            wheel,
            w.scratch,
            w.contact[i],
        )
        moment = dot(w.contact[i, 3:6], v[5]) + torque[i]
        w.spin_acceleration[i] = moment / car.wheel[1]
        other = y[TRAVEL + (i ^ 1)]
        push = suspension_force(car, i, y[TRAVEL + i], y[TRAVEL_RATE + i], other, y[BRISTLE + i])
        add_corner(car, i, y[SPIN_RATE + i], w.spin_acceleration[i], push, w)
    solve(w)


@njit(cache=True, nogil=True)
def state_rate(car: CarArrays, y: Array, w: Workspace, out: Array) -> None:
    """Time derivative of the mechanical state after `accelerate`."""
    R, x, omega, v = w.rotation, w.unknown, y[OMEGA : OMEGA + 3], y[VELOCITY : VELOCITY + 3]
    cross(omega, v, w.scratch[0])
    for k in range(3):
        out[POSITION + k] = dot(R[k], v)
        out[VELOCITY + k] = x[k] - w.scratch[0, k] - GRAVITY * R[2, k]
        out[OMEGA + k] = x[3 + k]
    qw, qx, qy, qz = (y[QUATERNION], y[QUATERNION + 1], y[QUATERNION + 2], y[QUATERNION + 3])
    out[QUATERNION] = -0.5 * (qx * omega[0] + qy * omega[1] + qz * omega[2])
    out[QUATERNION + 1] = 0.5 * (qw * omega[0] + qy * omega[2] - qz * omega[1])
    out[QUATERNION + 2] = 0.5 * (qw * omega[1] + qz * omega[0] - qx * omega[2])
    out[QUATERNION + 3] = 0.5 * (qw * omega[2] + qx * omega[1] - qy * omega[0])
    for i in range(4):
        out[TRAVEL + i], out[TRAVEL_RATE + i] = y[TRAVEL_RATE + i], x[6 + i]
        out[SPIN + i] = y[SPIN_RATE + i] - dot(w.vector[i, 9], w.vector[i, 5])
        out[SPIN_RATE + i] = w.spin_acceleration[i]
        out[BRISTLE + i] = bristle_rate(car, y[TRAVEL_RATE + i], y[BRISTLE + i])
        out[DEFLECTION_X + i] = w.contact[i, SLIP_RATE_X]
        out[DEFLECTION_Y + i] = w.contact[i, SLIP_RATE_Y]
    out[STATION] = y[VELOCITY]
