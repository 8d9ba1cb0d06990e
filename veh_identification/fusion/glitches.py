"""Single samples that no machine makes, told while they come.

A bit that falls over on a bus shows as a value far from the one before, and the next one is back.
A sample that stands off the last good one by far more than is usual waits for its successor: if
that comes back, the sample was a glitch; if it stays, the motion has jumped, and goes on from
there. Nothing is held back: whoever stands off is left out, which costs one sample of a jump.
Whole recordings are looked at by `signals.glitches`.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from veh_identification.types import Array

#: Times the usual step from sample to sample.
FACTOR = 10.0
#: Samples by which the usual is known, and that it remembers; steps count up to so many usual
#: ones, so that a glitch hardly moves it, and a motion that begins raises it within a few samples.
FEWEST, MEMORY, LARGEST = 20, 100.0, 40.0
#: Samples that the extent of a signal remembers.
EXTENT_MEMORY = 2000.0
#: In a row that are left out if they agree, and at all: what goes on is how the signal is.
AGREEING, MOST = 2, 4
#: Usual periods without a sample after which nothing is compared.
PAUSE = 5.0
#: Rows of the memory: last good sample, last sample, usual step and how many made it, lowest and
#: highest, one that waits.
LAST, RAW, USUAL, STEPS, LOW, HIGH, WAITING, ROWS = range(8)
#: Entries of the clock: time of the last sample, usual period, samples, left out in a row.
TIME, PERIOD, COUNT, RUN, CLOCK = range(5)


@njit(cache=True, nogil=True)
def stands_alone(memory: Array, clock: Array, time: float, values: Array, share: float) -> bool:
    """Whether a sample is to be left out; no glitch is smaller than `share` of the extent."""
    gap = time - clock[TIME]
    begins = clock[COUNT] == 0.0 or not gap > 0.0
    begins = begins or (clock[COUNT] > FEWEST and gap > PAUSE * clock[PERIOD])
    if not begins:
        clock[PERIOD] += (gap - clock[PERIOD]) / min(clock[COUNT], MEMORY)
    clock[TIME] = time
    off, stays = False, True
    for k in range(len(values)):
        value = values[k]
        if not np.isfinite(value):
            continue
        if begins or not np.isfinite(memory[RAW, k]):
            memory[RAW, k] = memory[LAST, k] = value
        if not np.isfinite(memory[LOW, k]):
            memory[LOW, k] = memory[HIGH, k] = value
        away = abs(value - memory[LAST, k])
        limit = max(FACTOR * memory[USUAL, k], share * (memory[HIGH, k] - memory[LOW, k]))
        if away > limit and memory[STEPS, k] >= FEWEST:
            off = True
            before = memory[WAITING, k]
            stays = stays and abs(value - before) < 0.5 * abs(before - memory[LAST, k])
        _learn(memory, k, value)
    clock[COUNT] += 1.0
    if off and (clock[RUN] < AGREEING or (not stays and clock[RUN] < MOST)):
        clock[RUN] += 1.0
        memory[WAITING] = values
        return True
    clock[RUN] = 0.0
    for k in range(len(values)):
        value = values[k]
        if np.isfinite(value):
            memory[LAST, k] = value
            low, high = memory[LOW, k], memory[HIGH, k]
            memory[LOW, k] = min(value, low + (value - low) / EXTENT_MEMORY)
            memory[HIGH, k] = max(value, high + (value - high) / EXTENT_MEMORY)
    return False


@njit(cache=True, nogil=True)
def _learn(memory: Array, k: int, value: float) -> None:
    """The usual step, of those that are any: a coarse sensor at rest has none."""
    step = abs(value - memory[RAW, k])
    memory[RAW, k] = value
    if step > 0.0:
        usual, known = memory[USUAL, k], memory[STEPS, k]
        if known >= FEWEST:
            step = min(step, LARGEST * usual)
        memory[STEPS, k] = min(known + 1.0, MEMORY)
        memory[USUAL, k] = usual + (step - usual) / memory[STEPS, k]


class GlitchGate:
    """Looks at the samples of one stream in order of their stamps."""

    def __init__(self, channels: int, share: float = 0.0) -> None:
        """`share` of a channel's extent that no glitch is smaller than: 1 where impacts are."""
        self._share = share
        self._memory = np.full((ROWS, channels), np.nan)
        self._clock = np.zeros(CLOCK)
        # Compiled (or loaded from the cache) now, not on the first sample of a running system.
        stands_alone(self._memory, self._clock, 0.0, np.zeros(channels), share)
        self.reset()

    def reset(self) -> None:
        """Forget all samples."""
        self._memory[:] = np.nan
        self._memory[[USUAL, STEPS]] = 0.0
        self._clock[:] = 0.0

    def leaves_out(self, time: float, values: Array) -> bool:
        """Whether a sample (seconds, C) is one that no machine makes."""
        return bool(stands_alone(self._memory, self._clock, time, values, self._share))
