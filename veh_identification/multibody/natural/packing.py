"""Packs a description into two flat arrays that the kernels read (integers and reals).

A numba call pays for every array argument, so all topology stands in one integer array and all
coefficients in one real array; the first entries are a table of section starts. A third array
is the scratch memory of the kernels.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit

from veh_identification.multibody.natural.forms import Form
from veh_identification.multibody.natural.records import (
    ANGLE,
    DISTANCE,
    DOT,
    LINEAR,
    Constraint,
    Description,
)
from veh_identification.multibody.natural.symbolic import Pattern, analyse
from veh_identification.types import Array, IntArray

# Sections of the integer array.
(
    FORM_POINTER,
    FORM_COLUMN,
    CONSTRAINTS,
    JACOBIAN_POINTER,
    JACOBIAN_COLUMN,
    JACOBIAN_SLOT,
    NORMAL_SLOT,
    MASS_POINTER,
    MASS_COLUMN,
    MASS_SLOT,
    SPRINGS,
    SPRING_SLOT,
    COORDINATE_SPRINGS,
    BODIES,
    BODY_POINTER,
    BODY_COLUMN,
    BODY_SLOT_POINTER,
    BODY_SLOT,
    INDEPENDENT,
    DIAGONAL_SLOT,
    PERMUTATION,
    FRONTS,
    FRONT_BORDER,
    FRONT_HANDED,
    SPRING_POINTER,
    SPRING_COLUMN,
    SPRING_SLOT_POINTER,
    INTEGER_SECTIONS,
) = range(28)
# Sections of the real array.
(
    FORM_VALUE,
    FORM_CONSTANT,
    MASS_VALUE,
    GRAVITY_FORCE,
    SPRING_VALUE,
    COORDINATE_SPRING_VALUE,
    BODY_MATRIX,
    SPRING_MATRIX,
    REAL_SECTIONS,
) = range(9)
# Sections of the scratch array.
(
    POSITION,
    RATE,
    ACCELERATION,
    DIRECTION,
    RESIDUAL,
    JACOBIAN,
    MATRIX,
    WORK,
    RIGHT,
    FORCE,
    INCREMENT,
    ROWS,
    ROWS_2,
    FIRST_HAT,
    SECOND_HAT,
    KEEP,
    SIGMA,
    DIAGONAL_TANGENT,
    SPRING_TANGENT,
    LOAD_TANGENT,
    ROW_SHARE,
    SCRATCH_SECTIONS,
) = range(22)
COLUMNS_PER_CONSTRAINT = 5
SPRING_TANGENT_SIZE, LOAD_TANGENT_SIZE = 4, 12  # direction and weight; matrix and local point
LOAD_SIZE = 27  # force 3, local point 3, moment 3, stiffness 3x3, damping 3x3


@njit(cache=True, nogil=True)
def integers_of(packed: IntArray, section: int) -> IntArray:
    """View of one section of the packed integers."""
    return packed[packed[section] : packed[section + 1]]


@njit(cache=True, nogil=True)
def indices_of(packed: IntArray, section: int) -> Any:
    """The same as unsigned numbers: indexing then needs no test for negative indices."""
    return packed[packed[section] : packed[section + 1]].view(np.uint64)


@njit(cache=True, nogil=True)
def reals_of(packed: Array, table: IntArray, section: int) -> Array:
    """View of one section of a packed real array; its table stands in the integers' tail."""
    return packed[table[section] : table[section + 1]]


@dataclass(frozen=True)
class Packed:
    """The flat arrays of one model; `table` and `scratch_table` are section starts."""

    integers: IntArray
    reals: Array
    table: IntArray
    scratch: Array
    scratch_table: IntArray
    buffer: Array  # as wide as the largest front
    mass: Array
    pattern: Pattern


def _join_integers(sections: list[IntArray]) -> IntArray:
    starts = np.cumsum([INTEGER_SECTIONS + 1] + [s.size for s in sections])
    return np.concatenate([starts, *sections]).astype(np.int64)


def _join_reals(sections: list[Array]) -> tuple[Array, IntArray]:
    table = np.cumsum([0] + [s.size for s in sections]).astype(np.int64)
    return np.concatenate([np.asarray(s, dtype=float).ravel() for s in sections]), table


