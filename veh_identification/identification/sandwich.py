"""Honest covariance of a least-squares estimate under coloured, coupled noise.

The estimate is H^-1 sum_k W_k' P^2 Y_k. Its covariance is H^-1 S H^-1 with S = W' P^2 Gamma P^2 W
and Gamma the covariance of the noise over time and equations. Gamma = B B' with B the recursion
1 / A of `NoiseColour`, so S is the Gram matrix of the regressors passed through that recursion:
one more pass over the samples with flat memory.
"""

from __future__ import annotations

import numba
import numpy as np

from veh_identification.identification.blocks import BlockSource, clean_blocks
from veh_identification.identification.factor import Factor, column_norms
from veh_identification.identification.noise import NoiseColour
from veh_identification.types import Array


@numba.njit(cache=True, nogil=True)
def _colour(rows: Array, coefficients: Array, order: int) -> None:  # pragma: no cover (compiled)
    """Filter rows (order + n, equations, columns) in place; the first `order` are past outputs."""
    count, equations, columns = rows.shape
    for k in range(order, count):
        for j in range(equations):
            current = rows[k, j]
            for i in range(order):
                factor = coefficients[j, i]
                if factor != 0.0:
                    past = rows[k - 1 - i, j]
                    for c in range(columns):
                        current[c] -= factor * past[c]


class _Colouring:
    """Streams weighted regressors through averaging and recursion and sums their Gram matrix."""

    def __init__(self, colour: NoiseColour, scale: Array, gain: Array) -> None:
        self.colour, self.scale, self.gain = colour, scale, gain
        equations, self.order = colour.coefficients.shape
        self._past = np.zeros((self.order, equations, len(scale)))
        self._rest = np.zeros((0, equations, len(scale)))
        values, vectors = np.linalg.eigh(colour.innovation)
        self._mix = (vectors * np.sqrt(np.maximum(values, 0.0))).T
        self.gram = np.zeros((len(scale), len(scale)))

    def add(self, W: Array) -> None:
        stride = self.colour.stride
        if stride > 1:
            W = np.concatenate([self._rest, W])
            whole = len(W) // stride * stride
            self._rest = W[whole:].copy()
            W = W[:whole].reshape(-1, stride, *W.shape[1:]).sum(axis=1)
        if len(W):
            self._filter(W * self.gain[:, None] / self.scale)

    def finish(self) -> Array:
        """Let the recursion ring out: the tail belongs to the Toeplitz form."""
        if len(self._rest):
            self._filter(self._rest.sum(axis=0, keepdims=True) * self.gain[:, None] / self.scale)
        for _ in range(40):
            before = np.trace(self.gram)
            self._filter(np.zeros((64, *self._past.shape[1:])))
            if np.trace(self.gram) <= before * (1.0 + 1e-9):
                break
        return self.gram

    def _filter(self, rows: Array) -> None:
        work = np.concatenate([self._past, rows])
        _colour(work, self.colour.coefficients, self.order)
        self._past = work[len(work) - self.order :].copy()
        mixed = np.matmul(self._mix, work[self.order :]).reshape(-1, rows.shape[2])
        self.gram += mixed.T @ mixed


def coloured_covariance(
    source: BlockSource,
    factor: Factor,
    weights: Array,
    colour: NoiseColour,
    prior_rows: Array | None = None,
) -> Array:
    """Covariance of the estimate whose weighted problem is `factor`, by one pass over the data.

    `prior_rows` are rows of `factor` that come from independent knowledge of unit variance.
    """
    scale = column_norms(factor.R)  # S is a Gram matrix: unit columns keep it well conditioned
    colouring: _Colouring | None = None
    for block in clean_blocks(source):
        colouring = colouring or _Colouring(colour, scale, np.square(weights))
        colouring.add(block.W)  # unusable samples are zero rows, in their places
    if colouring is None:
        raise ValueError('the source was empty on a later pass')
    inverse = factor.inverse() * scale[:, None]
    core = inverse.T @ colouring.finish() @ inverse
    inverse /= scale[:, None]
    if prior_rows is not None:
        spread = prior_rows @ inverse
        core += spread.T @ spread
    return inverse @ core @ inverse.T
