"""Constraints of the model that enter like measurements: what tyres and road say of a car.

Their measured value is always zero. They speak at a rate of their own and not through a topic, so
they have no outages, no noise and nothing to be whitened.
"""

from __future__ import annotations

import numpy as np

from veh_identification.observation import Model, Parameter, Reading
from veh_identification.types import Array

#: How often they speak [Hz].
RATE = 50.0
HEIGHT, PITCH, ROLL = 2, 4, 5  # places in the error state
LARGEST_USE = 0.95  # of the friction: beyond it the slip angle says nothing
SOFTNESS = (-0.7, 1.5)  # of rear tyres against the configuration, at the most
RAKE, LEAN = 0.01, 0.005  # pitch and roll by a load that the description does not know [rad]
#: Pitch and roll under acceleration that the model does not know [rad s^2/m]: forces that nobody
#: measured act on it at wheel height and not on the road, and its springs are not known well.
DIVE, SWAY = 0.004, 0.002
CRAB = (0.0015, 20.0)  # deviation [rad] and time [s] of the angle by which a car crabs along
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
        self._variance = np.array([height, rate, tilt, tilt]) ** 2

    def linearise(self, model: Model, parameters: Array, reading: Reading) -> None:
        """Fill the reading; measured and predicted are both zero."""
        reading.value[:] = 0.0
        reading.z[:] = 0.0
        reading.zd[:] = 0.0
        reading.z[0, HEIGHT] = reading.zd[1, HEIGHT] = 1.0
        reading.z[2, PITCH] = reading.z[3, ROLL] = 1.0
        reading.variance[:] = self._variance


class GroundContact:
    """What is known of an unknown road: a car climbs as its slope says, and no slope is steep.

    The body stands on the road as its load and its springs let it: two angles that the model does
    not know (`RAKE`, `LEAN`), and how far it dives and sways (`DIVE`, `SWAY`) beyond the model
    when it brakes and turns, are error states that turn with the car. Without the latter, braking
    looks like a slope that the car does not climb, and a bias has to explain it.

    Errors of both last: of bumps for some tenths of a second, of slopes for as long as a hill. At
    `RATE` the variances are those of white noise that tells as much in a second.
    """

    name = 'road'
    pseudo = True
    wrap = False
    size = 3
    order = 0
    delay = 0.0
    parameters: tuple[Parameter, ...] = (
        Parameter('rake', 0.0, RAKE, bounds=(-10.0 * RAKE, 10.0 * RAKE)),
        Parameter('lean', 0.0, LEAN, bounds=(-10.0 * LEAN, 10.0 * LEAN)),
        Parameter('dive', 0.0, DIVE, bounds=(-5.0 * DIVE, 5.0 * DIVE)),
        Parameter('sway', 0.0, SWAY, bounds=(-5.0 * SWAY, 5.0 * SWAY)),
    )

    def __init__(
        self, climb: tuple[float, float] = (0.2, 0.3), slope: tuple[float, float] = (0.05, 10.0)
    ) -> None:
        lasting = [2.0 * deviation**2 * time * RATE for deviation, time in (climb, slope)]
        self._variance = np.array([lasting[0], lasting[1], lasting[1]])

    def linearise(self, model: Model, parameters: Array, reading: Reading) -> None:
        """Fill the reading."""
        frame = model.body('chassis', 0).values
        ground = model.vehicle.ground  # type: ignore[attr-defined]
        forward = float(frame[0, 3:5] @ frame[1, 0:2])
        along = float(frame[0, 3:5] @ frame[2, 0:2])
        across = float(frame[0, 6:8] @ frame[2, 0:2])
        rake, lean, dive, sway = parameters.tolist()
        slope = ground[0, 1] - rake - dive * along
        reading.value[0] = ground[1, 0] - forward * slope
        reading.value[1], reading.value[2] = slope, ground[0, 2] - lean - sway * across
        reading.z[:] = 0.0
        reading.zd[:] = 0.0
        reading.parameters[:] = 0.0
        reading.parameters[0, 0], reading.parameters[0, 2] = forward, forward * along
        reading.parameters[1, 0] = reading.parameters[2, 1] = -1.0
        reading.parameters[1, 2], reading.parameters[2, 3] = -along, -across
        reading.zd[0, HEIGHT], reading.z[0, PITCH] = 1.0, -forward
        reading.z[1, PITCH] = reading.z[2, ROLL] = 1.0
        reading.variance[:] = self._variance


def slip_angle(
    lateral_acceleration: float, gravity: float, cornering: float, friction: float
) -> float:
    """Slip angle of an axle that supports a lateral acceleration (tanh tyre of `model.forces`)."""
    use = lateral_acceleration / (gravity * friction)
    use = min(max(use, -LARGEST_USE), LARGEST_USE)
    return friction / cornering * float(np.arctanh(use))


class RearSlip:
    """Lateral speed of the rear axle beyond what cornering explains: sideslip-aware heading.

    The thesis gives the course over ground to the filter as if it were yaw, which leaves an
    offset. Here the lateral speed of base_link (middle of the rear axle) is compared with what the
    tyres need for the present cornering, so heading follows from the velocity without that offset.

    Estimated forces can cancel the tyre forces that keep a slow car from sliding sideways, so
    cars that estimate them want this at every speed (`minimum_speed` 0). With `unknown_tyre` the
    slip of the rear tyres over what the configuration says, less one, is an error state, and so is
    the angle by which wind, a tilted road or the axle let a car crab along.
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
    ) -> None:
        self.deviation, self.gravity = deviation, gravity
        self.cornering, self.friction, self.minimum_speed = cornering, friction, minimum_speed
        self.sliding = False
        self.parameters: tuple[Parameter, ...] = ()
        if unknown_tyre > 0.0:
            self.parameters = (
                Parameter('softness', 0.0, unknown_tyre, 1e-4, bounds=SOFTNESS),
                Parameter('crab', 0.0, CRAB[0], correlation_time=CRAB[1]),
            )

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
        scatter = 0.3
        if self.parameters:
            reading.parameters[0, 0] = -expected
            expected *= 1.0 + float(parameters[0])
            expected += float(parameters[1]) * forward
            reading.parameters[0, 1] = -forward
            scatter = 0.1
        reading.value[0] = float(side @ velocity) - expected
        reading.z[0] = side @ D[1, 0:3] + velocity @ D[0, 6:9]
        reading.zd[0] = side @ D[0, 0:3]
        reading.variance[0] = self.deviation**2 + (scatter * expected) ** 2
        if self.sliding:  # tyres that spin or lock hold nothing sideways
            reading.variance[0] += (SLIDING * forward) ** 2
        reading.available[0] = abs(forward) >= self.minimum_speed


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


#: Their names, for whoever judges sensors: reports, metrics and diagnostics.
PSEUDO_SENSORS = frozenset(one.name for one in (RoadContact, GroundContact, RearSlip, Standstill))
