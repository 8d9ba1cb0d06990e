"""Angles of encoders that begin anew, after a turn or when they like, made continuous."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from veh_identification.types import Array

TURN = 2.0 * math.pi
#: What rounding may add to a turn (rad).
ROUNDING = 1e-3
#: A counter that leaps back by this (rad) and so many times its last step has begun anew: no wheel
#: turns about like that (but in a gap of the messages). Forward, a gap looks alike: not touched.
LEAP, TIMES = 0.5 * math.pi, 5.0
#: A glitch looks like one turn and another back: so many are those of an encoder that begins anew.
FEWEST_TURNS = 3
#: Of a leap: what comes forward again by as much was a glitch.
BACK = 0.2


class Continuous:
    """Adds the turns that absolute encoders leave out.

    An encoder that begins anew never leaves one turn, and its jumps are unlike the step before.
    One that counts on leaves the turn, or goes on by like steps, however far they are; where it
    leaps back, its counter overflowed or its driver was started again, and it goes on as it did.
    Angles that are missing (NaN) stay so.
    """

    def __init__(self) -> None:
        self._begin(0)

    def _begin(self, count: int) -> None:
        self._last, self._low, self._high = ([math.nan] * count for _ in range(3))
        # The first step is not known: none is unlike it.
        self._step, self._added = [math.nan] * count, [0.0] * count
        self._leapt = [0.0] * count  # with the last angle
        #: How often each leapt back, and how often it began anew after a turn.
        self.leaps, self.turns = [0] * count, [0] * count

    def reset(self) -> None:
        """Forget all."""
        self._begin(0)

    @property
    def kinds(self) -> tuple[bool, bool]:
        """Whether some encoder leaps back, and whether some begins anew after each turn."""
        return any(self.leaps), max(self.turns, default=0) >= FEWEST_TURNS

    def add(self, angles: Sequence[float]) -> list[float]:
        """The next angles (rad), continuous."""
        if len(angles) != len(self._last):
            self._begin(len(angles))
        return [self._one(k, angle) for k, angle in enumerate(angles)]

    def _one(self, k: int, angle: float) -> float:
        if not math.isfinite(angle):
            return angle
        last = self._last[k]
        self._last[k] = angle
        if not math.isfinite(last):
            self._low[k] = self._high[k] = angle
            return angle
        if angle < self._low[k]:
            self._low[k] = angle
        elif angle > self._high[k]:
            self._high[k] = angle
        step = angle - last
        if abs(step) > math.pi and self._high[k] - self._low[k] <= TURN + ROUNDING:
            before, shorter = self._step[k], step - math.copysign(TURN, step)
            if abs(shorter - before) < abs(step - before):
                self._added[k] += shorter - step
                self.turns[k] += 1
                step = shorter
        before = self._step[k]
        leapt, self._leapt[k] = self._leapt[k], 0.0
        if leapt and abs(step - leapt) < BACK * abs(leapt):
            # It has come back at once: a glitch, no new beginning.
            self._added[k] -= leapt
            self.leaps[k] -= 1
            step -= leapt
        elif step * before < 0.0 and abs(step) > LEAP and abs(step) > TIMES * abs(before):
            self._leapt[k] = before - step
            self._added[k] += before - step
            self.leaps[k] += 1
            step = before
        self._step[k] = step
        return angle + self._added[k]


def continuous(angles: Array) -> tuple[Array, Continuous]:
    """Angles (samples, encoders) in the order in which they came, and what the encoders do."""
    encoders = Continuous()
    made = np.array([encoders.add(row) for row in angles.tolist()]).reshape(angles.shape)
    return made, encoders
