"""bench observe_starts: every start once, also when it was interrupted."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / 'bench'))

from observe import starts


def test_starts_are_kept_and_spread(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    judged: list[tuple[int, float]] = []

    def drive(seed: int, duration: float) -> Any:
        def again(faults: Any, end: float) -> Any:
            assert end == faults.skip + starts.LENGTH
            return SimpleNamespace(seed=seed, t=faults.skip)

        return SimpleNamespace(seed=seed, t=0.0, sensed_again=again)

    def observed(one: Any) -> Any:
        judged.append((one.seed, one.t))
        error = 0.5 if one.t == 9.0 and one.seed else 0.1
        return SimpleNamespace(score=SimpleNamespace(share=1.0, rms=error))

    monkeypatch.setattr(starts, 'drive', drive)
    monkeypatch.setattr(starts, 'observed', observed)
    keep = str(tmp_path / 'starts.jsonl')
    rows = starts.measure(False, drives=2, duration=45.0, resume=keep)
    assert len(judged) == len(set(judged)) == 2 * 20
    assert judged[:6] == [(0, 0.0), (1, 0.0), (0, 1.0), (1, 1.0), (0, 8.0), (1, 8.0)]
    assert [row['met'] for row in rows] == [True, False]
    assert rows[1]['case'] == 'drive 1: worst of 19 starts, at 9 s' and rows[1]['too_far'] == 1
    assert starts.measure(False, drives=2, duration=45.0, resume=keep) == rows
    assert starts.measure(False, drives=2, duration=45.0, minutes=-1.0, resume=keep) == rows
    assert len(judged) == 40, 'nothing is driven twice'
    assert starts.measure(False, drives=2, duration=45.0, minutes=-1.0) == []
