"""Compiled steps towards an output: the filter's state at an instant, the base link's motion.

A snapshot row holds position (0:3), velocity (3:6), quaternion (6:10), gyroscope bias (10:13),
accelerometer bias (13:16), the standard deviations of position, tilt and heading (16:19), 1
while navigating, else 0 (19), and the covariances (6 x 6 each) of the base link's pose (position
and rotation about the axes of the world, 20:56) and twist (base-link axes, 56:92), and the yaw
by which the IMU is mounted otherwise than given (92). The quaternion is that of the base link,
without that yaw.
A motion row holds position (0:3) and quaternion (3:7) of the base link in the world; velocity
(7:10), rate (10:13), acceleration (13:16), angular acceleration (16:19) and gravity (19:22) in
base-link axes.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from veh_identification import orientations
from veh_identification.fusion.kernels.inertial import (
    ANTENNA_Y,
    ERRORS,
    MOUNT_YAW,
    inertial_parts,
    parts,
)
from veh_identification.types import Array

SNAPSHOT_SIZE, MOTION_SIZE = 93, 22

# The same source as everywhere else in the fusion, compiled.
multiply = njit(nogil=True)(orientations.multiply)
_normalise = njit(nogil=True)(orientations.normalise)
rotate = njit(nogil=True)(orientations.rotate)


@njit(cache=True, nogil=True)
def take_snapshot(
    memory: Array,
    dt: float,
    held: bool,
    navigating: bool,
    gravity: float,
    row: Array,
) -> None:
    """The filter's state `dt` later without changing it; `held`: by the last IMU sample."""
    x, R, P = parts(memory)
    sample, _, _ = inertial_parts(memory)
    for i in range(16):
        row[i] = x[i]
    q = (x[6], x[7], x[8], x[9])
    if dt > 0.0:
        if navigating:
            for i in range(3):
                accel = 0.0
                if held:
                    for j in range(3):
                        accel += R[i, j] * (sample[3 + j] - x[13 + j])
                    if i == 2:
                        accel -= gravity
                row[i] = x[i] + dt * (x[3 + i] + 0.5 * dt * accel)
                row[3 + i] = x[3 + i] + dt * accel
        if held:
            ax = dt * (sample[0] - x[10])
            ay = dt * (sample[1] - x[11])
            az = dt * (sample[2] - x[12])
            q = multiply(q, _from_rotation_vector(ax, ay, az))
    mount = x[MOUNT_YAW + 1]
    q = _normalise(multiply(q, (0.0, 0.0, -np.sin(0.5 * mount), np.cos(0.5 * mount))))
    for i in range(4):
        row[6 + i] = q[i]
    row[92] = mount
    heading = 0.0
    trace = 0.0
    for i in range(3):
        trace += P[6 + i, 6 + i]
        for j in range(3):
            heading += R[2, i] * P[6 + i, 6 + j] * R[2, j]
    row[16] = np.sqrt(max(P[0, 0], P[1, 1], 0.0))
    row[17] = np.sqrt(max(0.0, trace - heading))
    row[18] = np.sqrt(max(heading, 0.0))
    row[19] = 1.0 if navigating else 0.0


@njit(cache=True, nogil=True)
def take_covariances(
    memory: Array,
    point: Array,
    rate_noise: float,
    roll: float,
    pitch: float,
    height: float,
    row: Array,
) -> None:
    """Covariances of pose and twist of the base link into a snapshot row.

    `point`: the IMU in the base link; `rate_noise`: variance of the rates beside their biases.
    `roll`, `pitch` [rad] and `height` [m]: deviations of how IMU and antenna are said to be
    mounted. Nothing shows these, but where yaw and place, which are estimated, are off by more,
    they are taken to be as bad.
    """
    x, R, P = parts(memory)
    seen = x[MOUNT_YAW + 1] ** 2
    rolled = max(roll**2, seen) if roll > 0.0 else 0.0
    pitched = max(pitch**2, seen) if pitch > 0.0 else 0.0
    seen = x[ANTENNA_Y + 1] ** 2
    lifted = max(height**2, seen) if height > 0.0 else 0.0
    J = np.zeros((6, ERRORS))
    for i in range(3):
        J[i, i] = 1.0
        for c in range(3):
            a, b = (c + 1) % 3, (c + 2) % 3
            # Column c of R [l]x is R (l x e_c).
            J[i, 6 + c] = R[i, a] * point[b] - R[i, b] * point[a]
            J[3 + i, 6 + c] = R[i, c]
        J[3 + i, MOUNT_YAW] = -R[i, 2]
    pose = row[20:56].reshape(6, 6)
    _fill(J, P, pose)
    turned = roll**2 if P[MOUNT_YAW, MOUNT_YAW] == 0.0 else 0.0  # no state: nobody can tell
    for i in range(3):
        for j in range(3):
            up = R[i, 2] * R[j, 2]
            pose[i, j] += lifted * up
            pose[3 + i, 3 + j] += (
                rolled * R[i, 0] * R[j, 0] + pitched * R[i, 1] * R[j, 1] + turned * up
            )
    J[:, :] = 0.0
    for i in range(3):
        a, b = (i + 1) % 3, (i + 2) % 3
        for c in range(3):
            J[i, 3 + c] = R[c, i]
        va = R[0, a] * x[3] + R[1, a] * x[4] + R[2, a] * x[5]
        vb = R[0, b] * x[3] + R[1, b] * x[4] + R[2, b] * x[5]
        J[i, 6 + a], J[i, 6 + b] = -vb, va
        J[i, 9 + a], J[i, 9 + b] = point[b], -point[a]
        J[3 + i, 9 + i] = -1.0
    forward = R[0, 0] * x[3] + R[1, 0] * x[4] + R[2, 0] * x[5]
    J[1, MOUNT_YAW] = forward
    twist = row[56:92].reshape(6, 6)
    _fill(J, P, twist)
    twist[2, 2] += pitched * forward**2
    for i in range(3, 6):
        twist[i, i] += rate_noise


