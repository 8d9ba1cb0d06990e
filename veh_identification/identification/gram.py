"""Fast first pass for well-conditioned recordings: Gram matrices, checked, refined afterwards.

Sums of W'W cost a fifth of an orthogonal reduction but square the condition number. That is
harmless where the column-scaled condition number is small and the solution is refined with true
residuals on the next pass (corrected seminormal equations). `accumulate_fast` measures both
conditions and reduces orthogonally instead where they do not hold.
"""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from veh_identification.errors import EstimationError
from veh_identification.identification.accumulator import Information, accumulate
from veh_identification.identification.blocks import LARGE, BlockSource, CleanBlock, clean_blocks
from veh_identification.identification.factor import (
    column_norms,
    scaled_condition,
    triangular_factor,
)
from veh_identification.identification.worker_threads import for_each
from veh_identification.types import Array, IntArray

# Squared, times the rounding of a double and the size of the problem: 1e-6. One refinement step
# multiplies the error of the solution by that.
LARGEST_CONDITION = 1e4
# Below this share of Y'Y the residual sum of squares drowns in the rounding of the sums.
SMALLEST_RESIDUAL = 1e-9


@numba.njit(cache=True, nogil=True)
def _side_by_side(
    W: Array, Y: Array, equation: int, active: IntArray
) -> Array:  # pragma: no cover (compiled)
    """[W Y] of one equation, columns that hold something only, without gaps in memory."""
    samples, count = len(W), len(active)
    rows = np.empty((samples, count + 1))
    for k in range(samples):
        for c in range(count):
            rows[k, c] = W[k, equation, active[c]]
        rows[k, count] = Y[k, equation]
    return rows


class _EquationGram:
    """[W Y]'[W Y] of one equation, skipping columns that are zero throughout a block."""

    def __init__(self, columns: int) -> None:
        self.sums = np.zeros((columns + 1, columns + 1))

    def add(self, block: CleanBlock, equation: int, used: NDArray[np.bool_]) -> None:
        active = np.flatnonzero(used)
        rows = _side_by_side(block.W, block.Y, equation, active)
        places = np.append(active, len(used))
        self.sums[np.ix_(places, places)] += rows.T @ rows

    def triangle(self) -> Array:
        """Triangular factor by Cholesky with pivoting, as most equations lack some parameters."""
        scale = column_norms(np.sqrt(np.diag(self.sums))[None, :])
        unit = self.sums / np.outer(scale, scale)
        tolerance = len(scale) * np.finfo(float).eps
        packed, pivots, rank, status = lapack.dpstrf(unit, tol=tolerance)
        if status < 0:  # only a programming error can make LAPACK refuse its arguments
            raise ValueError(f'dpstrf refused argument {-status}')
        rows = np.zeros_like(unit)
        rows[:rank, pivots - 1] = np.triu(packed)[:rank]
        return triangular_factor(rows * scale)


def accumulate_gram(source: BlockSource) -> Information:
    """Read a source once and sum Gram matrices; the factors have half the digits of W."""
    equations: list[_EquationGram] = []
    samples = excluded = 0
    counts: NDArray[np.int64] | None = None
    for block in clean_blocks(source):
        if not equations:
            equations = [_EquationGram(block.W.shape[2]) for _ in range(block.W.shape[1])]
        _add(equations, block)
        samples += len(block.Y) - block.excluded
        excluded += block.excluded
        counts = block.counts if counts is None else counts + block.counts
    if not equations:
        raise EstimationError('the recording holds no samples')
    if samples == 0:
        raise EstimationError(f'all {excluded} samples hold a value that is not a finite number')
    squares = np.array([equation.sums[-1, -1] for equation in equations])
    factors = np.stack([equation.triangle() for equation in equations])
    return Information(factors, samples, excluded, squares, counts)


def _add(equations: list[_EquationGram], block: CleanBlock) -> None:
    used = block.used
    for_each(
        lambda j: equations[j].add(block, j, used[j]),
        range(len(equations)),
        worth_it=block.W.size > LARGE,
    )


def trustworthy(information: Information) -> bool:
    """Whether Gram sums were good enough: small condition number, residuals above rounding."""
    if information.rows.sum() <= information.columns:
        return False
    for j in np.flatnonzero(information.telling).tolist():
        if information.equation_fit(j)[1] <= SMALLEST_RESIDUAL * information.squares[j]:
            return False
    weights = 1.0 / column_norms(np.sqrt(information.squares)[None, :])
    return scaled_condition(information.combined(weights).R) < LARGEST_CONDITION


def accumulate_fast(source: BlockSource) -> tuple[Information, bool]:
    """Gram sums where they do, else an orthogonal reduction; True if a refinement is due.

    The source must be re-iterable.
    """
    information = accumulate_gram(source)
    if trustworthy(information):
        return information, True
    return accumulate(source), False
