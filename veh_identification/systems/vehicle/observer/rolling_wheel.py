"""Speed of a wheel that rolls, for cars whose wheel torques are unknown."""

from __future__ import annotations

import math
from collections.abc import Sequence

from veh_identification.errors import ParameterError
from veh_identification.observation import Model, Parameter, Reading
from veh_identification.observation.sensors.base import variances, weights
from veh_identification.types import Array

LARGEST_ERROR = 0.15  # of a wheel radius, over the radius
LARGEST_SLIP = 0.1


class RollingWheel:
    """Spin rate = speed of the hub along the wheel over its radius, which is an error state.

    The direction of the wheel is that of the model (`forward`: its first coordinate in the model),
    so a steered wheel measures along its own plane. Unknown drive and brake forces make it slip,
    for as long as they last: `slip` (deviation over the speed, time [s]) is an error state too,
    beside the slip that its tyre needs to drive or brake the car, `give` [s^2/m] times its
    acceleration. Without that a car that speeds up would look like satellites that are late.
    """

    size = 1
    order = 1
    wrap = False

    def __init__(
        self,
        name: str,
        hub: Sequence[float],
        forward: int,
        radius: float,
        deviation: float,
        slip: tuple[float, float],
        *,
        radius_deviation: float,
        radius_walk: float = 0.0,
        delay: float = 0.0,
        give: tuple[float, float] = (0.0, 0.0),
    ) -> None:
        if not (math.isfinite(radius) and radius > 0.0):
            raise ParameterError(
                f'sensor {name!r}: the wheel radius must be positive, found {radius}'
            )
        self.name, self.delay = name, delay
        self._forward, self._w = forward, weights(name, hub)
        self._variance = variances(name, deviation, 1)[0]
        self.parameters: tuple[Parameter, ...] = (
            Parameter(
                'radius',
                radius,
                radius_deviation,
                radius_walk,
                bounds=((1.0 - LARGEST_ERROR) * radius, (1.0 + LARGEST_ERROR) * radius),
            ),
            Parameter(
                'slip',
                0.0,
                slip[0],
                correlation_time=slip[1],
                bounds=(-LARGEST_SLIP, LARGEST_SLIP),
            ),
        )
        self._age = 0.0
        self._give = give

    def aged(self, seconds: float) -> None:
        """How long before the present time the next message was true."""
        self._age = seconds

    def linearise(self, model: Model, parameters: Array, reading: Reading) -> None:
        """Fill the reading."""
        view = model.body('chassis', 1)
        f, D, w = view.values, view.derivatives, self._w
        pull = float(f[0, 3:6] @ f[2, 0:3])
        slip = float(parameters[1]) + self._give[0 if pull > 0.0 else 1] * pull
        slip = min(max(slip, -LARGEST_SLIP), LARGEST_SLIP)
        radius = float(parameters[0]) / (1.0 + slip)
        wheel = model.vehicle.model.q[self._forward : self._forward + 3]  # type: ignore[attr-defined]
        # the wheel turns with the chassis: its direction in chassis axes is an input
        local = f[0, 3:12].reshape(3, 3) @ wheel
        age = self._age
        velocity = w @ f[1].reshape(4, 3)
        if age != 0.0:
            velocity -= age * (w @ f[2].reshape(4, 3))
        rate = w @ D[1].reshape(4, -1)
        place = w @ D[0].reshape(4, -1)
        n = D.shape[2]
        turned = (local @ D[0, 3:12].reshape(3, -1)).reshape(3, n)
        reading.value[0] = float(wheel @ velocity) / radius
        reading.z[0] = (wheel @ rate.reshape(3, n) + velocity @ turned) / radius
        reading.zd[0] = wheel @ place.reshape(3, n) / radius
        reading.zdd[0] = -age * reading.zd[0]
        reading.parameters[0, 0] = -reading.value[0] / float(parameters[0])
        reading.parameters[0, 1] = reading.value[0] / (1.0 + slip)
        reading.variance[0] = self._variance
