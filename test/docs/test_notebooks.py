"""The notebooks of examples/ run from top to bottom, and their figures are true."""

from __future__ import annotations

import ast
import json
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / 'examples').glob('*.ipynb'))


def cells(path: Path) -> list[str]:
    """The code of a notebook."""
    document = json.loads(path.read_text(encoding='utf-8'))
    assert (document['nbformat'], document['nbformat_minor']) == (4, 5)
    code = [one for one in document['cells'] if one['cell_type'] == 'code']
    for one in code:  # what a run adds says nothing about this version
        assert one['outputs'] == []
        assert one['execution_count'] is None
    return [''.join(one['source']) for one in code]


def run(path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """All cells in one namespace, in a folder that has the shipped configurations."""
    (folder / 'config').symlink_to(ROOT / 'config')
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, 'argv', ['notebook'])
    known: dict[str, Any] = {'__name__': '__main__'}
    for number, text in enumerate(cells(path)):
        exec(compile(text, f'{path.name}[{number}]', 'exec'), known)
    return known


@pytest.mark.parametrize('path', NOTEBOOKS, ids=lambda path: path.stem)
def test_cells_are_plain_python_without_outputs(path: Path) -> None:
    for text in cells(path):
        ast.parse(text)


def test_car(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known = run(ROOT / 'examples' / 'car.ipynb', tmp_path, monkeypatch)
    assert known['outcome'].verdict.level != 'no'
    assert max(abs(off) for off in known['sigmas'].values()) < 4.0
    assert (tmp_path / 'car_results' / 'report.html').is_file()


def test_arm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known = run(ROOT / 'examples' / 'arm.ipynb', tmp_path, monkeypatch)
    assert known['outcome'].verdict.level != 'no'
    assert max(abs(off) for off in known['sigmas'].values()) < 4.0
    assert not known['comparison'].different
    assert (tmp_path / 'compared.html').is_file()


def test_observer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known = run(ROOT / 'examples' / 'observer.ipynb', tmp_path, monkeypatch)
    assert known['run'].verdict.level != 'no'
    for name in ('x', 'y', 'yaw'):
        assert known['errors'][name]['rms_obs'] < known['errors'][name]['rms_model']
    assert (tmp_path / 'observer_results' / 'metrics.json').is_file()
