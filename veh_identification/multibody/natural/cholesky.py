"""Numeric Cholesky in the fronts of `symbolic`, in place of the matrix: no allocation.

A front (size, size) holds its upper triangle: the first rows are those of L^T of its pivots. In
place of their diagonal stands the inverse of that: a division takes as long as many products.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from veh_identification.types import Array, IntArray

#: Sums may be added up in another order, which lets them be computed in pairs; nothing else.
SUMS = {'reassoc', 'contract'}


# Unsigned places need no test for being negative, and views of rows cost more than short rows do.


@njit(cache=True, nogil=True, fastmath=SUMS)
def _reduce_row(matrix: Array, start: Any, size: Any, i: Any, above: Any) -> None:
    """Row i of a front less what the rows above it take: four at once, to load it less often."""
    own, length = start + i * size + i, size - i
    k = i - i
    while k + np.uint64(4) <= above:
        a = start + k * size + i
        b, c, d = a + size, a + size + size, a + size + size + size
        p, q, r, s = matrix[a], matrix[b], matrix[c], matrix[d]
        for j in range(length):
            matrix[own + j] -= (
                p * matrix[a + j] + q * matrix[b + j] + r * matrix[c + j] + s * matrix[d + j]
            )
        k += np.uint64(4)
    while k < above:
        a = start + k * size + i
        p = matrix[a]
        for j in range(length):
            matrix[own + j] -= p * matrix[a + j]
        k += np.uint64(1)


@njit(cache=True, nogil=True)
def _hand_on(
    matrix: Array, start: Any, pivots: Any, size: Any, target: Any, width: Any, handed: Any
) -> None:
    """Add what is left of a front's border to the front at `target`."""
    for i in range(pivots, size):
        row, base = start + i * size, target + handed[i - pivots] * width
        for j in range(i, size):
            matrix[base + handed[j - pivots]] += matrix[row + j]


@njit(cache=True, nogil=True, fastmath=SUMS)
def _scale(matrix: Array, own: Any, length: Any, inverse: float) -> None:
    """A row of L^T from its pivot on, whose inverse takes the place of the diagonal."""
    for j in range(np.uint64(1), length):
        matrix[own + j] *= inverse
    matrix[own] = inverse


