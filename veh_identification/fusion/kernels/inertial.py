"""Compiled steps of the inertial filter: such small products are not worth numpy's call costs.

All of the filter stands in one array, so that a call hands over one: the state x, the rotation
matrix R, the covariance P, the last IMU sample, what has been integrated since and a sum of
specific forces (`parts`, `inertial_parts`).
The state x holds position (0:3), velocity (3:6), quaternion x y z w (6:10), gyroscope bias
(10:13), accelerometer bias (13:16) and the calibration of the sensors (16:25, see
`fusion.inertial`); R is the rotation matrix of the quaternion; P is the covariance of the 24
errors (position, velocity, body rotation, both biases, calibration): error i >= 9 belongs to
x[i + 1]. All are changed in place.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from veh_identification.fusion.kernels.covariance import sandwich
from veh_identification.signals.causal import ring_slot
from veh_identification.types import Array

#: Errors, of which the last are those of the calibration.
ERRORS, CALIBRATED = 24, 9
#: Those errors: see `fusion.inertial`.
MOUNT_YAW, SIDE_SLIP, WHEEL_SCALE, WHEEL_SLIP, WHEEL_DELAY = 15, 16, 17, 18, 19
FIX_DELAY, VELOCITY_DELAY, ANTENNA_Y, ANTENNA_X = 20, 21, 22, 23
_STATE = ERRORS + 1
_ROTATION = _STATE + 9
_COVARIANCE = _ROTATION + ERRORS * ERRORS
MEMORY_SIZE = _COVARIANCE + 15
#: Places in the array of noise densities: gyroscope, accelerometer, their walks, calibration.
GYRO, ACCEL, GYRO_WALK, ACCEL_WALK, CALIBRATION_WALK = 0, 3, 6, 7, 8
VARIANCES = 8 + CALIBRATED


@njit(nogil=True)
def parts(memory: Array) -> tuple[Array, Array, Array]:
    """Views of state, rotation matrix and covariance."""
    return (
        memory[:_STATE],
        memory[_STATE:_ROTATION].reshape(3, 3),
        memory[_ROTATION:_COVARIANCE].reshape(ERRORS, ERRORS),
    )


@njit(nogil=True)
def inertial_parts(memory: Array) -> tuple[Array, Array, Array]:
    """Views of the last IMU sample, what was integrated since, and the sum of forces."""
    end = _COVARIANCE
    return memory[end : end + 6], memory[end + 6 : end + 12], memory[end + 12 : end + 15]


@njit(cache=True, nogil=True)
def set_matrix(x: Array, R: Array) -> None:
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
def turn_body(x: Array, R: Array, ax: float, ay: float, az: float) -> None:
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
def _rodrigues(ax: float, ay: float, az: float, M: Array) -> None:
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
def carry_covariance(P: Array, R: Array, change: Array, turn: Array) -> None:
    """Carry the covariance over to a corrected state, of which velocities have changed by `change`
    and the attitude, R before, by the rotation vector `turn` (body axes).

    What nothing measures must stay so: to turn the whole motion about the vertical moves the
    velocity by the cross product with itself, so that the direction of this error in the state
    moves with every correction. Left as it is, the next measurement sees a part of it, and the
    filter becomes certain of headings, and of the biases behind them, that it cannot know. In
    errors that are turned with the motion (v - turn x v; those of the right-invariant filter) the
    covariance stays the same.
    """
    M = np.eye(ERRORS)
    block = np.empty((3, 3))
    _rodrigues(-turn[0], -turn[1], -turn[2], block)
    M[6:9, 6:9] = block
    for j in range(3):  # -[change]x R
        M[3, 6 + j] = change[2] * R[1, j] - change[1] * R[2, j]
        M[4, 6 + j] = change[0] * R[2, j] - change[2] * R[0, j]
        M[5, 6 + j] = change[1] * R[0, j] - change[0] * R[1, j]
    sandwich(M, P)


@njit(cache=True, nogil=True)
def propagate(
    x: Array,
    R: Array,
    P: Array,
    angle: Array,
    speed: Array,
    dt: float,
    gravity: float,
    navigating: bool,
    variances: Array,
) -> None:
    """One step with a rotation and a speed increment (body axes, biases taken off).

    `variances`: densities of the noise, see GYRO and its neighbours.
    """
    F = np.eye(ERRORS)
    block = np.empty((3, 3))
    _rodrigues(-angle[0], -angle[1], -angle[2], block)
    F[6:9, 6:9] = block
    for i in range(3):
        F[6 + i, 9 + i] = -dt
    if navigating:
        # Half the turn during the step: the mean attitude carries the speed increment.
        _rodrigues(0.5 * angle[0], 0.5 * angle[1], 0.5 * angle[2], block)
        turned = np.empty(3)
        for i in range(3):
            turned[i] = block[i, 0] * speed[0] + block[i, 1] * speed[1] + block[i, 2] * speed[2]
        for i in range(3):
            gain = R[i, 0] * turned[0] + R[i, 1] * turned[1] + R[i, 2] * turned[2]
            if i == 2:
                gain -= gravity * dt
            x[i] += dt * (x[3 + i] + 0.5 * gain)
            x[3 + i] += gain
            F[i, 3 + i] = dt
            # -R [turned]x and -R dt
            F[3 + i, 6] = -(R[i, 1] * turned[2] - R[i, 2] * turned[1])
            F[3 + i, 7] = -(R[i, 2] * turned[0] - R[i, 0] * turned[2])
            F[3 + i, 8] = -(R[i, 0] * turned[1] - R[i, 1] * turned[0])
            for j in range(3):
                F[3 + i, 12 + j] = -dt * R[i, j]
    sandwich(F, P)
    for i in range(3):
        if navigating:
            for j in range(i + 1):
                noise = 0.0
                for k in range(3):
                    noise += R[i, k] * variances[ACCEL + k] * R[j, k]
                P[3 + i, 3 + j] += noise * dt
                P[3 + j, 3 + i] = P[3 + i, 3 + j]
        P[6 + i, 6 + i] += variances[GYRO + i] * dt
        P[9 + i, 9 + i] += variances[GYRO_WALK] * dt
        P[12 + i, 12 + i] += variances[ACCEL_WALK] * dt
    for i in range(CALIBRATED):
        P[15 + i, 15 + i] += variances[CALIBRATION_WALK + i] * dt
    turn_body(x, R, angle[0], angle[1], angle[2])


@njit(cache=True, nogil=True)
def complete_trapezoid(
    x: Array,
    R: Array,
    P: Array,
    before: Array,
    now: Array,
    done: Array,
    dt: float,
    step: float,
    gravity: float,
    navigating: bool,
    variances: Array,
) -> None:
    """From the IMU sample `before` (rate, force) to `now`, `dt` later, of which all but `step`
    has been integrated already (`done`: angle, speed).
    """
    increment = np.empty(6)
    for i in range(6):
        increment[i] = dt * (0.5 * (before[i] + now[i]) - x[10 + i]) - done[i]
    propagate(x, R, P, increment[:3], increment[3:], step, gravity, navigating, variances)


@njit(cache=True, nogil=True)
def imu_step(
    memory: Array,
    now: Array,
    dt: float,
    step: float,
    gravity: float,
    navigating: bool,
    variances: Array,
) -> None:
    """`complete_trapezoid`, then `now` becomes the sample before and its force is summed."""
    x, R, P = parts(memory)
    before, done, force_sum = inertial_parts(memory)
    complete_trapezoid(x, R, P, before, now, done, dt, step, gravity, navigating, variances)
    for i in range(6):
        before[i] = now[i]
        done[i] = 0.0
    for i in range(3):
        force_sum[i] += now[3 + i]


@njit(cache=True, nogil=True)
def imu_sample(
    memory: Array,
    times: Array,
    values: Array,
    ring: NDArray[np.int64],
    keep: float,
    time: float,
    sample: tuple[float, ...],
    dt: float,
    step: float,
    gravity: float,
    navigating: bool,
    variances: Array,
) -> bool:
    """An IMU sample into a ring buffer (see `signals.causal`) and into the filter; False, with
    nothing done, when the buffer must grow first.
    """
    index = ring_slot(times, ring, time, keep)
    if index < 0:
        return False
    now = values[index]
    for i in range(6):
        now[i] = sample[i]
    imu_step(memory, now, dt, step, gravity, navigating, variances)
    return True


@njit(cache=True, nogil=True)
def hold(
    memory: Array,
    dt: float,
    gravity: float,
    navigating: bool,
    variances: Array,
) -> None:
    """Integrate the last IMU sample for `dt` and remember what was integrated."""
    x, R, P = parts(memory)
    sample, done, _ = inertial_parts(memory)
    increment = np.empty(6)
    for i in range(6):
        increment[i] = dt * (sample[i] - x[10 + i])
        done[i] += increment[i]
    propagate(x, R, P, increment[:3], increment[3:], dt, gravity, navigating, variances)
