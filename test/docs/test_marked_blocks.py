"""Blocks of the documents that need something: files of the reader, ROS, hardware, Ctrl-C.

What cannot be run here is skipped with its reason; test_commands parses every block anyway.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import socket
import subprocess
import time
from pathlib import Path

import pytest
from fences import Fence, commands, documents, fences
from running import SECONDS, environment_of, execute, folder_of
from stand_ins import make_own_files, write_drivers, write_force_plate
from terminals import Terminal

from veh_identification.runtime import messages
from veh_identification.runtime.bags import BagReader, BagWriter, read_columns
from veh_identification.runtime.graph import GRAPHS, find_node

PATHS = documents()
ROS = shutil.which('ros2') is not None
needs_ros = pytest.mark.skipif(not ROS, reason='ros2 is not on the PATH')
#: What `config/drivers.yaml` starts for the drivers that the documents name.
DRIVERS = {'xsens_mti_ros2_driver': 'xsens_mti_node', 'nmea_navsat_driver': 'nmea_serial_driver'}


def marked(marker: str) -> list[Fence]:
    """All shell blocks with a marker."""
    return [f for path in PATHS for f in fences(path) if f.marker == marker and f.language == 'sh']


def name(fence: Fence) -> str:
    """For the list of tests."""
    return f'{fence.document.removesuffix(".md")}-{fence.line}'


def lines(fence: Fence) -> list[str]:
    """The lines of a block without comments."""
    return [line.split(' #')[0].strip() for line in fence.text.splitlines() if line.strip()]


def called(line: str) -> str:
    """Verb and system of a command: what test/slow.txt names it by, wherever it stands."""
    return '-'.join(word for word in line.split()[1:3] if word.islower())


OWN_FILES = [
    pytest.param(line, id=f'{f.document.removesuffix(".md")}-{called(line)}')
    for f in marked('your own files')
    for line in lines(f)
    if line.startswith('veh-id')
]


@pytest.mark.timeout(SECONDS)
@pytest.mark.parametrize('line', OWN_FILES)
def test_commands_run_with_stand_ins_of_your_own_files(line: str, tmp_path: Path) -> None:
    folder = folder_of(Path('own'), tmp_path)
    (words,) = commands(line)
    make_own_files(words, folder)
    execute(Fence('', 0, 'sh', line), folder, here=True)
    if '--out' in words:
        out = folder / words[words.index('--out') + 1]
        if out.is_file():  # a description
            return
        written = {path.name for path in out.iterdir()}
        assert written & {'parameters.json', 'metrics.json', 'metadata.yaml'}
        assert words[-1] != 'DIR' or 'result' in written or 'observed' in written


def test_converted_force_plate_holds_the_contract(tmp_path: Path) -> None:
    """The stand-in is what the shipped mapping is written for."""
    folder = folder_of(Path('plate'), tmp_path)
    write_force_plate(folder / 'BAG')
    convert = 'veh-id convert BAG --map config/map_force_plate.yaml --out BAG2'
    execute(Fence('', 0, 'sh', convert), folder)
    with BagReader(folder / 'BAG2') as reader:
        assert reader.topics['/force_plate/wrench'].typename == 'geometry_msgs/msg/WrenchStamped'
    columns = read_columns(folder / 'BAG2', {'force_plate/wrench': ['wrench.torque.z']})
    assert abs(columns['force_plate/wrench']['wrench.torque.z']).max() == pytest.approx(6.0, 0.01)


def port_is_free(port: int) -> bool:
    """Whether a router can listen."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(('127.0.0.1', port))
        except OSError:
            return False
    return True


@pytest.mark.timeout(SECONDS)
@pytest.mark.skipif(importlib.util.find_spec('zenoh') is None, reason='zenoh is not installed')
def test_readme_runs_live_without_ros(tmp_path: Path) -> None:
    if not port_is_free(7447):
        pytest.skip('another router uses port 7447')
    (fence,) = [f for f in marked('runs until stopped') if f.document == 'README.md']
    router_line, node_line, play_line = lines(fence)
    folder = folder_of(Path('live'), tmp_path)
    write_short_bag(folder / 'out' / 'run0')
    router = Terminal(router_line, folder, environment_of(folder))
    try:
        router.wait_for('zenoh router')
        node = Terminal(node_line, folder, environment_of(folder))
        try:
            node.wait_for(find_node('sensor_fusion').ready_line)
            player = Terminal(play_line, folder, environment_of(folder))
            try:
                player.wait_for('3 messages published')
                player.wait_until_over()
            finally:
                player.stop()
        finally:
            node.stop()
    finally:
        router.stop()


@pytest.mark.timeout(SECONDS)
@pytest.mark.skipif(importlib.util.find_spec('zenoh') is None, reason='zenoh is not installed')
def test_dashboards_serve_until_they_are_stopped(tmp_path: Path) -> None:
    (fence,) = [f for f in marked('runs until stopped') if f.document == 'live_views.md']
    folder = folder_of(Path('dashboard'), tmp_path)
    write_short_bag(folder / 'made' / 'buggy')
    (folder / 'buggy').symlink_to(folder / 'made' / 'buggy')
    kind = 'nav_msgs/msg/Odometry'
    with BagWriter(folder / 'observed') as writer:
        payload = messages.serialize(messages.new(kind, header=messages.header(1, 'odom')))
        writer.write('/odometry/observed', kind, payload, 1)
    for line in lines(fence):
        program = Terminal(f'{line} --port 0', folder, environment_of(folder))
        try:
            program.wait_for('http://127.0.0.1:')
            if ' observed' in line:
                program.wait_for('the recording is over')
        finally:
            program.stop()


