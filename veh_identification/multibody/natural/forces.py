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
def _add_spring_tangents(
    memory: Memory, by_rate: float, by_position: float, sum_of_tangents: Array
) -> None:
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
    kept = reals_of(scratch, places, pk.SPRING_TANGENT)
    T = np.empty((3, 3))
    for s in range(springs.size):
        i = 3 * springs[s]
        squared = f[i] ** 2 + f[i + 1] ** 2 + f[i + 2] ** 2
        weight = (by_position * constants[4 * s] + by_rate * constants[4 * s + 1]) / squared
        for a in range(3):
            kept[pk.SPRING_TANGENT_SIZE * s + a] = f[i + a]
        kept[pk.SPRING_TANGENT_SIZE * s + 3] = weight
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
        value = by_position * constants[3 * s] + by_rate * constants[3 * s + 1]
        A[diagonal[scalar[s]]] += value
        sum_of_tangents[scalar[s]] += value


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
    kept = reals_of(scratch, places, pk.LOAD_TANGENT)
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
                kept[pk.LOAD_TANGENT_SIZE * n + 3 * a + b] = T[a, b]
            kept[pk.LOAD_TANGENT_SIZE * n + 9 + a] = loads[n, 3 + a]
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
    """MATRIX = M + by_rate C + by_position K (41, 42), kept in parts for `dynamic_part_times`."""
    integers, reals, table, scratch, places, _ = memory
    A = reals_of(scratch, places, pk.MATRIX)
    slot = integers_of(integers, pk.MASS_SLOT)
    mass = reals_of(reals, table, pk.MASS_VALUE)
    diagonal = integers_of(integers, pk.DIAGONAL_SLOT)
    kept = reals_of(scratch, places, pk.DIAGONAL_TANGENT)
    A[:] = 0.0
    for p in range(slot.size):
        if slot[p] >= 0:
            A[slot[p]] += mass[p]
    for i in range(diagonal.size):
        kept[i] = by_position * tangents[0, i] + by_rate * tangents[1, i]
        A[diagonal[i]] += kept[i]
    _add_spring_tangents(memory, by_rate, by_position, kept)
    _add_load_tangents(memory, by_rate, by_position, loads, load_body)


@njit(cache=True, nogil=True)
def _form_times(memory: Memory, form: int, x: Array, factor: float, out: Array) -> None:
    """out += factor A x of one form, without its constant."""
    integers, reals, table, _, _, _ = memory
    pointer = integers_of(integers, pk.FORM_POINTER)
    column = integers_of(integers, pk.FORM_COLUMN)
    value = reals_of(reals, table, pk.FORM_VALUE)
    for axis in range(3):
        total = 0.0
        for p in range(pointer[3 * form + axis], pointer[3 * form + axis + 1]):
            total += value[p] * x[column[p]]
        out[axis] += factor * total


@njit(cache=True, nogil=True)
def dynamic_part_times(memory: Memory, load_body: IntArray, x: Array, out: Array) -> None:
    """out = D x with the matrix D = M + dt/2 C + dt^2/4 K of the last `assemble_dynamic_part`."""
    integers, _, _, scratch, places, _ = memory
    diagonal = reals_of(scratch, places, pk.DIAGONAL_TANGENT)
    springs = integers_of(integers, pk.SPRINGS)
    kept = reals_of(scratch, places, pk.SPRING_TANGENT)
    mass_times(memory, x, out)
    for i in range(x.size):
        out[i] += diagonal[i] * x[i]
    moved = np.empty(3)
    for s in range(springs.size):
        of = kept[pk.SPRING_TANGENT_SIZE * s : pk.SPRING_TANGENT_SIZE * (s + 1)]
        moved[:] = 0.0
        _form_times(memory, springs[s], x, 1.0, moved)
        pull = of[3] * (of[0] * moved[0] + of[1] * moved[1] + of[2] * moved[2])
        _add_form_force(memory, springs[s], pull * of[0], pull * of[1], pull * of[2], out)
    bodies = integers_of(integers, pk.BODIES)
    tangents = reals_of(scratch, places, pk.LOAD_TANGENT)
    for n in range(load_body.size):
        T = tangents[pk.LOAD_TANGENT_SIZE * n : pk.LOAD_TANGENT_SIZE * (n + 1)]
        if not T[:9].any():
            continue
        base = 4 * load_body[n]
        moved[:] = 0.0
        for axis in range(4):
            share = 1.0 if axis == 0 else T[8 + axis]
            if share != 0.0:
                _form_times(memory, bodies[base + axis], x, share, moved)
        fx = T[0] * moved[0] + T[1] * moved[1] + T[2] * moved[2]
        fy = T[3] * moved[0] + T[4] * moved[1] + T[5] * moved[2]
        fz = T[6] * moved[0] + T[7] * moved[1] + T[8] * moved[2]
        for axis in range(4):
            share = 1.0 if axis == 0 else T[8 + axis]
            if share != 0.0:
                _add_form_force(
                    memory, bodies[base + axis], share * fx, share * fy, share * fz, out
                )


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
