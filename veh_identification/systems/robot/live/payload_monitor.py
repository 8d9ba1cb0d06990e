"""Is there a payload, and how heavy is it? From what a known arm leaves of the last efforts."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np

from veh_identification.types import Array

#: Deviations that a mass must be away from zero to be there, and near zero to be gone.
PICKED_UP, PUT_DOWN = 6.0, 3.0
#: Evaluations in a row that must agree, and by how many deviations.
CONFIRM, SETTLED = 1, 1.0
#: Evaluations without a load over which the noise is judged, and how many at least.
REMEMBERED, CALIBRATION = 60, 4


@dataclass(frozen=True)
class Weighed:
    """The load as the last moments show it."""

    mass: float
    std: float
    first_moment: tuple[float, float, float]


class PayloadMonitor:
    """Mass and first moments of a load from residuals, all else held at the known values."""

    def __init__(self, memory: float, least_mass: float) -> None:
        """`memory` [s] of rows count; masses below `least_mass` [kg] are no payload."""
        self.memory, self.least_mass = memory, least_mass
        self.reset()

    def reset(self) -> None:
        """No load, nothing known."""
        self.loaded = False
        self.weighed: Weighed | None = None
        self.events: list[tuple[int, str, Weighed]] = []
        self._rows: deque[tuple[int, Array, Array, Array]] = deque()
        self._levels: deque[float] = deque(maxlen=REMEMBERED)
        self._streak = 0
        self._before = Weighed(0.0, 0.0, (0.0, 0.0, 0.0))

    def interrupt(self) -> None:
        """Rows before this do not belong to those after."""
        self._rows.clear()
        self._streak = 0

    @property
    def level(self) -> float:
        """Squared residuals over what their deviation says, while nothing was carried."""
        return max(1.0, float(np.mean(self._levels))) if self._levels else 1.0

    @property
    def ready(self) -> bool:
        """Whether its deviations are calibrated."""
        return len(self._levels) >= CALIBRATION

    def add(self, stamp_ns: int, residual: Array, load: Array, known: Array) -> None:
        """A row: residuals and load columns in units of the noise; `known`: their own doubt.

        Shapes (joints,), (joints, 4), (joints,); joints that may stick hold zeros.
        """
        self._rows.append((stamp_ns, residual, load, known))
        while stamp_ns - self._rows[0][0] > 1e9 * self.memory:
            self._rows.popleft()

    def evaluate(self, stamp_ns: int) -> str:
        """Weigh; returns 'picked up', 'put down' or nothing."""
        if not self._rows or self._rows[-1][0] - self._rows[0][0] < 0.6e9 * self.memory:
            return ''
        r, L, doubt = (np.stack([row[k] for row in self._rows]) for k in (1, 2, 3))
        A, y = L.reshape(-1, 4), r.ravel()
        # Noise of the rows and the doubt of the model, which all rows of the window share.
        weight = 1.0 / np.sqrt(1.0 + doubt.ravel() ** 2)
        A, y = A * weight[:, None], y * weight
        normal = A.T @ A
        if np.linalg.cond(normal) > 1e10:
            return ''
        inverse = np.linalg.inv(normal)
        x = inverse @ (A.T @ y)
        used = np.any(A != 0.0, axis=1)
        left = float(np.sum((y - A @ x)[used] ** 2)) / max(int(used.sum()) - 4, 1)
        # A mass that is not there: its square over its variance is one on average.
        spurious = float(x[0] ** 2 / inverse[0, 0])
        std = float(np.sqrt(inverse[0, 0] * max(self.level, left)))
        self.weighed = Weighed(float(x[0]), std, (float(x[1]), float(x[2]), float(x[3])))
        there = x[0] > max(PICKED_UP * std, self.least_mass)
        gone = abs(x[0]) < max(PUT_DOWN * std, 0.5 * self.least_mass)
        if not self.loaded and (not there or not self.ready):
            self._levels.append(max(left, min(spurious, 25.0)))
        if not self.ready or not (gone if self.loaded else there):
            self._streak = 0
            return ''
        before, self._before = self._before, self.weighed
        self._streak += 1
        if self._streak == 1:
            self._rows.clear()  # they hold both states: what follows is weighed alone
            return ''
        settled = abs(before.mass - self.weighed.mass) < SETTLED * self.weighed.std
        if self._streak <= CONFIRM or not settled:
            return ''
        self._streak, self.loaded = 0, not self.loaded
        word = 'picked up' if self.loaded else 'put down'
        self.events.append((stamp_ns, word, self.weighed))
        return word
