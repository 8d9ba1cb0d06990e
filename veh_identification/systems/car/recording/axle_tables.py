"""Tables of the axle kinematics (Venture 2006, section V.B): variation over travel and steering.

Half track, wheelbase, toe, camber and kingpin are often not measured; test benches give them as
tables of the suspension travel and, for steered axles, of the steering angle.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.interpolate import CubicSpline, PchipInterpolator

from veh_identification.systems.car import yaml_fields as fields
from veh_identification.systems.car.parameters import CORNERS
from veh_identification.types import Array

QUANTITIES = ('half_track', 'wheelbase', 'steering', 'camber', 'kingpin')


@dataclass(frozen=True)
class AxleTable:
    """values[i][j] at travel[i] and steering[j]; a table without steering has one column."""

    travel: tuple[float, ...]
    values: tuple[tuple[float, ...], ...]
    steering: tuple[float, ...] = ()

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


def _curve(knots: tuple[float, ...], table: Array) -> CubicSpline | PchipInterpolator:
    return CubicSpline(knots, table) if len(knots) > 3 else PchipInterpolator(knots, table)


def read_axle_tables(content: Any, where: str) -> dict[tuple[str, str], AxleTable]:
    """Tables by (quantity, corner) from `axle_kinematics: {camber: {fl: {...}}}`."""
    result: dict[tuple[str, str], AxleTable] = {}
    tables = fields.mapping(content, where)
    fields.only(tables, set(QUANTITIES), where)
    for quantity, by_corner in tables.items():
        inner = fields.mapping(by_corner, f'{where}.{quantity}')
        fields.only(inner, set(CORNERS), f'{where}.{quantity}')
        for corner, entry in inner.items():
            result[quantity, corner] = _table(entry, f'{where}.{quantity}.{corner}')
    return result


def _table(content: Any, where: str) -> AxleTable:
    entry: Mapping[str, Any] = fields.mapping(content, where)
    fields.only(entry, {'travel', 'steering', 'values'}, where)
    travel = _increasing(fields.numbers(entry.get('travel'), f'{where}.travel'), f'{where}.travel')
    steering = fields.numbers(entry.get('steering'), f'{where}.steering')
    if steering:
        steering = _increasing(steering, f'{where}.steering')
    rows = entry.get('values')
    if not isinstance(rows, list) or len(rows) != len(travel):
        raise fields.FieldError(
            f'{where}.values must hold one entry for each of the {len(travel)} travels'
        )
    width = max(len(steering), 1)
    values = tuple(fields.numbers(row, f'{where}.values') for row in rows)
    for row in values:
        if len(row) != width:
            raise fields.FieldError(
                f'{where}.values: a row holds {len(row)} numbers, expected '
                f'{width} (one for each steering angle)'
            )
    return AxleTable(travel, values, steering)


def _increasing(values: tuple[float, ...], where: str) -> tuple[float, ...]:
    if len(values) < 2 or any(b <= a for a, b in itertools.pairwise(values)):
        raise fields.FieldError(
            f'{where} must hold at least two increasing numbers, found {list(values)}'
        )
    return values
