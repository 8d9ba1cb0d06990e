"""A small model that the tests of this folder share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from veh_identification.configuration.models import Model, entry
from veh_identification.configuration.quantities import (
    Flag,
    Length,
    Number,
    Position,
    PositiveLength,
    PositiveMass,
    PositiveWhole,
    RollPitchYaw,
    Text,
    Time,
)
from veh_identification.errors import ModelError


@dataclass(frozen=True)
class Geometry(Model):
    """Where the wheels are."""

    wheelbase: PositiveLength = entry(2.7, 'x of the front wheel centres')
    half_track: Length | None = entry(None, 'y of the left wheel centres')
    road: Literal['flat', 'waves'] = entry('flat', 'kind of the road')

    @classmethod
    def prepared(cls, data: Any) -> Any:
        """`track` is the older form of `half_track`."""
        if isinstance(data, dict) and isinstance(data.get('track'), (int, float)):
            data['half_track'] = 0.5 * data.pop('track')
        return data

    def __post_init__(self) -> None:
        if self.half_track is not None and self.half_track > self.wheelbase:
            raise ValueError('half_track must be smaller than wheelbase')


@dataclass(frozen=True)
class Sensor(Model):
    """Where a sensor is."""

    position: Position = entry((0.0, 0.0, 0.0), 'in base_link')
    rpy: RollPitchYaw = entry((0.0, 0.0, 0.0), 'its axes in base_link')
    order: PositiveWhole = entry(2, 'of its low-pass')

    def __post_init__(self) -> None:
        if self.order > 8:
            raise ModelError('the order must be at most 8')


@dataclass(frozen=True)
class Car(Model):
    """A car."""

    mass: PositiveMass = entry(description='without the wheels')
    name: Text = entry('car', 'shown in reports')
    geometry: Geometry = entry(Geometry, 'measure these')
    sensors: Mapping[str, Sensor] = entry({}, 'by topic')
    waves: tuple[Position, ...] = entry((), 'corners of the yard')
    delays: Mapping[str, Time] = entry({}, 'by topic')
    factors: tuple[Number, ...] = entry((1.0, 1e-5), 'of nothing')
    observed: Flag = entry(True, 'whether it is')
