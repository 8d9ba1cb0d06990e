"""What drives the car: held torques and pressure, a smooth rack, and which of them are known."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping
from typing import Any

from veh_identification.errors import EstimationError
from veh_identification.observation.streaming.arrivals import NANOSECONDS, Item, stream_of
from veh_identification.systems.vehicle.model.vehicle import Inputs

#: Input streams and what is done while one of them is missing.
INPUTS = {
    'torque': 'no drive torque: the unknown force is estimated instead',
    'pressure': 'no brake pressure: the unknown force is estimated instead',
    'rack': 'no steering: the rack stays where it is and the yaw moment is estimated',
}
NONE = (0.0, 0.0, 0.0, 0.0)
#: How long [s] what an input told last is better than nothing: drivers hold their speed for long
#: and brake for moments.
FADING = {'torque': 30.0, 'pressure': 2.0}
# Bandwidth of the filter that turns rack samples into a smooth travel [rad/s].
RACK_BANDWIDTH = 60.0


class RackFollower:
    """Critically damped follower (trapezoidal): travel, rate and acceleration."""

    def __init__(self, dt: float, travel: float = 0.0) -> None:
        self.dt = dt
        self.travel, self.rate, self.second = travel, 0.0, 0.0

    def step(self, target: float) -> tuple[float, float, float]:
        """One step towards the target."""
        dt, w = self.dt, RACK_BANDWIDTH
        # a1 = w^2 (target - x1) - 2 w v1 with v1, x1 by the trapezoidal rule, solved for a1
        v0 = self.rate + 0.5 * dt * self.second
        x0 = self.travel + dt * self.rate + 0.25 * dt * dt * self.second
        a1 = (w * w * (target - x0) - 2.0 * w * v0) / (1.0 + w * dt + 0.25 * w * w * dt * dt)
        self.rate, self.travel = v0 + 0.5 * dt * a1, x0 + 0.25 * dt * dt * a1
        self.second = a1
        return self.travel, self.rate, self.second


class Driving:
    """Holds the last sample of each input; one that is silent too long counts as missing.

    `present` names the inputs that are known at the start.
    """

    def __init__(
        self, dt: float, rack: float, present: set[str], origin_ns: int, timeout: float = 0.5
    ) -> None:
        self.missing = {name for name in INPUTS if name not in present}
        self._timeout_ns = round(timeout * NANOSECONDS)
        self._last_ns = dict.fromkeys(present, origin_ns)
        self._shares = {name: math.exp(-dt / seconds) for name, seconds in FADING.items()}
        self._follower = RackFollower(dt, rack)
        self._pending: deque[Item] = deque()
        self._torques = NONE
        self._pressure, self._rack = 0.0, rack
        self._known_until_ns = 0  # before that none of them can be silent for too long

    def held(self) -> dict[str, Any]:
        """The last samples, and when they came."""
        follower = self._follower
        return {
            'torques': [*self._torques],
            'pressure': self._pressure,
            'rack': [self._rack, follower.travel, follower.rate, follower.second],
            'last': dict(self._last_ns),
        }

    def hold(self, held: Mapping[str, Any]) -> None:
        """Go on with samples that were held before."""
        a, b, c, d = (float(one) for one in held['torques'])
        pressure = float(held['pressure'])
        rack, travel, rate, second = (float(one) for one in held['rack'])
        last = {name: int(held['last'][name]) for name in INPUTS if name in held['last']}
        if not all(map(math.isfinite, (a, b, c, d, pressure, rack, travel, rate, second))):
            raise EstimationError('what drove the car is no number')
        self._torques, self._pressure, self._rack = (a, b, c, d), pressure, rack
        follower = self._follower
        follower.travel, follower.rate, follower.second = travel, rate, second
        self._last_ns, self._known_until_ns = last, 0

    def push(self, item: Item) -> None:
        """Take a sample; they come in order, belated ones excepted."""
        self._pending.append(item)

    def at(self, end_ns: int) -> Inputs:
        """Inputs of the step that ends at this time; `missing` is brought up to date."""
        pending = self._pending
        while pending and pending[0].time_ns <= end_ns + 1:
            self._take(pending.popleft())
        if self.missing or end_ns > self._known_until_ns:
            self._look(end_ns - self._timeout_ns)
        return Inputs(self._torques, self._pressure, *self._follower.step(self._rack))

    def _look(self, oldest_ns: int) -> None:
        """Which inputs have been silent for too long; their values fade from step to step."""
        self.missing = {
            name for name in INPUTS if self._last_ns.get(name, oldest_ns - 1) < oldest_ns
        }
        # A step would throw the body of the model about, which no sensor has felt.
        if 'torque' in self.missing:
            a, b, c, d = self._torques
            share = self._shares['torque']
            self._torques = share * a, share * b, share * c, share * d
        if 'pressure' in self.missing:
            self._pressure *= self._shares['pressure']
        self._known_until_ns = min(self._last_ns.values(), default=oldest_ns) + self._timeout_ns

    def _take(self, item: Item) -> None:
        name = stream_of(item.key)
        if item.time_ns < self._last_ns.get(name, item.time_ns):
            return  # belated: a newer one is in use
        self._last_ns[name] = item.time_ns
        if name == 'torque':
            a, b, c, d = item.payload
            if a + b + c + d != a + b + c + d:  # a message may name some of the wheels only
                a, b, c, d = (
                    new if new == new else old
                    for new, old in zip(item.payload, self._torques, strict=True)
                )
            self._torques = a, b, c, d
        elif name == 'pressure':
            self._pressure = item.payload[0]
        else:
            self._rack = item.payload[0]
