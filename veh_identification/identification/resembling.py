"""Rows that resemble those of a known factor join it by products instead of reflections.

With V = rows R^-1 the factor of R and the rows together is chol(I + V'V) R. I + V'V is as well
conditioned as the new rows resemble the known ones, however badly R itself is: the products, which
cost half of what reflections do, lose no digits (CholeskyQR, preconditioned by what is known).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import blas, solve_triangular

from veh_identification.identification.factor import column_norms, triangular_factor
from veh_identification.types import Array, IntArray

#: Squares of rows over those of all rows before: a factor made of products loses so many eps at
#: most; and from where on the factor is made anew, so that the next rows are relative to it.
MOST_UNLIKE, UNLIKE = 1e6, 1e3
#: Pivots over the norms of their columns: from here on rows are taken relative to them, and below
#: there a column is a sum of others in every row so far.
LEAST_PIVOT, NO_PIVOT = 1e-7, 1e-12


@dataclass(eq=False)
class Resembling:
    """A factor over independent columns, and the products of rows relative to it."""

    R: Array  # (r, r) of the independent columns
    inverse: Array  # the same, columns contiguous
    independent: IntArray
    dependent: IntArray
    sums: Array  # (r, dependent): what these are of the others
    sizes: Array  # norms of the dependent columns
    products: Array  # V'V, its upper triangle

    @staticmethod
    def to(factor: Array) -> Resembling | None:
        """Relative to a square factor; None where it is nearly singular, but not exactly."""
        norms = column_norms(factor)
        pivots = np.abs(np.diag(factor)) / norms
        independent = np.flatnonzero(pivots > NO_PIVOT)
        dependent = np.flatnonzero(pivots <= NO_PIVOT)
        if len(dependent):
            # The last column is that of the measured side: nothing may stand after it.
            if dependent[-1] == len(factor) - 1:
                return None
            order = np.concatenate([independent, dependent])
            made = triangular_factor(factor[:, order])
            count = len(independent)
            R, beside, rest = made[:count, :count], made[:count, count:], made[count:, count:]
            pivots = np.abs(np.diag(R)) / norms[independent]
            if np.abs(rest).max() > NO_PIVOT * len(factor) * norms[dependent].max():
                return None
        else:
            R, beside = factor, np.zeros((len(factor), 0))
        if pivots[: len(R)].min() < LEAST_PIVOT:
            return None
        inverse = np.asfortranarray(solve_triangular(R, np.eye(len(R))))
        sums = solve_triangular(R, beside)
        nothing = np.zeros(R.shape)
        return Resembling(R, inverse, independent, dependent, sums, norms[dependent], nothing)

    def add(self, rows: Array) -> bool:
        """Take rows (n, columns), which are written over; False: they do not resemble the factor.

        Then they are not taken.
        """
        own = rows[:, self.independent] if len(self.dependent) else rows
        if len(self.dependent):
            apart = rows[:, self.dependent] - own @ self.sums
            if np.any(np.linalg.norm(apart, axis=0) > 1e3 * NO_PIVOT * self.sizes):
                return False
        V = blas.dtrmm(1.0, self.inverse, own.T, side=0, lower=0, trans_a=1, overwrite_b=1)
        products = blas.dsyrk(1.0, V)
        if not float(products.diagonal().max()) < MOST_UNLIKE:
            return False
        self.products += products
        return True

    @property
    def unlike(self) -> bool:
        """Whether the rows have grown beyond the factor."""
        return float(self.products.diagonal().max()) > UNLIKE

    def factor(self) -> Array:
        """The square factor of everything."""
        upper = self.products + self.products.T
        upper[np.diag_indices_from(upper)] *= 0.5
        upper[np.diag_indices_from(upper)] += 1.0
        R = np.linalg.cholesky(upper).T @ self.R
        count = len(self.independent) + len(self.dependent)
        made = np.zeros((count, count))
        made[: len(R), self.independent] = R
        made[: len(R), self.dependent] = R @ self.sums
        return triangular_factor(made) if len(self.dependent) else np.triu(made)
