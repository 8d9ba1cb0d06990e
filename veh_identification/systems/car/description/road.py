"""The road: flat, a height map made of waves that a survey gave, or unknown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from veh_identification.configuration.models import Model, entry
from veh_identification.configuration.quantities import (
    ACCELERATION,
    ANGULAR_SPEED,
    Angle,
    Choice,
    NotNegativeLength,
    PositiveLength,
    Quantity,
)
from veh_identification.types import Array


@dataclass(frozen=True)
class Waves(Model):
    """One wave of the ground."""

    height: NotNegativeLength = entry(0.0, 'amplitude')
    length: PositiveLength = entry(10.0, 'of the wave')
    direction: Angle = entry(0.0, 'of its travel in odom')
    phase: Angle = entry(0.0, 'at the origin of odom')


@dataclass(frozen=True)
class RoadMap(Model):
    """Ground height z(x, y) in odom: flat, the sum of waves, or unknown.

    On an `unknown` road the model drives on a plane while the road's height and slope are
    estimated; what the plane does not have is noise.
    """

    kind: Annotated[str, Choice(('flat', 'waves', 'unknown'))] = entry(
        'flat', 'flat: a yard; waves: a survey; unknown: hills and bumps that no map gives'
    )
    waves: tuple[Waves, ...] = entry((), 'of the survey')
    tilt_rate: Annotated[float, Quantity(ANGULAR_SPEED, 0.0)] = entry(
        0.05, "deviation of the body's pitch and roll rates"
    )
    shake: Annotated[float, Quantity(ACCELERATION, 0.0)] = entry(
        1.0, "deviation of the body's accelerations"
    )

    @property
    def unknown(self) -> bool:
        """Whether no map gives the road."""
        return self.kind == 'unknown'

    def table(self) -> Array:
        """Rows [height, kx, ky, phase] that `road_height` reads."""
        if self.kind != 'waves':
            return np.zeros((0, 4))
        return np.array(
            [
                [
                    w.height,
                    2 * np.pi / w.length * np.cos(w.direction),
                    2 * np.pi / w.length * np.sin(w.direction),
                    w.phase,
                ]
                for w in self.waves
            ]
        ).reshape(-1, 4)
