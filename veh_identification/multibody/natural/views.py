"""What a sensor on a rigid body sees: its frame, its motion and their derivatives by z."""

from __future__ import annotations

from typing import Any

from numba import njit

from veh_identification.multibody.natural import packing as pk
from veh_identification.multibody.natural.packing import integers_of, reals_of
from veh_identification.types import Array

Memory = tuple[Any, ...]


@njit(cache=True, nogil=True)
def body_values(memory: Memory, body: int, q: Array, qd: Array, qdd: Array, values: Array) -> None:
    """[origin, e1, e2, e3] and its first and second derivative into `values` (3, 12)."""
    integers, reals, table, _, _, _ = memory
    pointer = integers_of(integers, pk.FORM_POINTER)
    column = integers_of(integers, pk.FORM_COLUMN)
    value = reals_of(reals, table, pk.FORM_VALUE)
    constant = reals_of(reals, table, pk.FORM_CONSTANT)
    bodies = integers_of(integers, pk.BODIES)
    for k in range(12):
        row = 3 * bodies[4 * body + k // 3] + k % 3
        a, b, c = constant[row], 0.0, 0.0
        for p in range(pointer[row], pointer[row + 1]):
            a += value[p] * q[column[p]]
            b += value[p] * qd[column[p]]
            c += value[p] * qdd[column[p]]
        values[0, k], values[1, k], values[2, k] = a, b, c


@njit(cache=True, nogil=True)
def body_derivatives(
    memory: Memory, body: int, order: int, R: Array, Rd: Array, Rdd: Array, derivatives: Array
) -> None:
    """A R, A R' and A R'' of the body's frame into `derivatives` (3, 12, z)."""
    integers, reals, table, _, _, _ = memory
    pointer = integers_of(integers, pk.FORM_POINTER)
    column = integers_of(integers, pk.FORM_COLUMN)
    value = reals_of(reals, table, pk.FORM_VALUE)
    bodies = integers_of(integers, pk.BODIES)
    for level in range(order + 1):
        source = R if level == 0 else (Rd if level == 1 else Rdd)
        for k in range(12):
            row = 3 * bodies[4 * body + k // 3] + k % 3
            derivatives[level, k, :] = 0.0
            for p in range(pointer[row], pointer[row + 1]):
                for j in range(source.shape[1]):
                    derivatives[level, k, j] += value[p] * source[column[p], j]


@njit(cache=True, nogil=True)
def body_motion(
    memory: Memory,
    body: int,
    q: Array,
    qd: Array,
    qdd: Array,
    order: int,
    R: Array,
    Rd: Array,
    Rdd: Array,
    values: Array,
    derivatives: Array,
) -> None:
    """`body_values` and, for order >= 0, `body_derivatives` in one call."""
    body_values(memory, body, q, qd, qdd, values)
    body_derivatives(memory, body, order, R, Rd, Rdd, derivatives)
