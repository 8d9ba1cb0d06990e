"""Several processes: exchange, signals, recording, and the short form of the benchmark."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip('zenoh', reason='eclipse-zenoh is not installed')

from rosbags.highlevel import AnyReader

from veh_identification.runtime import messages
from veh_identification.runtime.qos import LATCHED
from veh_identification.runtime.zenoh import RawMessage, ZenohEngine, play, record

pytestmark = pytest.mark.zenoh

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
STRING = messages.message_class('std_msgs/msg/String')
MakeEngine = Callable[..., ZenohEngine]
Spawn = Callable[..., 'subprocess.Popen[str]']


@pytest.fixture
def spawn() -> Iterator[Spawn]:
    """Starts child processes; those that still run after the test are killed by their id."""
    started: list[subprocess.Popen[str]] = []

    def start(*arguments: Any, stdin: int | None = None) -> subprocess.Popen[str]:
        child = subprocess.Popen(
            [sys.executable, *map(str, arguments)],
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        )
        started.append(child)
        return child

    yield start
    for child in started:
        if child.poll() is None:
            child.kill()
        child.communicate()


def line(child: subprocess.Popen[str]) -> str:
    assert child.stdout is not None
    text = child.stdout.readline().strip()
    if not text:
        raise AssertionError(child.communicate()[1])
    return text


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM])
def test_exchange_with_another_process_that_ends_cleanly(
    make_engine: MakeEngine, endpoint: str, spawn: Spawn, number: signal.Signals
) -> None:
    child = spawn(HERE / 'children.py', 'serve', endpoint)
    assert line(child) == 'ready'
    engine = make_engine()
    node = engine.create_node('here')
    received: list[str] = []
    node.create_subscription(STRING, 'echo', lambda m: received.append(m.data), 200)
    publisher = node.create_publisher(STRING, 'chatter', 200)
    assert engine.spin_until(lambda: publisher.get_subscription_count() == 1, 10.0)
    # That the other process knows of our subscription shows only when it answers.
    end = time.monotonic() + 10.0
    while not received and time.monotonic() < end:
        publisher.publish(messages.new('std_msgs/msg/String', data='hello?'))
        engine.spin(0.1)
    engine.spin(0.2)
    received.clear()
    sent = [f'message {k}' for k in range(100)]
    for data in sent:
        publisher.publish(messages.new('std_msgs/msg/String', data=data))
    assert engine.spin_until(lambda: len(received) == 100, 10.0)
    assert received == sent
    set_bool = messages.service_class('std_srvs/srv/SetBool')
    client = node.create_client(set_bool, '/server/set')
    assert client.wait_for_service(10.0)
    response = client.call(set_bool.Request(data=True), 10.0)
    assert (response.success, response.message) == (True, 'from another process')
    child.send_signal(number)
    out, errors = child.communicate(timeout=20)
    assert (child.returncode, out.strip()) == (0, 'ended'), errors
    assert 'Traceback' not in errors
    assert engine.spin_until(lambda: engine.graph.nodes() == ['/here'], 10.0)


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM])
def test_router_process(free_endpoint: str, spawn: Spawn, number: signal.Signals) -> None:
    child = spawn(HERE / 'children.py', 'router', free_endpoint)
    assert free_endpoint in line(child)
    with ZenohEngine(endpoint=free_endpoint) as engine:
        # On a busy machine it answers later than the engine cares to wait for.
        assert engine.spin_until(lambda: bool(engine.session.info.routers_zid()), 20.0)
    child.send_signal(number)
    _, errors = child.communicate(timeout=20)
    assert child.returncode == 0, errors
    assert 'Traceback' not in errors


def strings(count: int) -> list[RawMessage]:
    return [
        RawMessage(
            k * 5_000_000,
            '/chatter',
            'std_msgs/msg/String',
            messages.serialize(messages.new('std_msgs/msg/String', data=str(k))),
        )
        for k in range(count)
    ]


def read_strings(folder: Path) -> list[str]:
    with AnyReader([folder]) as reader:
        return [
            reader.deserialize(data, connection.msgtype).data
            for connection, _, data in reader.messages()
        ]


def test_play_and_record_in_two_processes(
    make_engine: MakeEngine, endpoint: str, spawn: Spawn, tmp_path: Path
) -> None:
    folder = tmp_path / 'recording'
    child = spawn(HERE / 'children.py', 'record', endpoint, folder)
    assert line(child) == 'ready'
    start = time.monotonic()
    count = play(make_engine(), strings(60), rate=2.0, subscribers={'/chatter': 1})
    assert count == 60
    assert time.monotonic() - start >= 59 * 0.005 / 2
    time.sleep(0.5)  # what is on its way arrives
    child.send_signal(signal.SIGTERM)
    out, errors = child.communicate(timeout=20)
    assert (child.returncode, out.strip()) == (0, '60 0'), errors
    assert read_strings(folder) == [str(k) for k in range(60)]
    # And the recording itself plays again.
    again: list[str] = []
    listener = make_engine()
    listener.create_node('listener').create_subscription(
        STRING, 'chatter', lambda m: again.append(m.data), 100
    )
    assert play(make_engine(), folder, rate=10.0, subscribers={'/chatter': 1}) == 60
    assert listener.spin_until(lambda: len(again) == 60, 10.0)
    assert again == [str(k) for k in range(60)]


def test_record_asks_latched_topics_for_their_past(
    make_engine: MakeEngine, tmp_path: Path
) -> None:
    here, there = make_engine(), make_engine()
    publisher = here.create_node('source').create_publisher(STRING, 'results', LATCHED)
    publisher.publish(messages.new('std_msgs/msg/String', data='the result'))
    assert there.spin_until(lambda: there.graph.offered_qos('/results') is not None, 5.0)
    seen: list[str] = []
    counts = record(
        there,
        {'/results': 'std_msgs/msg/String', '/silent': 'sensor_msgs/msg/Imu'},
        tmp_path / 'bag',
        20.0,
        until=lambda: bool(seen),
        observer=lambda topic, _: seen.append(topic),
    )
    assert seen == ['/results']
    assert (counts['/results'].received, counts['/silent'].received) == (1, 0)
    assert read_strings(tmp_path / 'bag') == ['the result']
    with AnyReader([tmp_path / 'bag']) as reader:
        assert set(reader.topics) == {'/results', '/silent'}


def test_without_eclipse_zenoh_the_error_says_what_to_install(spawn: Spawn) -> None:
    code = (
        'import sys; sys.modules["zenoh"] = None\n'
        'from veh_identification.errors import VehIdError\n'
        'try:\n'
        '    import veh_identification.runtime.zenoh\n'
        'except VehIdError as error:\n'
        '    print(error)\n'
    )
    out, errors = spawn('-c', code).communicate(timeout=30)
    assert "pip install 'veh_identification[zenoh]'" in out, errors


def test_three_processes_lose_nothing(spawn: Spawn, tmp_path: Path) -> None:
    """The short form of bench/zenoh_latency.py; only counts are checked, never speed."""
    child = spawn(
        *(ROOT / 'bench' / 'zenoh_latency.py', '--node', 'relay', '--duration', 3, '--json'),
        *('--bag', tmp_path / 'recording'),
    )
    out, errors = child.communicate(timeout=90)
    assert child.returncode == 0, errors + out
    result = json.loads(out)
    assert result['matched']
    assert result['sent'] == {'/imu/data': 1500, '/truth/state': 300}
    assert result['node_received'] == {'/imu/data': 1500, '/truth/state': 300}
    expected = {'/imu/data': 1500, '/truth/state': 300, '/fused/state': 1500}
    assert result['recorder_received'] == expected
    assert result['lost'] == 0
    assert set(result['statuses'].values()) == {0}
    with AnyReader([tmp_path / 'recording']) as reader:
        counts = {topic: info.msgcount for topic, info in reader.topics.items()}
        assert counts == expected
        wanted = [c for c in reader.connections if c.topic == '/truth/state']
        last = [reader.deserialize(d, c.msgtype) for c, _, d in reader.messages(wanted)][-1]
    np.testing.assert_array_equal(last.joint_positions, np.full(4, 1495.0))
    assert all(0 < q['p50'] <= q['p99'] <= q['max'] for q in result['latency_ms'].values())
