"""Streamed orthogonal reduction of Y = W X + rho (22): one triangular factor per equation.

Householder QR of [R_so_far; new rows] keeps R'R = W'W without ever forming W'W, so accuracy is
that of a QR of the whole matrix while memory is that of one chunk. One factor *per equation* lets
the per-equation sigma (24) and any weights (23) be applied after the only pass over the data.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from veh_identification.errors import EstimationError
from veh_identification.identification.blocks import BlockSource, Selection, clean_blocks
from veh_identification.identification.factor import Factor, triangular_factor
from veh_identification.types import Array


@dataclass(frozen=True)
class Information:
    """What a recording says about the unknowns: [R z; 0 r] of [W_j Y_j] for every equation j."""

    factors: Array  # (equations, columns + 1, columns + 1)
    samples: int  # samples with a usable equation
    excluded: int  # samples without any, because of values that are not finite
    squares: Array  # (equations,) sum of Y_j^2, for relative residuals
    row_counts: NDArray[np.int64] | None = None  # usable rows per equation; all samples if None
    _fits: dict[int, tuple[int, float]] = field(default_factory=dict, repr=False)

    @property
    def equations(self) -> int:
        """Number of equations per sample."""
        return self.factors.shape[0]

    @property
    def columns(self) -> int:
        """Number of unknowns."""
        return self.factors.shape[1] - 1

    @property
    def counts(self) -> NDArray[np.int64]:
        """Usable rows of every equation."""
        if self.row_counts is None:
            return np.full(self.equations, self.samples, np.int64)
        return self.row_counts

    @property
    def telling(self) -> NDArray[np.bool_]:
        """Equations that say something about the unknowns: W_j is not zero throughout."""
        return np.asarray(self.factors[:, :, :-1].any(axis=(1, 2)))

    @property
    def rows(self) -> NDArray[np.int64]:
        """Rows of every equation that say something: they alone are degrees of freedom."""
        return np.where(self.telling, self.counts, 0)

    def combined(self, weights: Array | None = None) -> Factor:
        """Return the factor of all equations, rows of equation j times weights[j] (25).

        Equations that say nothing about the unknowns are left out, their residuals too.
        """
        scale = np.ones(self.equations) if weights is None else np.asarray(weights, float)
        telling = self.telling
        factors = self.factors
        if not telling.all():
            scale, factors = scale[telling], factors[telling]
        stacked = (scale[:, None, None] * factors).reshape(-1, self.columns + 1)
        rows = int(self.counts[telling].sum())
        return Factor.from_triangle(triangular_factor(stacked), rows=rows)

    def equation(self, index: int) -> Factor:
        """Return the factor of one equation alone."""
        return Factor.from_triangle(self.factors[index], rows=int(self.counts[index]))

    def equation_fit(self, index: int) -> tuple[int, float]:
        """Rank and residual sum of squares of one equation fitted alone."""
        if index not in self._fits:
            self._fits[index] = self.equation(index).basic_fit()
        return self._fits[index]

    def select(self, columns: Selection) -> Information:
        """Keep some columns (indices or mask); the others are fixed at zero."""
        kept = np.append(np.arange(self.columns)[columns], self.columns)
        factors = np.stack([triangular_factor(f[:, kept]) for f in self.factors])
        return Information(factors, self.samples, self.excluded, self.squares, self.row_counts)

    def select_equations(self, equations: Selection) -> Information:
        """Keep some equations (indices or mask)."""
        return Information(
            self.factors[equations],
            self.samples,
            self.excluded,
            self.squares[equations],
            self.counts[equations],
        )

    def residual_squares(self, X: Array) -> Array:
        """Sum of squared residuals of every equation for given parameters, without the data."""
        solution = np.append(-np.asarray(X, float), 1.0)
        return np.square(self.factors @ solution).sum(axis=1)


class Accumulator:
    """Takes blocks of samples of any size and keeps the factors; `information()` at any time."""

    def __init__(self, equations: int, columns: int) -> None:
        self.equations, self.columns = equations, columns
        self.samples = self.excluded = 0
        self.squares = np.zeros(equations)
        self.counts = np.zeros(equations, np.int64)
        width = columns + 1
        # Fourteen times as many new rows as rows of R: the repeated work on R stays near 7 %, and
        # the chunk of one equation (2 MB for 130 columns) still fits the second-level cache.
        self._chunk = max(256, 14 * width)
        self._equations = [_EquationFactor(columns, self._chunk) for _ in range(equations)]
        self._waiting_W = np.empty((self._chunk, equations, columns))
        self._waiting_Y = np.empty((self._chunk, equations))
        self._waiting = 0

    def add(self, W: Array, Y: Array, valid: NDArray[np.bool_] | None = None) -> None:
        """Add clean samples: rows that are not `valid` (samples, equations) hold zeros."""
        if W.shape[1:] != (self.equations, self.columns):
            raise EstimationError(
                f'the accumulator holds {self.equations} equations and {self.columns} columns, '
                f'the block {W.shape[1]} and {W.shape[2]}'
            )
        if valid is None:
            used, self.counts = len(Y), self.counts + len(Y)
        else:
            used = int(np.count_nonzero(valid.any(axis=1)))
            self.counts = self.counts + np.count_nonzero(valid, axis=0)
        self.samples += used
        self.excluded += len(Y) - used
        self.squares += np.square(Y).sum(axis=0)
        start = 0
        while start < len(Y):
            if self._waiting == 0 and len(Y) - start >= self._chunk:
                # Large blocks are read where they are, small ones wait until a chunk is full.
                self._reduce(W[start : start + self._chunk], Y[start : start + self._chunk])
                start += self._chunk
                continue
            count = min(len(Y) - start, self._chunk - self._waiting)
            self._waiting_W[self._waiting : self._waiting + count] = W[start : start + count]
            self._waiting_Y[self._waiting : self._waiting + count] = Y[start : start + count]
            self._waiting += count
            start += count
            if self._waiting == self._chunk:
                self._flush()

    def information(self) -> Information:
        """Return the factors of everything added so far."""
        self._flush()
        factors = np.stack([equation.triangle() for equation in self._equations])
        return Information(
            factors, self.samples, self.excluded, self.squares.copy(), self.counts.copy()
        )

    def _flush(self) -> None:
        if self._waiting:
            self._reduce(self._waiting_W[: self._waiting], self._waiting_Y[: self._waiting])
            self._waiting = 0

    def _reduce(self, W: Array, Y: Array) -> None:
        for j, equation in enumerate(self._equations):
            equation.add(W[:, j], Y[:, j])


class _EquationFactor:
    """Triangle of one equation over the columns that have been other than zero so far.

    Force rows of a body do not see its inertia: skipping columns that are zero throughout saves
    half of the work for the base-link rows of a humanoid.
    """

    def __init__(self, columns: int, chunk: int) -> None:
        self._columns = columns
        self._active = np.zeros(0, np.intp)  # sorted
        self._R = np.zeros((1, 1))  # active columns, then Y
        # One standing work array: fresh megabytes for every chunk would cost more than the copy.
        self._work = np.empty((columns + 1) * (columns + 1 + chunk))

    def add(self, W: Array, Y: Array) -> None:
        """Reduce [R; W Y] to a new triangle."""
        if len(self._active) < self._columns:
            self._activate(W)
        old, rows = len(self._R), len(self._R) + len(Y)
        # Columns contiguous: the transpose is what LAPACK expects.
        work = self._work[: (len(self._active) + 1) * rows].reshape(-1, rows)
        work[:, :old] = self._R.T
        work[:-1, old:] = W.T if len(self._active) == self._columns else W[:, self._active].T
        work[-1, old:] = Y
        self._R = triangular_factor(work.T, overwrite=True)

    def _activate(self, W: Array) -> None:
        """Give R zero columns for those that hold something for the first time."""
        resting = np.setdiff1d(np.arange(self._columns), self._active)
        new = resting[W[:, resting].any(axis=0)]
        if len(new) == 0:
            return
        known, self._active = self._active, np.union1d(self._active, new)
        wide = np.zeros((len(self._R), len(self._active) + 1))
        wide[:, np.searchsorted(self._active, known)] = self._R[:, :-1]
        wide[:, -1] = self._R[:, -1]
        self._R = wide

    def triangle(self) -> Array:
        """R over all columns: as many rows as columns, not triangular where some are zero."""
        result = np.zeros((self._columns + 1, self._columns + 1))
        result[: len(self._R), np.append(self._active, self._columns)] = self._R
        return result


def accumulate(source: BlockSource, merged: bool = False) -> Information:
    """Read a source once; `merged` puts all equations into one factor (whitened samples)."""
    accumulator: Accumulator | None = None
    for block in clean_blocks(source):
        W, Y, valid = block.W, block.Y, block.valid
        if merged:
            W, Y = W.reshape(-1, 1, W.shape[2]), Y.reshape(-1, 1)
            valid = valid.reshape(-1, 1)
        accumulator = accumulator or Accumulator(W.shape[1], W.shape[2])
        accumulator.add(W, Y, valid)
    if accumulator is None:
        raise EstimationError('the recording holds no samples')
    if accumulator.samples == 0:
        raise EstimationError(
            f'all {accumulator.excluded} samples hold a value that is not a finite number'
        )
    return accumulator.information()
