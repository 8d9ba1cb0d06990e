"""The compiled regressor: one pass over all samples, equations 7 to 19 of Ayusawa 2008.

Per body the 6 x 10 block of the wrench at the ROOT origin in root axes is formed once; the base
rows take it as it is, a joint row is its projection on the joint's direction, for every joint
between the body and the root.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from veh_identification.multibody.kinematics import (
    AX,
    AY,
    AZ,
    DX,
    DY,
    DZ,
    JOINT,
    LANES,
    OX,
    OY,
    OZ,
    PX,
    PY,
    PZ,
    R00,
    R01,
    R02,
    SX,
    KernelModel,
    directions,
    forward,
    load_root,
    make_state,
    slot,
)
from veh_identification.types import Array, IntArray

# Values of columns.Kind; numba wants plain globals.
STIFFNESS, OFFSET, VISCOUS, COULOMB, MOTOR_INERTIA, COUPLING_SPRING, AERODYNAMIC = range(7)


class Layout(NamedTuple):
    """Where rows and columns go; -1 means not wanted."""

    base_row: int
    joint_row: IntArray
    column: IntArray
    start: IntArray
    extra_kind: IntArray
    extra_first: IntArray
    extra_second: IntArray
    extra_column: IntArray
    extra_smoothing: Array


@njit(cache=True, nogil=True)
def body_block(w: Array, Y: Array) -> None:
    """Wrench of a body at the root per unit of its ten parameters: equation 8 of Ayusawa 2008.

    Y holds 6 rows of 10 columns of LANES numbers. The force rows of the inertia columns stay
    zero, as Y was made.
    """
    for i in range(LANES):
        ox, oy, oz = w[OX + i], w[OY + i], w[OZ + i]
        dx, dy, dz = w[DX + i], w[DY + i], w[DZ + i]
        ax, ay, az = w[AX + i], w[AY + i], w[AZ + i]
        xx, yy, zz, xy, xz, yz = ox * ox, oy * oy, oz * oz, ox * oy, ox * oz, oy * oz
        # K = [omega_dot] + [omega]^2 multiplies the first moments; its entries recur in the
        # inertia columns, which are J omega_dot + omega x (J omega) per unit of each entry of J.
        k01, k02, k12 = xy - dz, xz + dy, yz - dx
        k10, k20, k21 = xy + dz, xz - dy, yz + dx
        for r in range(3):
            r0 = w[R00 + 3 * r * LANES + i]
            r1 = w[R01 + 3 * r * LANES + i]
            r2 = w[R02 + 3 * r * LANES + i]
            force, moment = 10 * r * LANES + i, 10 * (r + 3) * LANES + i
            Y[force] = r0 * ax + r1 * ay + r2 * az
            Y[force + 1 * LANES] = r1 * k10 + r2 * k20 - r0 * (yy + zz)
            Y[force + 2 * LANES] = r0 * k01 + r2 * k21 - r1 * (xx + zz)
            Y[force + 3 * LANES] = r0 * k02 + r1 * k12 - r2 * (xx + yy)
            Y[moment] = 0.0
            Y[moment + 1 * LANES] = r2 * ay - r1 * az
            Y[moment + 2 * LANES] = r0 * az - r2 * ax
            Y[moment + 3 * LANES] = r1 * ax - r0 * ay
            Y[moment + 4 * LANES] = r0 * dx + r1 * xz - r2 * xy
            Y[moment + 5 * LANES] = r1 * k21 - r0 * k20 + r2 * (xx - yy)
            Y[moment + 6 * LANES] = r0 * k10 - r2 * k12 + r1 * (zz - xx)
            Y[moment + 7 * LANES] = r1 * dy + r2 * xy - r0 * yz
            Y[moment + 8 * LANES] = r2 * k02 - r1 * k01 + r0 * (yy - zz)
            Y[moment + 9 * LANES] = r0 * yz - r1 * xz + r2 * dz
        px, py, pz = w[PX + i], w[PY + i], w[PZ + i]
        for c in range(4):
            column = c * LANES + i
            fx, fy, fz = Y[column], Y[column + 10 * LANES], Y[column + 20 * LANES]
            Y[column + 30 * LANES] += py * fz - pz * fy
            Y[column + 40 * LANES] += pz * fx - px * fz
            Y[column + 50 * LANES] += px * fy - py * fx


@njit(cache=True, nogil=True)
def _write_base(layout: Layout, j: int, Y: Array, out: Array, first: int, count: int) -> None:
    start = layout.start[j]
    if start >= 0:
        for lane in range(count):
            for r in range(6):
                for c in range(10):
                    out[first + lane, r, start + c] = Y[(10 * r + c) * LANES + lane]
        return
    for c in range(10):
        column = layout.column[j, c]
        if column >= 0:
            for lane in range(count):
                for r in range(6):
                    out[first + lane, r, column] = Y[(10 * r + c) * LANES + lane]


@njit(cache=True, nogil=True)
def _project(
    w: Array, Y: Array, line: Array, begin: int, end: int, columns: int, row: int
) -> None:
    """Joint row of some columns: their product with the joint's direction in slot w (equation 17).

    Y has `columns` of them in a row; those before `row` hold nothing.
    """
    for c in range(begin, end):
        for i in range(LANES):
            line[c * LANES + i] = 0.0
        for r in range(row, 6):
            for i in range(LANES):
                line[c * LANES + i] += w[SX + r * LANES + i] * Y[(columns * r + c) * LANES + i]


@njit(cache=True, nogil=True)
def _add_joints(
    m: KernelModel,
    layout: Layout,
    state: Array,
    j: int,
    Y: Array,
    line: Array,
    out: Array,
    first: int,
    count: int,
) -> None:
    """Project the block of body j on all joints between it and the root."""
    # Columns that nobody wants (many of a link's, once parameters are regrouped) cost nothing.
    kept, straight = 0, 0
    for c in range(10):
        if layout.column[j, c] >= 0:
            if kept < c:
                for r in range(6):
                    for i in range(LANES):
                        Y[(10 * r + kept) * LANES + i] = Y[(10 * r + c) * LANES + i]
            kept += 1
            if c < 4:
                straight = kept
    ancestor = j
    while ancestor >= 0:
        coordinate = m.coordinate[ancestor]
        if coordinate >= 0:
            row = layout.joint_row[coordinate]
            w = slot(state, ancestor)
            _project(w, Y, line, 0, straight, 10, 0)
            _project(w, Y, line, straight, kept, 10, 3)  # inertia makes no force
            for lane in range(count):
                place = 0
                for c in range(10):
                    column = layout.column[j, c]
                    if column >= 0:
                        out[first + lane, row, column] += line[place * LANES + lane]
                        place += 1
        ancestor = m.parent[ancestor]


@njit(cache=True, nogil=True)
def add_wrench(
    m: KernelModel,
    joint_row: IntArray,
    base_row: int,
    state: Array,
    body: int,
    wrench: Array,
    line: Array,
    target: Array,
) -> None:
    """Project wrenches on `body` (6 x LANES, root origin and axes) on the rows of `target`.

    `target` is (samples, rows) with at most LANES samples.
    """
    if base_row >= 0:
        for lane in range(target.shape[0]):
            for r in range(6):
                target[lane, base_row + r] += wrench[r * LANES + lane]
    ancestor = body
    while ancestor >= 0:
        coordinate = m.coordinate[ancestor]
        if coordinate >= 0 and joint_row[coordinate] >= 0:
            _project(slot(state, ancestor), wrench, line, 0, 1, 1, 0)
            for lane in range(target.shape[0]):
                target[lane, joint_row[coordinate]] += line[lane]
        ancestor = m.parent[ancestor]


@njit(cache=True, nogil=True)
def to_root(w: Array, wrench: Array) -> None:
    """Wrench at a body's origin in its axes, rewritten at the root origin in root axes."""
    for i in range(LANES):
        fx, fy, fz = wrench[i], wrench[LANES + i], wrench[2 * LANES + i]
        nx, ny, nz = wrench[3 * LANES + i], wrench[4 * LANES + i], wrench[5 * LANES + i]
        for r in range(3):
            row = 3 * r * LANES + i
            wrench[r * LANES + i] = w[R00 + row] * fx + w[R01 + row] * fy + w[R02 + row] * fz
            wrench[(r + 3) * LANES + i] = w[R00 + row] * nx + w[R01 + row] * ny + w[R02 + row] * nz
        fx, fy, fz = wrench[i], wrench[LANES + i], wrench[2 * LANES + i]
        px, py, pz = w[PX + i], w[PY + i], w[PZ + i]
        wrench[3 * LANES + i] += py * fz - pz * fy
        wrench[4 * LANES + i] += pz * fx - px * fz
        wrench[5 * LANES + i] += px * fy - py * fx


