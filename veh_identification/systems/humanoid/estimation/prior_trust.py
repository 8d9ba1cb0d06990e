"""Trust in the CAD values judged by stretches of the recording that were left out.

The likelihood takes what is left over for noise that has nothing to do with the motion. Joint
angles of people are wrong in ways that do depend on it (skin moves over bones), and such errors
look like parameters. What they do not do is predict another stretch of the recording: the scale
of the prior is reduced as long as stretches that were left out are predicted better.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from veh_identification.identification import ArrayBlocks, BlockSource, Prior
from veh_identification.systems.humanoid.estimation.noise_and_trust import (
    SMALLEST,
    Evidence,
    scaled,
)
from veh_identification.systems.humanoid.estimation.noise_free_normal import (
    Correction,
    Excess,
    without_excess,
)
from veh_identification.types import Array

FOLDS = 6
FEWEST_ROWS = 60
NEARLY = 0.02
SHARES = (1.0, 0.8, 0.64, 0.5, 0.4, 0.32, 0.25, 0.2, 0.16)


def held_out_scale(
    rows: BlockSource,
    evidence: Evidence,
    prior: Prior,
    scaled_unknowns: int,
    excess: Excess | None = None,
) -> float:
    """Scale of the prior, at most that of the evidence, that predicts left-out stretches best."""
    # Recordings too long for the memory leave no doubt about their parameters.
    if not isinstance(rows, ArrayBlocks):
        return evidence.scale
    good = np.flatnonzero(np.isfinite(rows.Y).all(axis=1))
    if len(good) < FEWEST_ROWS:
        return evidence.scale
    normal, squares, shares = folds_of(rows, good, evidence.sigma)
    noise = np.zeros(normal.shape[1:]) if excess is None else excess.weighted(1.0 / evidence.sigma)
    # What noise has added does not depend on the scale of the prior.
    fits = [
        without_excess(normal.sum(axis=0) - part, (1.0 - share) * noise, prior)
        for part, share in zip(normal, shares, strict=True)
    ]
    left_out = normal - shares[:, None, None] * noise
    candidates = [share * evidence.scale for share in SHARES]
    candidates = [one for one in candidates if one >= SMALLEST] or [evidence.scale]
    errors = np.array(
        [
            _errors(fits, left_out, squares, scaled(prior, one, scaled_unknowns))
            for one in candidates
        ]
    )
    return float(candidates[_simplest(errors)])


def _simplest(errors: Array) -> int:
    """The most trusting candidate (rows of errors) that is not clearly worse than the best.

    Stretches of one recording hold the same motion again, with the same errors of skin and spine;
    they hardly punish parameters that follow these. Hence the rule of one standard error, and
    of an error that is larger by so little that nobody would care.
    """
    best = int(np.argmin(errors.sum(axis=1)))
    worse = errors - errors[best]
    margin = np.maximum(
        np.sqrt(errors.shape[1]) * worse.std(axis=1, ddof=1), NEARLY * errors[best].sum()
    )
    return int(np.flatnonzero(worse.sum(axis=1) <= margin).max())


def folds_of(
    rows: ArrayBlocks, good: NDArray[np.intp], sigma: Array
) -> tuple[Array, Array, Array]:
    """W' [W Y] and Y' Y of every stretch, rows in units of their noise; its share of rows."""
    normal, squares, shares = [], [], []
    for part in np.array_split(good, FOLDS):
        W = (rows.W[part] / sigma[:, None]).reshape(-1, rows.W.shape[2])
        Y = (rows.Y[part] / sigma).reshape(-1, 1)
        normal.append(W.T @ np.hstack([W, Y]))
        squares.append(float(np.sum(Y**2)))
        shares.append(len(part) / len(good))
    return np.array(normal), np.array(squares), np.array(shares)


def _errors(fits: Sequence[Correction], left_out: Array, squares: Array, prior: Prior) -> Array:
    """Sum of squares of each stretch, predicted by the fit to all the others."""
    inverse = np.linalg.inv(prior.covariance)
    errors = []
    for fit, normal, square in zip(fits, left_out, squares, strict=True):
        value = np.linalg.solve(fit.R.T @ fit.R + inverse, fit.R.T @ fit.z + inverse @ prior.value)
        errors.append(float(square + value @ normal[:, :-1] @ value - 2.0 * normal[:, -1] @ value))
    return np.array(errors)
