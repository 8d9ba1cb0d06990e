"""Forward recursion over a tree, compiled: equations 7 to 10 of Venture 2006.

The kernels treat LANES samples at once, so that the compiler can use vector instructions: a
state is a flat array with one slot per body (slot 0 is the root frame, body j has slot j + 1), a
slot holds the fields named below, a field holds LANES numbers. Velocities and accelerations of a
body are in its own axes; orientation, position, joint direction and wrench are in root axes.
A last group that is not full repeats the last sample; nothing of it is written twice.

Numba's cache looks at the file of the compiled function only: after a change here, delete the
`*.nbi` and `*.nbc` files beside the modules that call these functions.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from veh_identification.multibody.motion import Motion, check_motion
from veh_identification.multibody.tree import PRISMATIC, REVOLUTE, TreeModel
from veh_identification.types import Array, IntArray

# LLVM leaves loops of fewer than 16 turns scalar when it must check for overlapping arrays.
LANES = 16
# Places of the fields in a slot: angular velocity, its derivative, acceleration of the origin
# (minus gravity), orientation (row by row), position, joint direction [linear, angular] at the
# root origin, wrench [force, moment] at the root origin.
OX, OY, OZ, DX, DY, DZ, AX, AY, AZ = (LANES * _k for _k in range(9))
R00, R01, R02, R10, R11, R12, R20, R21, R22 = (LANES * _k for _k in range(9, 18))
PX, PY, PZ = (LANES * _k for _k in range(18, 21))
SX, SY, SZ, TX, TY, TZ = (LANES * _k for _k in range(21, 27))
FX, FY, FZ, NX, NY, NZ = (LANES * _k for _k in range(27, 33))
SLOT = LANES * 33
# Fields of the joint state: cosine, sine, shift, then rate and its derivative for a revolute and
# for a prismatic joint (the pair of the other type is zero).
COS, SIN, SHIFT, TURN, TURN_DOT, SLIDE, SLIDE_DOT = (LANES * _k for _k in range(7))
JOINT = LANES * 7


class KernelModel(NamedTuple):
    """The arrays of a TreeModel that kernels need."""

    parent: IntArray
    joint_type: IntArray
    coordinate: IntArray
    multiplier: Array
    offset: Array
    constant: Array
    cosine: Array
    sine: Array
    translation: Array
    axis: Array
    shift: Array


def kernel_model(model: TreeModel) -> KernelModel:
    """Arrays for the kernels."""
    constant, cosine, sine = model.joint_transform()
    shift = np.einsum('bij,bj->bi', model.rotation, model.axis)
    arrays = (constant, cosine, sine, model.translation, model.axis, shift)
    return KernelModel(
        model.parent,
        model.joint_type,
        model.coordinate,
        model.multiplier,
        model.offset,
        *(np.ascontiguousarray(array) for array in arrays),
    )


@njit(cache=True, nogil=True)
def make_state(bodies: int) -> Array:
    """Zeroed slots for a tree of `bodies`; the root's pose is the identity."""
    state = np.zeros((bodies + 1) * SLOT)
    for lane in range(LANES):
        state[R00 + lane], state[R11 + lane], state[R22 + lane] = 1.0, 1.0, 1.0
    return state


@njit(cache=True, nogil=True)
def slot(state: Array, body: int) -> Array:
    """The fields of a body; -1 is the root."""
    return state[(body + 1) * SLOT : (body + 2) * SLOT]


@njit(cache=True, nogil=True)
def load_root(
    state: Array, acceleration: Array, omega: Array, omega_dot: Array, first: int
) -> None:
    """Root motion of LANES samples: the Euler variables of the mixed Newton-Lagrange form."""
    last = acceleration.shape[0] - 1
    for axis in range(3):
        for lane in range(LANES):
            s = min(first + lane, last)
            state[OX + axis * LANES + lane] = omega[s, axis]
            state[DX + axis * LANES + lane] = omega_dot[s, axis]
            state[AX + axis * LANES + lane] = acceleration[s, axis]


