"""Heading of a dead-reckoned track in the axes of satellite positions."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Alignment:
    """Turn about the vertical that lays the local track on the measured one."""

    angle: float
    sigma: float
    local_centre: tuple[float, float]
    world_centre: tuple[float, float]


class TrackAligner:
    """Collects pairs of dead-reckoned and measured positions until the heading is known."""

    def __init__(self, distance: float) -> None:
        self._distance = distance
        self._pairs: list[tuple[float, float, float, float]] = []

    def reset(self) -> None:
        """Forget all pairs."""
        self._pairs.clear()

    def add(
        self, local: tuple[float, float], world: tuple[float, float], sigma: float
    ) -> Alignment | None:
        """Take one pair; returns the alignment as soon as the way is long enough.

        Both tracks must have the wanted length, and it must stand out from the noise.
        """
        self._pairs.append((local[0], local[1], world[0], world[1]))
        first = self._pairs[0]
        local_way = math.hypot(local[0] - first[0], local[1] - first[1])
        world_way = math.hypot(world[0] - first[2], world[1] - first[3])
        needed = max(self._distance, 4.0 * sigma)
        if min(local_way, world_way) < needed:
            return None
        return self._solve(sigma)

    def _solve(self, sigma: float) -> Alignment:
        pairs = np.array(self._pairs)
        centre = pairs.mean(axis=0)
        a, b = (pairs - centre)[:, :2], (pairs - centre)[:, 2:]
        # Least squares rotation in the plane: maximise sum b . R a.
        sine = float(np.sum(a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]))
        cosine = float(np.sum(a[:, 0] * b[:, 0] + a[:, 1] * b[:, 1]))
        spread = math.sqrt(float(np.sum(a**2)))
        # Neighbouring fixes share their error: do not let many of them pretend precision.
        yaw_sigma = math.hypot(sigma * math.sqrt(min(len(pairs), 5)) / spread, 0.02)
        return Alignment(
            math.atan2(sine, cosine),
            min(yaw_sigma, 0.5),
            (float(centre[0]), float(centre[1])),
            (float(centre[2]), float(centre[3])),
        )
