"""The fixed short part of the campaign of bench/fuzz.py."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from veh_identification.systems.parallel.live.periods import PeriodCollector

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / 'bench'))
from hostile import files, streams
from hostile.watch import Tally


def cases(count: int) -> Callable[[], bool]:
    left = [count]

    def go_on() -> bool:
        left[0] -= 1
        return left[0] >= 0

    return go_on


@pytest.mark.parametrize(
    ('part', 'count', 'least'),
    [
        (files.try_recordings, 60, 20),
        (files.try_payloads, 400, 200),
        (files.try_states, 25, 12),
        (files.try_descriptions, 20, 10),
    ],
)
def test_damaged_files_are_read_or_refused(
    part: Callable[..., Tally], count: int, least: int, tmp_path: Path
) -> None:
    tally = part(random.Random(20), tmp_path, cases(count))
    assert tally.findings == []
    assert tally.outcomes['refused'] >= least


def test_spoilt_streams(tmp_path: Path) -> None:
    graphs = ('parallel_identification',)  # the one whose recording is made in no time
    tally = streams.try_streams(random.Random(20), tmp_path, cases(2), graphs)
    assert tally.findings == []
    assert tally.cases == 2 and tally.messages > 0


def test_stray_stamps_are_counted_once(tmp_path: Path) -> None:
    """Found by the campaign: inputs of error_ekf were counted as used and as invalid."""
    (plan,) = (one for one in streams.PLANS if one.scenario == 'four-bar')
    source = streams.load_source(tmp_path, plan)
    start, stop = source[0].time_ns, source[-1].time_ns
    end = stop - 11 * streams.SECOND
    name, made = streams.spoilt(random.Random(4118952670), source, start, end, Tally())
    assert name.startswith('stamps')
    streams.check(plan, made, end)


def test_a_stamp_of_another_age_takes_no_time() -> None:
    """Found by the campaign: every period up to a stamp years ahead was counted one by one."""
    collector = PeriodCollector(1.0, 100.0)
    for k in range(250):
        collector.push(k * 10_000_000, np.zeros(12))
    collector.push(2**62, np.zeros(12))
    assert collector.accepted == 2
    assert collector.rejected == 2**62 // 10**9 - 2


def test_findings_are_findings() -> None:
    """The watch itself: what it must notice, it notices."""
    tally = Tally()
    tally.try_case('a', lambda: 1 / 0)
    tally.try_case('b', lambda: None)
    assert len(tally.findings) == 1 and 'ZeroDivisionError' in tally.findings[0]
    assert tally.outcomes['taken'] == 1
