"""What the road says about height and tilt: the car stands on it, so the model is near the truth.

The integrator transition of the error filter does not know the springs, so without this the
variance of height and tilt would grow without bound between fixes, and every noisy fix would lift
the car against its springs. The update leaves the state alone (the model is its own measurement)
and takes out the variance that tyres and springs take out.
"""

from __future__ import annotations

import numpy as np

from veh_identification.observation import Model, Parameter, Reading
from veh_identification.types import Array

HEIGHT, PITCH, ROLL = 2, 4, 5


class RoadContact:
    """Height, its rate, and the two tilts stay within deviations of the model's."""

    wrap = False
    size = 4
    order = 0
    delay = 0.0

    def __init__(self, name: str, height: float, rate: float, tilt: float) -> None:
        self.name = name
        self.parameters: tuple[Parameter, ...] = ()
        self._variance = np.array([height, rate, tilt, tilt]) ** 2

    def linearise(self, model: Model, parameters: Array, reading: Reading) -> None:
        """Fill the reading; measured and predicted are both zero."""
        reading.value[:] = 0.0
        reading.z[:] = 0.0
        reading.zd[:] = 0.0
        reading.z[0, HEIGHT] = reading.zd[1, HEIGHT] = 1.0
        reading.z[2, PITCH] = reading.z[3, ROLL] = 1.0
        reading.variance[:] = self._variance