@njit(cache=True, nogil=True)
def load_joint(
    m: KernelModel, joint: Array, j: int, q: Array, qd: Array, qdd: Array, first: int
) -> None:
    """Joint position, rate and its derivative from the coordinate the joint follows."""
    c, factor, last = m.coordinate[j], m.multiplier[j], q.shape[0] - 1
    joint[:] = 0.0
    if c < 0:
        return
    if m.joint_type[j] == REVOLUTE:
        for lane in range(LANES):
            s = min(first + lane, last)
            angle = factor * q[s, c] + m.offset[j]
            joint[COS + lane], joint[SIN + lane] = np.cos(angle), np.sin(angle)
            joint[TURN + lane], joint[TURN_DOT + lane] = factor * qd[s, c], factor * qdd[s, c]
    elif m.joint_type[j] == PRISMATIC:
        for lane in range(LANES):
            s = min(first + lane, last)
            joint[SHIFT + lane] = factor * q[s, c] + m.offset[j]
            joint[SLIDE + lane], joint[SLIDE_DOT + lane] = factor * qd[s, c], factor * qdd[s, c]


@njit(cache=True, nogil=True)
def _entries(a: Array) -> tuple[float, float, float, float, float, float, float, float, float]:
    return (a[0, 0], a[0, 1], a[0, 2], a[1, 0], a[1, 1], a[1, 2], a[2, 0], a[2, 1], a[2, 2])


@njit(cache=True, nogil=True)
def advance(own: Array, up: Array, joint: Array, m: KernelModel, j: int) -> None:
    """Motion and pose of body j from its parent's (`up`) and its joint's state."""
    tx, ty, tz = m.translation[j, 0], m.translation[j, 1], m.translation[j, 2]
    hx, hy, hz = m.shift[j, 0], m.shift[j, 1], m.shift[j, 2]
    nx, ny, nz = m.axis[j, 0], m.axis[j, 1], m.axis[j, 2]
    k00, k01, k02, k10, k11, k12, k20, k21, k22 = _entries(m.constant[j])
    b00, b01, b02, b10, b11, b12, b20, b21, b22 = _entries(m.cosine[j])
    s00, s01, s02, s10, s11, s12, s20, s21, s22 = _entries(m.sine[j])
    for i in range(LANES):
        c, s, along = joint[COS + i], joint[SIN + i], joint[SHIFT + i]
        # Rotation and origin in the parent's frame: the blocks of equation 1.
        r00, r01, r02 = k00 + c * b00 + s * s00, k01 + c * b01 + s * s01, k02 + c * b02 + s * s02
        r10, r11, r12 = k10 + c * b10 + s * s10, k11 + c * b11 + s * s11, k12 + c * b12 + s * s12
        r20, r21, r22 = k20 + c * b20 + s * s20, k21 + c * b21 + s * s21, k22 + c * b22 + s * s22
        px, py, pz = tx + along * hx, ty + along * hy, tz + along * hz
        ox, oy, oz = up[OX + i], up[OY + i], up[OZ + i]
        dx, dy, dz = up[DX + i], up[DY + i], up[DZ + i]
        # The bracket of equation 10: acceleration of the joint's origin in parent axes.
        vx, vy, vz = oy * pz - oz * py, oz * px - ox * pz, ox * py - oy * px
        ax = up[AX + i] + dy * pz - dz * py + oy * vz - oz * vy
        ay = up[AY + i] + dz * px - dx * pz + oz * vx - ox * vz
        az = up[AZ + i] + dx * py - dy * px + ox * vy - oy * vx
        ux = r00 * ox + r10 * oy + r20 * oz  # (7)
        uy = r01 * ox + r11 * oy + r21 * oz
        uz = r02 * ox + r12 * oy + r22 * oz
        ex, ey, ez = uy * nz - uz * ny, uz * nx - ux * nz, ux * ny - uy * nx
        rate, second = joint[TURN + i], joint[TURN_DOT + i]
        own[OX + i], own[OY + i], own[OZ + i] = ux + rate * nx, uy + rate * ny, uz + rate * nz
        own[DX + i] = r00 * dx + r10 * dy + r20 * dz + second * nx + rate * ex
        own[DY + i] = r01 * dx + r11 * dy + r21 * dz + second * ny + rate * ey
        own[DZ + i] = r02 * dx + r12 * dy + r22 * dz + second * nz + rate * ez
        rate, second = 2.0 * joint[SLIDE + i], joint[SLIDE_DOT + i]
        own[AX + i] = r00 * ax + r10 * ay + r20 * az + second * nx + rate * ex
        own[AY + i] = r01 * ax + r11 * ay + r21 * az + second * ny + rate * ey
        own[AZ + i] = r02 * ax + r12 * ay + r22 * az + second * nz + rate * ez
        for row in range(3):
            o0 = up[R00 + 3 * row * LANES + i]
            o1 = up[R01 + 3 * row * LANES + i]
            o2 = up[R02 + 3 * row * LANES + i]
            own[R00 + 3 * row * LANES + i] = o0 * r00 + o1 * r10 + o2 * r20
            own[R01 + 3 * row * LANES + i] = o0 * r01 + o1 * r11 + o2 * r21
            own[R02 + 3 * row * LANES + i] = o0 * r02 + o1 * r12 + o2 * r22
            own[PX + row * LANES + i] = up[PX + row * LANES + i] + o0 * px + o1 * py + o2 * pz


