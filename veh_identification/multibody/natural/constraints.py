"""Constraint kernels: residual, Jacobian and products with the Jacobian.

All kernels read the flat arrays of `packing`, passed as one tuple
`(integers, reals, table, scratch, scratch_table, fill)`, and leave their results in the scratch
sections. There is no Python loop over constraints.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from veh_identification.multibody.natural import packing as pk
from veh_identification.multibody.natural.packing import indices_of, integers_of, reals_of
from veh_identification.multibody.natural.records import ANGLE, DISTANCE, DOT, LINEAR
from veh_identification.types import Array, IntArray

Memory = tuple[Any, ...]
WIDTH = pk.COLUMNS_PER_CONSTRAINT


@njit(cache=True, nogil=True)
def evaluate_forms(memory: Memory, x: Array, with_constant: bool, section: int) -> None:
    """Values A x (+ a) of all forms into one scratch section."""
    integers, reals, table, scratch, places, _ = memory
    pointer = indices_of(integers, pk.FORM_POINTER)
    column = indices_of(integers, pk.FORM_COLUMN)
    value = reals_of(reals, table, pk.FORM_VALUE)
    constant = reals_of(reals, table, pk.FORM_CONSTANT)
    out = reals_of(scratch, places, section)
    for row in range(out.size):
        total = constant[row] if with_constant else 0.0
        for p in range(pointer[row], pointer[row + 1]):
            total += value[p] * x[column[p]]
        out[row] = total


@njit(cache=True, nogil=True)
def dot(first: Array, a: int, second: Array, b: int) -> float:
    """Dot product of form a of one array with form b of another."""
    i, j = 3 * a, 3 * b
    return first[i] * second[j] + first[i + 1] * second[j + 1] + first[i + 2] * second[j + 2]


@njit(cache=True, nogil=True)
def residuals(memory: Memory, drive: Array, q: Array) -> None:
    """Phi(q, t) of equation (7) into RESIDUAL, from the forms in POSITION."""
    integers, _, _, scratch, places, _ = memory
    records = integers_of(integers, pk.CONSTRAINTS)
    f = reals_of(scratch, places, pk.POSITION)
    out = reals_of(scratch, places, pk.RESIDUAL)
    for row in range(out.size):
        base = WIDTH * row
        kind, a, b = records[base], records[base + 1], records[base + 2]
        c, k = records[base + 3], records[base + 4]
        if kind == LINEAR:
            value = f[a]
        elif kind == DOT:
            value = dot(f, a, f, b)
        elif kind == ANGLE:
            value = dot(f, b, f, c) * np.cos(q[k]) - dot(f, a, f, c) * np.sin(q[k])
        elif kind == DISTANCE:
            value = dot(f, a, f, a) - q[k] * q[k]
        else:
            value = dot(f, a, f, b) - q[k]
        out[row] = value - drive[0, row]


@njit(cache=True, nogil=True)
def _scatter(
    pointer: IntArray,
    value: Array,
    slot: IntArray,
    jacobian: Array,
    cursor: int,
    form: int,
    gx: float,
    gy: float,
    gz: float,
) -> int:
    """Add the gradient with respect to one form to a Jacobian row; returns the next cursor."""
    for axis in range(3):
        g = gx if axis == 0 else (gy if axis == 1 else gz)
        for p in range(pointer[3 * form + axis], pointer[3 * form + axis + 1]):
            jacobian[slot[cursor]] += value[p] * g
            cursor += 1
    return cursor


@njit(cache=True, nogil=True)
def jacobian(memory: Memory, q: Array) -> None:
    """Phi_q of equation (8) into JACOBIAN (compressed rows), from the forms in POSITION."""
    integers, reals, table, scratch, places, _ = memory
    records = integers_of(integers, pk.CONSTRAINTS)
    pointer = indices_of(integers, pk.FORM_POINTER)
    slot = indices_of(integers, pk.JACOBIAN_SLOT)
    value = reals_of(reals, table, pk.FORM_VALUE)
    f = reals_of(scratch, places, pk.POSITION)
    J = reals_of(scratch, places, pk.JACOBIAN)
    J[:] = 0.0
    cursor = 0
    for row in range(records.size // WIDTH):
        base = WIDTH * row
        kind, a, b = records[base], records[base + 1], records[base + 2]
        c, k = records[base + 3], records[base + 4]
        i, j, m = 3 * a, 3 * b, 3 * c
        if kind == LINEAR:
            for p in range(pointer[a], pointer[a + 1]):
                J[slot[cursor]] += value[p]
                cursor += 1
        elif kind == ANGLE:
            co, si = np.cos(q[k]), np.sin(q[k])
            cursor = _scatter(
                pointer, value, slot, J, cursor, a, -si * f[m], -si * f[m + 1], -si * f[m + 2]
            )
            cursor = _scatter(
                pointer, value, slot, J, cursor, b, co * f[m], co * f[m + 1], co * f[m + 2]
            )
            cursor = _scatter(
                pointer,
                value,
                slot,
                J,
                cursor,
                c,
                co * f[j] - si * f[i],
                co * f[j + 1] - si * f[i + 1],
                co * f[j + 2] - si * f[i + 2],
            )
            J[slot[cursor]] -= dot(f, b, f, c) * si + dot(f, a, f, c) * co
            cursor += 1
        elif kind == DISTANCE:
            cursor = _scatter(
                pointer, value, slot, J, cursor, a, 2.0 * f[i], 2.0 * f[i + 1], 2.0 * f[i + 2]
            )
            J[slot[cursor]] -= 2.0 * q[k]
            cursor += 1
        else:
            cursor = _scatter(pointer, value, slot, J, cursor, a, f[j], f[j + 1], f[j + 2])
            cursor = _scatter(pointer, value, slot, J, cursor, b, f[i], f[i + 1], f[i + 2])
            if kind != DOT:
                J[slot[cursor]] -= 1.0
                cursor += 1


@njit(cache=True, nogil=True)
def jacobian_times(memory: Memory, w: Array, out: Array) -> None:
    """Phi_q w for every row, from JACOBIAN."""
    integers, _, _, scratch, places, _ = memory
    pointer = indices_of(integers, pk.JACOBIAN_POINTER)
    column = indices_of(integers, pk.JACOBIAN_COLUMN)
    J = reals_of(scratch, places, pk.JACOBIAN)
    for row in range(out.size):
        total = 0.0
        for p in range(pointer[row], pointer[row + 1]):
            total += J[p] * w[column[p]]
        out[row] = total


@njit(cache=True, nogil=True)
def add_transposed(memory: Memory, rows: Array, factor: float, out: Array) -> None:
    """out += factor Phi_q^T rows."""
    integers, _, _, scratch, places, _ = memory
    pointer = indices_of(integers, pk.JACOBIAN_POINTER)
    column = indices_of(integers, pk.JACOBIAN_COLUMN)
    J = reals_of(scratch, places, pk.JACOBIAN)
    for row in range(rows.size):
        weight = factor * rows[row]
        for p in range(pointer[row], pointer[row + 1]):
            out[column[p]] += J[p] * weight


@njit(cache=True, nogil=True)
def jacobian_times_block(memory: Memory, W: Array, out: Array) -> None:
    """Phi_q W for all columns of W (coordinates, k)."""
    integers, _, _, scratch, places, _ = memory
    pointer = integers_of(integers, pk.JACOBIAN_POINTER)
    column = integers_of(integers, pk.JACOBIAN_COLUMN)
    J = reals_of(scratch, places, pk.JACOBIAN)
    for row in range(out.shape[0]):
        for c in range(W.shape[1]):
            out[row, c] = 0.0
        for p in range(pointer[row], pointer[row + 1]):
            k, value = column[p], J[p]
            for c in range(W.shape[1]):
                out[row, c] += value * W[k, c]


@njit(cache=True, nogil=True)
def add_transposed_block(memory: Memory, rows: Array, out: Array) -> None:
    """out += Phi_q^T rows for all columns."""
    integers, _, _, scratch, places, _ = memory
    pointer = integers_of(integers, pk.JACOBIAN_POINTER)
    column = integers_of(integers, pk.JACOBIAN_COLUMN)
    J = reals_of(scratch, places, pk.JACOBIAN)
    for row in range(rows.shape[0]):
        for p in range(pointer[row], pointer[row + 1]):
            k, value = column[p], J[p]
            for c in range(out.shape[1]):
                out[k, c] += value * rows[row, c]


@njit(cache=True, nogil=True)
def add_normal(memory: Memory, weight: float, shared: bool) -> None:
    """MATRIX += Phi_q^T w Phi_q, w being `weight`, or that share of it which each row has."""
    integers, _, _, scratch, places, _ = memory
    pointer = integers_of(integers, pk.JACOBIAN_POINTER)
    slot = indices_of(integers, pk.NORMAL_SLOT)
    J = reals_of(scratch, places, pk.JACOBIAN)
    A = reals_of(scratch, places, pk.MATRIX)
    share = reals_of(scratch, places, pk.ROW_SHARE)
    cursor = 0
    for row in range(pointer.size - 1):
        start = pointer[row]
        of_row = weight * share[row] if shared else weight
        for i in range(start, pointer[row + 1]):
            value = of_row * J[i]
            for j in range(start, i + 1):
                A[slot[cursor]] += value * J[j]
                cursor += 1