@njit(cache=True, nogil=True)
def factorise(
    fronts: IntArray, handed: IntArray, matrix: Array, diagonal: Array, floor: float, lowest: float
) -> int:
    """L of the matrix in its place; returns -1, or the place of the first pivot too small.

    `fronts` and `handed` as in `symbolic.Pattern`; `diagonal` of the matrix in that order. A pivot
    below `floor` times its diagonal entry, or below `lowest`, means that the row is (numerically)
    a combination of earlier ones: the pose is singular.
    """
    table, places = fronts.view(np.uint64), handed.view(np.uint64)
    eliminated = 0
    for f in range(table.size // np.uint64(5)):
        start, pivots, size = table[5 * f], table[5 * f + 1], table[5 * f + 2]
        for i in range(size):
            _reduce_row(matrix, start, size, i, min(i, pivots))
            if i < pivots:
                own = start + i * size + i
                pivot = matrix[own]
                if not (pivot > floor * diagonal[eliminated] and pivot > lowest):
                    return eliminated
                _scale(matrix, own, size - i, 1.0 / np.sqrt(pivot))
                eliminated += 1
        parent = fronts[5 * f + 4]
        if parent >= 0:
            at = table[5 * f + 3]
            target, width = table[5 * parent], table[5 * parent + 2]
            _hand_on(matrix, start, pivots, size, target, width, places[at : at + size - pivots])
    return -1


@njit(cache=True, nogil=True, fastmath=SUMS)
def _forward(
    matrix: Array, start: Any, pivots: Any, size: Any, first: Any, work: Array, taken: Array
) -> None:
    """L y = right for the pivots of a front; `taken`: what that takes from its border."""
    border = size - pivots
    for j in range(border):
        taken[j] = 0.0
    for i in range(pivots):
        row = start + i * size
        value = work[first + i] * matrix[row + i]
        work[first + i] = value
        for j in range(i + np.uint64(1), pivots):
            work[first + j] -= matrix[row + j] * value
        row += pivots
        for j in range(border):
            taken[j] += matrix[row + j] * value


@njit(cache=True, nogil=True, fastmath=SUMS)
def _backward(
    matrix: Array, start: Any, pivots: Any, size: Any, first: Any, work: Array, known: Array
) -> None:
    """L^T x = y for the pivots of a front; `known`: x of its border."""
    border = size - pivots
    for k in range(pivots):
        i = pivots - np.uint64(1) - k
        row, total = start + i * size, 0.0
        for j in range(i + np.uint64(1), pivots):
            total += matrix[row + j] * work[first + j]
        beyond = row + pivots
        for j in range(border):
            total += matrix[beyond + j] * known[j]
        work[first + i] = (work[first + i] - total) * matrix[row + i]


@njit(cache=True, nogil=True)
def solve(
    fronts: IntArray,
    border: Any,
    matrix: Array,
    permutation: Any,
    right: Array,
    work: Array,
    buffer: Array,
    result: Array,
) -> None:
    """Solve L L^T x = right in place of `result` (may be `right` itself).

    `border` and `permutation` as unsigned numbers; `work` is as long as x and `buffer` as the
    largest front is wide.
    """
    table = fronts.view(np.uint64)
    count = table.size // np.uint64(5)
    for k in range(permutation.size):
        work[k] = right[permutation[k]]
    first = np.uint64(0)
    for f in range(count):
        start, pivots, size = table[5 * f], table[5 * f + 1], table[5 * f + 2]
        at = table[5 * f + 3]
        _forward(matrix, start, pivots, size, first, work, buffer)
        for j in range(size - pivots):
            work[border[at + j]] -= buffer[j]
        first += pivots
    for g in range(count):
        back = count - np.uint64(1) - g
        start, pivots, size = table[5 * back], table[5 * back + 1], table[5 * back + 2]
        at = table[5 * back + 3]
        first -= pivots
        for j in range(size - pivots):
            buffer[j] = work[border[at + j]]
        _backward(matrix, start, pivots, size, first, work, buffer)
    for k in range(permutation.size):
        result[permutation[k]] = work[k]


@njit(cache=True, nogil=True)
def solve_block(
    fronts: IntArray,
    border: IntArray,
    matrix: Array,
    permutation: IntArray,
    right: Array,
    work: Array,
    result: Array,
) -> None:
    """The same for many right-hand sides (size, k): the inner loops run over the k columns."""
    width, first = right.shape[1], 0
    for k in range(permutation.size):
        for c in range(width):
            work[k, c] = right[permutation[k], c]
    for f in range(fronts.size // 5):
        start, pivots, size, at = fronts[5 * f : 5 * f + 4]
        for i in range(pivots):
            row = start + i * size
            for c in range(width):
                work[first + i, c] *= matrix[row + i]
            for j in range(i + 1, size):
                other = first + j if j < pivots else border[at + j - pivots]
                value = matrix[row + j]
                for c in range(width):
                    work[other, c] -= value * work[first + i, c]
        first += pivots
    for f in range(fronts.size // 5 - 1, -1, -1):
        start, pivots, size, at = fronts[5 * f : 5 * f + 4]
        first -= pivots
        for i in range(pivots - 1, -1, -1):
            row = start + i * size
            for j in range(i + 1, size):
                other = first + j if j < pivots else border[at + j - pivots]
                value = matrix[row + j]
                for c in range(width):
                    work[first + i, c] -= value * work[other, c]
            for c in range(width):
                work[first + i, c] *= matrix[row + i]
    for k in range(permutation.size):
        for c in range(width):
            result[permutation[k], c] = work[k, c]
