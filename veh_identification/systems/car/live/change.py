"""A car's load against what is known of it: one chunk fast, several of them more exactly.

The newest chunk alone decides whether the load has changed, so that loading and unloading show at
once. As long as it has, the chunks since then make a second estimate with forgetting, which tells
how large the change is; a chunk that contradicts it (another passenger) starts it anew.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from veh_identification.identification.change import change_test
from veh_identification.identification.live import Change, Solution
from veh_identification.systems.car.estimation.identify import Gathered
from veh_identification.systems.car.estimation.weighted import CarProblem, Fit
from veh_identification.systems.car.processing.spectral import SpectralInformation
from veh_identification.types import Array

WATCHED = ('Mc', 'MXc', 'MYc', 'MZc')
#: Weight of a chunk when the next one comes.
FORGETTING = 0.8
#: Deviations of a chunk from the second estimate at which that starts anew.
CONTRADICTION = 4.0


class LoadEstimate:
    """The second estimate, from the chunks that differ from what is known."""

    def __init__(self, watched: list[int], significance: float) -> None:
        self.watched, self.significance = watched, significance
        self.information: SpectralInformation | None = None
        self.chunks = 0

    def forget(self) -> None:
        """The load is gone."""
        self.information, self.chunks = None, 0

    def compare(self, chunk: Gathered, reference: Solution, fit: Fit, level: float) -> Change:
        """The chunk alone against the reference."""
        return compare(chunk, reference, fit, level, self.watched, self.significance)

    def add(
        self, chunk: Gathered, alone: Change, reference: Solution, fit: Fit, level: float
    ) -> Change:
        """A chunk that has shown a change; the change by all chunks that show it."""
        merged = None
        if self.information is not None:
            old = self.information
            faded = SpectralInformation(
                FORGETTING * old.grams,
                FORGETTING * old.rows,
                max(1, round(FORGETTING * old.samples)),
                FORGETTING * old.seconds,
            )
            together = replace(chunk, information=faded + chunk.information)
            merged = self.compare(together, reference, fit, level)
            off = np.abs(merged.value - alone.value) / alone.std
            if not merged.test.changed or off.max() > CONTRADICTION:
                merged = None
            else:
                self.information, self.chunks = together.information, self.chunks + 1
        if merged is None:
            self.information, self.chunks = chunk.information, 1
            return alone
        return merged


def compare(
    chunk: Gathered,
    reference: Solution,
    fit: Fit,
    level: float,
    watched: list[int],
    significance: float,
) -> Change:
    """Change of mass and first moments that a chunk shows against the reference.

    With H and b the normal equations of the chunk under the long-term weights and x the long-term
    estimate, the change is H_ss^-1 (b_s - H_s x).
    """
    problem = CarProblem(chunk.model, chunk.information)
    bands = min(len(fit.weights), len(chunk.information.rows))
    if bands < len(chunk.information.rows):
        problem = CarProblem(chunk.model, _shortened(chunk.information, bands))
    weights, power = fit.weights[:bands], fit.power[:bands]
    H, b = problem.normal(weights)
    meat = problem.normal(weights @ power @ weights)[0]
    s = watched
    inverse = np.linalg.inv(H[np.ix_(s, s)])
    value, covariance = _whole(reference, fit)
    d = inverse @ (b[s] - H[s] @ value)
    noise = level * inverse @ meat[np.ix_(s, s)] @ inverse
    through = inverse @ H[s]
    known = level * (through @ covariance @ through.T)
    test = change_test(d, noise, np.zeros(len(d)), known, list(WATCHED), significance)
    return Change(test, d, np.sqrt(np.diag(noise + known)))


def _whole(reference: Solution, fit: Fit) -> tuple[Array, Array]:
    """What is told, zero where it is not, and the other parameters of the fit."""
    told = len(reference.value)
    value, covariance = fit.value.copy(), fit.covariance.copy()
    value[:told] = np.nan_to_num(reference.value)
    unknown = np.flatnonzero(np.isnan(reference.value))
    covariance[unknown, :] = covariance[:, unknown] = 0.0
    return value, covariance


def _shortened(information: SpectralInformation, bands: int) -> SpectralInformation:
    return replace(information, grams=information.grams[:bands], rows=information.rows[:bands])