def write_short_bag(path: Path) -> None:
    path.parent.mkdir(parents=True)
    kind = 'sensor_msgs/msg/Imu'
    with BagWriter(path) as writer:
        for stamp in (1_000_000_000, 1_010_000_000, 1_020_000_000):
            message = messages.new(kind, header=messages.header(stamp, 'imu_link'))
            writer.write('/imu/data', kind, messages.serialize(message), stamp)


def with_ros(path: Path) -> list[Fence]:
    """Blocks to run where ROS is: those that need it, and those that come before them."""
    found = [
        f for f in fences(path) if f.language in ('sh', 'python') and f.marker in ('', 'needs ros')
    ]
    while found and not found[-1].marker:
        found.pop()
    return found


@pytest.mark.ros
@needs_ros
@pytest.mark.timeout(2 * SECONDS)
@pytest.mark.parametrize('path', [p for p in PATHS if with_ros(p)], ids=lambda path: path.stem)
def test_ros_blocks_run(path: Path, tmp_path: Path) -> None:
    folder = folder_of(path, tmp_path)
    for fence in with_ros(path):
        execute(fence, folder)


@pytest.mark.ros
@needs_ros
@pytest.mark.timeout(SECONDS)
@pytest.mark.parametrize('fence', marked('needs hardware'), ids=name)
def test_launch_starts_the_drivers_that_are_named(fence: Fence, tmp_path: Path) -> None:
    """The drivers themselves are stand-ins: packages of others, for hardware that is not here."""
    folder = folder_of(Path('hardware'), tmp_path)
    environment = environment_of(folder)
    prefix = write_drivers(folder / 'prefix', DRIVERS)
    environment['AMENT_PREFIX_PATH'] = f'{prefix}{os.pathsep}{environment["AMENT_PREFIX_PATH"]}'
    (line,) = lines(fence)
    launch = Terminal(line, folder, environment)
    try:
        for package in DRIVERS:
            launch.wait_for(f'stand-in of {package}: --ros-args')
        launch.wait_for('fix:=gps/fix')
        launch.wait_for(find_node('sensor_fusion').ready_line)
    finally:
        launch.stop()


OWN_LAUNCHES = [f for f in marked('your own files') if lines(f)[0].startswith('ros2 launch')]


@pytest.mark.ros
@needs_ros
@pytest.mark.timeout(SECONDS)
@pytest.mark.parametrize('fence', OWN_LAUNCHES, ids=name)
def test_launch_files_run_with_stand_ins_of_your_own_files(fence: Fence, tmp_path: Path) -> None:
    first, *others = lines(fence)
    folder = folder_of(Path('launch'), tmp_path)
    words = commands(first)[0]
    make_own_files(words, folder)
    launch = Terminal(first, folder, environment_of(folder))
    try:
        for node in GRAPHS[words[3].removesuffix('.launch.py')].nodes:
            launch.wait_for(node.ready_line)
        for line in others:
            done = subprocess.run(
                ['bash', '-c', line],
                cwd=folder,
                env=environment_of(folder),
                timeout=60,
                capture_output=True,
                text=True,
                check=False,
            )
            assert done.returncode == 0 and 'response:' in done.stdout, done.stdout + done.stderr
    finally:
        launch.stop()


@pytest.mark.parametrize(
    'fence', [f for f in marked('your own files') if lines(f)[0].startswith('rviz2')], ids=name
)
@pytest.mark.skipif(
    shutil.which('rviz2') is None or not os.environ.get('DISPLAY'),
    reason='needs rviz2 and a display',
)
def test_rviz_opens_its_configuration(fence: Fence, tmp_path: Path) -> None:
    folder = folder_of(Path('rviz'), tmp_path)
    program = Terminal(lines(fence)[0], folder, environment_of(folder))
    try:
        program.wait_for('OpenGl version')
        # RViz has no line for being ready; what is wrong with its file, it says while it loads.
        time.sleep(5.0)
        assert program.process.poll() is None
        assert 'ERROR' not in program.text and 'rror loading' not in program.text
    finally:
        program.stop()


def test_every_marked_block_has_its_test() -> None:
    """What installs software is parsed only; all else that has a marker is run somewhere."""
    run = {'needs ros', 'needs hardware', 'runs until stopped'}
    own = marked('your own files')
    covered = ('veh-id', 'ros2 launch', 'rviz2')
    assert all(lines(f)[0].startswith(covered) for f in own)
    markers = {f.marker for path in PATHS for f in fences(path) if f.marker}
    assert markers <= run | {'your own files', 'installs'}
    for fence in marked('installs'):
        programs = {words[0] for words in commands(fence.text)}
        assert programs <= {
            'make',
            'pip',
            'cd',
            'git',
            'mkdir',
            'python3',
            'source',
            'rosdep',
            'colcon',
            'touch',
            'veh-id',  # of what was installed: test_packaging and the demo run it
        }, name(fence)
