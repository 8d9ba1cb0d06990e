"""The balance of vertical impulse while data come in (`processing.impulse` says what it is).

Hats wait as long as the rows do before they count for good: those of a load that was picked up
must not reach the long-term mass.
"""

from __future__ import annotations

from collections import deque

import numpy as np

from veh_identification.systems.humanoid.processing.impulse import (
    HAT_SECONDS,
    ImpulseMass,
    hat_balance,
    hat_sums,
    hats,
    mass_of,
)
from veh_identification.types import Array

#: Hats' halves from which on a stretch is long.
LONG = 8
#: Count, sums of both sides and of their products.
SUMS = 6


class ImpulseBalance:
    """Takes vertical force and velocity of the centre of mass, stretch by stretch."""

    def __init__(self, gravity: float, hold: float) -> None:
        """`hold` [s]: what came after it may belong to another load."""
        self._gravity, self._hold = gravity, round(hold / HAT_SECONDS)
        self._sums = np.zeros(SUMS)
        self._stretches = 0
        self._waiting: deque[tuple[Array, bool]] = deque()  # sums, and whether a stretch begins
        self._force = self._velocity = np.zeros(0)
        self._rate, self._fresh = 1.0, True

    def interrupt(self) -> None:
        """The next sample does not follow the last one."""
        if self._fresh:  # short: its hats reach from end to end, as offline
            for hat in hats(self._force, self._velocity, self._rate, self._gravity):
                self._add(hat)
        self._force = self._velocity = np.zeros(0)
        self._fresh = True

    def push(self, force: Array, velocity: Array, rate: float) -> None:
        """Further samples of the stretch."""
        self._rate = rate
        self._force = np.concatenate([self._force, force])
        self._velocity = np.concatenate([self._velocity, velocity])
        half = max(1, round(HAT_SECONDS * rate))
        if self._fresh and len(self._force) < LONG * half:
            return
        edges = np.array([0.0, half, 2.0 * half])
        while len(self._force) > 2 * half:
            force, velocity = self._force[: 2 * half + 1], self._velocity[: 2 * half + 1]
            self._add(hat_balance(force, velocity, edges, rate, self._gravity))
            self._force, self._velocity = self._force[half:], self._velocity[half:]

    def _add(self, hat: Array) -> None:
        self._waiting.append((hat_sums(hat), self._fresh))
        self._fresh = False

    def settle(self, changed: bool) -> None:
        """Hats that have waited long enough count for good; those of another load never."""
        if changed:
            self._waiting.clear()
        while len(self._waiting) > self._hold:
            sums, begins = self._waiting.popleft()
            self._sums, self._stretches = self._sums + sums, self._stretches + begins

    @property
    def stored(self) -> Array:
        """All sums and the number of stretches, fit for the constructor of the next run."""
        sums = self._sums + sum((one for one, _ in self._waiting), np.zeros(SUMS))
        return np.append(sums, self._stretches + sum(begins for _, begins in self._waiting))

    def restore(self, stored: Array) -> None:
        """Go on from what `stored` gave."""
        self._sums, self._stretches = stored[:SUMS].copy(), int(stored[SUMS])
        self._waiting.clear()

    def mass(self) -> ImpulseMass | None:
        """Of everything that counts; None for too little."""
        stored = self.stored
        return mass_of(stored[:SUMS], max(1, int(stored[SUMS])), self._gravity)
