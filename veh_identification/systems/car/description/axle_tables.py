"""Tables of the axle kinematics (Venture 2006, section V.B): variation over travel and steering.

Half track, wheelbase, toe, camber and kingpin are often not measured; test benches give them as
tables of the suspension travel and, for steered axles, of the steering angle.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from scipy.interpolate import CubicSpline, PchipInterpolator

from veh_identification.configuration.models import Model, entry
from veh_identification.configuration.quantities import Angle, Choice, Length, Numbers
from veh_identification.systems.car.parameters import CORNERS
from veh_identification.types import Array

QUANTITIES = ('half_track', 'wheelbase', 'steering', 'camber', 'kingpin')


@dataclass(frozen=True)
class AxleTable(Model):
    """values[i][j] at travel[i] and steering[j]; a table without steering has one column."""

    travel: tuple[Length, ...] = entry(description='increasing, at least two')
    values: tuple[Numbers, ...] = entry(
        description='one number per travel, or one row per travel with one per steering angle'
    )
    steering: tuple[Angle, ...] = entry((), 'increasing, at least two; empty: no dependence')

    def __post_init__(self) -> None:
        for name, knots in (('travel', self.travel), ('steering', self.steering)):
            many = len(knots) > 1 or (name == 'steering' and not knots)
            if not many or any(b <= a for a, b in itertools.pairwise(knots)):
                raise ValueError(
                    f'{name} must hold at least two increasing numbers, found {list(knots)}'
                )
        if len(self.values) != len(self.travel):
            raise ValueError(
                f'values must hold one entry for each of the {len(self.travel)} travels'
            )
        width = max(len(self.steering), 1)
        for row in self.values:
            if len(row) != width:
                raise ValueError(
                    f'values: a row holds {len(row)} numbers, expected {width} (one for each '
                    'steering angle)'
                )

    def __call__(self, travel: Array, steering: Array) -> Array:
        """Variation at the given travels and steering angles; held constant beyond the ends."""
        q = np.clip(travel, self.travel[0], self.travel[-1])
        table = np.array(self.values)
        along = _curve(self.travel, table)(q)  # (N, columns)
        if not self.steering:
            return along[:, 0]
        angle = np.clip(steering, self.steering[0], self.steering[-1])
        knots = np.array(self.steering)
        # Smooth in travel, where derivatives are taken; linear between steering columns.
        right = np.clip(np.searchsorted(knots, angle), 1, len(knots) - 1)
        share = (angle - knots[right - 1]) / (knots[right] - knots[right - 1])
        rows = np.arange(len(q))
        return (1.0 - share) * along[rows, right - 1] + share * along[rows, right]


AxleKinematics = dict[
    Annotated[str, Choice(QUANTITIES)], dict[Annotated[str, Choice(CORNERS)], AxleTable]
]


def _curve(knots: tuple[float, ...], table: Array) -> CubicSpline | PchipInterpolator:
    return CubicSpline(knots, table) if len(knots) > 3 else PchipInterpolator(knots, table)


def by_corner(kinematics: AxleKinematics) -> dict[tuple[str, str], AxleTable]:
    """Tables by (quantity, corner)."""
    return {
        (quantity, corner): table
        for quantity, tables in kinematics.items()
        for corner, table in tables.items()
    }
