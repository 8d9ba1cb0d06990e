"""Numba kernels of the kinematics: all samples in one call."""

from __future__ import annotations

import numpy as np
from numba import njit

MAXIMUM_ITERATIONS = 50


@njit(cache=True, nogil=True)
def rotation(phi, theta, psi, R):  # type: ignore[no-untyped-def]
    """R = Rx(phi) Ry(theta) Rz(psi), written into R (3, 3)."""
    sa, ca = np.sin(phi), np.cos(phi)
    sb, cb = np.sin(theta), np.cos(theta)
    sc, cc = np.sin(psi), np.cos(psi)
    R[0, 0] = cb * cc
    R[0, 1] = -cb * sc
    R[0, 2] = sb
    R[1, 0] = sa * sb * cc + ca * sc
    R[1, 1] = -sa * sb * sc + ca * cc
    R[1, 2] = -sa * cb
    R[2, 0] = -ca * sb * cc + sa * sc
    R[2, 1] = ca * sb * sc + sa * cc
    R[2, 2] = ca * cb


@njit(cache=True, nogil=True)
def legs(pose, base, platform, R, lever, unit, length):  # type: ignore[no-untyped-def]
    """Closed-form inverse kinematics of one pose: R, R b_j, leg directions u_j and lengths."""
    rotation(pose[3], pose[4], pose[5], R)
    for j in range(6):
        square = 0.0
        for i in range(3):
            c = R[i, 0] * platform[j, 0] + R[i, 1] * platform[j, 1] + R[i, 2] * platform[j, 2]
            lever[j, i] = c
            unit[j, i] = pose[i] + c - base[j, i]
            square += unit[j, i] ** 2
        length[j] = np.sqrt(square)
        for i in range(3):
            unit[j, i] /= length[j]


@njit(cache=True, nogil=True)
def inverse_jacobian(lever, unit, out):  # type: ignore[no-untyped-def]
    """Rows [u_j, (R b_j) x u_j]: leg rates from the platform velocity (linear, angular)."""
    for j in range(6):
        for i in range(3):
            out[j, i] = unit[j, i]
        out[j, 3] = lever[j, 1] * unit[j, 2] - lever[j, 2] * unit[j, 1]
        out[j, 4] = lever[j, 2] * unit[j, 0] - lever[j, 0] * unit[j, 2]
        out[j, 5] = lever[j, 0] * unit[j, 1] - lever[j, 1] * unit[j, 0]


@njit(cache=True, nogil=True)
def invert(matrix, inverse):  # type: ignore[no-untyped-def]
    """Gauss-Jordan with row pivoting, 6 x 6; returns False where a pivot vanishes.

    Written out because a LAPACK call costs more than the arithmetic of so small a matrix.
    """
    work = matrix.copy()
    for i in range(6):
        for k in range(6):
            inverse[i, k] = 1.0 if i == k else 0.0
    for column in range(6):
        pivot = column
        for row in range(column + 1, 6):
            if abs(work[row, column]) > abs(work[pivot, column]):
                pivot = row
        if not abs(work[pivot, column]) > 1e-300:
            return False
        if pivot != column:
            for k in range(6):
                work[column, k], work[pivot, k] = work[pivot, k], work[column, k]
                inverse[column, k], inverse[pivot, k] = inverse[pivot, k], inverse[column, k]
        scale = 1.0 / work[column, column]
        for k in range(6):
            work[column, k] *= scale
            inverse[column, k] *= scale
        for row in range(6):
            factor = work[row, column]
            if row != column and factor != 0.0:
                for k in range(6):
                    work[row, k] -= factor * work[column, k]
                    inverse[row, k] -= factor * inverse[column, k]
    return True


@njit(cache=True, nogil=True)
def condition(matrix, inverse, scale):  # type: ignore[no-untyped-def]
    """Frobenius condition number with the rotations scaled by `scale`; 6 for a perfect pose."""
    forward, backward = 0.0, 0.0
    for i in range(6):
        for k in range(3):
            forward += matrix[i, k] ** 2 + (matrix[i, k + 3] / scale) ** 2
            backward += inverse[k, i] ** 2 + (inverse[k + 3, i] * scale) ** 2
    return np.sqrt(forward * backward)


@njit(cache=True, nogil=True)
def inverse_kinematics(poses, base, platform):  # type: ignore[no-untyped-def]
    """Lengths (N, 6) of all poses."""
    lengths = np.empty((len(poses), 6))
    R, lever, unit = np.empty((3, 3)), np.empty((6, 3)), np.empty((6, 3))
    for n in range(len(poses)):
        legs(poses[n], base, platform, R, lever, unit, lengths[n])
    return lengths


