"""Numeric sparse Cholesky on the fixed pattern of `symbolic`: up-looking, no allocation."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from veh_identification.types import Array

IntArray = NDArray[np.uint64]


@njit(cache=True, nogil=True)
def factorise(
    matrix_pointer: IntArray,
    matrix_column: IntArray,
    matrix: Array,
    factor_pointer: IntArray,
    factor_row: IntArray,
    row_pointer: IntArray,
    row_column: IntArray,
    factor: Array,
    work: Array,
    fill: IntArray,
    floor: float,
    lowest: float,
) -> int:
    """Fill `factor` with L; returns -1, or the first permuted row whose pivot is too small.

    In place of its diagonal stands the inverse of that: a division takes as long as many products.

    A pivot below `floor` times its diagonal entry, or below `lowest`, means that the row is
    (numerically) a combination of earlier ones: the pose is singular.
    """
    size = factor_pointer.size - 1
    for k in range(size):
        work[k] = 0.0
    for k in range(size):
        for p in range(matrix_pointer[k], matrix_pointer[k + 1]):
            work[matrix_column[p]] = matrix[p]
        diagonal = work[k]
        pivot = diagonal
        work[k] = 0.0
        for t in range(row_pointer[k], row_pointer[k + 1]):
            j = row_column[t]
            start = factor_pointer[j]
            value = work[j] * factor[start]
            work[j] = 0.0
            stop = fill[j]
            for p in range(start + 1, stop):
                work[factor_row[p]] -= factor[p] * value
            pivot -= value * value
            factor[stop] = value
            fill[j] = stop + 1
        if not (pivot > floor * diagonal and pivot > lowest):
            return k
        factor[factor_pointer[k]] = 1.0 / np.sqrt(pivot)
        fill[k] = factor_pointer[k] + 1
    return -1


@njit(cache=True, nogil=True)
def solve(
    factor_pointer: IntArray,
    factor_row: IntArray,
    factor: Array,
    permutation: IntArray,
    right: Array,
    work: Array,
    result: Array,
) -> None:
    """Solve L L^T x = right in place of `result` (may be `right` itself)."""
    size = factor_pointer.size - 1
    for k in range(size):
        work[k] = right[permutation[k]]
    for k in range(size):
        start = factor_pointer[k]
        value = work[k] * factor[start]
        work[k] = value
        for p in range(start + 1, factor_pointer[k + 1]):
            work[factor_row[p]] -= factor[p] * value
    for k in range(size - 1, -1, -1):
        start = factor_pointer[k]
        value = work[k]
        for p in range(start + 1, factor_pointer[k + 1]):
            value -= factor[p] * work[factor_row[p]]
        work[k] = value * factor[start]
    for k in range(size):
        result[permutation[k]] = work[k]


@njit(cache=True, nogil=True)
def solve_block(
    factor_pointer: IntArray,
    factor_row: IntArray,
    factor: Array,
    permutation: IntArray,
    right: Array,
    work: Array,
    result: Array,
) -> None:
    """The same for many right-hand sides (size, k): the inner loops run over the k columns."""
    size = factor_pointer.size - 1
    width = right.shape[1]
    for k in range(size):
        source = permutation[k]
        for c in range(width):
            work[k, c] = right[source, c]
    for k in range(size):
        start = factor_pointer[k]
        inverse = factor[start]
        for c in range(width):
            work[k, c] *= inverse
        for p in range(start + 1, factor_pointer[k + 1]):
            row, value = factor_row[p], factor[p]
            for c in range(width):
                work[row, c] -= value * work[k, c]
    for k in range(size - 1, -1, -1):
        start = factor_pointer[k]
        for p in range(start + 1, factor_pointer[k + 1]):
            row, value = factor_row[p], factor[p]
            for c in range(width):
                work[k, c] -= value * work[row, c]
        inverse = factor[start]
        target = permutation[k]
        for c in range(width):
            work[k, c] *= inverse
            result[target, c] = work[k, c]
