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
from veh_identification.types import Array

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
def fill_factors(memory: Memory, q: Array) -> None:
    """What the entries of Phi_q are sums of (`packing.gradient_terms`), from POSITION.

    Of an ANGLE, whose residual is (e_b . v) cos - (e_a . v) sin: its derivatives by e_a, e_b, v
    and the angle; of a DISTANCE: the distance.
    """
    integers, _, _, scratch, places, _ = memory
    records = integers_of(integers, pk.CONSTRAINTS)
    f = reals_of(scratch, places, pk.POSITION)
    out = reals_of(scratch, places, pk.FACTORS)
    for i in range(f.size):
        out[i] = f[i]
    cursor = f.size
    out[cursor] = 1.0
    cursor += 1
    for row in range(records.size // WIDTH):
        base = WIDTH * row
        kind, a, b = records[base], records[base + 1], records[base + 2]
        c, k = records[base + 3], records[base + 4]
        if kind == ANGLE:
            co, si = np.cos(q[k]), np.sin(q[k])
            for axis in range(3):
                v = f[3 * c + axis]
                out[cursor + axis] = -si * v
                out[cursor + 3 + axis] = co * v
                out[cursor + 6 + axis] = co * f[3 * b + axis] - si * f[3 * a + axis]
            out[cursor + 9] = -(dot(f, b, f, c) * si + dot(f, a, f, c) * co)
            cursor += pk.ANGLE_FACTORS
        elif kind == DISTANCE:
            out[cursor] = q[k]
            cursor += 1


@njit(cache=True, nogil=True)
def jacobian(memory: Memory, q: Array) -> None:
    """Phi_q of equation (8) into JACOBIAN (compressed rows), from the forms in POSITION."""
    integers, reals, table, scratch, places, _ = memory
    entry = indices_of(integers, pk.GRADIENT_ENTRY)
    pointer = indices_of(integers, pk.GRADIENT_POINTER)
    factor = indices_of(integers, pk.GRADIENT_FACTOR)
    value = reals_of(reals, table, pk.GRADIENT_VALUE)
    factors = reals_of(scratch, places, pk.FACTORS)
    J = reals_of(scratch, places, pk.JACOBIAN)
    fill_factors(memory, q)
    for e in range(entry.size):
        total = 0.0
        for t in range(pointer[e], pointer[e + 1]):
            total += value[t] * factors[factor[t]]
        J[entry[e]] = total


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
def add_transposed(memory: Memory, rows: Array, factor: float, out: Array, section: int) -> None:
    """out += factor Phi_q^T rows, with Phi_q of JACOBIAN or FACTOR_JACOBIAN."""
    integers, _, _, scratch, places, _ = memory
    pointer = indices_of(integers, pk.JACOBIAN_POINTER)
    column = indices_of(integers, pk.JACOBIAN_COLUMN)
    J = reals_of(scratch, places, section)
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
    """MATRIX += Phi_q^T w Phi_q, w being `weight`, or that share of it which each row has.

    Keeps Phi_q as FACTOR_JACOBIAN, for what is solved with the factor at later poses.
    """
    integers, _, _, scratch, places, _ = memory
    pointer = indices_of(integers, pk.JACOBIAN_POINTER)
    slot = indices_of(integers, pk.NORMAL_SLOT)
    first = indices_of(integers, pk.NORMAL_POINTER)
    pair = indices_of(integers, pk.NORMAL_PAIR)
    J = reals_of(scratch, places, pk.JACOBIAN)
    kept = reals_of(scratch, places, pk.FACTOR_JACOBIAN)
    weighted = reals_of(scratch, places, pk.WEIGHTED_JACOBIAN)
    A = reals_of(scratch, places, pk.MATRIX)
    share = reals_of(scratch, places, pk.ROW_SHARE)
    for row in range(share.size):
        of_row = weight * share[row] if shared else weight
        for p in range(pointer[row], pointer[row + 1]):
            kept[p] = J[p]
            weighted[p] = of_row * J[p]
    for s in range(slot.size):
        total = 0.0
        for t in range(first[s], first[s + 1]):
            total += weighted[pair[t] >> np.uint64(32)] * J[pair[t] & np.uint64(0xFFFFFFFF)]
        A[slot[s]] += total
