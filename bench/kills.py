"""Live nodes that are killed (-9) at random moments: do they go on, and to the same estimates?

Each node runs in a process of its own over zenoh and hears a simulated recording at its own pace.
At random moments, the last some seconds before the end, it is killed and started again; the
recording waits meanwhile, so that no more is lost than what came after the last checkpoint, and
latched messages come again. The last estimate is compared with that of a run without kills, in
standard deviations of the latter.
"""

from __future__ import annotations

import argparse
import importlib.util
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

from processes import node, router, veh_id

from veh_identification.errors import UsageError
from veh_identification.runtime.bags import BagReader
from veh_identification.runtime.bags.records import RawMessage
from veh_identification.runtime.graph import Graph, find_graph
from veh_identification.runtime.messages import message_class
from veh_identification.runtime.qos import LATCHED, QoS

PART = 'kills'
#: Seconds after the last message until the estimate is read.
SETTLE = 5.0
#: Seconds between two checkpoints.
PERIOD = 0.5
#: Seconds of the recording behind the last kill, in which a node catches up.
CATCH_UP = 5.0
#: Deviations that estimates may differ by.
WANTED = 0.1


@dataclass(frozen=True)
class Case:
    """A graph whose last node is killed, and what it hears."""

    graph: str
    scenario: str
    seconds: float
    config: str | None = None


CASES = (
    Case('car_identification', 'car-sine-steer', 60.0),
    Case('contact_identification', 'humanoid-walk', 60.0),
    Case('parallel_identification', 'hexapod-periodic', 40.0),
    Case('robot_identification', 'arm-free', 60.0),
    Case('error_ekf', 'buggy-circle', 30.0),
    Case('sensor_fusion', 'road-drive', 60.0, 'sensor_fusion_road_drive.yaml'),
)
#: Observers tell where the vehicle is, identification nodes what it is.
ODOMETRY = {'error_ekf': 'odometry/observed', 'sensor_fusion': 'odometry/fused'}


def options_parser() -> argparse.ArgumentParser:
    """Options of this part."""
    parser = argparse.ArgumentParser(prog='veh-id bench kills', description=__doc__)
    parser.add_argument('--kills', type=int, help='of each node (default: 10)')
    parser.add_argument('--runs', type=int, help='over which they are spread (default: 1)')
    parser.add_argument('--graphs', nargs='+', metavar='GRAPH', help='only these')
    parser.add_argument('--seconds', type=float, help='of each recording (default: 30 to 60)')
    parser.add_argument('--seed', type=int, help='of the moments (default: 0)')
    return parser


def missing() -> str:
    """Why nothing can be measured here; '' where it can be."""
    absent = [name for name in ('zenoh', 'xxhash') if importlib.util.find_spec(name) is None]
    return f'needs the extra `zenoh` ({", ".join(absent)} is not importable)' if absent else ''


def measure(
    quick: bool,
    kills: int | None = None,
    runs: int | None = None,
    graphs: list[str] | None = None,
    seconds: float | None = None,
    seed: int | None = None,
) -> list[dict[str, Any]]:
    """Two rows a node: how often it went on, and how far the estimates are off."""
    unknown = set(graphs or ()) - {case.graph for case in CASES}
    if unknown:
        raise UsageError(f'kills: there is no graph {sorted(unknown)[0]!r} to kill')
    if reason := missing():
        if kills is None and graphs is None:  # among all parts
            return [{'case': f'skipped: {reason}'}]
        raise UsageError(f'kills: {reason}')
    count = kills or (2 if quick else 10)
    rng = np.random.default_rng(seed or 0)
    rows: list[dict[str, Any]] = []
    for case in CASES:
        if graphs is not None and case.graph not in graphs:
            continue
        with tempfile.TemporaryDirectory() as folder:
            try:
                rows += _rows(case, Path(folder), seconds or case.seconds, count, runs or 1, rng)
            except RuntimeError as error:  # the others are measured all the same
                rows.append({'case': f'{case.graph}: {error}', 'met': False})
    return rows


def _say(text: str) -> None:
    """Progress: a run takes as long as its recording, and compiles before."""
    print(f'  {text}', file=sys.stderr, flush=True)


