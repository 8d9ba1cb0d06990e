"""Packs a description into two flat arrays that the kernels read (integers and reals).

A numba call pays for every array argument, so all topology stands in one integer array and all
coefficients in one real array; the first entries are a table of section starts. A third array
is the scratch memory of the kernels.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import Any, TypeVar

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

_Term = TypeVar('_Term')
# Sections of the integer array.
(
    FORM_POINTER,
    FORM_COLUMN,
    CONSTRAINTS,
    JACOBIAN_POINTER,
    JACOBIAN_COLUMN,
    GRADIENT_ENTRY,
    GRADIENT_POINTER,
    GRADIENT_FACTOR,
    NORMAL_SLOT,
    NORMAL_POINTER,
    NORMAL_PAIR,
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
) = range(32)
# Sections of the real array.
(
    FORM_VALUE,
    FORM_CONSTANT,
    GRADIENT_VALUE,
    MASS_VALUE,
    GRAVITY_FORCE,
    SPRING_VALUE,
    COORDINATE_SPRING_VALUE,
    BODY_MATRIX,
    SPRING_MATRIX,
    REAL_SECTIONS,
) = range(10)
# Sections of the scratch array.
(
    POSITION,
    RATE,
    ACCELERATION,
    DIRECTION,
    RESIDUAL,
    FACTORS,
    JACOBIAN,
    FACTOR_JACOBIAN,
    WEIGHTED_JACOBIAN,
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
) = range(25)
COLUMNS_PER_CONSTRAINT = 5
ANGLE_FACTORS = 10  # see `constraints.fill_factors`
PAIR = 2**32  # two places in one integer: first * PAIR + second
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

    @property
    def memory(self) -> tuple[IntArray, Array, IntArray, Array, IntArray, Array]:
        """What kernels take."""
        return (
            self.integers,
            self.reals,
            self.table,
            self.scratch,
            self.scratch_table,
            self.buffer,
        )


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


@dataclass(frozen=True)
class Term:
    """A summand of an entry of Phi_q: a constant times one of the FACTORS."""

    column: int
    value: float
    factor: int


def factor_places(description: Description) -> list[int]:
    """Where the FACTORS of each constraint begin that are no values of forms.

    First stand the values of all forms and a one, then ten numbers for each ANGLE and one for each
    DISTANCE, as `constraints.fill_factors` puts them there; the last entry is their number.
    """
    own = {ANGLE: ANGLE_FACTORS, DISTANCE: 1}
    counts = [own.get(record.kind, 0) for record in description.constraints]
    first = 3 * len(description.forms) + 1
    return [first + int(n) for n in np.cumsum([0, *counts])]


def gradient_terms(record: Constraint, forms: Sequence[Form], one: int, own: int) -> list[Term]:
    """Row of Phi_q (8) as a sum; `one`: place of the factor 1, `own`: of the constraint's own."""

    def of_form(number: int, first: int, weight: float = 1.0) -> list[Term]:
        rows = enumerate(forms[number].rows)
        return [Term(c, weight * v, first + axis) for axis, row in rows for c, v in row.items()]

    a, b, c = record.forms
    if record.kind == LINEAR:
        number, axis = divmod(a, 3)  # a scalar row
        return [Term(column, value, one) for column, value in forms[number].rows[axis].items()]
    if record.kind == ANGLE:
        terms = of_form(a, own) + of_form(b, own + 3) + of_form(c, own + 6)
        return [*terms, Term(record.coordinate, 1.0, own + 9)]
    if record.kind == DISTANCE:
        return [*of_form(a, 3 * a, 2.0), Term(record.coordinate, -2.0, own)]
    terms = of_form(a, 3 * b) + of_form(b, 3 * a)
    return terms if record.kind == DOT else [*terms, Term(record.coordinate, -1.0, one)]


