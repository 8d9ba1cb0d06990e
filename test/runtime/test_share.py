from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from veh_identification.errors import InputError
from veh_identification.runtime import share

LOOK_UPS = ('_from_source_tree', '_from_ament_index', '_from_pip')


@pytest.fixture(autouse=True)
def fresh():
    share.share_directory.cache_clear()
    yield
    share.share_directory.cache_clear()


def fake_share(folder: Path) -> Path:
    (folder / 'msg').mkdir(parents=True)
    (folder / 'msg' / 'FusedState.msg').touch()
    return folder


def test_source_tree_comes_first():
    folder = share.share_directory()
    assert (folder / 'msg' / 'FusedState.msg').is_file()
    assert folder == Path(share.__file__).resolve().parents[2]


def test_ament_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    folder = fake_share(tmp_path / 'share' / 'veh_identification')
    packages = SimpleNamespace(get_package_share_directory=lambda name: str(folder))
    monkeypatch.setitem(sys.modules, 'ament_index_python', SimpleNamespace(packages=packages))
    monkeypatch.setitem(sys.modules, 'ament_index_python.packages', packages)
    monkeypatch.setattr(share, '_from_source_tree', lambda: None)
    assert share.share_directory() == folder


def test_prefix_of_pip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    folder = fake_share(tmp_path / 'share' / 'veh_identification')
    monkeypatch.setattr(sys, 'prefix', str(tmp_path))
    monkeypatch.setattr(share, '_from_source_tree', lambda: None)
    monkeypatch.setattr(share, '_from_ament_index', lambda: None)
    monkeypatch.setattr(share.metadata, 'files', lambda name: [])
    assert share.share_directory() == folder


def test_nowhere(monkeypatch: pytest.MonkeyPatch):
    for look_up in LOOK_UPS:
        monkeypatch.setattr(share, look_up, lambda: None)
    with pytest.raises(InputError, match='install the package again'):
        share.share_directory()
