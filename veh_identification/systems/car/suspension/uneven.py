"""What dampers of unlike compression and extension do to springs and anti-roll bars.

The model of the papers has one damping a corner. A damper that resists extension more than
compression pushes the body down as it works, and a straight line leaves that to springs, bars and
offsets: two per cent where it resists half as much again. The values stay those of the straight
lines, which predict best together; their deviations hold what the bend would change.
"""

from __future__ import annotations

from dataclasses import dataclass
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
)
from veh_identification.systems.car.model import CarModel
from veh_identification.systems.car.parameters import CORNERS
from veh_identification.systems.car.processing.cutoffs import Cutoffs
from veh_identification.systems.car.processing.first_look import Bands
from veh_identification.systems.car.processing.spectral import gather
from veh_identification.systems.car.recording.samples import CarSamples
from veh_identification.systems.car.suspension.curves import (
    CurvedModel,
    Hinge,
    in_suspensions,
)
from veh_identification.types import Array

#: Deviations from which on a bend is one, and the part of the damping from which on it is told.
CERTAIN, TOLD = 6.0, 0.1
#: What a straight damper keeps for itself: its slope and its friction are means of the curve.
_OWN = ('h', 'fs')


@dataclass(frozen=True, eq=False)
class Uneven:
    """Dampers that resist compression and extension unlike."""

    corners: tuple[str, ...] = ()
    compression: tuple[float, ...] = ()  # slopes [N s/m]
    extension: tuple[float, ...] = ()
    #: By how much the parameters of the straight lines are off because of it.
    shift: Array | float = 0.0

    @property
    def spread(self) -> Array | float:
        """Covariance of the parameters that do not know of it."""
        return np.outer(self.shift, self.shift) if self.corners else 0.0

    def findings(self, label: str) -> list[Finding]:
        """That springs and bars are less sure because of it."""
        told = [
            f'suspension_{corner} ({number(bump, 3)} and {number(rebound, 3)} N s/m)'
            for corner, bump, rebound in zip(
                self.corners, self.compression, self.extension, strict=True
            )
            if abs(bump - rebound) > TOLD * abs(bump + rebound) / 2.0
        ]
        if not told:
            return []
        text = (
            f'dampers resist compression and extension unlike: {listed(told)}. h is the slope of '
            'the straight line; the deviations of springs, anti-roll bars and offsets hold what '
            'that puts them off. --curves shows the curves'
        )
        return [Finding('note', 'dampers_uneven', text, f'{label}, suspension')]

    def as_dict(self) -> dict[str, Any]:
        """For parameters.json."""
        return {
            corner: {'compression': bump, 'extension': rebound}
            for corner, bump, rebound in zip(
                self.corners, self.compression, self.extension, strict=True
            )
        }


def uneven_dampers(
    plain: CarModel, piece: CarSamples, cutoffs: Cutoffs, bands: Bands | None
) -> Uneven:
    """Whether dampers bend where they turn round; `bands`: those of the sensors, if known."""
    top_hz = np.inf if bands is None else min(bands.imu, bands.travel)
    model = CurvedModel(plain, [Hinge(corner, 'damper', 0.0, True) for corner in range(4)])
    highest = [min(cutoffs.hertz[f'suspension_{corner}'], top_hz) for corner in CORNERS]
    problem = CarProblem(model, gather(model, [piece], max(highest) + 1.0))
    used, base = in_suspensions(problem, plain, highest)
    bent = base.copy()
    bent[len(plain.names) :] = True
    try:
        straight, fit = (estimate(problem, Selection(used, one)) for one in (base, bent))
        sure = _certain(fit, len(plain.names))
        if not sure.any():
            return Uneven()
        if not sure.all():
            bent[len(plain.names) :] = sure
            fit = estimate(problem, Selection(used, bent))
    except EstimationError:  # a stretch that tells springs and dampers not apart
        return Uneven()
    shift = (straight.value - fit.value)[: len(plain.names)]
    shift[[k for k, name in enumerate(plain.names) if name.rstrip('1234') in _OWN]] = 0.0
    corners = np.flatnonzero(sure)
    slopes = np.array([fit.value[plain.names.index(f'h{j + 1}')] for j in corners])
    bends = fit.value[len(plain.names) + corners]
    return Uneven(
        tuple(CORNERS[j] for j in corners),
        tuple((slopes + bends).tolist()),
        tuple(slopes.tolist()),
        shift,
    )


def _certain(fit: Fit, first: int) -> Array:
    std = np.sqrt(np.maximum(np.diag(fit.covariance)[first:], 1e-300))
    return np.asarray(np.abs(fit.value[first:]) > CERTAIN * std)
