"""`play`, `record`, `topics`, `echo`, `hz`, the status line of `run`; a router of our own."""

from __future__ import annotations

import io
import itertools
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip('zenoh', reason='eclipse-zenoh is not installed')

from veh_identification.cli.hz import rate_text
from veh_identification.cli.main import main
from veh_identification.errors import MessageError
from veh_identification.runtime import messages
from veh_identification.runtime.bags import BagReader, BagWriter
from veh_identification.runtime.messages.text import field_of, text_of
from veh_identification.runtime.zenoh import ZenohEngine, open_router
from veh_identification.runtime.zenoh_engine.status_line import StatusLine, Terminal

pytestmark = pytest.mark.zenoh
IMU = 'sensor_msgs/msg/Imu'


@pytest.fixture(scope='module')
def endpoint() -> Iterator[str]:
    with socket.socket() as probe:
        probe.bind(('127.0.0.1', 0))
        free = f'tcp/127.0.0.1:{probe.getsockname()[1]}'
    with open_router(free):
        yield free


@pytest.fixture(scope='module')
def bag(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Half a second of an IMU at 100 Hz."""
    path = tmp_path_factory.mktemp('live') / 'imu'
    with BagWriter(path) as writer:
        for k in range(50):
            stamp = 1_700_000_000_000_000_000 + k * 10_000_000
            message = messages.new(IMU, header=messages.header(stamp, 'imu_link'))
            message.linear_acceleration.z = float(k)
            writer.write('/imu/data', IMU, messages.serialize(message), stamp)
    return path


@pytest.fixture
def player(endpoint: str, bag: Path) -> Iterator[None]:
    """Somebody plays the recording again and again."""
    words = ['play', str(bag), '--loop', '--clock', '--endpoint', endpoint]
    child = subprocess.Popen(
        [sys.executable, '-m', 'veh_identification.cli.main', *words],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert child.stdout is not None
    assert '50 messages published' in child.stdout.readline()
    yield
    child.terminate()
    child.communicate(timeout=20)
    assert child.returncode == 0, 'the player ends cleanly on SIGTERM'


def test_topics_rate_messages_and_a_recording_of_a_played_bag(
    endpoint: str, player: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def told(*words: str) -> str:
        assert main([*words, '--endpoint', endpoint]) == 0
        return capsys.readouterr().out

    listed = told('topics')
    assert f'/imu/data  {IMU}  (1 publish, 0 listen)' in listed
    assert '/clock' in listed and 'nodes:  /player' in listed
    assert '/imu/data' in told('hz', 'imu/data', '--duration', '1.0')
    text = told('echo', '/imu/data', '--count', '2', '--field', 'header.frame_id')
    assert text == 'imu_link\n---\nimu_link\n---\n'
    out = tmp_path / 'again'
    assert 'lost' not in told('record', 'imu/data', '--out', str(out), '--duration', '1.0')
    with BagReader(out) as reader:
        seen = [m.message.linear_acceleration.z for m in reader.messages(['/imu/data'])]
    assert len(seen) > 40
    steps = {b - a for a, b in itertools.pairwise(seen)}
    assert steps <= {1.0, -49.0}, 'nothing is lost, and the recording begins again at its end'


def test_a_topic_that_nobody_publishes_is_a_sentence(
    endpoint: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr('veh_identification.runtime.zenoh_engine.tools._MATCHING_TIME', 0.1)
    assert main(['echo', '/nothing', '--endpoint', endpoint]) == 1
    assert 'nobody publishes /nothing' in capsys.readouterr().err
    assert main(['record', '--out', 'x', '--endpoint', endpoint]) == 2


def test_a_script_that_forgets_to_shut_down_ends(endpoint: str) -> None:
    script = (
        'from veh_identification.runtime.zenoh import ZenohEngine\n'
        f'engine = ZenohEngine(endpoint={endpoint!r})\n'
        "engine.create_node('forgotten')\n"
        'raise SystemExit(7)\n'
    )
    done = subprocess.run([sys.executable, '-c', script], timeout=60, check=False)
    assert done.returncode == 7


def test_the_status_line_tells_rates_and_the_verdict(endpoint: str) -> None:
    array = messages.message_class('diagnostic_msgs/msg/DiagnosticArray')
    with ZenohEngine(endpoint=endpoint, domain=9) as engine:
        node = engine.create_node('worker')
        line = StatusLine(node)
        node.create_publisher(messages.message_class(IMU), 'out', 10).publish(messages.new(IMU))
        assert line.text().startswith('worker: no verdict yet | in nothing | out out ')
        status = messages.new('diagnostic_msgs/msg/DiagnosticStatus', level=1, message='drifts')
        told = node.create_publisher(array, '/diagnostics', 10)
        told.publish(messages.new('diagnostic_msgs/msg/DiagnosticArray', status=[status]))
        assert line.text() == 'worker WARN: drifts | in nothing | out out 0/s'


def test_what_is_logged_stands_above_the_status_line() -> None:
    out = io.StringIO()
    terminal = Terminal(out)
    terminal.rewrite('rates')
    print('[WARNING] late', file=terminal)
    terminal.rewrite('rates')
    assert out.getvalue() == '\r\x1b[Krates\r\x1b[K[WARNING] late\n\r\x1b[Krates'


def test_text_of_messages() -> None:
    message = messages.new(IMU)
    text = text_of(message, 2)
    assert 'linear_acceleration: {x: 0.0, y: 0.0, z: 0.0}' in text
    assert "orientation_covariance: [0.0, 0.0, '... 7 more']" in text
    with pytest.raises(MessageError, match='there are: x, y, z, w'):
        field_of(message, 'orientation.v')
    assert rate_text([0, 10_000_000, 20_000_000]).startswith('100.00 Hz; between messages 10.00')
