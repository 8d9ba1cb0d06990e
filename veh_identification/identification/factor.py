"""The square-root form of a least-squares problem: minimise |R X - z|^2 + rss."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack, qr, solve_triangular

from veh_identification.identification.blocks import Selection
from veh_identification.types import Array

# Relative to the largest singular value of the column-scaled factor. Rounding leaves about 1e-15
# times the root of the sizes; measured regressors that are merely ill-excited stay far above.
RANK_TOLERANCE = 1e-10
# An unknown is undetermined when a null direction moves it by more than rounding noise.
NULL_PARTICIPATION = 1e-6


def triangular_factor(matrix: Array, overwrite: bool = False) -> Array:
    """Upper triangular (columns x columns, zero-filled) R with R'R = matrix'matrix."""
    rows, columns = matrix.shape
    if rows == 0 or columns == 0:
        return np.zeros((columns, columns))
    # geqrt factors its panels recursively: 3 to 5 times as fast as geqrf on tall narrow chunks.
    block = min(32, rows, columns)
    work = np.asfortranarray(matrix) if overwrite else np.array(matrix, order='F')
    packed, _, status = lapack.dgeqrt(block, work, overwrite_a=True)
    if status != 0:  # only a programming error can make LAPACK refuse its arguments
        raise ValueError(f'dgeqrt refused argument {-status}')
    result = np.zeros((columns, columns))
    count = min(rows, columns)
    result[:count] = np.triu(packed[:count])
    return result


@dataclass(frozen=True)
class Factor:
    """Triangular factor R (p, p), transformed right-hand side z (p,), remaining sum of squares."""

    R: Array
    z: Array
    rss: float
    rows: int

    @staticmethod
    def from_triangle(triangle: Array, rows: int) -> Factor:
        """Split the triangle of [W Y]."""
        columns = triangle.shape[1] - 1
        return Factor(
            triangle[:columns, :columns].copy(),
            triangle[:columns, columns].copy(),
            float(np.square(triangle[columns:, columns]).sum()),
            rows,
        )

    def extended(self, rows_R: Array, rows_z: Array) -> Factor:
        """Add rows, e.g. those of a prior."""
        p = len(self.z)
        triangle = triangular_factor(
            np.vstack([np.column_stack([self.R, self.z]), np.column_stack([rows_R, rows_z])])
        )
        return Factor(
            triangle[:p, :p],
            triangle[:p, p],
            self.rss + float(triangle[p, p] ** 2),
            self.rows + len(rows_z),
        )

    def select(self, kept: Selection) -> Factor:
        """Keep some unknowns (indices or mask); the others are fixed at zero."""
        triangle = triangular_factor(np.column_stack([self.R[:, kept], self.z]))
        k = triangle.shape[1] - 1
        return Factor(
            triangle[:k, :k], triangle[:k, k], self.rss + float(triangle[k, k] ** 2), self.rows
        )

    def cost(self, X: Array) -> float:
        """Sum of squared residuals for given parameters."""
        return self.rss + float(np.square(self.R @ X - self.z).sum())

    def solve(self) -> Array:
        """Solution of the full-rank problem (check `deficiency` first)."""
        scale = column_norms(self.R)
        return solve_triangular(self.R / scale, self.z) / scale

    def inverse(self) -> Array:
        """Inverse of R, so that (R'R)^-1 = inverse inverse'."""
        scale = column_norms(self.R)
        return solve_triangular(self.R / scale, np.eye(len(self.z))) / scale[:, None]

    def basic_fit(self) -> tuple[int, float]:
        """Rank and residual sum of squares where the rank may be deficient."""
        scale = column_norms(self.R)
        Q, R, _ = qr(self.R / scale, pivoting=True)
        diagonal = np.abs(np.diag(R))
        rank = int(np.count_nonzero(diagonal > RANK_TOLERANCE * max(diagonal.max(), 1e-300)))
        return rank, self.rss + float(np.square(Q[:, rank:].T @ self.z).sum())


def column_norms(R: Array) -> Array:
    """Euclidean column norms; zero columns count as one so that they may divide."""
    norms = np.linalg.norm(R, axis=0)
    return np.where(norms > 0.0, norms, 1.0)


def scaled_singular_values(R: Array) -> Array:
    """Singular values of the factor with unit columns."""
    return np.asarray(np.linalg.svd(R / column_norms(R), compute_uv=False))


def deficient_columns(R: Array, tolerance: float = RANK_TOLERANCE) -> tuple[int, NDArray[np.intp]]:
    """Numeric rank and the indices of the unknowns that the data do not determine."""
    values = scaled_singular_values(R)
    rank = int(np.count_nonzero(values > tolerance * max(values[0], 1e-300)))
    if rank == len(values):  # as mostly; the vectors cost three times as much as the values
        return rank, np.empty(0, np.intp)
    vectors = np.linalg.svd(R / column_norms(R))[2]
    participation = np.linalg.norm(vectors[rank:], axis=0)
    return rank, np.flatnonzero(participation > NULL_PARTICIPATION)


def scaled_condition(R: Array) -> float:
    """Condition number of the observation matrix with unit columns; inf when singular."""
    values = scaled_singular_values(R)
    return float(values[0] / values[-1]) if values[-1] > 0.0 else float('inf')
