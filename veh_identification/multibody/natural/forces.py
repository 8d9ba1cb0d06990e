"""Force kernels: gravity, springs and dampers, loads on bodies, and their tangent matrices.

A load on a body is a force at a body point (local coordinates), a moment, and optionally the
force's stiffness and damping, so that a stiff contact (a tyre) does not spoil the convergence of
the implicit integrator. Virtual power (equation 29) turns all of them into Q.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from veh_identification.multibody.natural import packing as pk
from veh_identification.multibody.natural.packing import indices_of, integers_of, reals_of
from veh_identification.types import Array, IntArray

Memory = tuple[Any, ...]
MAXIMUM_BODY_COLUMNS = 96


@njit(cache=True, nogil=True)
def _add_form_force(memory: Memory, form: int, fx: float, fy: float, fz: float, Q: Array) -> None:
    integers, reals, table, _, _, _ = memory
    pointer = integers_of(integers, pk.FORM_POINTER)
    column = integers_of(integers, pk.FORM_COLUMN)
    value = reals_of(reals, table, pk.FORM_VALUE)
    for axis in range(3):
        force = fx if axis == 0 else (fy if axis == 1 else fz)
        for p in range(pointer[3 * form + axis], pointer[3 * form + axis + 1]):
            Q[column[p]] += value[p] * force


@njit(cache=True, nogil=True)
def generalised_forces(
    memory: Memory, q: Array, qd: Array, external: Array, loads: Array, load_body: IntArray
) -> None:
    """Q into FORCE; needs the forms in POSITION and RATE."""
    integers, reals, table, scratch, places, _ = memory
    f = reals_of(scratch, places, pk.POSITION)
    d = reals_of(scratch, places, pk.RATE)
    Q = reals_of(scratch, places, pk.FORCE)
    gravity = reals_of(reals, table, pk.GRAVITY_FORCE)
    for i in range(Q.size):
        Q[i] = gravity[i] + external[i]
    springs = integers_of(integers, pk.SPRINGS)
    constants = reals_of(reals, table, pk.SPRING_VALUE)
    for s in range(springs.size):
        i = 3 * springs[s]
        length = np.sqrt(f[i] ** 2 + f[i + 1] ** 2 + f[i + 2] ** 2)
        speed = (f[i] * d[i] + f[i + 1] * d[i + 1] + f[i + 2] * d[i + 2]) / length
        pull = (
            constants[4 * s] * (length - constants[4 * s + 2])
            + constants[4 * s + 1] * speed
            + constants[4 * s + 3]
        ) / length
        _add_form_force(memory, springs[s], -pull * f[i], -pull * f[i + 1], -pull * f[i + 2], Q)
    scalar = integers_of(integers, pk.COORDINATE_SPRINGS)
    constants = reals_of(reals, table, pk.COORDINATE_SPRING_VALUE)
    for s in range(scalar.size):
        k = scalar[s]
        Q[k] -= constants[3 * s] * (q[k] - constants[3 * s + 2]) + constants[3 * s + 1] * qd[k]
    bodies = integers_of(integers, pk.BODIES)
    for n in range(load_body.size):
        base = 4 * load_body[n]
        fx, fy, fz = loads[n, 0], loads[n, 1], loads[n, 2]
        _add_form_force(memory, bodies[base], fx, fy, fz, Q)
        for axis in range(3):
            form = bodies[base + 1 + axis]
            i = 3 * form
            c = loads[n, 3 + axis]
            # moment N: power N . w = 1/2 sum_i (N x e_i) . e_i'
            mx = loads[n, 7] * f[i + 2] - loads[n, 8] * f[i + 1]
            my = loads[n, 8] * f[i] - loads[n, 6] * f[i + 2]
            mz = loads[n, 6] * f[i + 1] - loads[n, 7] * f[i]
            _add_form_force(
                memory, form, c * fx + 0.5 * mx, c * fy + 0.5 * my, c * fz + 0.5 * mz, Q
            )


@njit(cache=True, nogil=True)
def _add_quadratic(A: Array, slot: IntArray, G: Array, columns: int, T: Array) -> None:
    """A += G^T T G on the pair slots of the columns of G (3, columns), T symmetric (3, 3)."""
    cursor = 0
    for i in range(columns):
        tx = T[0, 0] * G[0, i] + T[0, 1] * G[1, i] + T[0, 2] * G[2, i]
        ty = T[1, 0] * G[0, i] + T[1, 1] * G[1, i] + T[1, 2] * G[2, i]
        tz = T[2, 0] * G[0, i] + T[2, 1] * G[1, i] + T[2, 2] * G[2, i]
        for j in range(i + 1):
            A[slot[cursor]] += tx * G[0, j] + ty * G[1, j] + tz * G[2, j]
            cursor += 1


@njit(cache=True, nogil=True)
def _add_spring_tangents(memory: Memory, by_rate: float, by_position: float) -> None:
    """The symmetric, positive part of the tangents of springs and dampers along their lines."""
    integers, reals, table, scratch, places, _ = memory
    A = reals_of(scratch, places, pk.MATRIX)
    f = reals_of(scratch, places, pk.POSITION)
    springs = integers_of(integers, pk.SPRINGS)
    constants = reals_of(reals, table, pk.SPRING_VALUE)
    pointer = integers_of(integers, pk.SPRING_POINTER)
    slot_pointer = integers_of(integers, pk.SPRING_SLOT_POINTER)
    slot = integers_of(integers, pk.SPRING_SLOT)
    matrices = reals_of(reals, table, pk.SPRING_MATRIX)
    T = np.empty((3, 3))
    for s in range(springs.size):
        i = 3 * springs[s]
        squared = f[i] ** 2 + f[i + 1] ** 2 + f[i + 2] ** 2
        weight = (by_position * constants[4 * s] + by_rate * constants[4 * s + 1]) / squared
        for a in range(3):
            for b in range(3):
                T[a, b] = weight * f[i + a] * f[i + b]
        columns = pointer[s + 1] - pointer[s]
        start = 3 * pointer[s]
        G = matrices[start : start + 3 * columns].reshape((3, columns))
        _add_quadratic(A, slot[slot_pointer[s] : slot_pointer[s + 1]], G, columns, T)
    scalar = integers_of(integers, pk.COORDINATE_SPRINGS)
    constants = reals_of(reals, table, pk.COORDINATE_SPRING_VALUE)
    diagonal = integers_of(integers, pk.DIAGONAL_SLOT)
    for s in range(scalar.size):
        A[diagonal[scalar[s]]] += by_position * constants[3 * s] + by_rate * constants[3 * s + 1]


@njit(cache=True, nogil=True)
def _add_load_tangents(
    memory: Memory, by_rate: float, by_position: float, loads: Array, load_body: IntArray
) -> None:
    integers, reals, table, scratch, places, _ = memory
    A = reals_of(scratch, places, pk.MATRIX)
    pointer = integers_of(integers, pk.BODY_POINTER)
    slot_pointer = integers_of(integers, pk.BODY_SLOT_POINTER)
    slot = integers_of(integers, pk.BODY_SLOT)
    matrices = reals_of(reals, table, pk.BODY_MATRIX)
    T = np.empty((3, 3))
    G = np.empty((3, MAXIMUM_BODY_COLUMNS))
    for n in range(load_body.size):
        largest = 0.0
        for a in range(3):
            for b in range(3):
                T[a, b] = (
                    by_position * loads[n, 9 + 3 * a + b] + by_rate * loads[n, 18 + 3 * a + b]
                )
                largest = max(largest, abs(T[a, b]))
        if largest == 0.0:
            continue
        body = load_body[n]
        columns = pointer[body + 1] - pointer[body]
        start = 12 * pointer[body]
        rows = matrices[start : start + 12 * columns].reshape((12, columns))
        for a in range(3):
            for j in range(columns):
                G[a, j] = (
                    rows[a, j]
                    + loads[n, 3] * rows[3 + a, j]
                    + loads[n, 4] * rows[6 + a, j]
                    + loads[n, 5] * rows[9 + a, j]
                )
        _add_quadratic(A, slot[slot_pointer[body] : slot_pointer[body + 1]], G, columns, T)


@njit(cache=True, nogil=True)
def assemble_dynamic_part(
    memory: Memory,
    by_rate: float,
    by_position: float,
    tangents: Array,
    loads: Array,
    load_body: IntArray,
) -> None:
    """MATRIX and DYNAMIC_PART = M + by_rate C + by_position K (equations 41 and 42)."""
    integers, reals, table, scratch, places, _ = memory
    A = reals_of(scratch, places, pk.MATRIX)
    slot = integers_of(integers, pk.MASS_SLOT)
    mass = reals_of(reals, table, pk.MASS_VALUE)
    diagonal = integers_of(integers, pk.DIAGONAL_SLOT)
    A[:] = 0.0
    for p in range(slot.size):
        if slot[p] >= 0:
            A[slot[p]] += mass[p]
    for i in range(diagonal.size):
        A[diagonal[i]] += by_position * tangents[0, i] + by_rate * tangents[1, i]
    _add_spring_tangents(memory, by_rate, by_position)
    _add_load_tangents(memory, by_rate, by_position, loads, load_body)
    reals_of(scratch, places, pk.DYNAMIC_PART)[:] = A


@njit(cache=True, nogil=True)
def dynamic_part_times(memory: Memory, x: Array, out: Array) -> None:
    """out = D x with the matrix D = M + dt/2 C + dt^2/4 K of the last `assemble_dynamic_part`."""
    integers, _, _, scratch, places, _ = memory
    A = reals_of(scratch, places, pk.DYNAMIC_PART)
    pointer = indices_of(integers, pk.MATRIX_POINTER)
    column = indices_of(integers, pk.MATRIX_COLUMN)
    permutation = indices_of(integers, pk.PERMUTATION)
    out[:] = 0.0
    for k in range(permutation.size):
        i = permutation[k]
        for p in range(pointer[k], pointer[k + 1]):
            j = permutation[column[p]]
            out[i] += A[p] * x[j]
            if j != i:
                out[j] += A[p] * x[i]


@njit(cache=True, nogil=True)
def mass_times(memory: Memory, x: Array, out: Array) -> None:
    """out = M x."""
    integers, reals, table, _, _, _ = memory
    pointer = indices_of(integers, pk.MASS_POINTER)
    column = indices_of(integers, pk.MASS_COLUMN)
    value = reals_of(reals, table, pk.MASS_VALUE)
    for i in range(x.size):
        total = 0.0
        for p in range(pointer[i], pointer[i + 1]):
            total += value[p] * x[column[p]]
        out[i] = total