def _rows(
    case: Case, folder: Path, seconds: float, kills: int, runs: int, rng: np.random.Generator
) -> list[dict[str, Any]]:
    bag = folder / case.scenario
    command = ['simulate', case.scenario, '--out', str(bag), '--duration', str(seconds)]
    subprocess.run([*veh_id(), *command], check=True, capture_output=True)
    with BagReader(bag) as reader:
        items = list(reader.raw())
        profiles = {info.topic: info.qos for info in reader.topics.values()}
    _say(f'{case.graph}: {seconds:g} s without kills')
    whole = _Run(case, folder / 'whole', profiles)([items])
    resumed, worst = 0, 0.0
    for run in range(runs):
        each = kills // runs + (run < kills % runs)
        last = round(len(items) * max(1.0 - CATCH_UP / seconds, 0.5))
        cuts = np.sort(rng.integers(len(items) // 20, last, size=each))
        parts = [
            [*_latched(items[:a], profiles, items[a].time_ns), *items[a:b]]
            for a, b in zip([0, *cuts], [*cuts, len(items)], strict=True)
        ]
        _say(f'{case.graph}: {seconds:g} s with {each} kills')
        found = _Run(case, folder / str(run), profiles)(parts)
        resumed += found.resumed
        far = _distance(whole, found)
        worst = max(worst, far)
        _say(f'{case.graph}: went on {found.resumed} times, off by {far:.3g} sigma')
    return [
        {
            'case': f'{case.graph}: went on after {kills} kills',
            'unit': 'times',
            'ours': float(resumed),
            'wanted': 'each time',
            'met': resumed == kills,
        },
        {
            'case': f'{case.graph}: estimates off those without kills, at most',
            'unit': 'sigma',
            'ours': worst,
            'wanted': f'at most {WANTED:g}',
            'met': worst <= WANTED,
        },
    ]


def _latched(before: list[Any], profiles: dict[str, QoS], time_ns: int) -> list[Any]:
    """Messages that a node which comes later hears again, as from publishers that live on."""
    return [
        RawMessage(time_ns, one.channel, one.data, one.index)
        for one in before
        if profiles[one.topic].transient_local
    ]


@dataclass
class Found:
    """Estimates of a run, by their stamps [ns]."""

    value: dict[int, dict[str, float]]
    std: dict[int, dict[str, float]]
    resumed: int


def _distance(whole: Found, found: Found) -> float:
    """Largest difference in deviations, of what both know; infinite where one knows more.

    Of the last estimates that both have made: on a full machine a node may be behind at the end.
    """
    common = whole.value.keys() & found.value.keys()
    if not common:
        return float('inf')
    stamp = max(common)
    value, std, other = whole.value[stamp], whole.std[stamp], found.value[stamp]
    known = {name for name, one in std.items() if 0.0 < one < np.inf}
    if not known or not known <= set(other):
        return float('inf')
    return max(abs(other[n] - value[n]) / std[n] for n in known)


class _Run:
    """One run: router, nodes, player, and the estimates that come."""

    def __init__(self, case: Case, folder: Path, profiles: dict[str, QoS]) -> None:
        self.case, self.folder, self.profiles = case, folder, profiles
        self.graph: Graph = find_graph(case.graph)
        self.name = self.graph.nodes[-1].name
        self.endpoint = ''
        self.heard: dict[int, Any] = {}
        self.resumed = 0
        folder.mkdir()

    def __call__(self, parts: list[list[Any]]) -> Found:
        """Play the parts, with a kill before each but the first."""
        from veh_identification.runtime.zenoh import ZenohEngine, play

        with ExitStack() as stack:
            self.endpoint = stack.enter_context(router())
            for one in self.graph.nodes[:-1]:
                stack.enter_context(self._node(one.name))
            engine = stack.enter_context(ZenohEngine(endpoint=self.endpoint))
            self._listen(engine)
            for k, part in enumerate(parts):
                with self._node(self.name, heard=self._heard) as process:
                    play(engine, part, qos=self.profiles, name=f'player_{k}')
                    if k < len(parts) - 1:
                        process.send_signal(signal.SIGKILL)
                        continue
                    engine.spin(SETTLE)
                    process.send_signal(signal.SIGINT)  # what waits is used and published
                    engine.spin(SETTLE)
        return self._found()

    def _heard(self, line: str) -> None:
        self.resumed += 'went on from a state' in line

    def _listen(self, engine: Any) -> None:
        listener = engine.create_node('bench_kills')
        topic, kind = f'/{self.name}/parameters', 'veh_identification/msg/ParameterEstimates'
        qos = LATCHED
        if self.name in ODOMETRY:
            topic, kind, qos = f'/{ODOMETRY[self.name]}', 'nav_msgs/msg/Odometry', QoS(depth=100)
        listener.create_subscription(message_class(kind), topic, self._take, qos)

    def _take(self, message: Any) -> None:
        stamp = message.header.stamp
        if self.name in ODOMETRY:
            self.heard[stamp.sec * 10**9 + stamp.nanosec] = message
        else:  # the last one: it is made of all that came before
            self.heard = {0: message}

    def _node(self, name: str, heard: Callable[[str], None] | None = None) -> Any:
        values = {
            'checkpoint.file': str(self.folder / f'{name}.npz'),
            'checkpoint.period': PERIOD,
        }
        return node(self.graph, name, self.endpoint, self.case.config, values, heard)

    def _found(self) -> Found:
        read = _place if self.name in ODOMETRY else _parameters
        each = {stamp: read(message) for stamp, message in self.heard.items()}
        return Found(
            {stamp: value for stamp, (value, _) in each.items()},
            {stamp: std for stamp, (_, std) in each.items()},
            self.resumed,
        )


def _place(message: Any) -> tuple[dict[str, float], dict[str, float]]:
    """Of an odometry, with deviations."""
    p, covariance = message.pose.pose.position, message.pose.covariance
    std = np.sqrt(np.asarray(covariance, float).reshape(6, 6).diagonal()[:3])
    names = ('x', 'y', 'z')
    values = dict(zip(names, (p.x, p.y, p.z), strict=True))
    return values, dict(zip(names, map(float, std), strict=True))


def _parameters(message: Any) -> tuple[dict[str, float], dict[str, float]]:
    """Of an estimate, what was excited, with deviations."""
    entries = [one for one in message.parameters if one.excited]
    return {one.name: one.value for one in entries}, {one.name: one.std for one in entries}