@njit(nogil=True)
def _fill(J: Array, P: Array, result: Array) -> None:
    """result = J P J^T; zeros of J are skipped."""
    m, n = J.shape
    half = np.zeros((m, n))
    for i in range(m):
        for k in range(n):
            if J[i, k] != 0.0:
                for j in range(n):
                    half[i, j] += J[i, k] * P[k, j]
    for i in range(m):
        for j in range(i + 1):
            total = 0.0
            for k in range(n):
                total += half[i, k] * J[j, k]
            result[i, j] = total
            result[j, i] = total


@njit(nogil=True)
def _from_rotation_vector(x: float, y: float, z: float) -> tuple[float, float, float, float]:
    angle2 = x * x + y * y + z * z
    if angle2 < 1e-8:
        s = 0.5 - angle2 / 48.0
        return _normalise((s * x, s * y, s * z, 1.0 - angle2 / 8.0))
    angle = np.sqrt(angle2)
    s = np.sin(0.5 * angle) / angle
    return (s * x, s * y, s * z, np.cos(0.5 * angle))


@njit(cache=True, nogil=True)
def base_motion(
    snapshot: Array,
    fit: Array,
    use_fit: bool,
    turn_rate: Array,
    point: Array,
    gravity: float,
    gravity_removed: bool,
    row: Array,
) -> bool:
    """Motion of the base link; returns whether there are accelerations.

    `fit` (3, 6): rate and specific force with two derivatives, in base-link axes, used if
    `use_fit`; otherwise the rate is `turn_rate`. `point`: the IMU in the base link.
    """
    x, y, z, w = snapshot[6], snapshot[7], snapshot[8], snapshot[9]
    R = (
        (1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y)),
        (2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x)),
        (2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y)),
    )
    omega, force = np.empty(3), np.empty(3)
    for i in range(3):
        omega[i] = fit[0, i] - snapshot[10 + i] if use_fit else turn_rate[i]
        force[i] = fit[0, 3 + i] - snapshot[13 + i]
    if use_fit:
        _turn(snapshot[92], omega)
        _turn(snapshot[92], force)
    lever = _cross(omega, point)
    for i in range(3):
        row[i] = snapshot[i] - (R[i][0] * point[0] + R[i][1] * point[1] + R[i][2] * point[2])
        velocity = R[0][i] * snapshot[3] + R[1][i] * snapshot[4] + R[2][i] * snapshot[5]
        row[7 + i] = velocity - lever[i]
        row[10 + i] = omega[i]
        row[13 + i] = 0.0
        row[16 + i] = 0.0
    row[3], row[4], row[5], row[6] = x, y, z, w
    down = rotate((-x, -y, -z, w), (0.0, 0.0, -gravity))
    row[19], row[20], row[21] = down
    if not use_fit or not np.isfinite(fit[1, 0]):
        return False
    up = rotate((-x, -y, -z, w), (0.0, 0.0, gravity))
    turning = _cross(fit[1, :3], point)
    centripetal = _cross(omega, lever)
    for i in range(3):
        here = force[i]
        if not gravity_removed:
            here = here - up[i]
        row[13 + i] = here - turning[i] - centripetal[i]
        row[16 + i] = fit[1, i]
    return True


@njit(nogil=True)
def _cross(a: Array, b: Array) -> Array:
    result = np.empty(3)
    result[0] = a[1] * b[2] - a[2] * b[1]
    result[1] = a[2] * b[0] - a[0] * b[2]
    result[2] = a[0] * b[1] - a[1] * b[0]
    return result


@njit(nogil=True)
def _turn(angle: float, vector: Array) -> None:
    """A vector in the axes of the IMU into those of the base link; the angle is small."""
    x, y = vector[0], vector[1]
    vector[0], vector[1] = x - angle * y, y + angle * x
