"""Signals that are filtered once, and samples of them after any change.

The filter is linear and changes of a recording act sample by sample: signs, units, turns and other
links' poses may as well be made after the filter. Derivatives then come from differences of
neighbours, so that a changed recording costs no filter and only the samples that are looked at.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from veh_identification.multibody.motion import Motion, floating_base_motion
from veh_identification.multibody.tree import TreeModel
from veh_identification.signals import rotation_matrix
from veh_identification.systems.humanoid.processing.signals import (
    Raw,
    Samples,
    at_base,
    signal_filter,
    with_wrenches,
)
from veh_identification.types import Array, BoolArray, IntArray

#: Neighbours on each side that differences need; of order four, since the grid is coarse.
REACH = 2
FIRST = np.array([1.0, -8.0, 0.0, 8.0, -1.0]) / 12.0
SECOND = np.array([-1.0, 16.0, -30.0, 16.0, -1.0]) / 12.0


def smooth(raw: Raw, cutoff_hz: float) -> Raw:
    """All signals filtered, sensors' wrenches in their own frames; SignalError if too short."""
    low_pass = signal_filter(raw, cutoff_hz)
    wrenches, valid = low_pass.apply(raw.wrenches, raw.valid)
    inertial = None if raw.inertial is None else low_pass.apply(raw.inertial, raw.valid)[0]
    return replace(
        raw,
        joints=low_pass.apply(raw.joints, raw.valid)[0],
        pose=low_pass.apply(raw.pose, raw.valid)[0],
        wrenches=wrenches,
        inertial=inertial,
        valid=valid,
    )


def inner(valid: BoolArray) -> BoolArray:
    """Samples all of whose neighbours are valid."""
    found = valid.copy()
    for k in range(1, REACH + 1):
        found[k:] &= valid[:-k]
        found[:-k] &= valid[k:]
    found[:REACH] = found[-REACH:] = False
    return found


def at_rows(raw: Raw, rows: IntArray) -> Raw:
    """Some samples of a recording."""
    return replace(
        raw,
        stamps=raw.stamps[rows],
        joints=raw.joints[rows],
        pose=raw.pose[rows],
        wrenches=raw.wrenches[rows],
        world=raw.world[rows],
        valid=raw.valid[rows],
        inertial=None if raw.inertial is None else raw.inertial[rows],
    )


def sampled(
    raw: Raw, model: TreeModel, rows: IntArray, gravity: float, motion: Motion | None = None
) -> Samples:
    """Both sides of the equations at some samples of a smooth recording.

    `motion` at these samples, if it is known.
    """
    here = at_rows(raw, rows)
    here = with_wrenches(here, model, here.wrenches)
    if raw.in_base:
        rotation, position = np.tile(np.eye(3), (len(rows), 1, 1)), np.zeros((len(rows), 3))
        wrench = here.world
    else:
        rotation, position = rotation_matrix(here.pose[:, 3:]), here.pose[:, :3]
        wrench = at_base(here.world, rotation, position - here.centre)
    if motion is None:
        joints = _differences(raw.joints, rows, raw.rate)
        motion = floating_base_motion(*joints, *_base(raw, rows, rotation, gravity))
    return Samples(
        raw.label,
        raw.rate,
        raw.epoch_ns + np.rint(here.stamps * 1e9).astype(np.int64),
        motion,
        wrench,
        rotation,
        position,
        here.valid,
        here.centre,
        raw.sources,
    )


def _differences(values: Array, rows: IntArray, rate: float) -> tuple[Array, Array, Array]:
    """Values with their first and second derivatives at some samples."""
    around = np.stack([values[rows + k] for k in range(-REACH, REACH + 1)])
    first, second = (np.tensordot(weights, around, 1) for weights in (FIRST, SECOND))
    return values[rows], first * rate, second * rate**2


def _base(raw: Raw, rows: IntArray, rotation: Array, gravity: float) -> tuple[Array, Array, Array]:
    """Specific force, angular velocity and acceleration of the base in its axes."""
    if raw.imu is not None:
        values = raw.pose if raw.inertial is None else raw.inertial
        turned = values.reshape(-1, 2, 3) @ raw.imu.rotation.T
        omega, alpha, _ = _differences(turned[:, 0], rows, raw.rate)
        arm = raw.imu.translation
        spin = np.cross(alpha, arm) + np.cross(omega, np.cross(omega, arm))
        return turned[rows, 1] - spin, omega, alpha
    _, _, acceleration = _differences(raw.pose[:, :3], rows, raw.rate)
    acceleration = acceleration + np.array([0.0, 0.0, gravity])
    size = np.linalg.norm(raw.pose[:, 3:], axis=1, keepdims=True)
    q, qd, qdd = _differences(raw.pose[:, 3:] / size, rows, raw.rate)
    # w = 2 q* q', and w' = 2 q* q'' but for its real part.
    omega, alpha = (2.0 * _conjugate_product(q, one) for one in (qd, qdd))
    return np.einsum('nji,nj->ni', rotation, acceleration), omega, alpha


def _conjugate_product(a: Array, b: Array) -> Array:
    """Vector part (n, 3) of a* b, quaternions x y z w."""
    av, aw, bv, bw = a[:, :3], a[:, 3:], b[:, :3], b[:, 3:]
    return aw * bv - bw * av - np.cross(av, bv)
