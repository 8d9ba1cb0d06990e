"""Replay with the fusion node attached, beside bare rosbags reading and decoding of the bag.

Rates are messages per second of CPU time of this process: on a machine that does other work as
well, elapsed time would compare the moments, not the programs. Both sides run once before anything
is timed (code compiled, message classes and decoders made, files in the page cache) and then take
turns; each row shows the medians, and the median and the range of the ratios of neighbouring runs.
Everything runs in one thread.
"""

from __future__ import annotations

import dataclasses
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from rosbags.highlevel import AnyReader
from rosbags.typesys import Stores, get_typestore

from veh_identification.runtime.bags import BagWriter
from veh_identification.runtime.replay.bag import replay_graph
from veh_identification.simulation.drive import Drive
from veh_identification.simulation.sensors import DriveSensors, simulate_drive

PART = 'replay'
WANTED = 0.5
RUNS = 9
#: Rates of IMU and encoders: the scenario `drive`, and one with fast sensors.
PROFILES = {
    '200 Hz IMU, 100 Hz joints': DriveSensors(),
    '500 Hz IMU, 500 Hz joints': dataclasses.replace(
        DriveSensors(), imu_rate=500.0, encoder_rate=500.0
    ),
}
#: One type store for all runs: AnyReader's own would generate its decoders anew each time.
STORE = get_typestore(Stores.ROS2_JAZZY)


def write_bag(path: Path, sensors: DriveSensors, duration: float) -> None:
    """A simulated drive."""
    with BagWriter(path) as writer:
        for reading in simulate_drive(Drive.example(0), sensors, duration, 0):
            writer.write_message(reading.topic, reading.message, reading.log_ns)


def bare_rate(bag: Path, topics: set[str]) -> float:
    """Messages per second that rosbags alone reads and decodes."""
    begin = time.process_time()
    count = 0
    with AnyReader([bag], default_typestore=STORE) as reader:
        connections = [one for one in reader.connections if one.topic in topics]
        for connection, _, data in reader.messages(connections=connections):
            STORE.deserialize_cdr(data, connection.msgtype)
            count += 1
    return count / (time.process_time() - begin)


def replay_rate(bag: Path, out: Path | None, views: bool) -> tuple[float, set[str]]:
    """Messages per second through the engine and the fusion node; output written unless None.

    `views`: odometry and tf for 3D views as well, that is three messages where there was one.
    """
    begin = time.process_time()
    summary = replay_graph(
        [bag],
        'sensor_fusion',
        out,
        log_level='error',
        overwrite=True,
        parameters={'publish_tf': views, 'publish_odometry': views},
    )
    elapsed = time.process_time() - begin
    return sum(summary.delivered.values()) / elapsed, set(summary.delivered)


def row(case: str, ours: list[float], bare: list[float]) -> dict[str, Any]:
    """One row of the table, of runs that took turns."""
    ratios = sorted(one / other for one, other in zip(ours, bare, strict=True))
    ratio = statistics.median(ratios)
    return {
        'case': f'{case} (ratios {ratios[0]:.2f} to {ratios[-1]:.2f})',
        'unit': 'messages/s of CPU',
        'ours': statistics.median(ours),
        'peer': statistics.median(bare),
        'peer_name': 'rosbags read and decode',
        'ratio': ratio,
        'ratio_spread': [ratios[0], ratios[-1]],
        'repetitions': len(ratios),
        'wanted': f'ratio >= {WANTED}',
        'met': ratio >= WANTED,
    }


def compare(
    profile: str, sensors: DriveSensors, duration: float, runs: int
) -> list[dict[str, Any]]:
    """Rows of one bag: output written, with odometry and tf, and not written."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        bag, out = Path(folder) / 'drive', Path(folder) / 'out'
        write_bag(bag, sensors, duration)
        for case, target, views in (
            ('fused/state written', out, False),
            ('fused/state, odometry and tf written', out, True),
            ('output not written', None, False),
        ):
            ours, bare = [], []
            _, topics = replay_rate(bag, target, views)
            bare_rate(bag, topics)
            for _ in range(runs):
                ours.append(replay_rate(bag, target, views)[0])
                bare.append(bare_rate(bag, topics))
            rows.append(row(f'sensor_fusion over a drive, {profile}, {case}', ours, bare))
    return rows


def measure(quick: bool) -> list[dict[str, Any]]:
    """Three rows a profile: ours, the peer, their ratio and what is wanted."""
    duration, runs = (10.0, 3) if quick else (60.0, RUNS)
    rows = []
    for profile, sensors in PROFILES.items():
        rows += compare(profile, sensors, duration, runs)
    return rows
