"""Sideslip-aware heading: what the rear tyres allow the rear axle to slide sideways.

The thesis gives the course over ground to the filter as if it were yaw, which leaves an offset.
Here the lateral speed of base_link (middle of the rear axle) is compared with what the tyres need
for the present cornering, so heading follows from the velocity without that offset.
"""

from __future__ import annotations

import numpy as np

from veh_identification.observation import Model, Parameter, Reading
from veh_identification.types import Array

LARGEST_USE = 0.95  # of the friction: beyond it the slip angle says nothing


def slip_angle(
    lateral_acceleration: float, gravity: float, cornering: float, friction: float
) -> float:
    """Slip angle of an axle that supports a lateral acceleration (tanh tyre of `forces`)."""
    use = lateral_acceleration / (gravity * friction)
    use = min(max(use, -LARGEST_USE), LARGEST_USE)
    return friction / cornering * float(np.arctanh(use))


class RearSlip:
    """Lateral speed of the rear axle beyond what cornering explains; its measured value is 0.

    Estimated forces can cancel the tyre forces that keep a slow car from sliding sideways, so
    cars that estimate them want this at every speed (`minimum_speed` 0).
    """

    wrap = False
    size = 1
    order = 1
    delay = 0.0

    def __init__(
        self,
        name: str,
        deviation: float,
        gravity: float,
        cornering: float,
        friction: float,
        minimum_speed: float = 1.0,
    ) -> None:
        self.name = name
        self.parameters: tuple[Parameter, ...] = ()
        self.deviation, self.gravity = deviation, gravity
        self.cornering, self.friction, self.minimum_speed = cornering, friction, minimum_speed

    def linearise(self, model: Model, parameters: Array, reading: Reading) -> None:
        """Fill the reading."""
        view = model.body('chassis', 1)
        f, D = view.values, view.derivatives
        velocity, side = f[1, 0:3], f[0, 6:9]
        forward = float(f[0, 3:6] @ velocity)
        yaw_rate = float(side @ f[1, 3:6])
        expected = -forward * slip_angle(
            yaw_rate * forward, self.gravity, self.cornering, self.friction
        )
        reading.value[0] = float(side @ velocity) - expected
        reading.z[0] = side @ D[1, 0:3] + velocity @ D[0, 6:9]
        reading.zd[0] = side @ D[0, 0:3]
        reading.variance[0] = self.deviation**2 + (0.3 * expected) ** 2
        reading.available[0] = abs(forward) >= self.minimum_speed
