"""A car that stands does not turn: what a standstill says about the gyroscopes."""

from __future__ import annotations

import numpy as np

from veh_identification.observation import Model, Parameter, Reading
from veh_identification.types import Array

SLOWEST = 0.05  # below this speed the wheels say that the car stands [m/s]


class Standstill:
    """Yaw rate and sideways speed of a car whose wheels stand; both are measured as zero."""

    name = 'standstill'
    wrap = False
    size = 2
    order = 1
    delay = 0.0
    parameters: tuple[Parameter, ...] = ()

    def __init__(self, rate: float = 0.002, speed: float = 0.01) -> None:
        self._variance = np.array([rate, speed]) ** 2

    def linearise(self, model: Model, parameters: Array, reading: Reading) -> None:
        """Fill the reading."""
        view = model.body('chassis', 1)
        f, D = view.values, view.derivatives
        side, velocity = f[0, 6:9], f[1, 0:3]
        reading.value[0] = float(side @ f[1, 3:6])
        reading.z[0] = side @ D[1, 3:6] + f[1, 3:6] @ D[0, 6:9]
        reading.zd[0] = side @ D[0, 3:6]
        reading.value[1] = float(side @ velocity)
        reading.z[1] = side @ D[1, 0:3] + velocity @ D[0, 6:9]
        reading.zd[1] = side @ D[0, 0:3]
        reading.variance[:] = self._variance
        # along the car only, which the wheels measure: an error sideways must not switch it off
        reading.available[:] = abs(float(f[0, 3:6] @ velocity)) < SLOWEST
