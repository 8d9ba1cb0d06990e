"""States on their way to rows: rate, gaps, late stamps and clocks that jump."""

from __future__ import annotations

import numpy as np
import pytest

from veh_identification.identification.rows import RATE_STATES, StateBuffer
from veh_identification.types import Array, IntArray

STEP = 10_000_000  # 100 Hz
START = 1_000 * STEP


class Heard:
    """What a buffer delivers: stamps, and None for a gap."""

    def __init__(self, rate: float = 0.0) -> None:
        self.stretches: list[list[int]] = [[]]
        self.buffer = StateBuffer(self._deliver, self._gap, rate)

    def _deliver(self, stamps: IntArray, values: Array) -> None:
        assert values.shape == (len(stamps), 2)
        self.stretches[-1] += stamps.tolist()

    def _gap(self) -> None:
        if self.stretches[-1]:
            self.stretches.append([])

    def push(self, stamps: list[int]) -> None:
        for stamp in stamps:
            self.buffer.push(stamp, np.zeros(2))

    def all(self) -> list[list[int]]:
        self.buffer.interrupt()
        return [one for one in self.stretches if one]


def stamps(count: int, begin: int = START) -> list[int]:
    return [begin + k * STEP for k in range(count)]


def test_the_rate_is_found_and_no_state_is_lost_by_it() -> None:
    heard, given = Heard(), stamps(3 * RATE_STATES)
    # one stamp twice: its step says nothing of the rate
    heard.push([*given[:3], *given[2:]])
    assert heard.buffer.rate == pytest.approx(100.0, rel=1e-3)
    assert heard.all() == [given]
    assert heard.buffer.late == 1


def test_gaps_end_a_stretch() -> None:
    heard = Heard(100.0)
    first, second = stamps(50), stamps(50, START + 500 * STEP)
    heard.push([*first, *second])
    assert heard.all() == [first, second]
    assert (heard.buffer.gaps, heard.buffer.clock_jumps, heard.buffer.late) == (1, 0, 0)


def test_a_clock_that_jumps_back_starts_anew_and_late_states_are_left_out() -> None:
    heard = Heard(100.0)
    first, again = stamps(200, START + 1000 * STEP), stamps(50)
    heard.push([*first, first[-5], *again])
    assert heard.all() == [first, again]
    assert (heard.buffer.gaps, heard.buffer.clock_jumps, heard.buffer.late) == (1, 1, 1)


def test_a_state_that_cannot_be_used_ends_a_stretch() -> None:
    heard, given = Heard(100.0), stamps(60)
    heard.push(given[:30])
    heard.buffer.push(given[30], None)
    heard.push(given[31:])
    assert heard.all() == [given[:30], given[31:]]
