"""Speed of a wheel that rolls, for cars whose wheel torques are unknown."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numba import njit

from veh_identification.errors import ParameterError
from veh_identification.observation import Model, Parameter, Reading
from veh_identification.observation.sensors.base import variances, weights
from veh_identification.observation.sensors.kernels import Packed, point, point_row
from veh_identification.types import Array, IntArray

ROLLING = 100  # the kind of this sensor for its kernel; those of all models are below
LARGEST_ERROR = 0.15  # of a wheel radius, over the radius
LARGEST_SLIP = 0.1
LARGEST_MOVED = 0.8  # of the load of a wheel that a bend takes off or puts on
#: Which wheels drive or brake is not known, nor how stiff their tyres are: of the slip that a tyre
#: gives, so much is doubtful, for as long as a driver goes on driving or braking [s]. (A share
#: anywhere between none and twice as much has a deviation of 0.58.)
SHARE_OF_GIVE, SHARE_TIME = 0.5, 10.0
LARGEST_SHARE = 1.5
#: Bumps change the load of a tyre by some tenth from moment to moment, its deflection by about two
#: millimetres, and the radius on which it rolls by a third of that: over the radius.
BUMPS = 0.001
#: By how much wheel speeds are later than samples of the IMU, the clock of the state [s].
#: Slips and tilts that come with braking look like a delay of all sensors against the IMU: so the
#: wheels count as on time until they surely are not, see `Timekeeper`.
LATE, LARGEST_DELAY = 0.002, 0.3
OWN, SHARED = 2, 3  # parameters of one wheel, and those that it shares


class Give(NamedTuple):
    """By what a tyre gives way to the forces on the car."""

    driven: float = 0.0  # slip over what drives the car [s^2/m]
    braked: float = 0.0  # and over what brakes it
    gravity: float = 0.0  # [m/s^2]
    drag: float = 0.0  # over mass [1/m]
    lighter: float = 0.0  # share of its load that a bend to the left takes off [s^2/m]
    deflection: float = 0.0  # by which its rolling radius is less under its load, over the radius


RIGID = Give()


@njit(cache=True, nogil=True)
def rolling_rows(
    f: Array,
    D: Array,
    w: Array,
    q: Array,
    forward: int,
    parameters: Array,
    shared: Array,
    give: Array,
    age: float,
    value: Array,
    z: Array,
    zd: Array,
    zdd: Array,
    own: Array,
    by_shared: Array,
) -> None:
    """Speed of the hub along the wheel over its radius, and its derivatives.

    `give`: see `Give`.
    """
    forward_speed = f[0, 3] * f[1, 0] + f[0, 4] * f[1, 1] + f[0, 5] * f[1, 2]
    # the tyres speed the car up, carry it uphill and push it through the air; how the body stands
    # on the slope is not known, so that nothing is learnt of its pitch from them
    pull = f[0, 3] * f[2, 0] + f[0, 4] * f[2, 1] + f[0, 5] * f[2, 2]
    pull += give[2] * f[0, 5] + give[3] * forward_speed * abs(forward_speed)
    # in bends the outer tyres carry more, roll on less radius and slip less under the same brakes
    held = f[0, 6] * f[2, 0] + f[0, 7] * f[2, 1] + f[0, 8] * (f[2, 2] + give[2])
    lighter = min(max(give[4] * held, -LARGEST_MOVED), LARGEST_MOVED)
    way = 0 if pull > 0.0 else 1
    softness = give[way] * (1.0 + shared[1 + way]) * (1.0 + lighter)
    slip = parameters[1] + softness * pull - give[5] * lighter
    slip = min(max(slip, -LARGEST_SLIP), LARGEST_SLIP)
    radius = parameters[0] / (1.0 + slip)
    age += shared[0]
    speed = gain = 0.0
    z[0, :] = 0.0
    zd[0, :] = 0.0
    for axis in range(3):
        along, acceleration = q[forward + axis], point(f[2], w, axis)
        velocity = point(f[1], w, axis) - age * acceleration
        speed += along * velocity
        gain += along * acceleration
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
    by_slip = value[0] / (1.0 + slip)
    by_pull = by_slip * softness
    for j in range(z.shape[1]):
        along = f[0, 3] * D[0, 0, j] + f[0, 4] * D[0, 1, j] + f[0, 5] * D[0, 2, j]
        zdd[0, j] = by_pull * along - age * zd[0, j]
    own[0, 0] = -value[0] / parameters[0]
    own[0, 1] = by_slip
    by_shared[0] = -gain / radius
    by_shared[1 + way] = by_slip * give[way] * (1.0 + lighter) * pull
    by_shared[2 - way] = 0.0


class RollingWheel:
    """Spin rate = speed of the hub along the wheel over its radius, which is an error state.

    The direction of the wheel is that of the model (`forward`: its first coordinate in the model),
    so a steered wheel measures along its own plane. Its tyre slips to drive or brake the car:
    `give` times the force over mass, which
    speeds the car up, carries it uphill and pushes it through the air. Without that a car that
    speeds up would look like satellites that are late. How far the wheel has another share in it
    is an error state, since it lasts and looks the same; so is what else makes it slip, `slip`
    (deviation over the speed, time [s]).
    """

    size = 1
    order = 1
    wrap = False
    learns = True

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
        axle: str = 'rear',
        give: Give = RIGID,
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
        #: Of the messages of all wheels, beyond `delay`.
        self.common = (
            Parameter('wheels.delay', 0.0, LATE, bounds=(-LARGEST_DELAY, LARGEST_DELAY)),
            *(
                Parameter(
                    f'{axle}_axle.{way}',
                    0.0,
                    SHARE_OF_GIVE,
                    correlation_time=SHARE_TIME,
                    bounds=(-1.0, LARGEST_SHARE),
                )
                for way in ('drive', 'brakes')
            ),
        )
        self._age = self._shaken = 0.0
        self._give = np.array(give)

    def aged(self, seconds: float) -> None:
        """How long before the present time the next message was true."""
        self._age = seconds

    def linearise(self, model: Model, parameters: Array, reading: Reading) -> None:
        """Fill the reading."""
        view, by_shared = model.body('chassis', 1), np.empty(SHARED)
        rolling_rows(
            view.values,
            view.derivatives,
            self._w,
            model.vehicle.model.q,  # type: ignore[attr-defined]
            self._forward,
            parameters[:OWN],
            parameters[OWN:],
            self._give,
            self._age,
            reading.value,
            reading.z,
            reading.zd,
            reading.zdd,
            reading.parameters,
            by_shared,
        )
        reading.common[0, reading.places] = by_shared
        self._shaken = float((BUMPS * reading.value[0]) ** 2)
        reading.variance[0] = self._variance + self._shaken

    def receive(self, value: Array, variance: Array | None) -> tuple[Array, Array | None]:
        """A message states its own noise; what bumps do to the last reading comes on top."""
        shaken, self._shaken = self._shaken, 0.0
        return value, variance if variance is None or shaken == 0.0 else variance + shaken

    def packed(self, columns: Mapping[int, int]) -> Packed:
        """Its numbers for `read_rolling`: where its direction is; variance, hub and `give`."""
        reals = (float(self._variance), *self._w.tolist(), *self._give.tolist())
        return Packed(ROLLING, (self._forward,), reals)


@njit(cache=True, nogil=True)
def read_rolling(
    integers: IntArray,
    reals: Array,
    f: Array,
    D: Array,
    q: Array,
    parameters: Array,
    shared: Array,
    age: float,
    value: Array,
    z: Array,
    zd: Array,
    zdd: Array,
    own: Array,
    by_shared: Array,
    variance: Array,
) -> None:
    """`RollingWheel.linearise` of the numbers of a wheel."""
    rolling_rows(
        f,
        D,
        reals[1:5],
        q,
        integers[0],
        parameters,
        shared,
        reals[5:11],
        age,
        value,
        z,
        zd,
        zdd,
        own,
        by_shared,
    )
    variance[0] = reals[0] + (BUMPS * value[0]) ** 2
