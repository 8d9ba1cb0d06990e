"""Sums over the Gram matrices of all bands, of those products alone that an equation holds.

An equation holds about eight of ninety signals. Entries stand one behind the other, equation by
equation: `column` is the signal, `parameter` the unknown, and those of equation j are
first[j] to first[j + 1].
"""

from __future__ import annotations

import numpy as np
from numba import njit

from veh_identification.types import Array, IntArray


@njit(cache=True, nogil=True)
def residual_products(
    grams: Array,
    column: IntArray,
    parameter: IntArray,
    first: IntArray,
    measured: IntArray,
    X: Array,
) -> Array:
    """Sums (bands, equations, equations) of products of the residual lines Y - W X."""
    count, signals = len(measured), grams.shape[1]
    result = np.empty((len(grams), count, count))
    row = np.empty(signals)
    for band in range(len(grams)):
        gram = grams[band]
        for j in range(count):
            for s in range(signals):
                row[s] = gram[measured[j], s]
            for i in range(first[j], first[j + 1]):
                value, taken = X[parameter[i]], column[i]
                if value != 0.0:
                    for s in range(signals):
                        row[s] -= value * gram[taken, s]
            for k in range(count):
                total = row[measured[k]]
                for i in range(first[k], first[k + 1]):
                    total -= X[parameter[i]] * row[column[i]]
                result[band, j, k] = total
    return result


@njit(cache=True, nogil=True)
def weighted_normal(
    grams: Array,
    column: IntArray,
    parameter: IntArray,
    first: IntArray,
    measured: IntArray,
    weights: Array,
    parameters: int,
) -> tuple[Array, Array]:
    """W' P W and W' P Y for weights (bands, equations, equations)."""
    left = np.zeros((parameters, parameters))
    right = np.zeros(parameters)
    count = len(measured)
    for band in range(len(weights)):
        gram = grams[band]
        for j in range(count):
            for k in range(count):
                weight = weights[band, j, k]
                if weight == 0.0:
                    continue
                for i in range(first[j], first[j + 1]):
                    row = gram[column[i]]
                    right[parameter[i]] += weight * row[measured[k]]
                    for m in range(first[k], first[k + 1]):
                        left[parameter[i], parameter[m]] += weight * row[column[m]]
    return left, right
