"""A step and what an observer needs after it in one compiled call: small models want few calls."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit

from veh_identification.held_arrays import HeldArrays, reals_1, reals_2, wholes_1
from veh_identification.multibody.natural import packing as pk
from veh_identification.multibody.natural.dynamics import advance
from veh_identification.multibody.natural.kinematics import set_independent
from veh_identification.multibody.natural.model import (
    MOST_ITERATIONS,
    POSITION_TOLERANCE,
    NaturalModel,
)
from veh_identification.multibody.natural.packing import integers_of
from veh_identification.multibody.natural.r_matrix import fresh_r_matrices
from veh_identification.types import Array, IntArray

Memory = tuple[Any, ...]


@njit(cache=True, nogil=True)
def _advance_with_r(
    memory: Memory,
    drive: Array,
    q: Array,
    qd: Array,
    qdd: Array,
    multipliers: Array,
    force: Array,
    force_error: Array,
    tangents: Array,
    loads: Array,
    load_body: IntArray,
    dt: float,
    penalty: float,
    tolerance: float,
    maximum: int,
    chosen: IntArray,
    order: int,
    R: Array,
    Rd: Array,
    Rdd: Array,
) -> bool:
    """`advance` and `fresh_r_matrices`; False, and the state as it was, when either fails."""
    old = q.copy(), qd.copy(), qdd.copy(), multipliers.copy()
    count = advance(
        memory,
        drive,
        q,
        qd,
        qdd,
        multipliers,
        force + force_error,
        tangents,
        loads,
        load_body,
        dt,
        penalty,
        tolerance,
        maximum,
    )
    if count > 0 and fresh_r_matrices(memory, drive, q, qd, qdd, chosen, order, R, Rd, Rdd) < 0:
        return True
    q[:], qd[:], qdd[:], multipliers[:] = old[0], old[1], old[2], old[3]
    return False


def held_model(
    model: NaturalModel, chosen: IntArray, R: Array, Rd: Array, Rdd: Array
) -> HeldArrays:
    """What `step_with_r` and `shift_independent` take: the model, and where R is wanted.

    `chosen`: which of the independent coordinates the columns of R, R', R'' belong to.
    """
    loads = model.loads
    return HeldArrays(
        (
            model.memory,
            model.drive,
            model.q,
            model.qd,
            model.qdd,
            model.multipliers,
            loads.coordinate_force,
            model.force_error,
            loads.tangents,
            loads.wrenches,
            loads.bodies,
            chosen,
            R,
            Rd,
            Rdd,
        )
    )


@njit(cache=True, nogil=True)
def _memory(held: IntArray) -> Memory:
    return (
        wholes_1(held, 0),
        reals_1(held, 1),
        wholes_1(held, 2),
        reals_1(held, 3),
        wholes_1(held, 4),
        reals_1(held, 5),
    )


@njit(cache=True, nogil=True)
def _advance_held(
    held: IntArray, dt: float, penalty: float, tolerance: float, maximum: int, order: int
) -> bool:
    """`_advance_with_r` of what `held_model` holds."""
    return _advance_with_r(
        _memory(held),
        reals_2(held, 6),
        reals_1(held, 7),
        reals_1(held, 8),
        reals_1(held, 9),
        reals_1(held, 10),
        reals_1(held, 11),
        reals_1(held, 12),
        reals_2(held, 13),
        reals_2(held, 14),
        wholes_1(held, 15),
        dt,
        penalty,
        tolerance,
        maximum,
        wholes_1(held, 16),
        order,
        reals_2(held, 17),
        reals_2(held, 18),
        reals_2(held, 19),
    )


def step_with_r(model: NaturalModel, held: HeldArrays, dt: float, order: int) -> bool:
    """Advance a model and fill R and its derivatives up to `order`; `held` of `held_model`.

    False when it cannot be done at once: the model's own `step` then says why.
    """
    if model.force_hook is not None or not (math.isfinite(dt) and dt > 0.0):
        return False
    solver = model.solver
    done: bool = _advance_held(
        held.table, dt, model.penalty(dt), solver.tolerance, solver.iterations, order
    )
    model._factor = 'exact' if done else ''
    return done


@njit(cache=True, nogil=True)
def _shift(
    memory: Memory,
    drive: Array,
    q: Array,
    qd: Array,
    qdd: Array,
    columns: IntArray,
    delta_z: Array,
    delta_zd: Array,
    delta_zdd: Array,
    tolerance: float,
    maximum: int,
    reuse: bool,
) -> int:
    """`set_independent` for changes of some independent coordinates; -1: the state as it was."""
    independent = integers_of(memory[0], pk.INDEPENDENT)
    old = q.copy(), qd.copy(), qdd.copy()
    # each by itself, and `maximum` from outside: one compiled `set_independent` serves all
    z, zd, zdd = (
        np.empty(independent.size),
        np.empty(independent.size),
        np.empty(independent.size),
    )
    for i in range(independent.size):
        z[i], zd[i], zdd[i] = q[independent[i]], qd[independent[i]], qdd[independent[i]]
    for k in range(columns.size):
        z[columns[k]] += delta_z[k]
        zd[columns[k]] += delta_zd[k]
        zdd[columns[k]] += delta_zdd[k]
    status = set_independent(memory, drive, q, qd, qdd, z, zd, zdd, tolerance, maximum, reuse)
    if status < 0:
        q[:], qd[:], qdd[:] = old[0], old[1], old[2]
    return status


@njit(cache=True, nogil=True)
def _shift_held(
    held: IntArray,
    delta_z: Array,
    delta_zd: Array,
    delta_zdd: Array,
    tolerance: float,
    maximum: int,
    reuse: bool,
) -> int:
    """`_shift` of what `held_model` holds."""
    return _shift(
        _memory(held),
        reals_2(held, 6),
        reals_1(held, 7),
        reals_1(held, 8),
        reals_1(held, 9),
        wholes_1(held, 16),
        delta_z,
        delta_zd,
        delta_zdd,
        tolerance,
        maximum,
        reuse,
    )


def shift_independent(
    model: NaturalModel, held: HeldArrays, delta_z: Array, delta_zd: Array, delta_zdd: Array
) -> bool:
    """Change the chosen coordinates and solve for all others; False: it cannot be done.

    `held` of `held_model`. The model's own `set_independent` then says why.
    """
    status = _shift_held(
        held.table,
        delta_z,
        delta_zd,
        delta_zdd,
        POSITION_TOLERANCE,
        MOST_ITERATIONS,
        model._factor != '',
    )
    if status < 0:
        model._factor = ''
        return False
    model._factor = 'exact' if status == 0 and model._factor != 'near' else 'near'
    return True
