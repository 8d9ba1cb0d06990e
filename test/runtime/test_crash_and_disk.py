"""Killed processes, full disks, targets that are replaced while somebody looks."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from veh_identification import atomic
from veh_identification.atomic import (
    GRACE,
    OutputError,
    atomic_file,
    atomic_folder,
    held,
    leftovers,
    partial_name,
    write_text,
)
from veh_identification.errors import BagError
from veh_identification.runtime.bags import BagReader, BagWriter


def age(path: Path) -> None:
    """Make it older than the time in which its owner may still take its lock."""
    old = path.stat().st_mtime - GRACE - 1.0
    os.utime(path, (old, old))


def test_leftovers_of_the_dead_are_removed_those_of_the_living_stay(tmp_path: Path) -> None:
    dead, living, young = (partial_name(tmp_path / name) for name in ('dead', 'living', 'young'))
    for folder in (dead, living, young):
        folder.mkdir()
        (folder / 'content').write_text('x')
    other = tmp_path / '.somebody.partial'
    other.touch()
    for path in (dead, living, other):
        age(path)
    with held(living):
        assert leftovers(tmp_path) == [dead]
        write_text(tmp_path / 'new.txt', 'x')
        assert sorted(tmp_path.iterdir()) == sorted([living, young, other, tmp_path / 'new.txt'])
    write_text(tmp_path / 'new.txt', 'y')
    assert not living.exists() and young.exists()


WRITER = """
import sys
from pathlib import Path
from veh_identification.runtime import messages
from veh_identification.runtime.bags import BagWriter
with BagWriter(sys.argv[1], live=sys.argv[2] == 'live') as bag:
    for second in range(10):
        for k in range(50):
            stamp = 1_700_000_000_000_000_000 + second * 10**9 + k * 20_000_000
            imu = messages.new('sensor_msgs/msg/Imu', header=(stamp, 'imu'),
                               angular_velocity=(second, k, 0.0))
            bag.write_message('imu/data', imu)
    print('written', flush=True)
    sys.stdin.read()
"""


@pytest.mark.parametrize('kind', ['live', 'other'])
def test_killed_while_it_writes(tmp_path: Path, kind: str) -> None:
    """A live recording is there up to its last second; what can be made again leaves nothing."""
    target = tmp_path / 'bag'
    child = subprocess.Popen(
        [sys.executable, '-c', WRITER, str(target), kind],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert child.stdout is not None and child.stdin is not None
    assert child.stdout.readline() == 'written\n'
    child.send_signal(signal.SIGKILL)
    child.wait()
    child.stdout.close()
    child.stdin.close()
    (left,) = tmp_path.iterdir()
    age(left)
    with BagWriter(target, live=kind == 'live') as bag:
        bag.add_topic('imu/data', 'sensor_msgs/msg/Imu')
    assert not left.exists()
    if kind == 'other':
        assert list(tmp_path.iterdir()) == [target]
        return
    assert bag.recovered == [tmp_path / 'bag.cut_off']
    with BagReader(tmp_path / 'bag.cut_off', on_error='skip') as reader:
        stamps = [one.time_ns for one in reader.messages()]
    assert len(stamps) >= 450 and stamps[0] == 1_700_000_000 * 10**9
    assert stamps == sorted(stamps)


@pytest.mark.parametrize('exchange', [True, False])
def test_a_replaced_folder_is_whole_at_every_look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, exchange: bool
) -> None:
    target, stop, missing, looks = tmp_path / 'out', threading.Event(), [0], [0]
    if exchange and atomic._renameat2() is None:
        pytest.skip('the system cannot exchange names')
    if not exchange:
        monkeypatch.setattr(atomic, '_renameat2', lambda: None)

    def fill(k: int) -> None:
        with atomic_folder(target, overwrite=True) as partial:
            (partial / 'parameters.json').write_text(str(k))

    def look() -> None:
        while not stop.is_set():
            looks[0] += 1
            missing[0] += not target.is_dir()

    fill(0)
    watcher = threading.Thread(target=look)
    watcher.start()
    for k in range(1, 60):
        fill(k)
    stop.set()
    watcher.join()
    assert (target / 'parameters.json').read_text() == '59'
    assert list(tmp_path.iterdir()) == [target]
    if exchange:
        assert missing[0] == 0 and looks[0] > 100


def test_everything_is_on_the_disk_before_it_gets_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[str] = []
    real = os.fsync

    def watch(number: int) -> None:
        synced.append(str(Path(f'/proc/self/fd/{number}').readlink()))
        real(number)

    monkeypatch.setattr(os, 'fsync', watch)
    with atomic_folder(tmp_path / 'out') as partial:
        (partial / 'sub').mkdir()
        (partial / 'sub' / 'a').write_text('x')
        assert synced == []
    names = [Path(one).name for one in synced]
    assert names == ['a', 'sub', partial.name, tmp_path.name]
    synced.clear()
    write_text(tmp_path / 'b.txt', 'x')
    assert [Path(one).name for one in synced][-1] == tmp_path.name and len(synced) == 2


def test_nothing_is_replaced_that_appeared_meanwhile(tmp_path: Path) -> None:
    with (
        pytest.raises(OutputError, match='appeared while'),
        atomic_file(tmp_path / 'a', overwrite=False) as partial,
    ):
        partial.write_text('mine')
        (tmp_path / 'a').write_text('theirs')
    assert (tmp_path / 'a').read_text() == 'theirs'
    assert len(list(tmp_path.iterdir())) == 1


@pytest.fixture
def small_files():
    """A quota: no file of this process may grow beyond 64 kB."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (65536, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)
    signal.signal(signal.SIGXFSZ, handler)


def test_quota(tmp_path: Path, small_files: None) -> None:
    write_text(tmp_path / 'a.txt', 'old')
    with pytest.raises(OutputError, match=r'a\.txt cannot be written: File too large\.'):
        write_text(tmp_path / 'a.txt', 'x' * 200_000)
    assert (tmp_path / 'a.txt').read_text() == 'old'
    for storage in ('mcap', 'sqlite3'):
        with (
            pytest.raises(BagError, match='cannot be written'),
            BagWriter(tmp_path / 'bag', storage=storage) as bag,
        ):
            for k in range(200):
                bag.write('a', 'std_msgs/msg/String', bytes(1000), k)
    assert [one.name for one in tmp_path.iterdir()] == ['a.txt']


@pytest.mark.parametrize('name', ['x' * 5000, 'a\0b', 'y' * 250])
def test_names_that_cannot_be(tmp_path: Path, name: str) -> None:
    def write() -> None:
        with atomic_folder(tmp_path / name):
            pass

    def record() -> None:
        with BagWriter(tmp_path / name[::-1].upper()):
            pass

    for work in (write, record):
        if len(name) == 250:
            work()  # the temporary name is not longer than the system allows
        else:
            with pytest.raises(
                (OutputError, BagError), match=r'cannot be written|not a name'
            ) as e:
                work()
            assert len(str(e.value)) < 800


def test_read_only_target(tmp_path: Path) -> None:
    """A folder of the system where nobody may write, root included."""
    for place in (Path('/proc/veh_id'), Path('/sys/veh_id')):
        if not place.parent.is_dir():
            continue
        with pytest.raises(OutputError, match='cannot be written'):
            write_text(place / 'a.txt', '')
        with pytest.raises(BagError, match='cannot be written'):
            BagWriter(place / 'bag').__enter__()
