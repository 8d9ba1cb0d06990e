"""The command line: help, exit statuses, one-sentence errors, repeatable replay."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from veh_identification.cli.main import VERBS, main
from veh_identification.runtime.bags import BagReader, BagWriter


@pytest.fixture(scope='module')
def drive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp('cli') / 'drive'
    assert main(['simulate', 'drive', '--out', str(path), '--duration', '6', '--seed', '3']) == 0
    return path


def payloads(bag: Path) -> list[tuple[str, int, bytes]]:
    with BagReader(bag) as reader:
        return [(item.topic, item.time_ns, bytes(item.payload)) for item in reader.raw()]


def replay(bag: Path, out: Path, *more: str) -> int:
    return main(
        [
            'replay',
            str(bag),
            '--graph',
            'sensor_fusion',
            '--out',
            str(out),
            '--config',
            'sensor_fusion_drive',
            '--log-level',
            'error',
            *more,
        ]
    )


@pytest.mark.parametrize('verb', VERBS)
def test_every_verb_explains_itself(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main([verb, '--help'])
    assert stop.value.code == 0
    text = capsys.readouterr().out
    assert text.startswith(f'usage: veh-id {verb}')
    assert len(text.splitlines()) > 5


def test_wrong_usage_is_status_2(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(['fly'])
    assert stop.value.code == 2
    assert main(['simulate', 'moon', '--out', 'x']) == 2
    assert "there is no scenario 'moon'; there are: " in capsys.readouterr().err


def test_truth_stands_in_the_bag(drive: Path) -> None:
    truth = json.loads((drive / 'truth.json').read_text())
    assert (truth['scenario'], truth['seed'], truth['duration']) == ('drive', 3, 6.0)
    assert truth['sensors']['imu_rate'] == 200.0


def test_same_seed_same_bytes(drive: Path, tmp_path: Path) -> None:
    again = tmp_path / 'again'
    main(['simulate', 'drive', '--out', str(again), '--duration', '6', '--seed', '3'])
    assert payloads(again) == payloads(drive)
    other = tmp_path / 'other'
    main(['simulate', 'drive', '--out', str(other), '--duration', '6', '--seed', '4'])
    assert payloads(other) != payloads(drive)


@pytest.mark.parametrize('storage', ['mcap', 'sqlite3'])
def test_replay_twice_gives_the_same_bytes(drive: Path, tmp_path: Path, storage: str) -> None:
    for name in ('a', 'b'):
        assert replay(drive, tmp_path / name, '--storage', storage) == 0
    first = payloads(tmp_path / 'a')
    assert first == payloads(tmp_path / 'b')
    assert sum(topic == '/fused/state' for topic, _, _ in first) > 400


def test_replay_of_two_bags_is_replay_of_one(drive: Path, tmp_path: Path) -> None:
    """Topics spread over two recordings merge into what one recording gives."""
    with (
        BagReader(drive) as reader,
        BagWriter(tmp_path / 'one') as one,
        BagWriter(tmp_path / 'two') as two,
    ):
        for item in reader.raw():
            writer = one if item.topic == '/imu/data' else two
            writer.write(item.topic, item.typename, item.payload, item.time_ns)
    assert replay(drive, tmp_path / 'whole') == 0
    assert (
        main(
            [
                'replay',
                str(tmp_path / 'one'),
                str(tmp_path / 'two'),
                '--graph',
                'sensor_fusion',
                '--config',
                'sensor_fusion_drive',
                '--out',
                str(tmp_path / 'split'),
            ]
        )
        == 0
    )
    states = [
        [row for row in payloads(tmp_path / name) if row[0] == '/fused/state']
        for name in ('whole', 'split')
    ]
    assert states[0] == states[1]


def test_keep_inputs_and_namespace(drive: Path, tmp_path: Path) -> None:
    assert replay(drive, tmp_path / 'kept', '--keep-inputs') == 0
    with BagReader(tmp_path / 'kept') as reader:
        assert reader.topics['/imu/data'].count == 1200
        assert reader.topics['/fused/state'].count > 400
    remaps = [
        word
        for topic in ('imu/data', 'gps/fix', 'gps/vel', 'correvit/velocity', 'joint_states')
        for word in ('--remap', f'{topic}:=/{topic}')
    ]
    assert replay(drive, tmp_path / 'spaced', '--namespace', '/car', *remaps) == 0
    with BagReader(tmp_path / 'spaced') as reader:
        assert reader.topics['/car/fused/state'].count > 400


@pytest.mark.parametrize(
    ('words', 'status', 'sentence'),
    [
        (['replay', 'BAG/missing', '--graph', 'sensor_fusion', '--out', 'OUT'], 1, 'missing'),
        (['replay', 'BAG', '--graph', 'magic', '--out', 'OUT'], 2, "there is no graph 'magic'"),
        (
            ['replay', 'BAG', '--graph', 'sensor_fusion', '--config', 'nowhere', '--out', 'OUT'],
            2,
            'configuration nowhere: no such file',
        ),
        (
            ['replay', 'BAG', '--graph', 'sensor_fusion', '-p', 'rate:=fast', '--out', 'OUT'],
            2,
            "parameter rate: expected a number, got 'fast'",
        ),
        (
            ['replay', 'BAG', '--graph', 'sensor_fusion', '-p', 'rate:=-1', '--out', 'OUT'],
            2,
            'parameter rate: -1',
        ),
        (
            ['replay', 'BAG', '--graph', 'sensor_fusion', '-p', 'raet:=1', '--out', 'OUT'],
            2,
            'unknown parameter raet',
        ),
        (
            [
                'replay',
                'BAG',
                '--graph',
                'sensor_fusion',
                '-r',
                'imu/data:=/truth/odom',
                '--out',
                'OUT',
            ],
            1,
            'topic /truth/odom: the recording holds nav_msgs/msg/Odometry',
        ),
        (['info', 'BAG/missing'], 1, 'missing'),
        (['run', 'nothing'], 2, "there is no node 'nothing'"),
        (['simulate', 'drive', '--out', 'OUT', '--duration', '-1'], 2, 'positive duration'),
        (['simulate', 'drive', '--out', 'OUT', '--seed', '-3'], 2, 'a whole number from zero on'),
        (['simulate', 'drive', '--out', 'OUT', '--duration', '1e9'], 2, 'at most 7200 s'),
        (['simulate', 'drive', '--out', 'BAG'], 1, 'exists already'),
        (['bench', 'nothing'], 2, "there is no part 'nothing'"),
    ],
)
def test_errors_are_one_sentence(
    drive: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], words, status, sentence
) -> None:
    out = tmp_path / 'out'
    words = [word.replace('BAG', str(drive)).replace('OUT', str(out)) for word in words]
    assert main(words) == status
    error = capsys.readouterr().err.strip().splitlines()[-1]
    assert error.startswith(f'veh-id {words[0]}: ')
    assert sentence in error
    assert not out.exists(), 'something was left under the final name'
    assert not list(tmp_path.iterdir()), 'something half-written was left'


def test_recording_without_the_wanted_topics(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from veh_identification.runtime import messages

    with BagWriter(tmp_path / 'bag') as writer:
        writer.write_message('/chatter', messages.new('std_msgs/msg/String', data='x'), 1)
    assert replay(tmp_path / 'bag', tmp_path / 'out') == 1
    error = capsys.readouterr().err
    assert 'none of the topics that the graph sensor_fusion reads is in it' in error
    assert '/chatter' in error and '/imu/data' in error


def test_info_lists_and_checks(drive: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(['info', str(drive), '--check', '--topic', 'imu/data']) == 0
    text = capsys.readouterr().out
    assert '/imu/data' in text and '1200' in text and 'Hz  sensor_msgs/msg/Imu' in text
    assert 'linear_acceleration.x' in text
    assert 'every message was read and decoded' in text


def test_simulate_list(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(['simulate', '--list']) == 0
    assert 'drive' in capsys.readouterr().out


def test_a_terminated_run_leaves_nothing(tmp_path: Path) -> None:
    out = tmp_path / 'out'
    process = subprocess.Popen(
        [
            sys.executable,
            '-m',
            'veh_identification.cli.main',
            'simulate',
            'drive',
            '--out',
            str(out),
            '--duration',
            '600',
        ],
        stderr=subprocess.DEVNULL,
    )
    for _ in range(600):
        if list(tmp_path.iterdir()):
            break
        time.sleep(0.1)
    assert list(tmp_path.iterdir()), 'it never began to write'
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 128 + signal.SIGTERM
    assert not list(tmp_path.iterdir())


def test_an_interrupt_after_the_work_is_done_is_no_traceback() -> None:
    """Python waits for threads of libraries when `main` has returned."""
    text = (
        'import signal, sys, threading, time\n'
        'from veh_identification.cli import main\n'
        'def last():\n'
        '    for _ in range(50):\n'
        '        time.sleep(0.1)\n'
        '        if signal.getsignal(signal.SIGINT) is signal.SIG_DFL: break\n'
        "    print('waiting', flush=True)\n"
        '    time.sleep(60)\n'
        'def work(tell=False):\n'
        '    threading.Thread(target=last).start()\n'
        '    return 0\n'
        'main.main = work\n'
        'sys.exit(main.program())\n'
    )
    process = subprocess.Popen(
        [sys.executable, '-c', text], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None and process.stdout.readline() == 'waiting\n'
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=30)
    assert process.returncode == -signal.SIGINT
    assert 'Traceback' not in told, told
