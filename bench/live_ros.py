"""Live nodes on real ROS 2: processor share, latency and losses, beside robot_localization.

Every node runs in a process of its own on `ros2 bag play --clock` of a simulated recording at full
rate. Its processor time is that of the kernel's books over the time of playing; latency is what
the node measured itself (arrival of the newest sample to publication; of an identification node
beyond its `lag`: from the sample with which a message was due); lost is what middleware and node
count. `--beside` keeps another process at full load on a core.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from veh_identification.errors import UsageError
from veh_identification.runtime.bags import BagReader
from veh_identification.runtime.graph import find_graph, graph_parameters

PART = 'live-ros'
SECONDS = 60.0
#: Seconds in which a node must be ready: it may have to compile.
START = 240.0


@dataclass(frozen=True)
class Case:
    """A graph, a recording for it, and the share of a core that its last node may take."""

    graph: str
    scenario: str
    share: float
    config: str | None = None


CASES = (
    Case('sensor_fusion', 'road-drive', 0.0, 'sensor_fusion_road_drive.yaml'),
    Case('car_identification', 'car-sine-steer', 0.2),
    Case('contact_identification', 'humanoid-walk', 0.2),
    Case('parallel_identification', 'hexapod-periodic', 0.2),
    Case('robot_identification', 'arm-free', 0.2),
    Case('error_ekf', 'buggy-circle', 0.35),
)
LATENCY = 5.0  # ms, p99

#: robot_localization on the same drive: IMU and fixes, as its own documents set it up.
EKF = """
/**:
  ros__parameters:
    use_sim_time: true
    frequency: 100.0
    two_d_mode: false
    map_frame: map
    odom_frame: odom
    base_link_frame: base_link
    world_frame: odom
    publish_tf: true
    imu0: imu/data
    imu0_config: [false, false, false, false, false, false, false, false, false,
                  true, true, true, true, true, true]
    imu0_remove_gravitational_acceleration: true
    imu0_queue_size: 50
    odom0: odometry/gps
    odom0_config: [true, true, true, false, false, false, false, false, false,
                   false, false, false, false, false, false]
    odom0_queue_size: 50
    yaw_offset: 0.0
    magnetic_declination_radians: 0.0
    zero_altitude: false
    broadcast_utm_transform: false
    publish_filtered_gps: false
    use_odometry_yaw: true
    wait_for_datum: false
"""


@dataclass
class Figures:
    """What one process cost and said."""

    share: float = 0.0
    facts: dict[str, str] = field(default_factory=dict)

    @property
    def lost(self) -> int:
        """Messages that did not reach the node."""
        return sum(int(v) for k, v in self.facts.items() if k.startswith('lost '))


def options_parser() -> argparse.ArgumentParser:
    """Options of this part."""
    parser = argparse.ArgumentParser(prog='veh-id bench live-ros', description=__doc__)
    parser.add_argument('--seconds', type=float, help='of each recording (default: 60)')
    parser.add_argument('--graphs', nargs='+', metavar='GRAPH', help='only these')
    parser.add_argument('--beside', action='store_true', help='a busy process beside, on one core')
    return parser


def missing() -> str:
    """Why nothing can be measured here; '' where it can be."""
    try:
        import rclpy  # noqa: F401
    except ImportError:
        return 'needs a sourced ROS 2 (rclpy is not importable)'
    return '' if shutil.which('ros2') else 'needs ros2 on the PATH'


def measure(
    quick: bool,
    seconds: float | None = None,
    graphs: list[str] | None = None,
    beside: bool = False,
) -> list[dict[str, Any]]:
    """Rows of all nodes."""
    reason = missing()
    if reason:
        if seconds is None and graphs is None:  # among all parts
            return [{'case': f'skipped: {reason}'}]
        raise UsageError(f'live-ros: {reason}')
    length = seconds or (15.0 if quick else SECONDS)
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder, _busy(beside):
        for case in CASES:
            if graphs is None or case.graph in graphs:
                try:
                    rows += _rows(case, Path(folder), length)
                except RuntimeError as error:  # the others are measured all the same
                    rows.append({'case': f'{case.graph}: {error}', 'met': False})
    _beside_one_filter(rows)
    return rows


def _beside_one_filter(rows: list[dict[str, Any]]) -> None:
    """All shares as multiples of that of ekf_node: shares of two machines do not compare."""
    alone = next((row.pop('ekf_node') for row in rows if 'ekf_node' in row), None)
    for row in rows:
        if alone and row.get('unit') == 'cores' and 'peer' not in row:
            row |= {
                'peer': alone,
                'peer_name': 'ekf_node on the drive of sensor_fusion',
                'ratio': row['ours'] / alone,
            }


def _rows(case: Case, folder: Path, seconds: float) -> list[dict[str, Any]]:
    bag = folder / case.scenario
    command = ['simulate', case.scenario, '--out', str(bag), '--duration', str(seconds)]
    subprocess.run(
        [sys.executable, '-m', 'veh_identification.cli.main', *command],
        check=True,
        capture_output=True,
    )
    graph = find_graph(case.graph)
    file, machine = graph_parameters(graph, case.config)
    commands = {
        one.name: _node_command(one.name, [str(file)], {**one.parameters, **machine})
        for one in graph.nodes
    }
    found = _run(commands, bag, {one.name: one.ready_line for one in graph.nodes})
    rows = []
    for name, figures in found.items():
        last = name == graph.nodes[-1].name
        rows.append(_share_row(case, name, figures, case.share if last else 0.0))
        rows.append(_latency_row(case, name, figures))
        rows.append(_lost_row(case, name, figures))
    if case.graph == 'sensor_fusion':
        rows += _beside_robot_localization(rows[0], folder, bag)
    return rows


def _share_row(case: Case, name: str, figures: Figures, limit: float) -> dict[str, Any]:
    row: dict[str, Any] = {
        'case': f'{case.graph}: {name} on {case.scenario}, processor',
        'unit': 'cores',
        'ours': figures.share,
    }
    if limit:
        row |= {'wanted': f'at most {limit:g}', 'met': figures.share <= limit}
    return row


def _latency_row(case: Case, name: str, figures: Figures) -> dict[str, Any]:
    late = float(figures.facts.get('latency p99 [ms]', 'nan'))
    return {
        'case': f'{case.graph}: {name}, latency p99 (p50 '
        f'{figures.facts.get("latency p50 [ms]", "?")}{_lag(figures)})',
        'unit': 'ms',
        'ours': late,
        'wanted': f'below {LATENCY:g}',
        'met': late < LATENCY,
    }


def _lag(figures: Figures) -> str:
    lag = figures.facts.get('lag [s]')
    if lag is None:
        return ''
    return f', beyond {lag} s of lag, {figures.facts.get("messages later than the lag", 0)} later'


def _lost_row(case: Case, name: str, figures: Figures) -> dict[str, Any]:
    lost = figures.lost
    return {
        'case': f'{case.graph}: {name}, messages lost',
        'unit': 'messages',
        'ours': float(lost),
        'wanted': 'none',
        'met': lost == 0,
    }


def _beside_robot_localization(
    ours: dict[str, Any], folder: Path, bag: Path
) -> list[dict[str, Any]]:
    package = 'robot_localization'
    if subprocess.run(['ros2', 'pkg', 'prefix', package], capture_output=True).returncode:
        return [{'case': 'robot_localization: skipped, it is not installed here'}]
    file = folder / 'ekf.yaml'
    file.write_text(EKF, 'utf-8')
    arguments = ['--ros-args', '--params-file', str(file)]
    rename = ['-r', 'imu:=imu/data', '-r', 'gps/fix:=gps/fix']
    ekf = [_executable(package, 'ekf_node'), *arguments]
    fixes = [_executable(package, 'navsat_transform_node'), *arguments, *rename]
    found = _run({'ekf_node': ekf, 'navsat_transform_node': fixes}, bag, {})
    peer = sum(one.share for one in found.values())
    alone = found['ekf_node'].share
    ours |= {
        'peer': peer,
        'peer_name': f'ekf_node and navsat_transform_node (ekf_node alone {alone:.3f})',
        'ratio': ours['ours'] / max(peer, 1e-9),
        'wanted': 'at most 2 times',
        'met': ours['ours'] <= 2.0 * peer,
        'ekf_node': alone,
    }
    return []


def _executable(package: str, name: str) -> str:
    prefix = subprocess.run(
        ['ros2', 'pkg', 'prefix', package], capture_output=True, text=True, check=True
    ).stdout.strip()
    return str(Path(prefix) / 'lib' / package / name)


def _node_command(name: str, files: list[str], values: dict[str, Any]) -> list[str]:
    words = [_executable('veh_identification', name), '--ros-args', '-r', f'__node:={name}']
    for file in files:
        words += ['--params-file', file]
    for key, value in {**values, 'use_sim_time': True}.items():
        words += ['-p', f'{key}:={str(value).lower() if isinstance(value, bool) else value}']
    return words


def _run(commands: dict[str, list[str]], bag: Path, ready: dict[str, str]) -> dict[str, Figures]:
    """Start the processes, play the bag once they are ready, and see what it cost them."""
    processes = {
        name: subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        for name, command in commands.items()
    }
    try:
        for name, process in processes.items():
            _wait_ready(name, process, ready.get(name))
        with _diagnostics() as facts:
            before = {name: _processor_seconds(one.pid) for name, one in processes.items()}
            begin = time.monotonic()
            play = ['ros2', 'bag', 'play', str(bag), '--clock', '100', '--delay', '2']
            subprocess.run([*play, '--disable-keyboard-controls'], check=True, capture_output=True)
            time.sleep(1.0)
            wall = time.monotonic() - begin
            # The bag's own time: starting the player and its delay cost the node nothing.
            with BagReader(bag) as reader:
                (info,) = reader.info()
            played = min(wall, (info.end_ns - info.start_ns) * 1e-9)
            return {
                name: Figures(
                    (_processor_seconds(one.pid) - before[name]) / played,
                    dict(facts.get(name, {})),
                )
                for name, one in processes.items()
            }
    finally:
        for process in processes.values():
            process.send_signal(signal.SIGINT)
        for process in processes.values():
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()


def _wait_ready(name: str, process: subprocess.Popen[str], line: str | None) -> None:
    if line is None:  # says nothing of itself
        time.sleep(3.0)
        return
    assert process.stdout is not None
    timer = threading.Timer(START, process.kill)
    timer.start()
    for text in process.stdout:
        if line in text:
            timer.cancel()
            threading.Thread(target=process.stdout.read, daemon=True).start()
            return
    raise RuntimeError(f'{name} ended or was not ready within {START:g} s')


def _processor_seconds(pid: int) -> float:
    """User and system time of a process, its threads included."""
    fields = Path(f'/proc/{pid}/stat').read_text('ascii').rpartition(')')[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')


@contextmanager
def _diagnostics() -> Iterator[dict[str, dict[str, str]]]:
    """The last facts that each node told, while the context lasts."""
    import rclpy
    from diagnostic_msgs.msg import DiagnosticArray

    facts: dict[str, dict[str, str]] = {}

    def hear(message: Any) -> None:
        for status in message.status:
            facts[status.name] = {one.key: one.value for one in status.values}

    rclpy.init()
    node = rclpy.create_node('bench_live_ros')
    node.create_subscription(DiagnosticArray, '/diagnostics', hear, 100)
    stop = threading.Event()

    def spin() -> None:
        while not stop.is_set():
            rclpy.spin_once(node, timeout_sec=0.2)

    thread = threading.Thread(target=spin)
    thread.start()
    try:
        yield facts
    finally:
        stop.set()
        thread.join()
        node.destroy_node()
        rclpy.shutdown()


@contextmanager
def _busy(wanted: bool) -> Iterator[None]:
    """A process that fills a core."""
    if not wanted:
        yield
        return
    process = subprocess.Popen([sys.executable, '-c', 'while True: pass'])
    try:
        yield
    finally:
        process.kill()
        process.wait()