def _integer(values: object) -> IntArray:
    return np.asarray(values, dtype=np.int64).ravel()


def pack_forms(forms: list[Form]) -> tuple[IntArray, IntArray, Array, Array]:
    """Compressed rows of all forms, three scalar rows each."""
    pointer, columns = [0], []
    values: list[float] = []
    constants: list[float] = []
    for form in forms:
        for row, constant in zip(form.rows, form.constant, strict=True):
            columns.extend(sorted(row))
            values.extend(row[c] for c in sorted(row))
            constants.append(constant)
            pointer.append(len(columns))
    return _integer(pointer), _integer(columns), np.array(values), np.array(constants)


def constraint_rows(record: Constraint, pointer: IntArray, columns: IntArray) -> list[int]:
    """Columns that a constraint touches, in the order in which its kernel visits them."""

    def of_form(number: int) -> list[int]:
        return [int(c) for c in columns[pointer[3 * number] : pointer[3 * number + 3]]]

    a, b, c = record.forms
    if record.kind == LINEAR:
        return [int(k) for k in columns[pointer[a] : pointer[a + 1]]]
    if record.kind == DOT:
        return of_form(a) + of_form(b)
    if record.kind == ANGLE:
        return of_form(a) + of_form(b) + of_form(c) + [record.coordinate]
    if record.kind == DISTANCE:
        return of_form(a) + [record.coordinate]
    return of_form(a) + of_form(b) + [record.coordinate]


def mass_matrix(description: Description) -> Array:
    """Constant mass matrix M of equation (13)."""
    size = len(description.names)
    M = np.zeros((size, size))
    for forms, weights in description.masses:
        matrices = [form.matrix(size) for form in forms]
        for i, first in enumerate(matrices):
            for j, second in enumerate(matrices):
                M += weights[i][j] * (first.T @ second)
    return 0.5 * (M + M.T)


def gravity_force(description: Description) -> Array:
    """Generalised gravity force: constant, by the virtual power of equation (29)."""
    size = len(description.names)
    Q = np.zeros(size)
    for form, mass in description.weights:
        Q += mass * (form.matrix(size).T @ np.array(description.gravity))
    return Q


def _pair_slots(pattern: Pattern, columns: list[int]) -> list[int]:
    return [
        pattern.slot(columns[i], columns[j]) for i in range(len(columns)) for j in range(i + 1)
    ]


def _pointer_of(lists: list[list[int]]) -> IntArray:
    return _integer(np.cumsum([0] + [len(items) for items in lists]))


def _flat(lists: list[list[int]]) -> IntArray:
    return _integer([item for items in lists for item in items])


@dataclass(frozen=True)
class _Layout:
    """Columns that each kind of item touches, and the pattern that they make together."""

    visits: list[list[int]]  # per constraint, in the order of its kernel
    rows: list[list[int]]  # the same, each column once
    mass_rows: list[list[int]]
    bodies: list[list[Form]]
    body_columns: list[list[int]]
    springs: list[Form]
    spring_columns: list[list[int]]
    pattern: Pattern


def _lay_out(description: Description, M: Array, pointer: IntArray, columns: IntArray) -> _Layout:
    visits = [constraint_rows(r, pointer, columns) for r in description.constraints]
    rows = [sorted(set(v)) for v in visits]
    mass_rows = [np.flatnonzero(row).tolist() for row in M]
    bodies = [[body.origin, *body.axes] for body in description.bodies]
    body_columns = [sorted(frozenset().union(*(f.columns for f in forms))) for forms in bodies]
    springs = [description.forms[s.form] for s in description.springs]
    spring_columns = [sorted(form.columns) for form in springs]
    pattern = analyse(
        M.shape[0],
        [*rows, *body_columns, *spring_columns, *([i, *row] for i, row in enumerate(mass_rows))],
    )
    return _Layout(visits, rows, mass_rows, bodies, body_columns, springs, spring_columns, pattern)


