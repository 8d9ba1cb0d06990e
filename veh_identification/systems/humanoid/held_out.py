"""Trust in the CAD values judged by stretches of the recording that were left out.

The likelihood takes what is left over for noise that has nothing to do with the motion. Joint
angles of people are wrong in ways that do depend on it (skin moves over bones), and such errors
look like parameters. What they do not do is predict another stretch of the recording: the scale
of the prior is reduced as long as stretches that were left out are predicted better.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from veh_identification.identification import ArrayBlocks, BlockSource, Prior
from veh_identification.systems.humanoid.evidence import SMALLEST, Evidence, scaled

Array = NDArray[np.float64]

FOLDS = 6
FEWEST_ROWS = 60
SHARES = (1.0, 0.8, 0.64, 0.5, 0.4, 0.32, 0.25, 0.2, 0.16)


def held_out_scale(rows: BlockSource, evidence: Evidence, prior: Prior, scaled_unknowns: int
                   ) -> float:
    """Scale of the prior, at most that of the evidence, that predicts left-out stretches best."""
    # Recordings too long for the memory leave no doubt about their parameters.
    if not isinstance(rows, ArrayBlocks):
        return evidence.scale
    good = np.flatnonzero(np.isfinite(rows.Y).all(axis=1))
    if len(good) < FEWEST_ROWS:
        return evidence.scale
    grams, sides = _folds(rows, good, evidence.sigma)
    candidates = [share * evidence.scale for share in SHARES]
    candidates = [one for one in candidates if one >= SMALLEST] or [evidence.scale]
    errors = [_error(grams, sides, scaled(prior, one, scaled_unknowns)) for one in candidates]
    return float(candidates[int(np.argmin(errors))])


def _folds(rows: ArrayBlocks, good: NDArray[np.intp], sigma: Array) -> tuple[Array, Array]:
    """W'W and W'Y of every stretch, rows in units of their noise."""
    grams, sides = [], []
    for part in np.array_split(good, FOLDS):
        W = (rows.W[part] / sigma[:, None]).reshape(-1, rows.W.shape[2])
        Y = (rows.Y[part] / sigma).ravel()
        grams.append(W.T @ W)
        sides.append(W.T @ Y)
    return np.array(grams), np.array(sides)


def _error(grams: Array, sides: Array, prior: Prior) -> float:
    """Sum of squares of the left-out stretches, but for what does not depend on the estimate."""
    inverse = np.linalg.inv(prior.covariance)
    all_grams, all_sides = grams.sum(axis=0), sides.sum(axis=0)
    total = 0.0
    for gram, side in zip(grams, sides, strict=True):
        value = np.linalg.solve(all_grams - gram + inverse,
                                all_sides - side + inverse @ prior.value)
        total += float(value @ gram @ value - 2.0 * side @ value)
    return total
