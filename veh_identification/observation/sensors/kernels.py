"""Sensor equations on a body's frame [origin, e1, e2, e3] and their analytic derivatives.

`f` (3, 12) holds the frame, its rate and its acceleration, `D` (3, 12, nz) their derivatives
A R, A R', A R''. For the motion q(z(t)):
    d q / dz  = R,      d q'/dz = R',   d q'/dz' = R,
    d q''/dz = R'',     d q''/dz' = 2 R',   d q''/dz'' = R.
`w` = (1, x, y, z) places a point in the body: r = sum_i w_i frame_i (equation 84).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from veh_identification.types import Array

#: Sensors that `read_sensor` knows; the others are read `BY_THEMSELVES`, by their `linearise`.
BY_THEMSELVES, GYROSCOPE, ACCELEROMETER, COORDINATE, COORDINATE_RATE, POSITION, VELOCITY = range(7)
EXACT = 1e-6  # an age that is none [s]
MOST_INTEGERS, MOST_REALS = 4, 24


class Packed(NamedTuple):
    """A sensor as the numbers that its kernel takes; see `read_sensor`."""

    kind: int
    integers: tuple[int, ...]
    reals: tuple[float, ...]


@njit(cache=True, nogil=True)
def point(values: Array, w: Array, axis: int) -> float:
    """One component of a body point from 12 frame numbers."""
    return (
        w[0] * values[axis]
        + w[1] * values[3 + axis]
        + w[2] * values[6 + axis]
        + w[3] * values[9 + axis]
    )


@njit(cache=True, nogil=True)
def point_row(D: Array, w: Array, axis: int, factor: float, out: Array) -> None:
    """out += factor d(point)/dz for one derivative level D (12, nz)."""
    for i in range(4):
        weight = factor * w[i]
        if weight != 0.0:
            for j in range(out.size):
                out[j] += weight * D[3 * i + axis, j]


@njit(cache=True, nogil=True)
def position_rows(f: Array, D: Array, w: Array, value: Array, z: Array) -> None:
    """Point position (84)."""
    for axis in range(value.size):
        value[axis] = point(f[0], w, axis)
        z[axis, :] = 0.0
        point_row(D[0], w, axis, 1.0, z[axis])


@njit(cache=True, nogil=True)
def velocity_rows(f: Array, D: Array, w: Array, value: Array, z: Array, zd: Array) -> None:
    """Point velocity (90)-(94), including its dependence on z through R'."""
    for axis in range(value.size):
        value[axis] = point(f[1], w, axis)
        z[axis, :] = 0.0
        zd[axis, :] = 0.0
        point_row(D[1], w, axis, 1.0, z[axis])
        point_row(D[0], w, axis, 1.0, zd[axis])


@njit(cache=True, nogil=True)
def antenna_position(
    f: Array,
    D: Array,
    w: Array,
    drifts: int,
    late: bool,
    arm: int,
    age: float,
    parameters: Array,
    value: Array,
    z: Array,
    zd: Array,
    own: Array,
) -> None:
    """Position of an antenna `age` ago, see `GpsPosition`.

    Of its own states the first `drifts` are slow errors, the next one is a delay if `late`, and
    from `arm` on (negative: none) stand two errors of its place.
    """
    position_rows(f, D, w, value, z)
    own[:, :] = 0.0
    for k in range(drifts):
        value[k] += parameters[k]
        own[k, k] = 1.0
    if arm >= 0:
        for axis in range(value.size):
            for k in range(2):
                along = f[0, 3 + 3 * k + axis]
                value[axis] += parameters[arm + k] * along
                own[axis, arm + k] = along
    if late:
        age += parameters[drifts]
    zd[:, :] = 0.0
    if late or abs(age) > EXACT:
        for axis in range(value.size):
            velocity = point(f[1], w, axis)
            value[axis] -= age * velocity
            for j in range(z.shape[1]):
                zd[axis, j] = -age * z[axis, j]
            if late:
                own[axis, drifts] = -velocity


@njit(cache=True, nogil=True)
def antenna_velocity(
    f: Array,
    D: Array,
    w: Array,
    late: bool,
    age: float,
    parameters: Array,
    value: Array,
    z: Array,
    zd: Array,
    own: Array,
) -> None:
    """Velocity of an antenna `age` ago, see `GpsVelocity`."""
    velocity_rows(f, D, w, value, z, zd)
    if late:
        age += parameters[0]
    if late or abs(age) > EXACT:
        for axis in range(value.size):
            acceleration = point(f[2], w, axis)
            value[axis] -= age * acceleration
            if late:
                own[axis, 0] = -acceleration


@njit(cache=True, nogil=True)
def gyroscope_rows(
    f: Array, D: Array, mounting: Array, axes: NDArray[np.int64], value: Array, z: Array, zd: Array
) -> None:
    """Angular rates in sensor axes (104)-(109): T^T [e3.e2', e1.e3', e2.e1']."""
    nz = z.shape[1]
    rates = np.zeros(3)
    local_z, local_zd = np.zeros((3, nz)), np.zeros((3, nz))
    for k in range(3):
        first, second = (9, 6) if k == 0 else ((3, 9) if k == 1 else (6, 3))
        for axis in range(3):
            a, b = first + axis, second + axis
            rates[k] += f[0, a] * f[1, b]
            for j in range(nz):
                local_z[k, j] += f[1, b] * D[0, a, j] + f[0, a] * D[1, b, j]
                local_zd[k, j] += f[0, a] * D[0, b, j]
    for i in range(axes.size):
        value[i] = 0.0
        z[i, :] = 0.0
        zd[i, :] = 0.0
        for k in range(3):
            T = mounting[k, axes[i]]
            value[i] += T * rates[k]
            for j in range(nz):
                z[i, j] += T * local_z[k, j]
                zd[i, j] += T * local_zd[k, j]


