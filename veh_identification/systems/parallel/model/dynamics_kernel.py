"""Numba kernel of A_rb in equation (2), projected to the actuators by J (5), (6).

Per leg the universal joint gives two angles: cos(beta) = e u with e the alpha axis and u the leg,
alpha the azimuth of u about e. The leg's Lagrangian in (alpha, beta, l) is

    T = (p1 + p2 S^2) alpha'^2 / 2 + p3 beta'^2 / 2 + p5 l (S^2 alpha'^2 + beta'^2)
    V = -(p4 + p5) g u            with S = sin(beta)

(the rod's mass m3 moves with the platform joint and is part of p6 .. p10). Its Lagrange equations
give joint forces, which act on the platform joint along u, the beta direction t and the alpha
direction b.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from veh_identification.systems.parallel.model.kinematics_kernel import (
    condition,
    inverse_jacobian,
    invert,
    legs,
)

#: Columns of the rigid-body regressor: p1 .. p5, then the platform's M, MSx .. Jzz.
RIGID_COLUMNS = 15


@njit(cache=True, nogil=True)
def _cross(a, b, out):  # type: ignore[no-untyped-def]
    out[0] = a[1] * b[2] - a[2] * b[1]
    out[1] = a[2] * b[0] - a[0] * b[2]
    out[2] = a[0] * b[1] - a[1] * b[0]


@njit(cache=True, nogil=True)
def _dot(a, b):  # type: ignore[no-untyped-def]
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@njit(cache=True, nogil=True)
def _platform(R, velocity, acceleration, gravity, work, local, wrench):  # type: ignore[no-untyped-def]
    """Newton-Euler of the platform at the end-effector origin, base axes, into wrench[:, 5:]."""
    w, wd, a = work[0], work[1], work[2]  # in platform axes
    for i in range(3):
        w[i], wd[i], a[i] = 0.0, 0.0, 0.0
        for k in range(3):
            w[i] += R[k, i] * velocity[3 + k]
            wd[i] += R[k, i] * acceleration[3 + k]
            a[i] += R[k, i] * (acceleration[k] - gravity[k])
    ww = _dot(w, w)
    local[:] = 0.0
    for k in range(3):
        local[k, 0] = a[k]
        after, before = (k + 1) % 3, (k + 2) % 3
        # first moment along axis k: wd x e + w x (w x e), and the moment e x a
        for i in range(3):
            local[i, 1 + k] = w[i] * w[k]
        local[k, 1 + k] -= ww
        local[after, 1 + k] += wd[before]
        local[before, 1 + k] -= wd[after]
        local[3 + after, 1 + k] = -a[before]
        local[3 + before, 1 + k] = a[after]
    jw, jd = work[3], work[4]
    column = 4
    for k in range(3):
        for m in range(k, 3):
            # J = E_km + E_mk: J wd + w x (J w)
            jw[:] = 0.0
            jd[:] = 0.0
            jw[k] = w[m]
            jd[k] = wd[m]
            jw[m] = w[k]
            jd[m] = wd[k]
            local[3, column] = jd[0] + w[1] * jw[2] - w[2] * jw[1]
            local[4, column] = jd[1] + w[2] * jw[0] - w[0] * jw[2]
            local[5, column] = jd[2] + w[0] * jw[1] - w[1] * jw[0]
            column += 1
    for i in range(3):
        for k in range(3):
            for c in range(10):
                wrench[i, 5 + c] += R[i, k] * local[k, c]
                wrench[3 + i, 5 + c] += R[i, k] * local[3 + k, c]


@njit(cache=True, nogil=True)
def _leg(  # type: ignore[no-untyped-def]
    lever, u, length, axis, velocity, acceleration, gravity, work, forces, directions, rates
):
    """Joint forces (3 directions, 5 columns), their directions at the joint, and joint rates."""
    vB, aB, ud, udd, b, t = work[0], work[1], work[2], work[3], work[4], work[5]
    w, wd = velocity[3:], acceleration[3:]
    ww, wc = _dot(w, w), _dot(w, lever)
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        vB[i] = velocity[i] + w[j] * lever[k] - w[k] * lever[j]
        turning = wd[j] * lever[k] - wd[k] * lever[j]
        aB[i] = acceleration[i] + turning + w[i] * wc - ww * lever[i]
    ld = _dot(u, vB)
    for i in range(3):
        ud[i] = (vB[i] - ld * u[i]) / length
    ldd = _dot(u, aB) + length * _dot(ud, ud)
    C = _dot(axis, u)
    S = np.sqrt(max(1.0 - C * C, 0.0))
    _cross(axis, u, b)
    for i in range(3):
        udd[i] = (aB[i] - ldd * u[i] - 2.0 * ld * ud[i]) / length
        b[i] /= S
        # rho cos(beta) - e sin(beta) with rho = (u - e cos(beta)) / sin(beta)
        t[i] = (C * u[i] - axis[i]) / S
    ad, bd = _dot(b, ud) / S, _dot(t, ud)
    bdd = _dot(t, udd) + ad * ad * S * C
    add = (_dot(b, udd) - 2.0 * ad * bd * C) / S
    forces[:] = 0.0
    # alpha: conjugate force divided by the arm l S, acting along b
    forces[0, 0] = add
    forces[0, 1] = S * S * add + 2.0 * S * C * ad * bd
    forces[0, 3] = -S * _dot(gravity, b)
    forces[0, 4] = 2.0 * (length * forces[0, 1] + ld * S * S * ad) + forces[0, 3]
    # beta: divided by the arm l, acting along t
    forces[1, 1] = -S * C * ad * ad
    forces[1, 2] = bdd
    forces[1, 3] = -_dot(gravity, t)
    forces[1, 4] = 2.0 * (length * (bdd + forces[1, 1]) + ld * bd) + forces[1, 3]
    # length
    forces[2, 4] = -(ad * ad * S * S + bd * bd)
    for i in range(3):
        directions[0, i] = b[i] / (length * S)
        directions[1, i] = t[i] / length
        directions[2, i] = u[i]
    rates[0], rates[1], rates[2] = ad, bd, ld


@njit(cache=True, nogil=True)
def _project(inverse, wrench, out):  # type: ignore[no-untyped-def]
    """Q_a = J^T wrench (5), (6), with J the inverse of the inverse Jacobian."""
    for i in range(6):
        for k in range(6):
            for c in range(wrench.shape[1]):
                out[i, c] += inverse[k, i] * wrench[k, c]


@njit(cache=True, nogil=True)
def rigid_regressor(  # type: ignore[no-untyped-def]
    poses, velocity, acceleration, base, platform, axes, gravity, scale
):
    """All samples: regressor (N, 6, 15), passive maps (N, 6, 12), rates (N, 18), condition (N,).

    The maps are J^T J_L^T of the passive joints (6): alpha of legs 1 to 6, then beta; the rates
    are in the same order with the lengths last.
    """
    count = len(poses)
    A = np.zeros((count, 6, RIGID_COLUMNS))
    maps = np.zeros((count, 6, 12))
    joint_rates = np.empty((count, 18))
    conditions = np.empty(count)
    R, lever, unit, length = np.empty((3, 3)), np.empty((6, 3)), np.empty((6, 3)), np.empty(6)
    jacobian, inverse = np.empty((6, 6)), np.empty((6, 6))
    forces, directions, rates = np.empty((3, 5)), np.empty((3, 3)), np.empty(3)
    passive, moment = np.empty((6, 12)), np.empty(3)
    work, local, wrench = np.empty((6, 3)), np.empty((6, 10)), np.empty((6, RIGID_COLUMNS))
    for n in range(count):
        legs(poses[n], base, platform, R, lever, unit, length)
        inverse_jacobian(lever, unit, jacobian)
        if not invert(jacobian, inverse):
            conditions[n] = np.inf
            A[n] = np.nan
            maps[n] = np.nan
            joint_rates[n] = np.nan
            continue
        conditions[n] = condition(jacobian, inverse, scale)
        wrench[:] = 0.0
        _platform(R, velocity[n], acceleration[n], gravity, work, local, wrench)
        for j in range(6):
            _leg(
                lever[j],
                unit[j],
                length[j],
                axes[j],
                velocity[n],
                acceleration[n],
                gravity,
                work,
                forces,
                directions,
                rates,
            )
            for d in range(3):
                _cross(lever[j], directions[d], moment)
                for i in range(3):
                    for c in range(5):
                        wrench[i, c] += directions[d, i] * forces[d, c]
                        wrench[3 + i, c] += moment[i] * forces[d, c]
                    if d < 2:
                        passive[i, 6 * d + j] = directions[d, i]
                        passive[3 + i, 6 * d + j] = moment[i]
                joint_rates[n, 6 * d + j] = rates[d]
        _project(inverse, wrench, A[n])
        _project(inverse, passive, maps[n])
    return A, maps, joint_rates, conditions
