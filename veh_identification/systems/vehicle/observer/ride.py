"""How rough the ride is, learnt from the vertical acceleration: no description knows the road.

A model on a plane does not bounce. What its accelerometer shows beyond the model is what the road
does to the body, and says how much noise the estimate of height and speeds has to expect: with the
noise of a bad road on a good one, speeds would be stated far worse than they are.
"""

from __future__ import annotations

import math

#: How long a body that bounces moves one way [s]: it swings at 1 to 2 Hz, well damped.
BOUNCE_TIME = 0.12
#: How long the shocks that reach the body along the road last [s].
SHOCK_TIME = 0.01
#: Share of a shaking body along, across and up. Across: the IMU half a metre above the road moves
#: with a body that rolls on two tracks 0.8 m aside, which shake out of step.
SHAKEN = (0.15, 0.45, 0.6)
LASTING = 5.0  # what is learnt fades within this time [s]
BELIEVED = 1.0  # what is stated counts for as many seconds
LONGEST_STEP = 0.1  # between samples that counts [s]
CHANGED = 1.1  # a variance that changed by this factor is worth new matrices
#: Least and largest shake over what is stated.
LEAST, LARGEST = 0.1, 2.0
MOVING = 1.0  # a car that stands tells nothing of the road [m/s]


def heave_density(shake: float) -> float:
    """Density of white vertical acceleration [m^2/s^3] of a body that shakes so much [m/s^2]."""
    return 2.0 * shake**2 * BOUNCE_TIME


def plane_density(shake: float) -> float:
    """The same along the road."""
    return 2.0 * (SHAKEN[0] * shake) ** 2 * SHOCK_TIME


def stated_density(shake: float) -> float:
    """Density of white vertical acceleration of a road of which nothing has been learnt."""
    return 2.0 * shake**2 * SHOCK_TIME


class Ride:
    """Learns the shake [m/s^2] from innovations of the vertical acceleration.

    `stated`: the shake that the description gives. The noise of the accelerometer itself is not
    learnt: errors of the tilts last, and do not show as noise.
    """

    def __init__(self, stated: float) -> None:
        self.stated = stated
        self._first = stated**2 * SHOCK_TIME / BOUNCE_TIME  # as `stated_density` has it
        self._square = self._told = self._first
        self._seconds, self._time = 0.0, math.nan

    def learn(self, time: float, innovation: float) -> bool:
        """Take an innovation of a moving car; True: the shake is another than was told last."""
        step = time - self._time
        self._time = time
        if not step > 0.0 or innovation != innovation:
            return False
        step = min(step, LONGEST_STEP)
        self._seconds = min(self._seconds + step, LASTING)
        share = step / (self._seconds + (BELIEVED if self._seconds < LASTING else 0.0))
        found = self._square + share * (innovation**2 - self._square)
        least, most = (LEAST * self.stated) ** 2, (LARGEST * self.stated) ** 2
        self._square = min(max(found, least), most)
        if 1.0 / CHANGED < self._square / self._told < CHANGED:
            return False
        self._told = self._square
        return True

    @property
    def learnt(self) -> bool:
        """Whether anything was told yet."""
        return self._told != self._first

    @property
    def shake(self) -> float:
        """As it was told last."""
        return math.sqrt(self._told)

    def state(self) -> tuple[float, float, float, float]:
        """What a snapshot keeps."""
        return self._square, self._seconds, self._time, self._told

    def restore(self, state: tuple[float, float, float, float]) -> None:
        """Go back to a snapshot."""
        self._square, self._seconds, self._time, self._told = state
