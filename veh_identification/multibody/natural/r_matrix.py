"""The matrix R = dq/dz of the independent coordinates and its time derivatives (59, 107)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from veh_identification.multibody.natural import cholesky
from veh_identification.multibody.natural import packing as pk
from veh_identification.multibody.natural.constraint_rates import (
    form_block,
    jacobian_rate_times,
    jacobian_second_times,
)
from veh_identification.multibody.natural.constraints import (
    add_transposed_block,
    evaluate_forms,
    jacobian_times_block,
)
from veh_identification.multibody.natural.kinematics import evaluate, factorise_kinematics
from veh_identification.multibody.natural.packing import integers_of, reals_of
from veh_identification.types import Array, IntArray

Memory = tuple[Any, ...]


@njit(cache=True, nogil=True)
def _solve_block(memory: Memory, rows: Array, chosen: IntArray, X: Array) -> None:
    """[Phi_q; B] X = [rows; unit columns], refined once; `chosen` -1 means a zero column."""
    integers, _, _, scratch, places, _ = memory
    independent = integers_of(integers, pk.INDEPENDENT)
    right = np.zeros(X.shape)
    work, step, defect = np.empty(X.shape), np.empty(X.shape), np.empty(rows.shape)
    X[:, :] = 0.0
    for sweep in range(2):
        if sweep == 0:
            defect[:, :] = rows
        else:
            jacobian_times_block(memory, X, defect)
            for row in range(rows.shape[0]):
                for c in range(X.shape[1]):
                    defect[row, c] = rows[row, c] - defect[row, c]
        right[:, :] = 0.0
        for i in range(independent.size):
            for c in range(X.shape[1]):
                right[independent[i], c] = -X[independent[i], c]
        for c in range(chosen.size):
            if chosen[c] >= 0:
                right[independent[chosen[c]], c] += 1.0
        add_transposed_block(memory, defect, right)
        cholesky.solve_block(
            integers_of(integers, pk.FRONTS),
            integers_of(integers, pk.FRONT_BORDER),
            reals_of(scratch, places, pk.MATRIX),
            integers_of(integers, pk.PERMUTATION),
            right,
            work,
            step,
        )
        for i in range(X.shape[0]):
            for c in range(X.shape[1]):
                X[i, c] += step[i, c]


@njit(cache=True, nogil=True)
def r_matrices(
    memory: Memory,
    q: Array,
    qd: Array,
    qdd: Array,
    chosen: IntArray,
    order: int,
    R: Array,
    Rd: Array,
    Rdd: Array,
) -> None:
    """R = dq/dz (59), R' (107) and R'' at the pose of JACOBIAN, POSITION and the factor.

    Phi_q R = 0, Phi_q R' = -Phi_q' R, Phi_q R'' = -2 Phi_q' R' - Phi_q'' R, with B R = 1 and
    B R' = B R'' = 0; each is (coordinates, chosen).
    """
    _, _, _, scratch, places, _ = memory
    count = reals_of(scratch, places, pk.RESIDUAL).size
    rows = np.zeros((count, chosen.size))
    _solve_block(memory, rows, chosen, R)
    if order == 0:
        return
    none = np.full(chosen.size, -1)
    V = np.empty((reals_of(scratch, places, pk.POSITION).size, chosen.size))
    evaluate_forms(memory, qd, False, pk.RATE)
    form_block(memory, R, V)
    jacobian_rate_times(memory, q, qd, R, V, rows)
    rows *= -1.0
    _solve_block(memory, rows, none, Rd)
    if order == 1:
        return
    evaluate_forms(memory, qdd, False, pk.ACCELERATION)
    second = np.empty(rows.shape)
    jacobian_second_times(memory, q, qd, qdd, R, V, second)
    form_block(memory, Rd, V)
    jacobian_rate_times(memory, q, qd, Rd, V, rows)
    for row in range(count):
        for c in range(chosen.size):
            rows[row, c] = -2.0 * rows[row, c] - second[row, c]
    _solve_block(memory, rows, none, Rdd)


@njit(cache=True, nogil=True)
def fresh_r_matrices(
    memory: Memory,
    drive: Array,
    q: Array,
    qd: Array,
    qdd: Array,
    chosen: IntArray,
    order: int,
    R: Array,
    Rd: Array,
    Rdd: Array,
) -> int:
    """`r_matrices` at a new pose: evaluate, factorise and solve in one call."""
    evaluate(memory, drive, q)
    bad = factorise_kinematics(memory)
    if bad < 0:
        r_matrices(memory, q, qd, qdd, chosen, order, R, Rd, Rdd)
    return bad
