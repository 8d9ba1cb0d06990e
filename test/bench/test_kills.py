"""The bench of kills: a process that ends before it is ready is told at once, with its words."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from veh_identification.errors import UsageError

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / 'bench'))
import kills
import processes


def test_a_process_that_ends_before_it_is_ready_says_why() -> None:
    words = [sys.executable, '-S', '-c', 'print("no such parameter"); raise SystemExit(2)']
    with (
        pytest.raises(RuntimeError, match='ended before it was ready: no such parameter'),
        processes.running(words, 'node: ready'),
    ):
        pytest.fail('it is not there')


def test_lines_before_and_behind_the_ready_one_are_heard() -> None:
    heard: list[str] = []
    text = 'import time; print("went on from a state\\nnode: ready" + "\\n9" * 9); time.sleep(60)'
    with processes.running([sys.executable, '-S', '-c', text], 'node: ready', heard.append) as one:
        assert 'went on from a state' in heard[0]
        one.kill()
    assert len(heard) == 11


def test_a_router_that_ended_is_not_waited_for() -> None:
    with (
        processes.running([sys.executable, '-S', '-c', '']) as router,
        pytest.raises(RuntimeError, match='ended'),
    ):
        processes.await_port(processes.free_port(), router)


def test_without_zenoh_it_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kills.importlib.util, 'find_spec', lambda name: name != 'xxhash' or None)
    with pytest.raises(UsageError, match='xxhash is not importable'):
        kills.measure(True, kills=1)
    assert 'skipped' in kills.measure(True)[0]['case']
