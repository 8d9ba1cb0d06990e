"""Replay with the fusion node attached, beside bare rosbags reading and decoding of the bag."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

from rosbags.highlevel import AnyReader
from rosbags.typesys import Stores, get_typestore

from veh_identification.runtime.replay_bag import replay_graph
from veh_identification.simulation.scenarios import simulate

PART = 'replay'


def bare_rate(bag: Path, topics: set[str]) -> float:
    """Messages per second that rosbags alone reads and decodes."""
    store = get_typestore(Stores.ROS2_JAZZY)
    begin = time.perf_counter()
    count = 0
    with AnyReader([bag], default_typestore=store) as reader:
        connections = [one for one in reader.connections if one.topic in topics]
        for connection, _, data in reader.messages(connections=connections):
            reader.deserialize(data, connection.msgtype)
            count += 1
    return count / (time.perf_counter() - begin)


def replay_rate(bag: Path, out: Path) -> tuple[float, set[str]]:
    """Messages per second through the engine and the fusion node, output written."""
    begin = time.perf_counter()
    summary = replay_graph([bag], 'sensor_fusion', out, log_level='error', overwrite=True)
    elapsed = time.perf_counter() - begin
    return sum(summary.delivered.values()) / elapsed, set(summary.delivered)


def measure(quick: bool) -> list[dict[str, Any]]:
    """One row: ours, the peer, their ratio and what is wanted."""
    with tempfile.TemporaryDirectory() as folder:
        bag, out = Path(folder) / 'drive', Path(folder) / 'out'
        simulate('drive', bag, duration=10.0 if quick else 60.0)
        replay_rate(bag, out)  # loads and compiles everything once
        ours, topics = replay_rate(bag, out)
        peer = bare_rate(bag, topics)
    return [
        {
            'case': 'sensor_fusion over a drive, output written',
            'unit': 'messages/s',
            'ours': ours,
            'peer': peer,
            'peer_name': 'rosbags read and decode',
            'ratio': ours / peer,
            'wanted': 'ratio >= 0.5',
            'met': ours / peer >= 0.5,
        }
    ]
