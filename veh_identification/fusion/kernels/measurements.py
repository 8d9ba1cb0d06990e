"""Compiled measurement updates of the inertial filter; `inertial_kernels` describes its memory."""

from __future__ import annotations

import numpy as np
from numba import njit

from veh_identification.fusion.kernels.covariance import innovation, reduce_covariance
from veh_identification.fusion.kernels.inertial import parts, turn_body
from veh_identification.types import Array


@njit(cache=True, nogil=True)
def correct(
    memory: Array,
    residual: Array,
    H: Array,
    noise: Array,
    threshold: float,
    whitened: Array,
) -> float:
    """Kalman update if the normalised innovation squared (returned) is within `threshold`.

    `whitened` receives the innovation in units of its standard deviations.
    """
    x, R, P = parts(memory)
    m, n = H.shape
    L, V = np.empty((m, m)), np.empty((m, n))
    nis = innovation(P, residual, H, noise, L, V, whitened)
    if not nis <= threshold:
        return nis
    reduce_covariance(P, H, noise, L, V)
    # K residual = P H^T S^-1 residual = V^T whitened.
    error = np.zeros(n)
    for k in range(m):
        for i in range(n):
            error[i] += V[k, i] * whitened[k]
    for i in range(6):
        x[i] += error[i]
    for i in range(6):
        x[10 + i] += error[9 + i]
    turn_body(x, R, error[6], error[7], error[8])
    return nis


@njit(cache=True, nogil=True)
def body_velocity_model(
    memory: Array,
    measured: Array,
    lever: Array,
    residual: Array,
    H: Array,
) -> None:
    """Residual and Jacobian of the velocity of a point in body axes: R^T v + w x l."""
    x, R, _ = parts(memory)
    sample = memory[250:256]
    H[:, :] = 0.0
    body = np.empty(3)
    rate = np.empty(3)
    for i in range(3):
        body[i] = R[0, i] * x[3] + R[1, i] * x[4] + R[2, i] * x[5]
        rate[i] = sample[i] - x[10 + i]
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        residual[i] = measured[i] - body[i] - (rate[j] * lever[k] - rate[k] * lever[j])
        for c in range(3):
            H[i, 3 + c] = R[c, i]
        # Columns of the rotation: [body]x; of the gyroscope bias: [l]x.
        H[i, 6 + j], H[i, 6 + k] = -body[k], body[j]
        H[i, 9 + j], H[i, 9 + k] = -lever[k], lever[j]


@njit(cache=True, nogil=True)
def correct_body_velocity(
    memory: Array,
    measured: tuple[float, float, float],
    lever: Array,
    first: int,
    last: int,
    variance: float,
    threshold: float,
    whitened: Array,
) -> float:
    """`correct` with the axes `first` to `last` (exclusive) of `body_velocity_model`."""
    residual, H = np.empty(3), np.empty((3, 15))
    velocity = np.array(measured)
    body_velocity_model(memory, velocity, lever, residual, H)
    noise = variance * np.eye(last - first)
    return correct(memory, residual[first:last], H[first:last], noise, threshold, whitened)
