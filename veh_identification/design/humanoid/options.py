"""Options of `veh-id design humanoid`: everything has a default, see humanoid_design.yaml."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import numpy as np

from veh_identification.configuration.models import Model, entry, validate
from veh_identification.configuration.quantities import (
    FORCE,
    MOMENT,
    NotNegativeLength,
    Number,
    PositiveAngle,
    PositiveFrequency,
    PositiveLength,
    PositiveNumber,
    PositiveTime,
    PositiveWhole,
    Quantity,
    Text,
    WholeNumber,
)
from veh_identification.configuration.reading import read_all
from veh_identification.types import Array


@dataclass(frozen=True)
class DesignOptions(Model):
    """Lengths in m, zero: from the size of the robot."""

    feet: tuple[Text, ...] = entry(
        (), 'links at the soles, left and right; empty: by their usual names'
    )
    sole: tuple[PositiveLength, ...] = entry(
        (), 'length and width; empty: from a box of the foot in the URDF'
    )
    stages: tuple[Literal['both', 'left', 'right'], ...] = entry(
        ('both', 'left', 'right'), 'on both feet, on the left and on the right one'
    )
    zmp_margin: NotNegativeLength = entry(
        0.0, 'zero moment point to the border of the soles; 0: 15 % of the width'
    )
    clearance: NotNegativeLength = entry(0.0, 'of the foot in the air; 0: 2 % of the leg')
    base_shift: NotNegativeLength = entry(0.0, 'about how far the base moves; 0: 10 % of the leg')
    base_turn: PositiveAngle = entry(0.3, 'about how far it turns')
    position_share: PositiveNumber = entry(0.9, "of the joints' travel in the URDF")
    velocity_share: PositiveNumber = entry(0.7, "of the joints' speed in the URDF")
    acceleration: PositiveNumber = entry(40.0, 'of every joint, rad/s^2 or m/s^2')
    fundamental_hz: PositiveFrequency = entry(0.25, 'one period lasts its inverse')
    harmonics: Annotated[int, WholeNumber(3)] = entry(5, 'of the fundamental')
    samples: PositiveWhole = entry(80, 'per period in the search')
    evaluations: PositiveWhole = entry(300, 'motions tried, over all starts')
    periods: PositiveWhole = entry(2, 'of every stage in the trajectory')
    transition: PositiveTime = entry(2.0, 'to move over to another support')
    rate_hz: PositiveFrequency = entry(50.0, 'of the trajectory written')
    row_rate: PositiveFrequency = entry(
        18.0, 'independent rows per second of a recording: three times its cut-off'
    )
    force_noise: Annotated[float, Quantity(FORCE, 0.0)] = entry(
        0.0, 'of one row; 0: 0.2 % of the weight'
    )
    moment_noise: Annotated[float, Quantity(MOMENT, 0.0)] = entry(
        0.0, 'of one row; 0: that force at 50 mm'
    )
    locked_joints: Mapping[Text, Number] = entry(
        {}, 'joints that hold still, with their positions'
    )

    def __post_init__(self) -> None:
        if self.sole and len(self.sole) != 2:
            raise ValueError(f'sole needs length and width, found {len(self.sole)} numbers')
        if self.samples < 8 * self.harmonics:
            raise ValueError(
                'at least eight samples for each harmonic are needed, found '
                f'{self.samples} for {self.harmonics}'
            )

    def noise(self, mass: float) -> Array:
        """Noise of FX FY FZ NX NY NZ per row."""
        force = self.force_noise or 0.002 * 9.80665 * mass
        return np.array([force] * 3 + [self.moment_noise or 0.05 * force] * 3)


def load_options(path: str | Path | None) -> DesignOptions:
    """From a YAML file, or defaults."""
    if path is None:
        return DesignOptions()
    return validate(DesignOptions, read_all(path).unwrapped({'design'}))
