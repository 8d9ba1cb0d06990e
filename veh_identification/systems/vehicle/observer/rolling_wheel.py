"""Speed of a wheel that rolls, for cars whose wheel torques are unknown."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from numba import njit

from veh_identification.errors import ParameterError
from veh_identification.observation import Model, Parameter, Reading
from veh_identification.observation.sensors.base import variances, weights
from veh_identification.observation.sensors.kernels import Packed, point, point_row
from veh_identification.types import Array, IntArray

ROLLING = 100  # the kind of this sensor for its kernel; those of all models are below
LARGEST_ERROR = 0.15  # of a wheel radius, over the radius
LARGEST_SLIP = 0.1
#: Which wheels drive or brake is not known: of the slip that a tyre gives, so much is doubtful.
#: (A share anywhere between none and twice as much has a deviation of 0.58.)
SHARE_OF_GIVE = 0.5


@njit(cache=True, nogil=True)
def rolling_rows(
    f: Array,
    D: Array,
    w: Array,
    q: Array,
    forward: int,
    parameters: Array,
    give: tuple[float, float],
    age: float,
    value: Array,
    z: Array,
    zd: Array,
    zdd: Array,
    own: Array,
) -> float:
    """Speed of the hub along the wheel over its radius, and its derivatives.

    Returns how far the unknown share of the wheel in driving and braking may put it off.
    """
    pull = f[0, 3] * f[2, 0] + f[0, 4] * f[2, 1] + f[0, 5] * f[2, 2]
    given = (give[0] if pull > 0.0 else give[1]) * pull
    slip = parameters[1] + given
    slip = min(max(slip, -LARGEST_SLIP), LARGEST_SLIP)
    radius = parameters[0] / (1.0 + slip)
    speed = 0.0
    z[0, :] = 0.0
    zd[0, :] = 0.0
    for axis in range(3):
        velocity = point(f[1], w, axis)
        if age != 0.0:
            velocity -= age * point(f[2], w, axis)
        along = q[forward + axis]
        speed += along * velocity
        point_row(D[1], w, axis, along / radius, z[0])
        point_row(D[0], w, axis, along / radius, zd[0])
        # the wheel turns with the chassis: its direction in chassis axes is an input
        for i in range(3):
            e = 3 * i + 3
            local = (
                f[0, e] * q[forward] + f[0, e + 1] * q[forward + 1] + f[0, e + 2] * q[forward + 2]
            )
            for j in range(z.shape[1]):
                z[0, j] += velocity * local * D[0, e + axis, j] / radius
    value[0] = speed / radius
    for j in range(z.shape[1]):
        zdd[0, j] = -age * zd[0, j]
    own[0, 0] = -value[0] / parameters[0]
    own[0, 1] = value[0] / (1.0 + slip)
    return SHARE_OF_GIVE * given * value[0]


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
        self._age = self._doubt = 0.0
        self._give = give

    def aged(self, seconds: float) -> None:
        """How long before the present time the next message was true."""
        self._age = seconds

    def linearise(self, model: Model, parameters: Array, reading: Reading) -> None:
        """Fill the reading."""
        view = model.body('chassis', 1)
        doubt = rolling_rows(
            view.values,
            view.derivatives,
            self._w,
            model.vehicle.model.q,  # type: ignore[attr-defined]
            self._forward,
            parameters,
            self._give,
            self._age,
            reading.value,
            reading.z,
            reading.zd,
            reading.zdd,
            reading.parameters,
        )
        self._doubt = float(doubt) ** 2
        reading.variance[0] = self._variance + self._doubt

    def receive(self, value: Array, variance: Array | None) -> tuple[Array, Array | None]:
        """A message states its own noise; what is doubtful of the last reading comes on top."""
        doubt, self._doubt = self._doubt, 0.0
        return value, variance if variance is None or doubt == 0.0 else variance + doubt

    def packed(self, columns: Mapping[int, int]) -> Packed:
        """Its numbers for `read_rolling`: where its direction is; variance, hub and `give`."""
        reals = (float(self._variance), *self._w.tolist(), *self._give)
        return Packed(ROLLING, (self._forward,), reals)


@njit(cache=True, nogil=True)
def read_rolling(
    integers: IntArray,
    reals: Array,
    f: Array,
    D: Array,
    q: Array,
    parameters: Array,
    age: float,
    value: Array,
    z: Array,
    zd: Array,
    zdd: Array,
    own: Array,
    variance: Array,
) -> None:
    """`RollingWheel.linearise` of the numbers of a wheel."""
    give = (reals[5], reals[6])
    doubt = rolling_rows(
        f, D, reals[1:5], q, integers[0], parameters, give, age, value, z, zd, zdd, own
    )
    variance[0] = reals[0] + doubt * doubt
