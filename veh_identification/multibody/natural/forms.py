"""Linear forms: points and vectors as linear functions of the natural coordinates.

Every point or vector that a natural-coordinate model speaks of is `f = A q + a`: a coordinate
triple itself, a point of a rigid body (equation 34: a combination of the body's own points and
vectors), a difference of two points or something fixed to the ground. Constraints, masses, forces
and sensors only ever see forms; so a body point needs no coordinates of its own, and sharing a
point or a vector between two bodies is simply using the same form twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from veh_identification.types import Array

Row = Mapping[int, float]
# Coefficients this small are cancellation, not geometry.
COEFFICIENT_FLOOR = 1e-14


def _combine(first: Row, second: Row, factor: float) -> dict[int, float]:
    result = dict(first)
    for column, coefficient in second.items():
        value = result.get(column, 0.0) + factor * coefficient
        if abs(value) > COEFFICIENT_FLOOR:
            result[column] = value
        else:
            result.pop(column, None)
    return result


@dataclass(frozen=True, eq=False)
class Form:
    """Three scalar rows `{column: coefficient}` and a constant (third row 0 in the plane)."""

    rows: tuple[Row, Row, Row]
    constant: tuple[float, float, float] = (0.0, 0.0, 0.0)

    def __add__(self, other: Form) -> Form:
        return self._plus(other, 1.0)

    def __sub__(self, other: Form) -> Form:
        return self._plus(other, -1.0)

    def __mul__(self, factor: float) -> Form:
        return ZERO._plus(self, float(factor))

    __rmul__ = __mul__

    def _plus(self, other: Form, factor: float) -> Form:
        x, y, z = (_combine(a, b, factor) for a, b in zip(self.rows, other.rows, strict=True))
        a, b, c = (p + factor * q for p, q in zip(self.constant, other.constant, strict=True))
        return Form((x, y, z), (a, b, c))

    def perpendicular(self) -> Form:
        """The form turned by +90 degrees in the plane (equation 31: v from u)."""
        x, y, _ = self.rows
        return Form(
            ({k: -v for k, v in y.items()}, dict(x), {}),
            (-self.constant[1], self.constant[0], 0.0),
        )

    @property
    def columns(self) -> frozenset[int]:
        """Indices of the coordinates that the form depends on."""
        return frozenset().union(*(row.keys() for row in self.rows))

    @property
    def key(self) -> tuple[object, ...]:
        """Hashable identity, so that equal forms are stored once."""
        rows = tuple(tuple(sorted((k, round(v, 13)) for k, v in row.items())) for row in self.rows)
        return rows + tuple(round(c, 13) for c in self.constant)

    def value(self, q: Array) -> Array:
        """Value of the form at coordinates `q`."""
        return np.array(
            [
                sum(v * q[k] for k, v in row.items()) + c
                for row, c in zip(self.rows, self.constant, strict=True)
            ]
        )

    def matrix(self, coordinate_count: int) -> Array:
        """Dense coefficient matrix (3, coordinate_count)."""
        A = np.zeros((3, coordinate_count))
        for index, row in enumerate(self.rows):
            for column, coefficient in row.items():
                A[index, column] = coefficient
        return A


ZERO = Form(({}, {}, {}))


def fixed(vector: Sequence[float]) -> Form:
    """A point or vector that stays where it is (two or three components)."""
    x, y, *rest = (float(v) for v in vector)
    return Form(({}, {}, {}), (x, y, rest[0] if rest else 0.0))


def of_columns(columns: Sequence[int]) -> Form:
    """The form made of two or three coordinates themselves (a point or a vector)."""
    rows: list[Row] = [{column: 1.0} for column in columns]
    while len(rows) < 3:
        rows.append({})
    return Form((rows[0], rows[1], rows[2]))


def scalar(column: int, factor: float = 1.0, constant: float = 0.0) -> Form:
    """A form whose first row is one scalar coordinate."""
    return Form(({column: factor}, {}, {}), (constant, 0.0, 0.0))


def combination(forms: Sequence[Form], weights: Iterable[float]) -> Form:
    """Weighted sum of forms."""
    result = ZERO
    for form, weight in zip(forms, weights, strict=True):
        if weight != 0.0:
            result = result + form * float(weight)
    return result


def in_span(form: Form, basis: Sequence[Form]) -> bool:
    """Whether a form is a linear combination of others (a vector fixed in a body, say)."""
    known = frozenset().union(*(b.columns for b in basis))
    if not form.columns <= known:
        return False
    columns = sorted(known)
    place = {column: k for k, column in enumerate(columns)}

    def flat(item: Form) -> Array:
        result = np.zeros((3, len(columns) + 1))
        for axis, row in enumerate(item.rows):
            for column, coefficient in row.items():
                result[axis, place[column]] = coefficient
            result[axis, -1] = item.constant[axis]
        return result.ravel()

    matrix = np.array([flat(b) for b in basis]).T
    target = flat(form)
    rest = target - matrix @ np.linalg.lstsq(matrix, target, rcond=None)[0]
    return bool(np.max(np.abs(rest)) <= 1e-10 * max(1.0, float(np.max(np.abs(target)))))