@njit(cache=True, nogil=True)
def add_leaks(parameters: Array, value: Array, own: Array) -> None:
    """What the rates of a gyroscope of three axes show of the rate about z beside it: those about
    x and y by a mounting askew, that about z by its scale.
    """
    rate = value[2]
    for i in range(parameters.size - 3):
        value[i] += parameters[3 + i] * rate
        own[i, 3 + i] = rate


@njit(cache=True, nogil=True)
def accelerometer_rows(
    f: Array,
    D: Array,
    w: Array,
    gravity: Array,
    mounting: Array,
    axes: NDArray[np.int64],
    full: bool,
    value: Array,
    z: Array,
    zd: Array,
    zdd: Array,
) -> None:
    """Specific force in sensor axes (110)-(118).

    `full` adds what the thesis leaves out: the dependence of the acceleration itself on z, z'
    and z''; without it only the orientation terms of (116) remain.
    """
    nz = z.shape[1]
    total = np.empty(3)
    for axis in range(3):
        total[axis] = point(f[2], w, axis) - gravity[axis]
    rows = np.zeros((3, 3, nz))
    if full:
        for axis in range(3):
            point_row(D[2], w, axis, 1.0, rows[0, axis])
            point_row(D[1], w, axis, 2.0, rows[1, axis])
            point_row(D[0], w, axis, 1.0, rows[2, axis])
    for i in range(axes.size):
        value[i] = 0.0
        z[i, :] = 0.0
        zd[i, :] = 0.0
        zdd[i, :] = 0.0
        for k in range(3):
            T = mounting[k, axes[i]]
            for axis in range(3):
                e = T * f[0, 3 * (k + 1) + axis]
                value[i] += e * total[axis]
                for j in range(nz):
                    z[i, j] += T * total[axis] * D[0, 3 * (k + 1) + axis, j] + e * rows[0, axis, j]
                    zd[i, j] += e * rows[1, axis, j]
                    zdd[i, j] += e * rows[2, axis, j]


@njit(cache=True, nogil=True)
def add_turn(parameters: Array, value: Array, own: Array) -> None:
    """What an accelerometer of three axes shows that is mounted turned about z."""
    along, across, turn = value[0], value[1], parameters[3]
    value[0] += turn * across
    value[1] -= turn * along
    own[:, 3] = 0.0
    own[0, 3], own[1, 3] = across, -along


@njit(cache=True, nogil=True)
def _add_biases(parameters: Array, value: Array, own: Array) -> None:
    """A bias for every axis, or none at all."""
    count = min(parameters.size, value.size)
    for i in range(count):
        value[i] += parameters[i]
        for j in range(count):
            own[i, j] = 1.0 if i == j else 0.0


@njit(cache=True, nogil=True)
def read_sensor(
    kind: int,
    integers: NDArray[np.int64],
    reals: Array,
    f: Array,
    D: Array,
    q: Array,
    qd: Array,
    parameters: Array,
    age: float,
    value: Array,
    z: Array,
    zd: Array,
    zdd: Array,
    own: Array,
    variance: Array,
) -> None:
    """`linearise` of a sensor by its kind.

    Numbers of gyroscopes and accelerometers: axes, and for the latter whether its Jacobian is
    complete; variances (3), mounting (9), place (4) and gravity (3). Of antennas: drifts, late and
    arm as above; variances (3) and place (4) as before. Of coordinates: which, and its column
    among those observed, which it is one of; variance, and what a counter misses.
    """
    size = value.size
    if kind in (POSITION, VELOCITY):
        late = integers[1] == 1
        if kind == VELOCITY:
            antenna_velocity(f, D, reals[12:16], late, age, parameters, value, z, zd, own)
        else:
            antenna_position(
                f,
                D,
                reals[12:16],
                integers[0],
                late,
                integers[2],
                age,
                parameters,
                value,
                z,
                zd,
                own,
            )
        variance[:] = reals[:size]
        return
    if kind in (GYROSCOPE, ACCELEROMETER):
        axes, mounting = integers[:size], reals[3:12].reshape((3, 3))
        if kind == GYROSCOPE:
            gyroscope_rows(f, D, mounting, axes, value, z, zd)
            if parameters.size > size:
                add_leaks(parameters, value, own)
        else:
            accelerometer_rows(
                f,
                D,
                reals[12:16],
                reals[16:19],
                mounting,
                axes,
                integers[3] == 1,
                value,
                z,
                zd,
                zdd,
            )
            if parameters.size > size:
                add_turn(parameters, value, own)
        _add_biases(parameters, value, own)
        variance[:] = reals[:size]
    else:
        place = z if kind == COORDINATE else zd
        value[0] = (q if kind == COORDINATE else qd)[integers[0]] - reals[1]
        place[0, :] = 0.0
        place[0, integers[1]] = 1.0
        variance[0] = reals[0]
