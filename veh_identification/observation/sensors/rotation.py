"""Encoders, Hall counters and rates of coordinates (section 4.4)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from veh_identification.errors import ParameterError
from veh_identification.observation.protocols import Model, Parameter, Reading
from veh_identification.observation.sensors.base import variances
from veh_identification.observation.sensors.kernels import COORDINATE, COORDINATE_RATE, Packed
from veh_identification.types import Array


def count_angle(angle: Array, resolution: float) -> Array:
    """What a hole counter shows: whole holes passed, times the angle between holes."""
    return np.floor(np.asarray(angle) / resolution) * resolution


class CoordinateSensor:
    """One coordinate of the model measured directly: encoder, potentiometer, Hall counter.

    `resolution` [same unit] adds the variance of quantisation; a `counting` sensor rounds down,
    so half a step is expected to be missing. `wrap` for absolute encoders of full turns.
    """

    size = 1
    order = 0
    absolute = True
    patience = 1.0  # a counter that lost steps goes on as before, from another number

    def __init__(
        self,
        name: str,
        coordinate: int,
        deviation: float,
        *,
        resolution: float = 0.0,
        counting: bool = False,
        wrap: bool = False,
        delay: float = 0.0,
    ) -> None:
        if resolution < 0.0 or (deviation <= 0.0 and resolution <= 0.0):
            raise ParameterError(
                f'sensor {name!r}: needs a positive deviation or resolution, '
                f'found {deviation} and {resolution}'
            )
        self.name, self.wrap, self.delay = name, wrap, delay
        self._coordinate = coordinate
        self._missing = 0.5 * resolution if counting else 0.0
        self._variance = deviation**2 + resolution**2 / 12.0
        self.parameters: tuple[Parameter, ...] = ()

    def linearise(self, model: Model, parameters: Array, reading: Reading) -> None:
        """Fill the reading."""
        values, row, _, _ = model.coordinate(self._coordinate, 0)
        reading.value[0] = values[0] - self._missing
        reading.z[0] = row
        reading.variance[0] = self._variance

    def packed(self, columns: Mapping[int, int]) -> Packed:
        """Its numbers for `read_sensor`; `columns`: of the coordinates that are observed."""
        place = self._coordinate, columns[self._coordinate]
        return Packed(COORDINATE, place, (self._variance, self._missing))


class CoordinateRateSensor:
    """Rate of one coordinate of the model (a tachometer, a wheel speed)."""

    size = 1
    order = 1
    wrap = False

    def __init__(
        self, name: str, coordinate: int, deviation: float, *, delay: float = 0.0
    ) -> None:
        self.name, self.delay = name, delay
        self._coordinate = coordinate
        self._variance = variances(name, deviation, 1)
        self.parameters: tuple[Parameter, ...] = ()

    def linearise(self, model: Model, parameters: Array, reading: Reading) -> None:
        """Fill the reading."""
        values, row, row_rate, _ = model.coordinate(self._coordinate, 1)
        reading.value[0] = values[1]
        reading.z[0] = row_rate
        reading.zd[0] = row
        reading.variance[:] = self._variance

    def packed(self, columns: Mapping[int, int]) -> Packed:
        """Its numbers for `read_sensor`; `columns`: of the coordinates that are observed."""
        place = self._coordinate, columns[self._coordinate]
        return Packed(COORDINATE_RATE, place, (float(self._variance[0]), 0.0))