def _integer_sections(
    description: Description,
    layout: _Layout,
    pointer: IntArray,
    columns: IntArray,
    independent: list[int],
) -> IntArray:
    """Integer sections in the order of the constants at the top."""
    pattern, size = layout.pattern, len(description.names)
    numbers = {form.key: i for i, form in enumerate(description.forms)}
    starts = np.cumsum([0] + [len(row) for row in layout.rows])
    slots = [
        int(start) + int(np.searchsorted(row, column))
        for start, row, visit in zip(starts, layout.rows, layout.visits, strict=False)
        for column in visit
    ]
    body_slots = [_pair_slots(pattern, c) for c in layout.body_columns]
    spring_slots = [_pair_slots(pattern, c) for c in layout.spring_columns]
    mass_slots = [
        pattern.slot(i, j) if j <= i else -1 for i, row in enumerate(layout.mass_rows) for j in row
    ]
    return _join_integers(
        [
            pointer,
            columns,
            _integer([[r.kind, *r.forms, r.coordinate] for r in description.constraints]),
            _pointer_of(layout.rows),
            _flat(layout.rows),
            _integer(slots),
            _flat([_pair_slots(pattern, row) for row in layout.rows]),
            _pointer_of(layout.mass_rows),
            _flat(layout.mass_rows),
            _integer(mass_slots),
            _integer([s.form for s in description.springs]),
            _flat(spring_slots),
            _integer([s.coordinate for s in description.coordinate_springs]),
            _integer([numbers[f.key] for forms in layout.bodies for f in forms]),
            _pointer_of(layout.body_columns),
            _flat(layout.body_columns),
            _pointer_of(body_slots),
            _flat(body_slots),
            _integer(independent),
            _integer([pattern.slot(i, i) for i in range(size)]),
            pattern.permutation,
            pattern.fronts.ravel(),
            pattern.border,
            pattern.handed,
            _pointer_of(layout.spring_columns),
            _flat(layout.spring_columns),
            _pointer_of(spring_slots),
        ]
    )


def _real_sections(
    description: Description, layout: _Layout, M: Array, values: Array, constants: Array
) -> tuple[Array, IntArray]:
    """Real sections in the order of the constants at the top."""
    size = M.shape[0]
    bodies = [
        np.vstack([f.matrix(size) for f in forms])[:, columns].ravel()
        for forms, columns in zip(layout.bodies, layout.body_columns, strict=True)
    ]
    springs = [
        form.matrix(size)[:, columns].ravel()
        for form, columns in zip(layout.springs, layout.spring_columns, strict=True)
    ]
    return _join_reals(
        [
            values,
            constants,
            np.array([M[i, j] for i, row in enumerate(layout.mass_rows) for j in row]),
            gravity_force(description),
            np.array(
                [[s.stiffness, s.damping, s.free_length, s.preload] for s in description.springs]
            ),
            np.array([[s.stiffness, s.damping, s.rest] for s in description.coordinate_springs]),
            np.concatenate([np.zeros(0), *bodies]),
            np.concatenate([np.zeros(0), *springs]),
        ]
    )


def pack(description: Description, independent: list[int]) -> Packed:
    """All arrays of a model with these independent coordinates."""
    size, rows = len(description.names), len(description.constraints)
    pointer, columns, values, constants = pack_forms(description.forms)
    M = mass_matrix(description)
    layout = _lay_out(description, M, pointer, columns)
    integers = _integer_sections(description, layout, pointer, columns, independent)
    reals, table = _real_sections(description, layout, M, values, constants)
    forms3, pattern = 3 * len(description.forms), layout.pattern
    sizes = dict.fromkeys(range(SCRATCH_SECTIONS), size)
    sizes.update(dict.fromkeys((POSITION, RATE, ACCELERATION, DIRECTION), forms3))
    sizes.update(dict.fromkeys((RESIDUAL, ROWS, ROWS_2, SIGMA, ROW_SHARE), rows))
    sizes.update(
        {
            JACOBIAN: sum(len(row) for row in layout.rows),
            MATRIX: pattern.entries,
            SPRING_TANGENT: SPRING_TANGENT_SIZE * len(description.springs),
            LOAD_TANGENT: LOAD_TANGENT_SIZE * len(description.bodies),
        }
    )
    places = np.cumsum([0] + [sizes[k] for k in range(SCRATCH_SECTIONS)]).astype(np.int64)
    return Packed(
        integers,
        reals,
        table,
        np.zeros(int(places[-1])),
        places,
        np.zeros(int(pattern.fronts[:, 2].max())),
        M,
        pattern,
    )
