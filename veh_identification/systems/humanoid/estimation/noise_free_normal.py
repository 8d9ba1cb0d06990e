"""Normal equations without what noise in the regressor has added to them.

Noise of angles and poses looks like excitation and draws the estimates towards zero. What it has
added to W' W and W' Y is known on average (`regressor_noise` finds it) and taken off. In the
coordinates y = diag(rho) Q' x + e, with e the same noise as before, rho is the share of the
excitation that is motion; where most of it is noise, the prior decides.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from veh_identification.identification import Factor, Prior
from veh_identification.types import Array

# Directions in which the data say less than this of what the prior does are left out.
SMALLEST_EXCITATION = 1e-6
# Where less of the excitation than this is motion, the noise may differ from its average by as
# much as the motion: such directions are left to the prior.
LEAST_MOTION = 0.5


@dataclass(frozen=True, eq=False)
class Correction:
    """Rows R x = z of unit noise, and how z - R x0 follows from W' (Y - W x0)."""

    R: Array  # (columns, columns), not triangular
    z: Array
    gain: Array  # (columns, columns)

    def factor(self, measured: Factor) -> Factor:
        """The rows in the place of the measured ones."""
        return Factor(self.R, self.z, measured.rss, measured.rows)


@dataclass(frozen=True, eq=False)
class Excess:
    """What the noise has added to W_j' [W_j Y_j] of every equation."""

    grams: Array  # (equations, columns, columns + 1)

    def weighted(self, weights: Array) -> Array:
        """Sum over the equations (columns, columns + 1), rows of equation j times weights[j]."""
        return np.asarray(np.tensordot(np.square(weights), self.grams, axes=1))


def without_excess(normal: Array, excess: Array, prior: Prior) -> Correction:
    """Rows of the normal equations W' [W Y] (columns, columns + 1) without the excess in them."""
    root = np.linalg.cholesky(prior.covariance)  # in units of the prior all unknowns are alike
    size, axes = np.linalg.eigh(root.T @ normal[:, :-1] @ root)
    kept = size > SMALLEST_EXCITATION
    root_size = np.sqrt(size[kept])
    whiten = axes[:, kept] / root_size
    added, turn = np.linalg.eigh(whiten.T @ root.T @ excess[:, :-1] @ root @ whiten)
    share = np.minimum(1.0 - added, 1.0)  # rho
    share = np.where(share > LEAST_MOTION, share, 0.0)
    count = len(normal)
    R, gain = np.zeros((count, count)), np.zeros((count, count))
    Q = (turn.T * root_size) @ axes[:, kept].T
    R[: len(share)] = share[:, None] * np.linalg.solve(root.T, Q.T).T
    gain[: len(share)] = np.where(share[:, None] > 0.0, (root @ whiten @ turn).T, 0.0)
    left = normal - excess
    side = left[:, -1] - left[:, :-1] @ prior.value
    return Correction(R, gain @ side + R @ prior.value, gain)
