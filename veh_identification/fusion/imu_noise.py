"""How much of the configured IMU noise there really is: seen at rest, and by who is surprised.

Configured densities are bounds that cover what a moving sensor does (scale errors, vibration); a
good sensor deserves less, or the stated uncertainty of speed and heading is several times too
large. At rest the scatter of the samples shows the floor. In motion the innovations of absolute
sensors tell whether less noise still explains what they say: while it does the noise shrinks
towards the floor, and grows back as soon as they are surprised.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from veh_identification.types import Array

#: Noise in motion over that at rest which is granted in any case.
GRANTED = 3.0
#: Smallest share of the configured noise, with and without a rest having been seen.
SMALLEST, SMALLEST_UNSEEN = 0.05, 0.1
#: Mean squares of whitened innovations above which the noise grows, between which it shrinks.
SURPRISED, CALM, INFORMED = 1.25, 1.05, 0.6
#: Growth and shrinking of its logarithm a sample, memory in samples, largest square that counts.
GROWTH, SHRINKING, MEMORY, LARGEST = 0.05, 0.01, 50.0, 9.0
FEWEST = 20


class NoiseLearnt(NamedTuple):
    """What `ImuNoise` has learnt."""

    wanted: float  # share that the innovations ask for
    rests: int  # samples at rest
    squares: tuple[float, float]  # their sums, of gyroscope and accelerometer
    surprise: dict[str, float]


class ImuNoise:
    """Shares of the configured densities of gyroscope and accelerometer."""

    def __init__(self, gyro: float, accel: float) -> None:
        self._configured = np.array([gyro, accel])
        self._before: Array | None = None
        self._squares = np.zeros(2)
        self._count = 0
        self._surprise: dict[str, float] = {}
        #: Share that the innovations ask for.
        self.wanted = 1.0

    def learnt(self) -> NoiseLearnt:
        """For another process."""
        gyro, accel = self._squares.tolist()
        return NoiseLearnt(self.wanted, self._count, (gyro, accel), dict(self._surprise))

    def know(self, learnt: NoiseLearnt) -> None:
        """Begin with what another process has learnt."""
        self.wanted, self._count = learnt.wanted, learnt.rests
        self._squares[:] = learnt.squares
        self._surprise = dict(learnt.surprise)

    def rest(self, sample: Array, period: float) -> None:
        """A sample (rate, force) at rest; `period` of the samples in seconds."""
        before, self._before = self._before, sample.copy()
        if before is None or not 0.0 < period < 1.0:
            return
        # Neighbours' differences: neither bias nor temperature show in them.
        half = 0.5 * period * np.square(sample - before)
        self._squares += (half[:3].mean(), half[3:].mean())
        self._count += 1

    def moved(self) -> None:
        """The rest is over."""
        self._before = None

    def innovation(self, name: str, square: float) -> None:
        """Mean square of a whitened innovation of an absolute sensor."""
        before = self._surprise.get(name, CALM)
        now = self._surprise[name] = before + (min(square, LARGEST) - before) / MEMORY
        if now > SURPRISED:
            self.wanted = min(self.wanted * (1.0 + GROWTH), 1.0)
        elif INFORMED < max(self._surprise.values()) < CALM:
            self.wanted = max(self.wanted * (1.0 - SHRINKING), SMALLEST)
        else:
            # Stated noise that is far too large is never surprised: it cannot judge.
            self.wanted = min(self.wanted * (1.0 + SHRINKING), 1.0)

    def shares(self) -> tuple[float, float]:
        """Of the gyroscope and of the accelerometer."""
        floor = [SMALLEST_UNSEEN] * 2
        if self._count >= FEWEST:
            seen = GRANTED * np.sqrt(self._squares / self._count) / self._configured
            floor = np.clip(seen, SMALLEST, 1.0).tolist()
        gyro, accel = (max(one, self.wanted) for one in floor)
        return float(gyro), float(accel)
