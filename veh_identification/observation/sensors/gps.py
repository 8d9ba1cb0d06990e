"""GPS receiver: antenna position and velocity (section 4.2)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from veh_identification.observation.protocols import Model, Parameter, Reading
from veh_identification.observation.sensors.base import three, variances, weights
from veh_identification.observation.sensors.kernels import (
    POSITION,
    VELOCITY,
    Packed,
    antenna_position,
    antenna_velocity,
)
from veh_identification.types import Array

LARGEST_DELAY = (-0.5, 0.5)  # of a receiver, beyond what is configured [s]
LARGEST_ARM = (-0.5, 0.5)  # error of an antenna's place [m]


def drift_process(drift: tuple[float, float]) -> tuple[float, float, float]:
    """Deviation, walk and correlation time of a receiver's slow error."""
    return drift[0], 0.0, drift[1]


class GpsPosition:
    """Antenna position in world axes with the whole Jacobian (86)-(87).

    Without the lever arm's derivatives (89) the body would be moved without turning it.
    `drift` (deviation [m], time [s]): slow error of the receiver in x and y as error states; the
    variance of a message then counts for its fast part only. With `delay_deviation` [s] the delay
    is an error state: p(t - d) = p(t) - d v(t), to first order; its value adds to `delay`. With
    `arm_deviation` [m] so is the error of the antenna's place along and across the body.
    """

    wrap = False
    order = 0
    absolute = True

    def __init__(
        self,
        name: str,
        body: str,
        antenna: Sequence[float],
        deviation: float | Sequence[float],
        *,
        components: int = 3,
        delay: float = 0.0,
        drift: tuple[float, float] = (0.0, math.inf),
        delay_deviation: float = 0.0,
        arm_deviation: float = 0.0,
    ) -> None:
        self.name, self.body, self.size, self.delay = name, body, components, delay
        self._w = weights(name, antenna)
        self._drift = drift[0]
        self._variance = self._fast(variances(name, deviation, components))
        own = [
            Parameter(f'drift_{axis}', 0.0, *drift_process(drift))
            for axis in 'xy'
            if self._drift > 0.0
        ]
        self._drifts = len(own)
        self._late = delay_deviation > 0.0
        if self._late:
            own.append(Parameter('delay', 0.0, delay_deviation, bounds=LARGEST_DELAY))
        self._arm = len(own) if arm_deviation > 0.0 else -1
        if arm_deviation > 0.0:
            own += [
                Parameter(f'arm_{axis}', 0.0, arm_deviation, bounds=LARGEST_ARM) for axis in 'xy'
            ]
        self._age = 0.0
        self.parameters: tuple[Parameter, ...] = tuple(own)

    def _fast(self, variance: Array) -> Array:
        """What the drift leaves of a variance, never less than a tenth of it."""
        result = variance.copy()
        result[:2] = np.maximum(0.1 * variance[:2], variance[:2] - self._drift**2)
        return result

    def receive(self, value: Array, variance: Array | None) -> tuple[Array, Array | None]:
        """The variance that a receiver states holds its slow error too."""
        return value, None if variance is None else self._fast(variance)

    def linearise(self, model: Model, parameters: Array, reading: Reading) -> None:
        """Fill the reading."""
        view = model.body(self.body, 0)
        antenna_position(
            view.values,
            view.derivatives,
            self._w,
            self._drifts,
            self._late,
            self._arm,
            self._age,
            parameters,
            reading.value,
            reading.z,
            reading.zd,
            reading.parameters,
        )
        reading.variance[:] = self._variance

    def packed(self, columns: Mapping[int, int]) -> Packed:
        """Its numbers for `read_sensor`."""
        reals = (*three(self._variance), *9 * (0.0,), *self._w.tolist())
        return Packed(POSITION, (self._drifts, int(self._late), self._arm), reals)

    def aged(self, seconds: float) -> None:
        """How long before the present time the next fix was taken."""
        self._age = seconds


class GpsVelocity:
    """Antenna velocity in world axes (90)-(94); two components unless three are asked for.

    With `delay_deviation` [s] the delay is an error state: v(t - d) = v(t) - d a(t), to first
    order. Its value is what must be added to `delay`.
    """

    wrap = False
    order = 1
    absolute = True

    def __init__(
        self,
        name: str,
        body: str,
        antenna: Sequence[float],
        deviation: float | Sequence[float],
        *,
        components: int = 2,
        delay: float = 0.0,
        delay_deviation: float = 0.0,
    ) -> None:
        self.name, self.body, self.size, self.delay = name, body, components, delay
        self.parameters: tuple[Parameter, ...] = (
            (Parameter('delay', 0.0, delay_deviation, bounds=LARGEST_DELAY),)
            if delay_deviation > 0.0
            else ()
        )
        self._w = weights(name, antenna)
        self._variance = variances(name, deviation, components)
        self._age = 0.0

    def aged(self, seconds: float) -> None:
        """How long before the present time the next velocity was measured."""
        self._age = seconds

    def linearise(self, model: Model, parameters: Array, reading: Reading) -> None:
        """Fill the reading."""
        view = model.body(self.body, 1)
        antenna_velocity(
            view.values,
            view.derivatives,
            self._w,
            bool(self.parameters),
            self._age,
            parameters,
            reading.value,
            reading.z,
            reading.zd,
            reading.parameters,
        )
        reading.variance[:] = self._variance

    def packed(self, columns: Mapping[int, int]) -> Packed:
        """Its numbers for `read_sensor`."""
        reals = (*three(self._variance), *9 * (0.0,), *self._w.tolist())
        return Packed(VELOCITY, (0, int(bool(self.parameters))), reals)
