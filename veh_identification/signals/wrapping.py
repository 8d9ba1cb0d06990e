"""Angles of encoders that begin anew after a turn, made continuous sample by sample."""

from __future__ import annotations

import math
from collections.abc import Sequence

TURN = 2.0 * math.pi
#: What rounding may add to a turn (rad).
ROUNDING = 1e-3


class Continuous:
    """Adds the turns that absolute encoders leave out.

    An encoder that begins anew never leaves one turn, and jumps against the way it goes. One that
    counts on leaves the turn, or goes on in its way, however far between two samples.
    """

    def __init__(self) -> None:
        self._begin(())

    def _begin(self, angles: Sequence[float]) -> None:
        self._last, self._low, self._high = list(angles), list(angles), list(angles)
        self._way, self._added = [0.0] * len(angles), [0.0] * len(angles)

    def reset(self) -> None:
        """Forget all."""
        self._begin(())

    def add(self, angles: Sequence[float]) -> list[float]:
        """The next angles (rad), continuous."""
        if len(angles) != len(self._last):
            self._begin(angles)
        return [self._one(k, angle) for k, angle in enumerate(angles)]

    def _one(self, k: int, angle: float) -> float:
        self._low[k], self._high[k] = min(self._low[k], angle), max(self._high[k], angle)
        step = angle - self._last[k]
        self._last[k] = angle
        if (
            abs(step) > math.pi
            and step * self._way[k] < 0.0
            and self._high[k] - self._low[k] <= TURN + ROUNDING
        ):
            turn = math.copysign(TURN, self._way[k])
            self._added[k] += turn
            step += turn
        if step != 0.0:
            self._way[k] = step
        return angle + self._added[k]
