"""Short recordings of the vehicle observer for tests, and changed copies of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from veh_identification.runtime.bags import BagReader, BagWriter, read_columns
from veh_identification.simulation.vehicle import bag as simulated
from veh_identification.systems.driver import run

SECONDS = 2.0
Change = Callable[[str, int, Any], Any]


def write_circle(bag: Path, seconds: float = SECONDS, seed: int = 5) -> Path:
    """The start of a circle with all sensors."""
    with BagWriter(bag) as writer:
        simulated.write_circle(writer, seconds, seed, 1.0, lambda done, total: None)
    return bag


def changed(bag: Path, out: Path, change: Change, seconds: float = 1.0) -> Path:
    """A copy of the start of a bag; `change` returns a message, None, or (time, message)."""
    with BagReader(bag) as reader, BagWriter(out) as writer:
        first = None
        rows = []
        for item in reader.messages():
            first = item.time_ns if first is None else first
            if item.time_ns - first > seconds * 1e9:
                break
            message = change(item.topic, item.time_ns, item.message)
            if isinstance(message, tuple):
                rows.append((message[0], item.topic, message[1]))
            elif message is not None:
                rows.append((item.time_ns, item.topic, message))
        for time_ns, topic, message in sorted(rows, key=lambda row: row[0]):
            writer.write_message(topic, message, time_ns)
    return out


def observed(bag: Path, out: Path, config: Path | None = None, **options: Any) -> dict[str, Any]:
    """metrics.json of a run."""
    run('observe', 'vehicle', [bag], out=out, config=config, options=options)
    result: dict[str, Any] = json.loads((out / 'metrics.json').read_text())
    return result


def codes(metrics: dict[str, Any]) -> list[str]:
    """Short names of what was found."""
    return [one['code'] for one in metrics['verdict']['findings']]


def odometry(out: Path) -> np.ndarray:
    columns = read_columns(out / 'observed', {'odometry/observed': None})['odometry/observed']
    return np.column_stack(
        [
            columns.stamps_ns,
            columns['pose.pose.position.x'],
            columns['pose.pose.position.y'],
            columns['twist.twist.linear.x'],
        ]
    )