@njit(cache=True, nogil=True)
def _joint_value(kind: int, smoothing: float, q: float, qd: float, qdd: float) -> float:
    """Equations 5 and 6 per unit parameter."""
    if kind == STIFFNESS:
        return q
    if kind == OFFSET:
        return 1.0
    if kind == VISCOUS:
        return qd
    if kind == MOTOR_INERTIA:
        return qdd
    return np.tanh(qd / smoothing) if smoothing > 0.0 else np.sign(qd)


@njit(cache=True, nogil=True)
def _add_joint_columns(layout: Layout, q: Array, qd: Array, qdd: Array, out: Array) -> None:
    """Springs, friction, offsets, drives and coupling springs of all samples."""
    for e in range(layout.extra_kind.shape[0]):
        kind, column = layout.extra_kind[e], layout.extra_column[e]
        if kind == AERODYNAMIC:
            continue
        i = layout.extra_first[e]
        row = layout.joint_row[i]
        if kind == COUPLING_SPRING:
            o = layout.extra_second[e]
            for s in range(q.shape[0]):
                if row >= 0:
                    out[s, row, column] += q[s, i] - q[s, o]  # (31)
                    out[s, layout.joint_row[o], column] += q[s, o] - q[s, i]
        elif row >= 0:
            for s in range(q.shape[0]):
                out[s, row, column] += _joint_value(
                    kind, layout.extra_smoothing[e], q[s, i], qd[s, i], qdd[s, i]
                )


