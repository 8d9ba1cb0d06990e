"""Compiled measurement updates of the inertial filter; `inertial_kernels` describes its memory."""

from __future__ import annotations

import numpy as np
from numba import njit

from veh_identification.fusion.kernels.covariance import innovation, reduce_covariance
from veh_identification.fusion.kernels.inertial import (
    CALIBRATED,
    ERRORS,
    WHEEL_DELAY,
    WHEEL_SCALE,
    WHEEL_SLIP,
    carry_covariance,
    inertial_parts,
    parts,
    turn_body,
)
from veh_identification.types import Array

#: Calibration beyond these is none: mounting, cornering compliance, scale, slip, delays, place.
LARGEST = (0.3, 0.03, 0.3, 0.03, 0.4, 0.6, 0.6, 1.0, 1.0)


@njit(cache=True, nogil=True)
def innovate(memory: Array, residual: Array, H: Array, noise: Array, whitened: Array) -> float:
    """Normalised innovation squared; `whitened` receives the innovation in units of its standard
    deviations. Nothing is changed.
    """
    _, _, P = parts(memory)
    m, n = H.shape
    return innovation(P, residual, H, noise, np.empty((m, m)), np.empty((m, n)), whitened)


@njit(cache=True, nogil=True)
def correct(
    memory: Array,
    residual: Array,
    H: Array,
    noise: Array,
    threshold: float,
    estimated: int,
    whitened: Array,
) -> float:
    """Kalman update if the normalised innovation squared (returned) is within `threshold`.

    Errors from `estimated` on are considered, not estimated. `whitened` receives the innovation
    in units of its standard deviations.
    """
    x, R, P = parts(memory)
    m, n = H.shape
    L, V = np.empty((m, m)), np.empty((m, n))
    nis = innovation(P, residual, H, noise, L, V, whitened)
    if not (nis <= threshold and nis < np.inf):
        return nis
    K = np.empty((m, n))
    reduce_covariance(P, H, noise, L, V, estimated, K)
    error = np.zeros(n)
    for k in range(m):
        for i in range(n):
            error[i] += K[k, i] * residual[k]
    for i in range(6):
        x[i] += error[i]
    for i in range(9, n):
        x[1 + i] += error[i]
    for i in range(CALIBRATED):
        limit = LARGEST[i]
        x[16 + i] = min(max(x[16 + i], -limit), limit)
    carry_covariance(P, R, error[3:6], error[6:9])
    turn_body(x, R, error[6], error[7], error[8])
    return nis


@njit(cache=True, nogil=True)
def is_sane(memory: Array, fastest: float, furthest: float) -> bool:
    """Whether state and covariance are numbers that can be."""
    x, _, P = parts(memory)
    total = 0.0
    for i in range(x.shape[0]):
        total += x[i]
    for i in range(ERRORS):
        for j in range(ERRORS):
            total += P[i, j]
        if P[i, i] < 0.0:
            return False
    if not np.isfinite(total):
        return False
    speed2, way2 = 0.0, 0.0
    for i in range(3):
        speed2 += x[3 + i] ** 2
        way2 += x[i] ** 2
    return speed2 <= fastest**2 and way2 <= furthest**2


@njit(cache=True, nogil=True)
def wheel_model(
    memory: Array, direction: Array, lever: Array, acceleration: float, H: Array
) -> float:
    """Speed that wheels show along `direction` at a point, with scale, slip and delay; fills H.

    (1 + s + k a) u - a tau with u = d . (R^T v + w x l), a the acceleration along d. The column
    of the gyroscope's bias stays zero: radii that differ must not turn into a turn rate.
    """
    x, R, _ = parts(memory)
    sample, _, _ = inertial_parts(memory)
    H[:, :] = 0.0
    body = np.empty(3)
    u = 0.0
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        body[i] = R[0, i] * x[3] + R[1, i] * x[4] + R[2, i] * x[5]
        rates = (sample[j] - x[10 + j]) * lever[k] - (sample[k] - x[10 + k]) * lever[j]
        u += direction[i] * (body[i] + rates)
    gain = 1.0 + x[WHEEL_SCALE + 1] + x[WHEEL_SLIP + 1] * acceleration
    for c in range(3):
        j, k = (c + 1) % 3, (c + 2) % 3
        H[0, 3 + c] = gain * (
            R[c, 0] * direction[0] + R[c, 1] * direction[1] + R[c, 2] * direction[2]
        )
        # d . (body x theta) = theta . (d x body)
        H[0, 6 + c] = gain * (direction[j] * body[k] - direction[k] * body[j])
    H[0, WHEEL_SCALE] = u
    H[0, WHEEL_SLIP] = acceleration * u
    H[0, WHEEL_DELAY] = -acceleration
    return gain * u - acceleration * x[WHEEL_DELAY + 1]


@njit(cache=True, nogil=True)
def wheel_rows(
    memory: Array,
    wheels: Array,
    acceleration: float,
    begins: Array,
    H: Array,
    residuals: Array,
    whitened: Array,
) -> None:
    """Residuals of wheels over an interval, their rows (N, errors) and whitened innovations.

    `wheels` (N, 6): steering angle, place (x, y, z) relative to the IMU, speed, variance. Speeds
    are means over the interval, so its ends are averaged: `begins` holds what was predicted at
    its begin (nan: unknown) and receives the prediction at its end.
    """
    _, _, P = parts(memory)
    direction = np.zeros(3)
    for w in range(wheels.shape[0]):
        direction[0], direction[1] = np.cos(wheels[w, 0]), np.sin(wheels[w, 0])
        row = H[w : w + 1]
        end = wheel_model(memory, direction, wheels[w, 1:4], acceleration, row)
        mean = end if np.isnan(begins[w]) else 0.5 * (begins[w] + end)
        begins[w] = end
        residuals[w] = wheels[w, 4] - mean
        variance = wheels[w, 5]
        for i in range(ERRORS):
            if row[0, i] != 0.0:
                for j in range(ERRORS):
                    variance += row[0, i] * P[i, j] * row[0, j]
        whitened[w] = residuals[w] / np.sqrt(variance) if variance > 0.0 else np.inf


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
    sample, _, _ = inertial_parts(memory)
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
