"""Dampers that resist compression and extension unlike, beside those of the papers.

The model of the papers has one damping a corner. A damper that resists extension more than
compression pushes the body down as it works, and a straight line leaves that to springs, bars and
offsets: two to six per cent where it resists half as much again. Where the suspension equations
ask for it the difference of the two slopes is a further unknown of the corner, and `h` is their
mean.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from veh_identification.errors import EstimationError
from veh_identification.findings import Finding
from veh_identification.findings.numbers import listed, number
from veh_identification.systems.car.estimation.weighted import (
    CarProblem,
    Fit,
    Selection,
    estimate,
    without_influence,
)
from veh_identification.systems.car.model import CarModel
from veh_identification.systems.car.parameters import CORNERS
from veh_identification.systems.car.processing.spectral import SpectralInformation
from veh_identification.types import Array, BoolArray

#: Deviations, and the part of the damping, from which on two slopes are two.
CERTAIN, LEAST = 6.0, 0.1


@dataclass(frozen=True, eq=False)
class Uneven:
    """Dampers that resist compression and extension unlike, with both slopes [N s/m]."""

    corners: tuple[str, ...] = ()
    slopes: Array = field(
        default_factory=lambda: np.zeros((0, 2))
    )  # in compression and in extension
    std: Array = field(default_factory=lambda: np.zeros((0, 2)))

    def findings(self) -> list[Finding]:
        """That the model has both slopes of these dampers."""
        if not self.corners:
            return []
        told = [
            f'suspension_{corner} ({number(bump, 3)} and {number(rebound, 3)} N s/m)'
            for corner, (bump, rebound) in zip(self.corners, self.slopes, strict=True)
        ]
        text = (
            f'dampers resist compression and extension unlike: {listed(told)}. Both slopes are in '
            'the equations, beside springs, anti-roll bars and offsets; h is their mean. --curves '
            'shows the curves'
        )
        return [Finding('note', 'dampers_uneven', text, 'suspension')]

    def as_dict(self) -> dict[str, Any]:
        """For parameters.json."""
        return {
            corner: {
                'compression': slopes[0],
                'compression_std': std[0],
                'extension': slopes[1],
                'extension_std': std[1],
            }
            for corner, slopes, std in zip(
                self.corners, self.slopes.tolist(), self.std.tolist(), strict=True
            )
        }


def uneven_of(model: CarModel, fit: Fit) -> Uneven:
    """Both slopes of the dampers that the model has bent."""
    if not model.bent:
        return Uneven()
    slopes, std = np.zeros((len(model.bent), 2)), np.zeros((len(model.bent), 2))
    for k, corner in enumerate(model.bent):
        places = [model.names.index(f'h{corner + 1}'), len(model.told) + k]
        for side, half in enumerate((0.5, -0.5)):
            weight = np.array([1.0, half])
            slopes[k, side] = weight @ fit.value[places]
            std[k, side] = np.sqrt(weight @ fit.covariance[np.ix_(places, places)] @ weight)
    return Uneven(tuple(CORNERS[j] for j in model.bent), slopes, std)


def bent_corners(
    model: CarModel, information: SpectralInformation, bands: BoolArray
) -> tuple[int, ...]:
    """Corners whose equations ask for two slopes; `bands` are those of all ten equations."""
    bent = model.with_bends((0, 1, 2, 3))
    problem = CarProblem(bent, information)
    used = bands.copy()
    used[:6] = False
    parameters = np.zeros(len(bent.names), dtype=bool)
    parameters[[one.parameter for one in bent.entries if one.equation >= 6]] = True
    parameters &= ~without_influence(problem, used)
    try:
        fit = estimate(problem, Selection(used, parameters))
    except EstimationError:  # a stretch that tells springs and dampers not apart
        return ()
    bends = fit.value[len(bent.told) :]
    std = np.sqrt(np.diag(fit.covariance)[len(bent.told) :])
    damping = np.abs([fit.value[bent.names.index(f'h{j + 1}')] for j in range(4)])
    asked = (np.abs(bends) > CERTAIN * std) & (np.abs(bends) > LEAST * damping)
    return tuple(np.flatnonzero(asked).tolist())
