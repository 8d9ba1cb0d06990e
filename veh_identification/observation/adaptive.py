"""Innovation-based adaptation of plant and measurement noise.

A consistent filter corrects as much as it expects to: the mean square of the corrections of the
highest integrator state equals the variance P- minus P+ that the updates take out of it. Their
ratio steers the noise density of each coordinate (larger corrections than expected: more noise).
The measurement noise follows from the residuals after the update: E[e^2] = N - H P+ H^T.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from veh_identification.errors import ParameterError
from veh_identification.types import Array

# Relative speed of the density: innovations that are mostly sensor noise say little about the
# plant, so a slower approach would not arrive within a few time constants.
STEERING = 8.0


@dataclass(frozen=True)
class AdaptiveSettings:
    """Time constant [s] of the averages and how far they may leave the nominal values."""

    time_constant: float = 2.0
    plant: bool = True
    measurement: bool = False
    lowest: float = 1e-4
    highest: float = 1e4

    def __post_init__(self) -> None:
        if not self.time_constant > 0.0 or not 0.0 < self.lowest <= self.highest:
            raise ParameterError(
                'adaptive noise needs a positive time constant and bounds '
                f'0 < lowest <= highest, found {self}'
            )


class AdaptiveNoise:
    """Running densities (highest state of each coordinate) and sensor variance factors."""

    def __init__(self, settings: AdaptiveSettings, density: Array) -> None:
        self.settings = settings
        self.nominal = density.copy()
        self.density = density.copy()
        self._squares = np.zeros(density.size)
        self._expected = np.zeros(density.size)
        self.factors: dict[str, Array] = {}

    def retune(self, density: Array) -> None:
        """Other nominal densities; what was learned about the old ones counts for the new."""
        learned = self.density / np.where(self.nominal > 0.0, self.nominal, 1.0)
        self.density = density * np.where(self.nominal > 0.0, learned, 1.0)
        self.nominal = density.copy()

    def corrected(self, correction: Array, expected: Array, dt: float) -> None:
        """Take in the corrections of the highest state and the variance expected of them."""
        if not self.settings.plant or not np.any(expected > 0.0):
            return
        # the ratio is averaged over a tenth of the time constant before it steers anything
        keep = math.exp(-10.0 * dt / self.settings.time_constant)
        self._squares = keep * self._squares + correction**2
        self._expected = keep * self._expected + expected
        ratio = np.clip(self._squares / np.maximum(self._expected, 1e-300), 0.0, 10.0)
        rate = STEERING * dt / self.settings.time_constant
        self.density = np.clip(
            self.density * np.exp(rate * (ratio - 1.0)),
            self.settings.lowest * self.nominal,
            self.settings.highest * self.nominal,
        )

    def state(self) -> tuple[Array, ...]:
        """Copy of the running averages and of what they are compared with."""
        kept = self.nominal, self.density, self._squares, self._expected
        return tuple(values.copy() for values in kept)

    def restore(self, state: tuple[Array, ...]) -> None:
        """Go back to a copy."""
        self.nominal, self.density, self._squares, self._expected = (a.copy() for a in state)

    def factor(self, sensor: str, size: int) -> Array:
        """Variance factors of a sensor's components."""
        return self.factors.setdefault(sensor, np.ones(size))

    def measured(
        self, sensor: str, innovation: Array, total: Array, variance: Array, elapsed: float
    ) -> None:
        """Take in innovations and their total variances H P H^T + N of an accepted sensor."""
        if not self.settings.measurement:
            return
        used = np.isfinite(innovation) & np.isfinite(total)
        factors = self.factor(sensor, innovation.size)
        ratio = variance[used] / total[used]
        estimate = (innovation[used] * ratio) ** 2 + (total[used] - variance[used]) * ratio
        nominal = variance[used] / factors[used]
        weight = 1.0 - math.exp(
            -min(elapsed, self.settings.time_constant) / self.settings.time_constant
        )
        updated = (1.0 - weight) * factors[used] + weight * estimate / nominal
        factors[used] = np.clip(updated, self.settings.lowest, self.settings.highest)
