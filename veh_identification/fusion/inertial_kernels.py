"""Compiled steps of the inertial filter: 15 x 15 products are too small for numpy's call costs.

The state x holds position (0:3), velocity (3:6), quaternion x y z w (6:10), gyroscope bias
(10:13) and accelerometer bias (13:16); R is the rotation matrix of the quaternion; P is the
covariance of the 15 errors (position, velocity, body rotation, both biases). All are changed in
place.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


@njit(cache=True, nogil=True)
def set_matrix(x: FloatArray, R: FloatArray) -> None:
    """Normalise the quaternion of the state and fill its rotation matrix."""
    norm = np.sqrt(x[6] ** 2 + x[7] ** 2 + x[8] ** 2 + x[9] ** 2)
    for i in range(6, 10):
        x[i] /= norm
    a, b, c, w = x[6], x[7], x[8], x[9]
    R[0, 0] = 1.0 - 2.0 * (b * b + c * c)
    R[0, 1] = 2.0 * (a * b - w * c)
    R[0, 2] = 2.0 * (a * c + w * b)
    R[1, 0] = 2.0 * (a * b + w * c)
    R[1, 1] = 1.0 - 2.0 * (a * a + c * c)
    R[1, 2] = 2.0 * (b * c - w * a)
    R[2, 0] = 2.0 * (a * c - w * b)
    R[2, 1] = 2.0 * (b * c + w * a)
    R[2, 2] = 1.0 - 2.0 * (a * a + b * b)


@njit(cache=True, nogil=True)
def turn_body(x: FloatArray, R: FloatArray, ax: float, ay: float, az: float) -> None:
    """q <- q exp(a/2): a rotation vector in body axes."""
    angle2 = ax * ax + ay * ay + az * az
    if angle2 < 1e-8:
        s = 0.5 - angle2 / 48.0
        w = 1.0 - angle2 / 8.0
    else:
        angle = np.sqrt(angle2)
        s = np.sin(0.5 * angle) / angle
        w = np.cos(0.5 * angle)
    bx, by, bz = s * ax, s * ay, s * az
    qx, qy, qz, qw = x[6], x[7], x[8], x[9]
    x[6] = qw * bx + qx * w + qy * bz - qz * by
    x[7] = qw * by - qx * bz + qy * w + qz * bx
    x[8] = qw * bz + qx * by - qy * bx + qz * w
    x[9] = qw * w - qx * bx - qy * by - qz * bz
    set_matrix(x, R)


@njit(cache=True, nogil=True)
def _rodrigues(ax: float, ay: float, az: float, M: FloatArray) -> None:
    """M = exp([a]x)."""
    angle2 = ax * ax + ay * ay + az * az
    if angle2 < 1e-8:
        s, c = 1.0 - angle2 / 6.0, 0.5 - angle2 / 24.0
    else:
        angle = np.sqrt(angle2)
        s, c = np.sin(angle) / angle, (1.0 - np.cos(angle)) / angle2
    M[0, 0] = 1.0 - c * (ay * ay + az * az)
    M[0, 1] = c * ax * ay - s * az
    M[0, 2] = c * ax * az + s * ay
    M[1, 0] = c * ax * ay + s * az
    M[1, 1] = 1.0 - c * (ax * ax + az * az)
    M[1, 2] = c * ay * az - s * ax
    M[2, 0] = c * ax * az - s * ay
    M[2, 1] = c * ay * az + s * ax
    M[2, 2] = 1.0 - c * (ax * ax + ay * ay)


@njit(cache=True, nogil=True)
def propagate(
    x: FloatArray,
    R: FloatArray,
    P: FloatArray,
    angle: FloatArray,
    speed: FloatArray,
    dt: float,
    gravity: float,
    navigating: bool,
    variances: FloatArray,
) -> None:
    """One step with a rotation and a speed increment (body axes, biases taken off).

    `variances` are the densities of gyroscope, accelerometer and the two bias walks.
    """
    F = np.eye(15)
    block = np.empty((3, 3))
    _rodrigues(-angle[0], -angle[1], -angle[2], block)
    F[6:9, 6:9] = block
    for i in range(3):
        F[6 + i, 9 + i] = -dt
    if navigating:
        # Half the turn during the step: the mean attitude carries the speed increment.
        _rodrigues(0.5 * angle[0], 0.5 * angle[1], 0.5 * angle[2], block)
        mean = R @ block
        for i in range(3):
            gain = mean[i, 0] * speed[0] + mean[i, 1] * speed[1] + mean[i, 2] * speed[2]
            if i == 2:
                gain -= gravity * dt
            x[i] += dt * (x[3 + i] + 0.5 * gain)
            x[3 + i] += gain
            F[i, 3 + i] = dt
            # -R [speed]x and -R dt
            F[3 + i, 6] = -(R[i, 1] * speed[2] - R[i, 2] * speed[1])
            F[3 + i, 7] = -(R[i, 2] * speed[0] - R[i, 0] * speed[2])
            F[3 + i, 8] = -(R[i, 0] * speed[1] - R[i, 1] * speed[0])
            for j in range(3):
                F[3 + i, 12 + j] = -dt * R[i, j]
    _sandwich(F, P)
    for i in range(3):
        if navigating:
            P[3 + i, 3 + i] += variances[1] * dt
        P[6 + i, 6 + i] += variances[0] * dt
        P[9 + i, 9 + i] += variances[2] * dt
        P[12 + i, 12 + i] += variances[3] * dt
    turn_body(x, R, angle[0], angle[1], angle[2])


@njit(cache=True, nogil=True)
def complete_trapezoid(
    x: FloatArray,
    R: FloatArray,
    P: FloatArray,
    before: FloatArray,
    now: FloatArray,
    done: FloatArray,
    dt: float,
    step: float,
    gravity: float,
    navigating: bool,
    variances: FloatArray,
) -> None:
    """From the IMU sample `before` (rate, force) to `now`, `dt` later, of which all but `step`
    has been integrated already (`done`: angle, speed).
    """
    increment = np.empty(6)
    for i in range(6):
        increment[i] = dt * (0.5 * (before[i] + now[i]) - x[10 + i]) - done[i]
    propagate(x, R, P, increment[:3], increment[3:], step, gravity, navigating, variances)


@njit(cache=True, nogil=True)
def _sandwich(F: FloatArray, P: FloatArray) -> None:
    """P <- F P F^T, symmetric to the last bit; zeros of F are skipped."""
    n = P.shape[0]
    half = np.zeros((n, n))
    for i in range(n):
        for k in range(n):
            f = F[i, k]
            if f != 0.0:
                for j in range(n):
                    half[i, j] += f * P[k, j]
    for i in range(n):
        for j in range(i, n):
            total = 0.0
            for k in range(n):
                total += half[i, k] * F[j, k]
            P[i, j] = total
            P[j, i] = total


@njit(cache=True, nogil=True)
def correct(
    x: FloatArray,
    R: FloatArray,
    P: FloatArray,
    residual: FloatArray,
    H: FloatArray,
    noise: FloatArray,
    threshold: float,
    S: FloatArray,
    whitened: FloatArray,
) -> float:
    """Kalman update if the normalised innovation squared (returned) is within `threshold`.

    S receives the innovation covariance, `whitened` the innovation in its own units.
    """
    m, n = H.shape
    PH = P @ H.T
    S[:, :] = H @ PH + noise
    L = np.linalg.cholesky(0.5 * (S + S.T))
    # Forward substitution of residual and of H: both in units of the innovation.
    V = np.empty((m, n))
    for i in range(m):
        value = residual[i]
        for k in range(i):
            value -= L[i, k] * whitened[k]
        whitened[i] = value / L[i, i]
        for j in range(n):
            entry = PH[j, i]
            for k in range(i):
                entry -= L[i, k] * V[k, j]
            V[i, j] = entry / L[i, i]
    nis = 0.0
    for i in range(m):
        nis += whitened[i] ** 2
    if not nis <= threshold:
        return nis
    # K residual = P H^T S^-1 residual = V^T whitened; K = V^T L^-1.
    K = np.linalg.solve(L.T, V).T
    A = np.eye(n) - K @ H
    _sandwich(A, P)
    # Joseph form keeps the covariance positive for ill-scaled measurements.
    P += K @ noise @ K.T
    error = V.T @ whitened
    for i in range(6):
        x[i] += error[i]
    for i in range(6):
        x[10 + i] += error[9 + i]
    turn_body(x, R, error[6], error[7], error[8])
    return nis
