"""Constraints of the model that enter like measurements: what tyres and road say of a car.

Their measured value is always zero. They speak at a rate of their own and not through a topic, so
they have no outages, no noise and nothing to be whitened.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numba import njit
from numpy.typing import NDArray

from veh_identification.observation import Model, Parameter, Reading
from veh_identification.observation.sensors.kernels import Packed
from veh_identification.types import Array

#: How often they speak [Hz].
RATE = 50.0
HEIGHT, YAW, PITCH, ROLL = 2, 3, 4, 5  # places in the error state
E1, E2 = 3, 6  # axes of the chassis in its frame
#: Their kinds for `read_constraint`; those of other sensors are below, and that of wheels above.
ROAD, GROUND, REAR_SLIP, STANDSTILL = range(50, 54)
LARGEST_USE = 0.95  # of the friction: beyond it the slip angle says nothing
SOFTNESS = (-0.7, 1.5)  # of rear tyres against the configuration, at the most
RAKE, LEAN = 0.01, 0.005  # pitch and roll by a load that the description does not know [rad]
#: Pitch and roll under acceleration that the model does not know [rad s^2/m]: forces that nobody
#: measured act on it at wheel height and not on the road, and its springs are not known well.
DIVE, SWAY = 0.004, 0.002
#: Deviation [rad] and time [s] of the angle by which a car crabs along: side wind of 3 m/s takes
#: 0.35 mrad at 70 km/h, an axle that is a minute of arc askew as much.
CRAB = (0.0005, 20.0)
#: How long the rear axle slips sideways one way beyond tyres, bank and crab angle [s]; how much
#: more in bends, over what the tyres slip there; and the share that does not last. As white noise
#: alone it would tell as much in a second, and be stated as twice its size at an instant.
SLIDE_TIME, SLIDE_IN_BENDS, FLEETING = 0.5, 0.06, 0.3
#: Rates of roll and pitch [rad/s] on the slopes of a road, and how long they last [s].
TURNING = (0.005, 1.0)
SLIDING = 0.1  # sideways over forward speed of an axle whose wheels spin or lock
SLOWEST = 0.05  # below this speed the wheels say that the car stands [m/s]


class RoadContact:
    """Height, its rate, and the two tilts stay within deviations of the model's.

    The car stands on the road, so the model is near the truth. The integrator transition of the
    error filter does not know the springs, so without this the variance of height and tilt would
    grow without bound between fixes, and every noisy fix would lift the car against its springs.
    The update leaves the state alone (the model is its own measurement) and takes out the variance
    that tyres and springs take out.
    """

    name = 'road'
    pseudo = passive = True
    wrap = False
    size = 4
    order = 0
    delay = 0.0
    parameters: tuple[Parameter, ...] = ()

    def __init__(self, height: float, rate: float, tilt: float) -> None:
        self._reals = np.array([height, rate, tilt, tilt]) ** 2

    def linearise(self, model: Model, parameters: Array, reading: Reading) -> None:
        """Fill the reading; measured and predicted are both zero."""
        _read_constraint(ROAD, self._reals, model, parameters, reading)

    def packed(self, columns: Mapping[int, int]) -> Packed:
        """Its numbers for `read_constraint`: variances."""
        return Packed(ROAD, (), tuple(self._reals.tolist()))


class GroundContact:
    """What is known of an unknown road: a car climbs as its slope says, and no slope is steep.

    The body stands on the road as its load and its springs let it: two angles that the model does
    not know (`RAKE`, `LEAN`), and how far it dives and sways (`DIVE`, `SWAY`) beyond the model
    when it brakes and turns, are error states that turn with the car. Without the latter, braking
    looks like a slope that the car does not climb, and a bias has to explain it.

    Errors of both last: of bumps for some tenths of a second, of slopes for as long as a hill. At
    `RATE` the variances are those of white noise that tells as much in a second.

    Where no gyroscope feels how the car rolls and pitches (not `felt`), nothing but its road says
    how fast it does: slopes come and go slowly. Else they would be explained by everything.
    """

    name = 'road'
    pseudo = True
    wrap = False
    order = 0
    delay = 0.0
    parameters: tuple[Parameter, ...] = (
        Parameter('rake', 0.0, RAKE, bounds=(-10.0 * RAKE, 10.0 * RAKE)),
        Parameter('lean', 0.0, LEAN, bounds=(-10.0 * LEAN, 10.0 * LEAN)),
        Parameter('dive', 0.0, DIVE, bounds=(-5.0 * DIVE, 5.0 * DIVE)),
        Parameter('sway', 0.0, SWAY, bounds=(-5.0 * SWAY, 5.0 * SWAY)),
    )

    def __init__(
        self,
        climb: tuple[float, float] = (0.2, 0.3),
        slope: tuple[float, float] = (0.05, 10.0),
        turning: tuple[float, float] = TURNING,
        felt: bool = True,
    ) -> None:
        pairs = (climb, slope, slope) if felt else (climb, slope, slope, turning, turning)
        self._reals = np.array([2.0 * size**2 * time * RATE for size, time in pairs])
        self.size = len(pairs)

    def linearise(self, model: Model, parameters: Array, reading: Reading) -> None:
        """Fill the reading."""
        _read_constraint(GROUND, self._reals, model, parameters, reading)

    def packed(self, columns: Mapping[int, int]) -> Packed:
        """Its numbers for `read_constraint`: variances."""
        return Packed(GROUND, (), tuple(self._reals.tolist()))


@njit(cache=True, nogil=True)
def slip_angle(
    lateral_acceleration: float, gravity: float, cornering: float, friction: float
) -> float:
    """Slip angle of an axle that supports a lateral acceleration (tanh tyre of `model.forces`)."""
    use = lateral_acceleration / (gravity * friction)
    use = min(max(use, -LARGEST_USE), LARGEST_USE)
    return friction / cornering * np.arctanh(use)


@njit(cache=True, nogil=True)
def slip_by_bank(
    lateral_acceleration: float, gravity: float, cornering: float, friction: float
) -> float:
    """Derivative of `slip_angle` by a bank of the road, which adds `gravity` times its angle."""
    use = lateral_acceleration / (gravity * friction)
    if abs(use) >= LARGEST_USE:
        return 0.0
    return 1.0 / (cornering * (1.0 - use * use))


class RearSlip:
    """Lateral speed of the rear axle beyond what cornering explains: sideslip-aware heading.

    The thesis gives the course over ground to the filter as if it were yaw, which leaves an
    offset. Here the lateral speed of base_link (middle of the rear axle) is compared with what the
    tyres need for the present cornering, so heading follows from the velocity without that offset.

    Estimated forces can cancel the tyre forces that keep a slow car from sliding sideways, so
    cars that estimate them want this at every speed (`minimum_speed` 0). With `unknown_tyre` the
    slip of the rear tyres over what the configuration says, less one, is an error state, and so is
    the angle by which wind or the axle let a car crab along. On a road that is `banked` (and whose
    tilt the ground has) the tyres hold the car against gravity too: per cent of bank are a
    milliradian of heading.
    """

    name = 'rear_slip'
    pseudo = True
    wrap = False
    size = 1
    order = 1
    delay = 0.0

    def __init__(
        self,
        deviation: float,
        gravity: float,
        cornering: float,
        friction: float,
        minimum_speed: float = 1.0,
        unknown_tyre: float = 0.0,
        banked: bool = False,
    ) -> None:
        self.deviation, self.gravity, self.banked = deviation, gravity, banked
        self.cornering, self.friction, self.minimum_speed = cornering, friction, minimum_speed
        self.sliding = False
        self.parameters: tuple[Parameter, ...] = ()
        if unknown_tyre > 0.0:
            self.parameters = (
                Parameter('softness', 0.0, unknown_tyre, 1e-4, bounds=SOFTNESS),
                Parameter('crab', 0.0, CRAB[0], correlation_time=CRAB[1]),
                Parameter('slide', 0.0, 1.0, correlation_time=SLIDE_TIME),
            )

    def linearise(self, model: Model, parameters: Array, reading: Reading) -> None:
        """Fill the reading."""
        _read_constraint(REAR_SLIP, np.array(self.numbers()), model, parameters, reading)

    def numbers(self) -> tuple[float, ...]:
        """What `read_constraint` takes."""
        return (
            self.deviation**2,
            self.gravity,
            self.cornering,
            self.friction,
            self.minimum_speed,
            float(self.sliding),
            float(self.banked),
        )

    def packed(self, columns: Mapping[int, int]) -> Packed:
        """Its numbers for `read_constraint`."""
        return Packed(REAR_SLIP, (), self.numbers())


class Standstill:
    """Yaw rate and sideways speed of a car whose wheels stand."""

    name = 'standstill'
    pseudo = True
    wrap = False
    size = 2
    order = 1
    delay = 0.0
    parameters: tuple[Parameter, ...] = ()

    def __init__(self, rate: float = 0.002, speed: float = 0.01) -> None:
        self._reals = np.array([rate, speed]) ** 2

    def linearise(self, model: Model, parameters: Array, reading: Reading) -> None:
        """Fill the reading."""
        _read_constraint(STANDSTILL, self._reals, model, parameters, reading)

    def packed(self, columns: Mapping[int, int]) -> Packed:
        """Its numbers for `read_constraint`: variances."""
        return Packed(STANDSTILL, (), tuple(self._reals.tolist()))


@njit(cache=True, nogil=True)
def _row_of(f: Array, D: Array, side: int, place: int, z: Array, zd: Array) -> float:
    """Component of a rate (its place in the frame) along an axis, and its derivatives."""
    value = 0.0
    z[:] = 0.0
    zd[:] = 0.0
    for k in range(3):
        value += f[0, side + k] * f[1, place + k]
        for j in range(z.size):
            z[j] += f[0, side + k] * D[1, place + k, j] + f[1, place + k] * D[0, side + k, j]
            zd[j] += f[0, side + k] * D[0, place + k, j]
    return value


@njit(cache=True, nogil=True)
def _along(f: Array, axis: int, level: int, size: int) -> float:
    """Velocity (level 1) or acceleration (2) of the origin along an axis."""
    total = 0.0
    for k in range(size):
        total += f[0, axis + k] * f[level, k]
    return total


@njit(cache=True, nogil=True)
def _read_ground(
    f: Array, ground: Array, parameters: Array, value: Array, z: Array, zd: Array, own: Array
) -> None:
    forward = _along(f, E1, 1, 2)
    along, across = _along(f, E1, 2, 2), _along(f, E2, 2, 2)
    slope = ground[0, 1] - parameters[0] - parameters[2] * along
    value[0] = ground[1, 0] - forward * slope
    value[1], value[2] = slope, ground[0, 2] - parameters[1] - parameters[3] * across
    z[:, :] = 0.0
    zd[:, :] = 0.0
    own[:, :] = 0.0
    own[0, 0], own[0, 2] = forward, forward * along
    own[1, 0] = own[2, 1] = -1.0
    own[1, 2], own[2, 3] = -along, -across
    if value.size > 3:
        value[3], value[4] = ground[1, 1], ground[1, 2]
        zd[3, PITCH] = zd[4, ROLL] = 1.0
    zd[0, HEIGHT], z[0, PITCH] = 1.0, -forward
    z[1, PITCH] = z[2, ROLL] = 1.0


@njit(cache=True, nogil=True)
def _read_rear_slip(
    reals: Array,
    f: Array,
    D: Array,
    ground: Array,
    parameters: Array,
    value: Array,
    z: Array,
    zd: Array,
    own: Array,
    variance: Array,
    available: NDArray[np.bool_],
) -> None:
    forward = _along(f, E1, 1, 3)
    yaw_rate = f[0, 6] * f[1, 3] + f[0, 7] * f[1, 4] + f[0, 8] * f[1, 5]
    banked = reals[6] != 0.0
    held = yaw_rate * forward + (reals[1] * ground[0, 2] if banked else 0.0)
    expected = -forward * slip_angle(held, reals[1], reals[2], reals[3])
    softness, noise = 1.0, reals[0] + (0.3 * expected) ** 2
    if parameters.size:
        # the error that lasts tells as much in a second as the deviation at `RATE` does
        lasting = reals[0] / (2.0 * SLIDE_TIME * RATE) + (SLIDE_IN_BENDS * expected) ** 2
        slide = np.sqrt(lasting)
        own[0, 0], own[0, 1], own[0, 2] = -expected, -forward, -slide
        softness = 1.0 + parameters[0]
        expected = expected * softness + parameters[1] * forward + parameters[2] * slide
        noise = FLEETING**2 * lasting * 2.0 * SLIDE_TIME * RATE
    value[0] = _row_of(f, D, E2, 0, z[0], zd[0]) - expected
    by_bank = softness * forward * slip_by_bank(held, reals[1], reals[2], reals[3])
    if banked:
        z[0, ROLL] += by_bank
    if parameters.size:
        zd[0, YAW] += by_bank * forward / reals[1]
    variance[0] = noise
    if reals[5] != 0.0:  # tyres that spin or lock hold nothing sideways
        variance[0] += (SLIDING * forward) ** 2
    available[0] = abs(forward) >= reals[4]


@njit(cache=True, nogil=True)
def read_constraint(
    kind: int,
    reals: Array,
    f: Array,
    D: Array,
    ground: Array,
    parameters: Array,
    value: Array,
    z: Array,
    zd: Array,
    own: Array,
    variance: Array,
    available: NDArray[np.bool_],
) -> None:
    """`linearise` of a constraint by its kind and its numbers."""
    if kind == REAR_SLIP:
        _read_rear_slip(reals, f, D, ground, parameters, value, z, zd, own, variance, available)
        return
    for i in range(value.size):
        variance[i] = reals[i]
    if kind == GROUND:
        _read_ground(f, ground, parameters, value, z, zd, own)
    elif kind == STANDSTILL:
        value[0] = _row_of(f, D, E2, E1, z[0], zd[0])
        value[1] = _row_of(f, D, E2, 0, z[1], zd[1])
        # along the car only, which the wheels measure: an error sideways must not switch it off
        available[:] = abs(_along(f, E1, 1, 3)) < SLOWEST
    else:
        value[:] = 0.0
        z[:, :] = 0.0
        zd[:, :] = 0.0
        z[0, HEIGHT] = zd[1, HEIGHT] = 1.0
        z[2, PITCH] = z[3, ROLL] = 1.0


def _read_constraint(
    kind: int, reals: Array, model: Model, parameters: Array, reading: Reading
) -> None:
    view = model.body('chassis', 1)
    read_constraint(
        kind,
        reals,
        view.values,
        view.derivatives,
        model.vehicle.ground,  # type: ignore[attr-defined]
        parameters,
        reading.value,
        reading.z,
        reading.zd,
        reading.parameters,
        reading.variance,
        reading.available,
    )


#: Their names, for whoever judges sensors: reports, metrics and diagnostics.
PSEUDO_SENSORS = frozenset(one.name for one in (RoadContact, GroundContact, RearSlip, Standstill))
