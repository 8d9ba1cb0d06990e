"""The fixed short part of the campaign of bench/fuzz.py."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

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
        (files.try_recordings, 120, 40),
        (files.try_payloads, 400, 200),
        (files.try_states, 80, 40),
        (files.try_descriptions, 40, 20),
    ],
)
def test_damaged_files_are_read_or_refused(
    part: Callable[..., Tally], count: int, least: int, tmp_path: Path
) -> None:
    tally = part(random.Random(20), tmp_path, cases(count))
    assert tally.findings == []
    assert tally.outcomes['refused'] >= least


@pytest.mark.parametrize('graph', ['robot_identification', 'parallel_identification'])
def test_spoilt_streams(graph: str, tmp_path: Path) -> None:
    tally = streams.try_streams(random.Random(20), tmp_path, cases(2), (graph,))
    assert tally.findings == []
    assert tally.cases == 2 and tally.messages > 0


def test_findings_are_findings() -> None:
    """The watch itself: what it must notice, it notices."""
    tally = Tally()
    tally.try_case('a', lambda: 1 / 0)
    tally.try_case('b', lambda: None)
    assert len(tally.findings) == 1 and 'ZeroDivisionError' in tally.findings[0]
    assert tally.outcomes['taken'] == 1