@njit(cache=True, nogil=True)
def _add_air_columns(
    m: KernelModel,
    layout: Layout,
    state: Array,
    air: Array,
    wrench: Array,
    line: Array,
    out: Array,
    first: int,
) -> None:
    """Equation 32: a unit component at the body's origin in body axes, times the speed squared."""
    for e in range(layout.extra_kind.shape[0]):
        if layout.extra_kind[e] != AERODYNAMIC:
            continue
        body = layout.extra_first[e]
        wrench[:] = 0.0
        for lane in range(out.shape[0]):
            wrench[layout.extra_second[e] * LANES + lane] = air[first + lane]
        to_root(slot(state, body), wrench)
        add_wrench(
            m,
            layout.joint_row,
            layout.base_row,
            state,
            body,
            wrench,
            line,
            out[:, :, layout.extra_column[e]],
        )


@njit(cache=True, nogil=True)
def regressor_kernel(
    m: KernelModel,
    layout: Layout,
    q: Array,
    qd: Array,
    qdd: Array,
    acceleration: Array,
    omega: Array,
    omega_dot: Array,
    air: Array,
    out: Array,
) -> None:
    """Fill out (N, rows, columns) for all samples."""
    bodies, samples = m.parent.shape[0], q.shape[0]
    state, joint = make_state(bodies), np.zeros(JOINT)
    Y, line, wrench = np.zeros(60 * LANES), np.zeros(10 * LANES), np.zeros(6 * LANES)
    has_extras = layout.extra_kind.shape[0] > 0
    has_joints = layout.joint_row[0] >= 0
    for first in range(0, samples, LANES):
        count = min(LANES, samples - first)
        load_root(state, acceleration, omega, omega_dot, first)
        forward(m, state, joint, q, qd, qdd, first)
        if has_joints:
            directions(m, state)
        if has_joints or has_extras:
            # Rows and columns that do not meet in the tree are zero; the others are written.
            out[first : first + count] = 0.0
        for j in range(bodies):
            if layout.start[j] == -1:
                continue
            body_block(slot(state, j), Y)
            if layout.base_row >= 0:
                _write_base(layout, j, Y, out, first, count)
            if has_joints:
                _add_joints(m, layout, state, j, Y, line, out, first, count)
        if has_extras:
            _add_air_columns(
                m, layout, state, air, wrench, line, out[first : first + count], first
            )
    if has_extras:
        _add_joint_columns(layout, q, qd, qdd, out)
