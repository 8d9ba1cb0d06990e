"""Symbolic sparse Cholesky: a fill-reducing order and the fixed pattern of the factor.

Done once per model. The matrices of a natural-coordinate model (mass plus penalised constraints,
and the normal equations of the kinematic problems) all share one pattern, since every constraint
only couples the few coordinates of the bodies it joins.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from veh_identification.types import IntArray


@dataclass(frozen=True)
class Pattern:
    """Permutation, lower-triangular pattern of the matrix and of its factor."""

    permutation: IntArray  # permuted position -> coordinate
    position: IntArray  # coordinate -> permuted position
    matrix_pointer: IntArray  # rows of the permuted lower triangle
    matrix_column: IntArray
    factor_pointer: IntArray  # columns of L, diagonal first
    factor_row: IntArray
    row_pointer: IntArray  # for each row of L, its columns left of the diagonal, ascending
    row_column: IntArray
    slots: dict[tuple[int, int], int]  # (coordinate, coordinate) -> place in the matrix

    def slot(self, first: int, second: int) -> int:
        """Place of an entry of the symmetric matrix, by coordinate numbers."""
        return self.slots[(first, second) if (first, second) in self.slots else (second, first)]


def adjacency(size: int, cliques: Iterable[Iterable[int]]) -> list[set[int]]:
    """Neighbours of each coordinate when every clique couples all its members."""
    neighbours: list[set[int]] = [set() for _ in range(size)]
    for clique in cliques:
        members = set(clique)
        for member in members:
            neighbours[member] |= members
    for index, others in enumerate(neighbours):
        others.discard(index)
    return neighbours


def minimum_degree(neighbours: list[set[int]]) -> tuple[list[int], list[list[int]]]:
    """Elimination order by least fill, and the later neighbours of each at its elimination."""
    graph = [set(others) for others in neighbours]
    left = set(range(len(graph)))
    order: list[int] = []
    later: list[list[int]] = []
    while left:
        chosen = min(left, key=lambda node: (len(graph[node]), node))
        others = graph[chosen]
        for node in others:
            graph[node] |= others
            graph[node] -= {node, chosen}
        order.append(chosen)
        later.append(sorted(others))
        left.discard(chosen)
    return order, later


def _pointer(lists: list[list[int]]) -> tuple[IntArray, IntArray]:
    pointer = np.cumsum([0] + [len(items) for items in lists]).astype(np.int64)
    return pointer, np.array([item for items in lists for item in items], dtype=np.int64)


def analyse(size: int, cliques: Iterable[Iterable[int]]) -> Pattern:
    """Fixed pattern of all matrices made of these cliques and their Cholesky factor."""
    neighbours = adjacency(size, cliques)
    order, later = minimum_degree(neighbours)
    position = np.empty(size, dtype=np.int64)
    position[order] = np.arange(size)
    factor_columns = [[k] + sorted(int(position[node]) for node in later[k]) for k in range(size)]
    rows: list[list[int]] = [[] for _ in range(size)]
    for column, entries in enumerate(factor_columns):
        for row in entries[1:]:
            rows[row].append(column)
    matrix_rows = []
    for k, node in enumerate(order):
        left = sorted(int(position[other]) for other in neighbours[node] if position[other] < k)
        matrix_rows.append([*left, k])
    matrix_pointer, matrix_column = _pointer(matrix_rows)
    factor_pointer, factor_row = _pointer(factor_columns)
    row_pointer, row_column = _pointer(rows)
    slots = {}
    for k, columns in enumerate(matrix_rows):
        for offset, column in enumerate(columns):
            slots[(order[k], order[column])] = int(matrix_pointer[k]) + offset
    return Pattern(
        np.array(order, dtype=np.int64),
        position,
        matrix_pointer,
        matrix_column,
        factor_pointer,
        factor_row,
        row_pointer,
        row_column,
        slots,
    )
