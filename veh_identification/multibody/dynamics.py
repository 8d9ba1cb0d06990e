"""Inverse dynamics by recursive Newton-Euler, external wrenches and joint forces.

Rows stand for: inertial wrench or joint force needed for the motion, MINUS what external wrenches
supply. So `W X = joint forces + projected external wrenches`, and the six base rows of a floating
tree balance the external wrenches alone (equation 19).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from veh_identification.errors import ModelError
from veh_identification.multibody.columns import ExtraColumn, Kind, extra_name
from veh_identification.multibody.kinematics import (
    AX,
    AY,
    AZ,
    DX,
    DY,
    DZ,
    FX,
    JOINT,
    LANES,
    OX,
    OY,
    OZ,
    SLOT,
    SX,
    KernelModel,
    directions,
    forward,
    kernel_model,
    load_root,
    make_state,
    slot,
)
from veh_identification.multibody.motion import Motion, check_motion
from veh_identification.multibody.regressor_kernel import add_wrench, to_root
from veh_identification.multibody.tree import BASE_ROWS, Frame, TreeModel
from veh_identification.types import Array


@dataclass(frozen=True, eq=False)
class ExternalWrench:
    """What the environment exerts on a body: [force, moment] (N, 6) at and along `frame`.

    Venture 2006 writes f_e for the opposite: what the body exerts on the environment.
    The frame's rotation (3, 3) and translation (3,) may also vary: (N, 3, 3) and (N, 3).
    """

    frame: Frame
    values: Array


def inverse_dynamics(
    model: TreeModel,
    motion: Motion,
    parameters: Array | None = None,
    wrenches: Sequence[ExternalWrench] = (),
    extras: Sequence[ExtraColumn] = (),
    extra_values: Mapping[str, float] | None = None,
) -> Array:
    """All rows (N, 6 + dof, or dof) for inertial parameters (bodies, 10), the model's if None.

    `extras` with `extra_values` (by column name) add springs, friction, drives and air forces.
    """
    check_motion(model, motion)
    inertia = model.parameters if parameters is None else np.asarray(parameters, dtype=float)
    if inertia.shape != model.parameters.shape:
        raise ModelError(
            f'model {model.name}: parameters have the shape {inertia.shape}, '
            f'expected {model.parameters.shape}'
        )
    wrench, joints = np.empty((len(motion), 6)), np.zeros((len(motion), model.dof))
    _newton_euler(
        kernel_model(model),
        np.ascontiguousarray(inertia),
        motion.q,
        motion.qd,
        motion.qdd,
        motion.base_acceleration,
        motion.base_angular_velocity,
        motion.base_angular_acceleration,
        wrench,
        joints,
    )
    air: list[ExternalWrench] = []
    for extra in extras:
        value = (extra_values or {}).get(extra_name(extra), 0.0)
        if extra.kind is Kind.AERODYNAMIC:
            air.append(_air_wrench(model, motion, extra, value))
        else:
            _add_joint_force(model, motion, extra, value, joints)
    rows = np.hstack([wrench, joints]) if model.floating else joints
    supplied = [*wrenches, *air]
    return rows - external_rows(model, motion, supplied) if supplied else rows


def external_rows(
    model: TreeModel, motion: Motion, wrenches: Sequence[ExternalWrench], rows: str = 'all'
) -> Array:
    """External wrenches projected on the rows: Q of equation 4 with the sign of `W X = Q`."""
    check_motion(model, motion)
    base = rows == 'base' or (rows == 'all' and model.floating)
    first = len(BASE_ROWS) if base else 0
    count = first + (0 if rows == 'base' else model.dof)
    joint_row = np.full(max(model.dof, 1), -1, dtype=np.int64)
    if rows != 'base':
        joint_row[: model.dof] = first + np.arange(model.dof)
    out = np.zeros((len(motion), count))
    arrays = kernel_model(model)
    for wrench in wrenches:
        _project(
            arrays,
            joint_row,
            0 if base else -1,
            wrench.frame.body,
            _at_body_origin(wrench, len(motion)),
            motion.q,
            motion.qd,
            motion.qdd,
            out,
        )
    return out


def _at_body_origin(wrench: ExternalWrench, samples: int) -> Array:
    """The wrench moved to the body's origin and axes."""
    values = np.broadcast_to(np.asarray(wrench.values, dtype=float), (samples, 6))
    rotation = np.broadcast_to(wrench.frame.rotation, (samples, 3, 3))
    force = np.einsum('nij,nj->ni', rotation, values[:, :3])
    moment = np.einsum('nij,nj->ni', rotation, values[:, 3:])
    arm = np.broadcast_to(wrench.frame.translation, (samples, 3))
    return np.hstack([force, moment + np.cross(arm, force)])


def _air_wrench(
    model: TreeModel, motion: Motion, extra: ExtraColumn, value: float
) -> ExternalWrench:
    values = np.zeros((len(motion), 6))
    # Equation 32 gives what the body exerts on the air, hence the minus.
    values[:, extra.component] = -value * motion.air_speed_squared
    return ExternalWrench(model.frame(extra.body), values)