@njit(cache=True, nogil=True)
def forward(
    m: KernelModel, state: Array, joint: Array, q: Array, qd: Array, qdd: Array, first: int
) -> None:
    """Motion and poses of all bodies for LANES samples; the root must be loaded."""
    for j in range(m.parent.shape[0]):
        load_joint(m, joint, j, q, qd, qdd, first)
        advance(slot(state, j), slot(state, m.parent[j]), joint, m, j)


@njit(cache=True, nogil=True)
def directions(m: KernelModel, state: Array) -> None:
    """Joint directions at the root origin in root axes (times the multiplier), after `forward`."""
    for j in range(m.parent.shape[0]):
        own = slot(state, j)
        factor = m.multiplier[j] if m.coordinate[j] >= 0 else 0.0
        nx, ny, nz = factor * m.axis[j, 0], factor * m.axis[j, 1], factor * m.axis[j, 2]
        prismatic = m.joint_type[j] == PRISMATIC
        for i in range(LANES):
            zx = own[R00 + i] * nx + own[R01 + i] * ny + own[R02 + i] * nz
            zy = own[R10 + i] * nx + own[R11 + i] * ny + own[R12 + i] * nz
            zz = own[R20 + i] * nx + own[R21 + i] * ny + own[R22 + i] * nz
            px, py, pz = own[PX + i], own[PY + i], own[PZ + i]
            own[SX + i] = zx if prismatic else py * zz - pz * zy
            own[SY + i] = zy if prismatic else pz * zx - px * zz
            own[SZ + i] = zz if prismatic else px * zy - py * zx
            own[TX + i] = 0.0 if prismatic else zx
            own[TY + i] = 0.0 if prismatic else zy
            own[TZ + i] = 0.0 if prismatic else zz


class BodyMotion(NamedTuple):
    """Pose in the root frame; angular velocity and accelerations in body axes. All (N, B, ...)."""

    orientation: Array
    position: Array
    omega: Array
    omega_dot: Array
    acceleration: Array


def body_motion(model: TreeModel, motion: Motion) -> BodyMotion:
    """Kinematics of every body; `acceleration` of the origin is minus gravity, like the root's."""
    check_motion(model, motion)
    n, b = len(motion), model.bodies
    fields = np.empty((n, b, 21))
    _body_motion(
        kernel_model(model),
        motion.q,
        motion.qd,
        motion.qdd,
        motion.base_acceleration,
        motion.base_angular_velocity,
        motion.base_angular_acceleration,
        fields,
    )
    return BodyMotion(
        fields[..., 9:18].reshape(n, b, 3, 3),
        fields[..., 18:21],
        fields[..., 0:3],
        fields[..., 3:6],
        fields[..., 6:9],
    )


@njit(cache=True, nogil=True)
def _body_motion(
    m: KernelModel,
    q: Array,
    qd: Array,
    qdd: Array,
    acceleration: Array,
    omega: Array,
    omega_dot: Array,
    out: Array,
) -> None:
    state, joint = make_state(m.parent.shape[0]), np.zeros(JOINT)
    for first in range(0, q.shape[0], LANES):
        load_root(state, acceleration, omega, omega_dot, first)
        forward(m, state, joint, q, qd, qdd, first)
        for lane in range(min(LANES, q.shape[0] - first)):
            for j in range(out.shape[1]):
                for k in range(out.shape[2]):
                    out[first + lane, j, k] = state[(j + 1) * SLOT + k * LANES + lane]
