"""Numeric Cholesky in the fronts of `symbolic`, in place of the matrix: no allocation.

A front (size, size) holds its upper triangle: the first rows are those of L^T of its pivots. In
place of their diagonal stands the inverse of that: a division takes as long as many products.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from veh_identification.types import Array, IntArray

#: Sums may be added up in another order, which lets them be computed in pairs; nothing else.
SUMS = {'reassoc', 'contract'}


@njit(cache=True, nogil=True, fastmath=SUMS)
def _reduce_row(matrix: Array, start: int, size: int, i: int, above: int) -> None:
    """Row i of a front less what the rows above it take: four at once, to load it less often."""
    row = matrix[start + i * size + i : start + i * size + size]
    k = 0
    while k + 4 <= above:
        at = start + k * size + i
        a, b = matrix[at : at + row.size], matrix[at + size : at + size + row.size]
        c = matrix[at + 2 * size : at + 2 * size + row.size]
        d = matrix[at + 3 * size : at + 3 * size + row.size]
        p, q, r, s = a[0], b[0], c[0], d[0]
        for j in range(row.size):
            row[j] -= p * a[j] + q * b[j] + r * c[j] + s * d[j]
        k += 4
    while k < above:
        at = start + k * size + i
        a = matrix[at : at + row.size]
        p = a[0]
        for j in range(row.size):
            row[j] -= p * a[j]
        k += 1


@njit(cache=True, nogil=True)
def _hand_on(
    matrix: Array, start: int, pivots: int, size: int, target: int, width: int, handed: IntArray
) -> None:
    """Add what is left of a front's border to the front at `target`."""
    for i in range(size - pivots):
        at = start + (pivots + i) * size + pivots
        base = target + handed[i] * width
        for j in range(i, size - pivots):
            matrix[base + handed[j]] += matrix[at + j]


@njit(cache=True, nogil=True)
def factorise(
    fronts: IntArray, handed: IntArray, matrix: Array, diagonal: Array, floor: float, lowest: float
) -> int:
    """L of the matrix in its place; returns -1, or the place of the first pivot too small.

    `fronts` and `handed` as in `symbolic.Pattern`; `diagonal` of the matrix in that order. A pivot
    below `floor` times its diagonal entry, or below `lowest`, means that the row is (numerically)
    a combination of earlier ones: the pose is singular.
    """
    first = 0
    for f in range(fronts.size // 5):
        start, pivots, size = fronts[5 * f], fronts[5 * f + 1], fronts[5 * f + 2]
        for i in range(size):
            _reduce_row(matrix, start, size, i, min(i, pivots))
            if i < pivots:
                row = matrix[start + i * size + i : start + i * size + size]
                pivot = row[0]
                if not (pivot > floor * diagonal[first + i] and pivot > lowest):
                    return first + i
                inverse = 1.0 / np.sqrt(pivot)
                for j in range(row.size):
                    row[j] *= inverse
                row[0] = inverse
        first += pivots
        parent = fronts[5 * f + 4]
        if parent >= 0:
            at = fronts[5 * f + 3]
            _hand_on(
                matrix,
                start,
                pivots,
                size,
                fronts[5 * parent],
                fronts[5 * parent + 2],
                handed[at : at + size - pivots],
            )
    return -1


@njit(cache=True, nogil=True, fastmath=SUMS)
def solve(
    fronts: IntArray,
    border: IntArray,
    matrix: Array,
    permutation: IntArray,
    right: Array,
    work: Array,
    buffer: Array,
    result: Array,
) -> None:
    """Solve L L^T x = right in place of `result` (may be `right` itself).

    `work` is as long as x and `buffer` as the largest front is wide.
    """
    for k in range(permutation.size):
        work[k] = right[permutation[k]]
    first = 0
    for f in range(fronts.size // 5):
        start, pivots, size = fronts[5 * f], fronts[5 * f + 1], fronts[5 * f + 2]
        at = fronts[5 * f + 3]
        others = border[at : at + size - pivots]
        y = buffer[:size]
        for i in range(pivots):
            y[i] = work[first + i]
        for i in range(others.size):
            y[pivots + i] = work[others[i]]
        for i in range(pivots):
            row = matrix[start + i * size + i : start + i * size + size]
            rest = y[i:size]
            value = rest[0] * row[0]
            for j in range(row.size):
                rest[j] -= row[j] * value
            rest[0] = value
        for i in range(pivots):
            work[first + i] = y[i]
        for i in range(others.size):
            work[others[i]] = y[pivots + i]
        first += pivots
    for f in range(fronts.size // 5 - 1, -1, -1):
        start, pivots, size = fronts[5 * f], fronts[5 * f + 1], fronts[5 * f + 2]
        at = fronts[5 * f + 3]
        others = border[at : at + size - pivots]
        first -= pivots
        y = buffer[:size]
        for i in range(pivots):
            y[i] = work[first + i]
        for i in range(others.size):
            y[pivots + i] = work[others[i]]
        for i in range(pivots - 1, -1, -1):
            row = matrix[start + i * size + i : start + i * size + size]
            rest = y[i:size]
            total = 0.0
            for j in range(1, row.size):
                total += row[j] * rest[j]
            rest[0] = (rest[0] - total) * row[0]
        for i in range(pivots):
            work[first + i] = y[i]
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
