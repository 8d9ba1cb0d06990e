"""Spoilt messages to a node that runs under ROS 2."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import pytest

pytest.importorskip('rclpy', reason='needs a sourced ROS 2 (rclpy is not importable)')
pytestmark = pytest.mark.ros

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / 'bench'))
from hostile import network, ros  # noqa: E402


def test_spoilt_messages_are_accounted_for(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(ros, 'GRAPHS', ('parallel_identification',))
    left = iter([True] * 5)
    tally = ros.try_ros(random.Random(20), tmp_path, lambda: next(left, False))
    assert tally.findings == []
    assert tally.outcomes['taken'] == tally.cases == 5  # four batches and a report
    assert sum(tally.messages.values()) == 4 * network.BATCH