def _add_joint_force(
    model: TreeModel, motion: Motion, extra: ExtraColumn, value: float, joints: Array
) -> None:
    """Equations 5, 6 and 31."""
    i = model.coordinate_index(extra.joint)
    q, qd, qdd = motion.q[:, i], motion.qd[:, i], motion.qdd[:, i]
    if extra.kind is Kind.COUPLING_SPRING:
        o = model.coordinate_index(extra.opposite)
        joints[:, i] += value * (q - motion.q[:, o])
        joints[:, o] += value * (motion.q[:, o] - q)
        return
    sign = np.tanh(qd / extra.smoothing) if extra.smoothing > 0.0 else np.sign(qd)
    unit = {
        Kind.STIFFNESS: q,
        Kind.OFFSET: np.ones_like(q),
        Kind.VISCOUS: qd,
        Kind.COULOMB: sign,
        Kind.MOTOR_INERTIA: qdd,
    }
    joints[:, i] += value * unit[extra.kind]


@njit(cache=True, nogil=True)
def _body_wrench(w: Array, X: Array, wrench: Array) -> None:
    """Total force and moment on a body about its origin in its axes: equations 11 and 12."""
    M, sx, sy, sz = X[0], X[1], X[2], X[3]
    Jxx, Jxy, Jxz, Jyy, Jyz, Jzz = X[4], X[5], X[6], X[7], X[8], X[9]
    for i in range(LANES):
        ox, oy, oz = w[OX + i], w[OY + i], w[OZ + i]
        dx, dy, dz = w[DX + i], w[DY + i], w[DZ + i]
        ax, ay, az = w[AX + i], w[AY + i], w[AZ + i]
        vx, vy, vz = oy * sz - oz * sy, oz * sx - ox * sz, ox * sy - oy * sx
        wrench[i] = M * ax + dy * sz - dz * sy + oy * vz - oz * vy
        wrench[LANES + i] = M * ay + dz * sx - dx * sz + oz * vx - ox * vz
        wrench[2 * LANES + i] = M * az + dx * sy - dy * sx + ox * vy - oy * vx
        hx = Jxx * ox + Jxy * oy + Jxz * oz
        hy = Jxy * ox + Jyy * oy + Jyz * oz
        hz = Jxz * ox + Jyz * oy + Jzz * oz
        wrench[3 * LANES + i] = (
            Jxx * dx + Jxy * dy + Jxz * dz + oy * hz - oz * hy + sy * az - sz * ay
        )
        wrench[4 * LANES + i] = (
            Jxy * dx + Jyy * dy + Jyz * dz + oz * hx - ox * hz + sz * ax - sx * az
        )
        wrench[5 * LANES + i] = (
            Jxz * dx + Jyz * dy + Jzz * dz + ox * hy - oy * hx + sx * ay - sy * ax
        )


@njit(cache=True, nogil=True)
def _backward(m: KernelModel, state: Array, joints: Array) -> None:
    """Equations 14 to 17 with all wrenches at the root origin, where they simply add up."""
    for k in range(6 * LANES):
        state[FX + k] = 0.0
    for j in range(m.parent.shape[0] - 1, -1, -1):
        own, up = slot(state, j), slot(state, m.parent[j])
        for k in range(6 * LANES):
            up[FX + k] += own[FX + k]
        c = m.coordinate[j]
        if c < 0:
            continue
        for lane in range(joints.shape[0]):
            for r in range(6):
                joints[lane, c] += own[SX + r * LANES + lane] * own[FX + r * LANES + lane]


@njit(cache=True, nogil=True)
def _newton_euler(
    m: KernelModel,
    X: Array,
    q: Array,
    qd: Array,
    qdd: Array,
    acceleration: Array,
    omega: Array,
    omega_dot: Array,
    base: Array,
    joints: Array,
) -> None:
    """Equations 7 to 17 for all samples; `base` is the wrench at the root origin."""
    bodies = m.parent.shape[0]
    state, joint = make_state(bodies), np.zeros(JOINT)
    for first in range(0, q.shape[0], LANES):
        load_root(state, acceleration, omega, omega_dot, first)
        forward(m, state, joint, q, qd, qdd, first)
        directions(m, state)
        for j in range(bodies):
            own = slot(state, j)
            wrench = own[FX:SLOT]
            _body_wrench(own, X[j], wrench)
            to_root(own, wrench)
        last = min(first + LANES, q.shape[0])
        _backward(m, state, joints[first:last])
        for s in range(first, last):
            for r in range(6):
                base[s, r] = state[FX + r * LANES + s - first]


@njit(cache=True, nogil=True)
def _project(
    m: KernelModel,
    joint_row: NDArray[np.int64],
    base_row: int,
    body: int,
    values: Array,
    q: Array,
    qd: Array,
    qdd: Array,
    out: Array,
) -> None:
    """Add a wrench (N, 6) at body `body`'s origin in its axes to the rows (-1: the root)."""
    state, joint = make_state(m.parent.shape[0]), np.zeros(JOINT)
    wrench, line = np.zeros(6 * LANES), np.zeros(LANES)
    for first in range(0, q.shape[0], LANES):
        last = min(first + LANES, q.shape[0])
        forward(m, state, joint, q, qd, qdd, first)
        directions(m, state)
        wrench[:] = 0.0
        for s in range(first, last):
            for r in range(6):
                wrench[r * LANES + s - first] = values[s, r]
        to_root(slot(state, body), wrench)
        add_wrench(m, joint_row, base_row, state, body, wrench, line, out[first:last])
