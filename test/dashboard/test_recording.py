"""Recordings, as they are and through the nodes of a graph; the verb itself."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import types
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from veh_identification.cli.main import main
from veh_identification.dashboard import Collector
from veh_identification.dashboard.collector import DIAGNOSTICS
from veh_identification.dashboard.intake import Intake
from veh_identification.dashboard.recording import Player
from veh_identification.dashboard.sources import SourceState
from veh_identification.dashboard.view import head, past
from veh_identification.errors import BagError
from veh_identification.runtime import graph, messages
from veh_identification.runtime.bags import BagWriter

IMU = 'sensor_msgs/msg/Imu'
START = 1_700_000_000_000_000_000


class Counting:
    """A node that reports every tenth message."""

    def __init__(self, node: Any) -> None:
        self.count = 0
        self.told = node.create_publisher(messages.message_class(DIAGNOSTICS), '/diagnostics', 10)
        node.create_subscription(messages.message_class(IMU), 'imu/data', self.take, 10)

    def take(self, message: Any) -> None:
        self.count += 1
        if self.count % 10:
            return
        rows = {
            'counting': {'verdict': 'yes', 'headline': 'Yes.'},
            'counting: imu': {'topic': 'imu/data', 'received': str(self.count)},
        }
        status = [
            {'name': name, 'values': [{'key': k, 'value': v} for k, v in facts.items()]}
            for name, facts in rows.items()
        ]
        self.told.publish(messages.new(DIAGNOSTICS, header=message.header, status=status))


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    """Two seconds of an IMU at 100 Hz whose messages take 30 ms to arrive."""
    with BagWriter(tmp_path / 'bag') as writer:
        for k in range(200):
            stamp = START + k * 10_000_000
            message = messages.new(IMU, header=messages.header(stamp, 'imu_link'))
            payload = messages.serialize(message)
            writer.write('/imu/data', IMU, payload, stamp + 30_000_000)
    return tmp_path / 'bag'


@pytest.fixture
def result(tmp_path: Path, talker: Any) -> Path:
    """What a node published: five estimates, one a second."""
    with BagWriter(tmp_path / 'result') as writer:
        for k in range(5):
            message = talker.estimate(float(k), {'Mc': (1500.0 + k, 5.0 - k)})
            kind = messages.type_name(message)
            payload = messages.serialize(message)
            writer.write('/car/parameters', kind, payload, START + k * 10**9)
    return tmp_path / 'result'


def test_a_result_is_shown_at_its_own_pace(
    result: Path, clock: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr('time.monotonic', clock)
    monkeypatch.setattr(
        'time.sleep', lambda seconds: setattr(clock, 'seconds', clock.seconds + seconds)
    )
    collector, source = Collector(clock), SourceState('recording', 'x', 'playing')
    Player(Intake(collector), source, rate=2.0).play([result])
    assert clock.seconds == pytest.approx(2.0), 'four seconds at twice the pace'
    assert (source.position, source.duration) == (4.0, 4.0)
    rows = past(collector, {})['parameters /car']['rows']
    assert rows == [[float(k), 1500.0 + k, 5.0 - k] for k in range(5)]


def test_a_recording_through_the_nodes_of_a_graph(
    recording: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = types.ModuleType('counting_node')
    module.Counting = Counting  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, 'counting_node', module)
    node = graph.NodeDescription('counting', 'counting_node:Counting')
    made = graph.Graph('counting', 'counts', (node,), 'none.yaml')
    monkeypatch.setitem(graph.GRAPHS, 'counting', made)
    empty = tmp_path / 'empty.yaml'
    empty.write_text('counting:\n  ros__parameters: {}\n')
    collector, source = Collector(), SourceState('recording', 'x', 'playing')
    Player(Intake(collector), source, rate=0.0).play_graph([recording], 'counting', config=empty)
    (shown,) = head(collector)['nodes']
    (imu,) = shown['sensors']
    assert shown['verdict'] == 'yes'
    assert (imu['name'], imu['received']) == ('imu', 200)
    assert imu['rate'] == pytest.approx(100.0)
    assert imu['lag'] == pytest.approx(0.030)


def test_a_recording_that_no_node_wrote_says_what_to_do(recording: Path) -> None:
    with pytest.raises(BagError, match='--graph NAME runs nodes over the recording'):
        Player(Intake(Collector()), SourceState('recording', 'x')).play([recording])


@pytest.mark.parametrize(
    ('words', 'sentence'),
    [
        (['--rate', '2'], '--rate is of a recording, and none is given'),
        (['--graph', 'error_ekf'], '--graph runs nodes over a recording, and none is given'),
        (['BAG', '--rate', '-1'], '--rate must not be below 0'),
        (['BAG', '--engine', 'zenoh'], '--engine is of live nodes'),
        (['BAG', '--config', 'x'], '--config is of the nodes of --graph'),
        (['BAG', '--host', 'not an address', '--port', '0'], 'cannot listen on not an address'),
    ],
)
def test_wrong_usage_is_a_sentence(
    words: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(['dashboard', *words]) == 2
    assert sentence in capsys.readouterr().err


def test_no_such_recording_ends_the_program(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(['dashboard', 'nowhere', '--port', '0']) == 1
    assert 'nowhere' in capsys.readouterr().err


def test_the_verb_serves_until_a_signal(result: Path) -> None:
    words = ['dashboard', str(result), '--rate', '0', '--port', '0']
    child = subprocess.Popen(
        [sys.executable, '-m', 'veh_identification.cli.main', *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert child.stdout is not None
    url = child.stdout.readline().split(': ')[-1].strip()
    assert 'the recording is over' in child.stdout.readline()
    with urllib.request.urlopen(f'{url}state.json', timeout=10) as answer:
        told = json.load(answer)
    assert told['source']['state'] == 'ended'
    assert told['nodes'][0]['estimate']['parameters'][0]['value'] == 1504.0
    child.send_signal(signal.SIGINT)
    _, errors = child.communicate(timeout=20)
    assert (child.returncode, errors) == (0, '')
