"""A recording that cannot be written: one sentence, and nothing half-written is left."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from bag_samples import imu, write_sample

from veh_identification.errors import BagError
from veh_identification.runtime.bags import BagReader, BagWriter
from veh_identification.runtime.bags import writer as bag_writer
from veh_identification.runtime.bags.mcap import writer as writer_module


@pytest.mark.parametrize('storage', ['mcap', 'sqlite3'])
def test_exception_leaves_nothing(tmp_path: Path, storage: str):
    with pytest.raises(RuntimeError), BagWriter(tmp_path / 'bag', storage=storage) as bag:
        bag.write_message('imu/data', imu(0))
        raise RuntimeError('stop')
    assert list(tmp_path.iterdir()) == []


def test_failed_overwrite_keeps_the_old(tmp_path: Path):
    path = write_sample(tmp_path / 'bag')
    with pytest.raises(RuntimeError), BagWriter(path, overwrite=True) as bag:
        bag.write_message('imu/data', imu(0))
        raise RuntimeError('stop')
    with BagReader(path) as bag:
        assert sum(1 for _ in bag.messages()) == 251
    assert [entry.name for entry in tmp_path.iterdir()] == ['bag']


def test_unwritable_output(tmp_path: Path):
    (tmp_path / 'file').write_text('in the way')
    with pytest.raises(BagError, match=r'cannot be written: .*is not a folder'):
        write_sample(tmp_path / 'file' / 'bag')
    assert (tmp_path / 'file').read_text() == 'in the way'


@pytest.mark.skipif(os.geteuid() == 0, reason='root may write everywhere')
def test_folder_without_permission(tmp_path: Path):
    folder = tmp_path / 'locked'
    folder.mkdir(mode=0o500)
    with pytest.raises(BagError, match='Permission denied'):
        write_sample(folder / 'bag')


def test_disk_full_while_writing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def full(self: object, data: bytes) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with (
        pytest.raises(BagError, match='cannot be written: No space left'),
        BagWriter(tmp_path / 'bag') as bag,
    ):
        bag.write_message('imu/data', imu(0))
        monkeypatch.setattr(writer_module.McapStorage, '_put', full)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not Path('/dev/full').exists(), reason='needs /dev/full')
def test_disk_full_as_the_kernel_reports_it(tmp_path: Path):
    with (
        pytest.raises(BagError, match='cannot be written: No space left'),
        BagWriter(tmp_path / 'bag') as bag,
    ):
        bag.write_message('imu/data', imu(0))
        storage = bag._open_writer().storage
        storage.file.close()
        storage.file = Path('/dev/full').open('wb')  # noqa: SIM115
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def tiny_disk(tmp_path: Path):
    folder = tmp_path / 'disk'
    folder.mkdir()
    if shutil.which('mount') is None:
        pytest.skip('needs mount')
    command = ['mount', '-t', 'tmpfs', '-o', 'size=128k', 'tmpfs', str(folder)]
    if subprocess.run(command, capture_output=True, check=False).returncode != 0:
        pytest.skip('needs the right to mount a tmpfs')
    yield folder
    subprocess.run(['umount', str(folder)], check=True)


@pytest.mark.parametrize('storage', ['mcap', 'sqlite3'])
def test_really_full_disk(tiny_disk: Path, storage: str):
    with pytest.raises(BagError, match=r'cannot be written: .*(No space left|full)'):
        write_sample(tiny_disk / 'bag', count=2000, storage=storage)
    assert list(tiny_disk.iterdir()) == []


def test_a_signal_while_a_recording_is_opened_leaves_nothing(tmp_path, monkeypatch) -> None:
    def interrupted(self) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(bag_writer.Rosbag2Writer, 'open', interrupted)
    with pytest.raises(KeyboardInterrupt), BagWriter(tmp_path / 'bag'):
        pass
    assert not list(tmp_path.iterdir())