def _gathered(sums: Mapping[int, Sequence[_Term]]) -> tuple[IntArray, IntArray, list[_Term]]:
    """Sums by where they belong, as places, where their terms begin, and all terms.

    Short sums first: loops of one length after the other are foreseen by the processor.
    """
    places = sorted(sums, key=lambda place: (len(sums[place]), place))
    pointer = np.cumsum([0] + [len(sums[place]) for place in places])
    return _integer(places), _integer(pointer), [t for place in places for t in sums[place]]


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

    terms: list[list[Term]]  # per constraint
    rows: list[list[int]]  # its columns
    mass_rows: list[list[int]]
    bodies: list[list[Form]]
    body_columns: list[list[int]]
    springs: list[Form]
    spring_columns: list[list[int]]
    pattern: Pattern

    def gradient(self) -> tuple[IntArray, IntArray, list[tuple[int, float]]]:
        """Entries of Phi_q, where their terms begin, and these: factor and value."""
        sums: dict[int, dict[int, float]] = {}
        first = 0
        for terms, row in zip(self.terms, self.rows, strict=True):
            place = {column: first + i for i, column in enumerate(row)}
            for term in terms:
                own = sums.setdefault(place[term.column], {})
                own[term.factor] = own.get(term.factor, 0.0) + term.value
            first += len(row)
        return _gathered({entry: list(own.items()) for entry, own in sums.items()})

    def normal(self) -> tuple[IntArray, IntArray, list[int]]:
        """Slots of Phi_q^T W Phi_q, where their terms begin, and these: pairs of entries."""
        sums: dict[int, list[int]] = {}
        first = 0
        for row in self.rows:
            for i, j in combinations_with_replacement(range(len(row)), 2):
                pair = (first + i) * PAIR + first + j
                sums.setdefault(self.pattern.slot(row[i], row[j]), []).append(pair)
            first += len(row)
        return _gathered(sums)


def _lay_out(description: Description, M: Array) -> _Layout:
    one, own = 3 * len(description.forms), factor_places(description)
    terms = [
        gradient_terms(record, description.forms, one, place)
        for record, place in zip(description.constraints, own, strict=False)
    ]
    rows = [sorted({term.column for term in row}) for row in terms]
    mass_rows = [np.flatnonzero(row).tolist() for row in M]
    bodies = [[body.origin, *body.axes] for body in description.bodies]
    body_columns = [sorted(frozenset().union(*(f.columns for f in forms))) for forms in bodies]
    springs = [description.forms[s.form] for s in description.springs]
    spring_columns = [sorted(form.columns) for form in springs]
    pattern = analyse(
        M.shape[0],
        [*rows, *body_columns, *spring_columns, *([i, *row] for i, row in enumerate(mass_rows))],
    )
    return _Layout(terms, rows, mass_rows, bodies, body_columns, springs, spring_columns, pattern)


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
    entries, entry_pointer, gradient = layout.gradient()
    normal_slots, normal_pointer, pairs = layout.normal()
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
            entries,
            entry_pointer,
            _integer([factor for factor, _ in gradient]),
            normal_slots,
            normal_pointer,
            _integer(pairs),
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
            np.array([value for _, value in layout.gradient()[2]]),
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
    layout = _lay_out(description, M)
    integers = _integer_sections(description, layout, pointer, columns, independent)
    reals, table = _real_sections(description, layout, M, values, constants)
    forms3, pattern = 3 * len(description.forms), layout.pattern
    sizes = dict.fromkeys(range(SCRATCH_SECTIONS), size)
    sizes.update(dict.fromkeys((POSITION, RATE, ACCELERATION, DIRECTION), forms3))
    sizes.update(dict.fromkeys((RESIDUAL, ROWS, ROWS_2, SIGMA, ROW_SHARE), rows))
    entries = sum(len(row) for row in layout.rows)
    sizes.update(dict.fromkeys((JACOBIAN, FACTOR_JACOBIAN, WEIGHTED_JACOBIAN), entries))
    sizes.update(
        {
            FACTORS: factor_places(description)[-1],
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
