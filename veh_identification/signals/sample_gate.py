"""Which samples a live filter may use, with counts of those it may not."""

from __future__ import annotations

import math

import numpy as np

from veh_identification.errors import SignalError
from veh_identification.types import Array

# So many samples in a row far behind the newest stamp are a clock set back (or one wild stamp
# ahead), not late messages: one alone must not empty the window.
CLOCK_JUMP_SAMPLES = 5


class SampleGate:
    """Shared book-keeping: refuses unusable samples, notices gaps, counts both."""

    def __init__(self, channels: int, max_gap: float) -> None:
        if channels < 1:
            raise SignalError(f'a filter needs at least one channel, found {channels}')
        if not max_gap > 0.0:
            raise SignalError(f'max_gap must be a positive time, found {max_gap} s')
        self.channels = channels
        self.max_gap = max_gap
        self.accepted = 0
        self.rejected_non_finite = 0
        self.rejected_out_of_order = 0
        self.gaps = 0
        self.clock_jumps = 0
        self.last_stamp = -math.inf
        self._late_in_a_row = 0

    def admit(self, stamp: float, sample: Array) -> tuple[bool, bool]:
        """(use this sample, start anew before it)."""
        if sample.shape != (self.channels,):
            raise SignalError(
                f'the filter has {self.channels} channels, the sample has shape {sample.shape}'
            )
        # The sum is finite only if every term is, and much cheaper to test; it may overflow.
        # (For a few numbers Python's sum is faster than numpy's.)
        finite = math.isfinite(sum(sample.tolist())) or bool(np.isfinite(sample).all())
        if not math.isfinite(stamp) or not finite:
            self.rejected_non_finite += 1
            return False, False
        jump = False
        if stamp <= self.last_stamp:
            far = self.last_stamp - stamp > self.max_gap
            self._late_in_a_row = self._late_in_a_row + 1 if far else 0
            jump = self._late_in_a_row >= CLOCK_JUMP_SAMPLES
            if not jump:
                self.rejected_out_of_order += 1
                return False, False
            self.clock_jumps += 1
        gap = not jump and 0.0 <= self.max_gap < stamp - self.last_stamp < math.inf
        self.gaps += int(gap)
        self.accepted += 1
        self.last_stamp = stamp
        self._late_in_a_row = 0
        return True, gap or jump