@njit(cache=True, nogil=True)
def pose_conditions(poses, base, platform, scale):  # type: ignore[no-untyped-def]
    """Condition number of the inverse Jacobian at every pose; infinite where singular."""
    result = np.empty(len(poses))
    R, lever, unit, length = np.empty((3, 3)), np.empty((6, 3)), np.empty((6, 3)), np.empty(6)
    jacobian, inverse = np.empty((6, 6)), np.empty((6, 6))
    for n in range(len(poses)):
        legs(poses[n], base, platform, R, lever, unit, length)
        inverse_jacobian(lever, unit, jacobian)
        good = invert(jacobian, inverse)
        result[n] = condition(jacobian, inverse, scale) if good else np.inf
    return result


@njit(cache=True, nogil=True)
def leg_rates(poses, velocity, acceleration, base, platform):  # type: ignore[no-untyped-def]
    """Leg lengths, velocities and accelerations (N, 6) from platform motion (linear, angular)."""
    count = len(poses)
    q, qd, qdd = np.empty((count, 6)), np.empty((count, 6)), np.empty((count, 6))
    R, lever, unit = np.empty((3, 3)), np.empty((6, 3)), np.empty((6, 3))
    for n in range(count):
        legs(poses[n], base, platform, R, lever, unit, q[n])
        w, alpha = velocity[n, 3:], acceleration[n, 3:]
        ww = w[0] ** 2 + w[1] ** 2 + w[2] ** 2
        for j in range(6):
            c, u = lever[j], unit[j]
            wc = w[0] * c[0] + w[1] * c[1] + w[2] * c[2]
            rate, speed_squared, along = 0.0, 0.0, 0.0
            for i in range(3):
                a, b = (i + 1) % 3, (i + 2) % 3
                speed = velocity[n, i] + w[a] * c[b] - w[b] * c[a]
                turn = alpha[a] * c[b] - alpha[b] * c[a] + w[i] * wc - ww * c[i]
                rate += u[i] * speed
                speed_squared += speed**2
                along += u[i] * (acceleration[n, i] + turn)
            qd[n, j] = rate
            qdd[n, j] = along + (speed_squared - rate**2) / q[n, j]
    return q, qd, qdd


@njit(cache=True, nogil=True)
def direct_kinematics(  # type: ignore[no-untyped-def]
    lengths, start, base, platform, tolerance, scale, limit
):
    """Newton-Raphson from sample to sample; stops one step after the misfit is below tolerance.

    Returns poses (N, 6), iterations (N,) (negative: no solution; minus one: the Jacobian became
    singular), and the condition number (N,) at the solution.
    """
    count = len(lengths)
    poses = np.empty((count, 6))
    iterations = np.zeros(count, np.int64)
    conditions = np.empty(count)
    R, lever, unit, length = np.empty((3, 3)), np.empty((6, 3)), np.empty((6, 3)), np.empty(6)
    jacobian, inverse = np.empty((6, 6)), np.empty((6, 6))
    pose = start.copy()
    for n in range(count):
        done = False
        for iteration in range(MAXIMUM_ITERATIONS):
            legs(pose, base, platform, R, lever, unit, length)
            worst = 0.0
            for j in range(6):
                worst = max(worst, abs(lengths[n, j] - length[j]))
            inverse_jacobian(lever, unit, jacobian)
            if not invert(jacobian, inverse):
                iterations[n] = -1
                return poses, iterations, conditions
            _step(pose, lengths[n], length, inverse, scale)
            if worst < tolerance:
                iterations[n] = iteration + 1
                done = True
                break
        if not (done and np.isfinite(pose).all()):
            iterations[n] = -2
            return poses, iterations, conditions
        poses[n] = pose
        conditions[n] = condition(jacobian, inverse, scale)
        if conditions[n] > limit:
            iterations[n] = -1
            return poses, iterations, conditions
    return poses, iterations, conditions


@njit(cache=True, nogil=True)
def _step(pose, wanted, length, inverse, scale):  # type: ignore[no-untyped-def]
    """One Newton step; the angular part is mapped to angle rates by the inverse of H in (16)."""
    twist = np.zeros(6)
    for i in range(6):
        for j in range(6):
            twist[i] += inverse[i, j] * (wanted[j] - length[j])
    # A step of more than a radian (or the same at the joints' radius) would leave the branch.
    largest = 0.0
    for i in range(3):
        largest = max(largest, abs(twist[i]) / scale, abs(twist[i + 3]))
    if largest > 1.0:
        twist /= largest
    sa, ca, cb, tb = np.sin(pose[3]), np.cos(pose[3]), np.cos(pose[4]), np.tan(pose[4])
    psi_dot = (-sa * twist[4] + ca * twist[5]) / cb
    pose[0] += twist[0]
    pose[1] += twist[1]
    pose[2] += twist[2]
    pose[3] += twist[3] - tb * (-sa * twist[4] + ca * twist[5])
    pose[4] += ca * twist[4] + sa * twist[5]
    pose[5] += psi_dot
