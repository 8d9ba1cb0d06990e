"""Replay with the fusion node attached, beside bare rosbags reading and decoding of the bag.

Rates are messages per second of CPU time of this process, the best of several runs that take
turns: on a machine that does other work as well, elapsed time would compare the moments, not the
programs. Everything runs in one thread.
"""

from __future__ import annotations

import dataclasses
import tempfile
import time
from pathlib import Path
from typing import Any

from rosbags.highlevel import AnyReader
from rosbags.typesys import Stores, get_typestore

from veh_identification.runtime.bags import BagWriter
from veh_identification.runtime.replay_bag import replay_graph
from veh_identification.simulation.drive import Drive
from veh_identification.simulation.sensors import DriveSensors, simulate_drive

PART = 'replay'
WANTED = 0.5
RUNS = 5
#: Rates of IMU and encoders: the scenario `drive`, and one with fast sensors.
PROFILES = {
    '200 Hz IMU, 100 Hz joints': DriveSensors(),
    '500 Hz IMU, 500 Hz joints': dataclasses.replace(
        DriveSensors(), imu_rate=500.0, encoder_rate=500.0
    ),
}


def write_bag(path: Path, sensors: DriveSensors, duration: float) -> None:
    """A simulated drive."""
    with BagWriter(path) as writer:
        for reading in simulate_drive(Drive.example(0), sensors, duration, 0):
            writer.write_message(reading.topic, reading.message, reading.log_ns)


def bare_rate(bag: Path, topics: set[str]) -> float:
    """Messages per second that rosbags alone reads and decodes."""
    store = get_typestore(Stores.ROS2_JAZZY)
    begin = time.process_time()
    count = 0
    with AnyReader([bag], default_typestore=store) as reader:
        connections = [one for one in reader.connections if one.topic in topics]
        for connection, _, data in reader.messages(connections=connections):
            reader.deserialize(data, connection.msgtype)
            count += 1
    return count / (time.process_time() - begin)


def replay_rate(bag: Path, out: Path | None) -> tuple[float, set[str]]:
    """Messages per second through the engine and the fusion node; output written unless None."""
    begin = time.process_time()
    summary = replay_graph([bag], 'sensor_fusion', out, log_level='error', overwrite=True)
    elapsed = time.process_time() - begin
    return sum(summary.delivered.values()) / elapsed, set(summary.delivered)


def compare(profile: str, sensors: DriveSensors, duration: float) -> list[dict[str, Any]]:
    """Rows of one bag: output written and not written."""
    written, unwritten, bare = [], [], []
    with tempfile.TemporaryDirectory() as folder:
        bag, out = Path(folder) / 'drive', Path(folder) / 'out'
        write_bag(bag, sensors, duration)
        _, topics = replay_rate(bag, out)  # loads and compiles everything once
        for _ in range(RUNS):
            written.append(replay_rate(bag, out)[0])
            bare.append(bare_rate(bag, topics))
            unwritten.append(replay_rate(bag, None)[0])
            bare.append(bare_rate(bag, topics))
    peer = max(bare)
    cases = {'output written': max(written), 'output not written': max(unwritten)}
    return [
        {
            'case': f'sensor_fusion over a drive ({profile}), {case}',
            'unit': 'messages/s of CPU',
            'ours': ours,
            'peer': peer,
            'peer_name': 'rosbags read and decode',
            'ratio': ours / peer,
            'wanted': f'ratio >= {WANTED}',
            'met': ours / peer >= WANTED,
        }
        for case, ours in cases.items()
    ]


def measure(quick: bool) -> list[dict[str, Any]]:
    """Two rows a profile: ours, the peer, their ratio and what is wanted."""
    duration = 10.0 if quick else 60.0
    rows = []
    for profile, sensors in PROFILES.items():
        rows += compare(profile, sensors, duration)
    return rows
