"""Linear relations between standard parameters: symmetry, known zeros, equal parts.

Relations are text, one parameter per line on the left: `wheel.Jyy = wheel.Jxx`,
`wheel.MSx = 0`, `right.M = left.M`, `wheel.Jzz = 2 * wheel.Jxx - 0.5 * hub.Jzz`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from veh_identification.errors import ModelError
from veh_identification.multibody.columns import Columns
from veh_identification.types import Array


@dataclass(frozen=True, eq=False)
class ParameterMap:
    """x_full = matrix @ x_free, so W_free = W_full @ matrix; `columns` describes x_free."""

    matrix: Array
    columns: Columns
    full: Columns

    def reduce(self, W: Array) -> Array:
        """Regressor of the free parameters from that of all parameters (..., columns)."""
        return W @ self.matrix

    def expand(self, free: Array) -> Array:
        """All parameters from the free ones."""
        return self.matrix @ free


def tie_parameters(columns: Columns, relations: Sequence[str]) -> ParameterMap:
    """The map that the relations leave; relations whose parameter has no column are errors."""
    count = len(columns)
    matrix = np.eye(count)
    eliminated: list[int] = []
    for relation in relations:
        target, weights = _parse(relation, columns)
        if target in eliminated:
            raise ModelError(
                f'relation "{relation}": {columns.names[target]} is already given '
                'by an earlier one'
            )
        row = weights @ matrix
        if row[target] != 0.0:
            raise ModelError(f'relation "{relation}" leads back to {columns.names[target]} itself')
        # Wherever x_target stands on a right side so far, put the new expression.
        matrix = matrix + np.outer(matrix[:, target], row)
        matrix[:, target] = 0.0
        eliminated.append(target)
    free = [k for k in range(count) if k not in set(eliminated)]
    return ParameterMap(matrix[:, free], columns.take(free), columns)


def _parse(relation: str, columns: Columns) -> tuple[int, Array]:
    """Index of the left side and weights of the right side of `A = 2 * B - C`."""
    left, equals, right = relation.partition('=')
    tokens = right.split()
    if not equals or not tokens:
        raise ModelError(f'relation "{relation}": expected "PARAMETER = combination"')
    weights = np.zeros(len(columns))
    sign, factor, last = 1.0, 1.0, ''
    for token in tokens:
        if token in ('+', '-'):
            sign, factor = (1.0 if token == '+' else -1.0), 1.0
        elif token == '*':
            continue
        elif _number(token) is not None:
            factor *= _number(token) or 0.0
        else:
            weights[columns.index(token)] += sign * factor
        last = token
    constant_only = not np.any(weights)
    if last in ('+', '-', '*') or (constant_only and tokens not in (['0'], ['0.0'])):
        raise ModelError(
            f'relation "{relation}": the right side must be 0 or a sum of parameters with factors'
        )
    return columns.index(left.strip()), weights


def _number(token: str) -> float | None:
    try:
        return float(token)
    except ValueError:
        return None
