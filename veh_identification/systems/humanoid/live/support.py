"""Whether the sensors carry the whole robot, block by block, with the rules of offline use."""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

import numpy as np

from veh_identification.signals.segments import contiguous_segments
from veh_identification.systems.humanoid.processing.supports import (
    fitting_tolerance,
    load_misses,
    other_support,
    unclear_ends,
)
from veh_identification.types import Array, BoolArray, IntArray

#: How long a foot may stand beside the plates in a step, and the blocks that wait to see it.
STEP_SECONDS, WAITING_BLOCKS = 1.5, 7
#: Seconds over which it is learnt how far loads miss.
LEARNING_SECONDS = 10.0


class Block(NamedTuple):
    """Samples of a stretch."""

    stamps: IntArray
    arrays: tuple[Array, ...]  # what rows are made of
    loads: Array  # (n, 2) vertical, measured and expected


class Judged(NamedTuple):
    """Samples of a stretch, and which of them may be used."""

    stamps: IntArray
    arrays: tuple[Array, ...]
    usable: BoolArray


class LiveSupport:
    """Holds blocks back while load is missing, until it shows for how long."""

    def __init__(self, most: float) -> None:
        """`most`: share of the weight by which loads may miss at most."""
        self.weight, self.rate = 1.0, 1.0  # N and Hz, as far as they are known
        self._most = most
        self._held: deque[Block] = deque(maxlen=WAITING_BLOCKS + 1)
        self._waiting = 0  # the last ones of them that were not given out yet
        self._count = 0  # blocks of the stretch
        self._errors = np.zeros(0)

    def push(self, block: Block) -> list[Judged]:
        """Take a block; what is clear by now."""
        self._held.append(block)
        self._count += 1
        self._waiting += 1
        measured, expected = block.loads[-1:].T
        unclear = load_misses(measured, expected, self.weight, self._tolerance())[0]
        return [] if unclear and self._waiting < WAITING_BLOCKS else self._judge(False)

    def end(self) -> list[Judged]:
        """The stretch ends: everything that waits."""
        judged = self._judge(True)
        self._held.clear()
        self._count = 0
        return judged

    def learn(self, measured: Array, expected: Array) -> None:
        """By how much loads miss where nothing else carries the robot."""
        fits = ~load_misses(measured, expected, self.weight, self._most)
        errors = np.append(self._errors, (measured - expected)[fits])
        self._errors = errors[-round(LEARNING_SECONDS * self.rate) :]

    def _tolerance(self) -> float:
        if not len(self._errors):
            return self._most
        return fitting_tolerance(self._errors, self.weight, self._most)

    def _judge(self, ends: bool) -> list[Judged]:
        """The blocks that wait, judged together with those before them."""
        waiting, self._waiting = self._waiting, 0
        if not waiting:
            return []
        loads = np.concatenate([block.loads for block in self._held])
        measured, expected = loads.T
        self.learn(*loads[-sum(len(b.stamps) for b in list(self._held)[-waiting:]) :].T)
        wrong = other_support(measured, expected, self.weight, self._most, self.rate)
        wrong |= self._steps_aside(measured, expected, ends)
        parts = np.split(~wrong, np.cumsum([len(block.stamps) for block in self._held])[:-1])
        both = list(zip(self._held, parts, strict=True))[-waiting:]
        return [Judged(block.stamps, block.arrays, usable) for block, usable in both]

    def _steps_aside(self, measured: Array, expected: Array, ends: bool) -> BoolArray:
        """Samples at which a little load is missing for the time of a step, or at the ends.

        What lasts longer is another load rather than another support: it is used, and noticed.
        """
        setting = self.weight, self._tolerance(), self.rate
        at = self._count <= len(self._held), ends
        found = unclear_ends(measured, expected, *setting, at)
        for run in contiguous_segments(other_support(measured, expected, *setting)):
            found[run] |= (run.stop - run.start) / self.rate < STEP_SECONDS
        return found
