"""The Python API: names, lazy imports and errors; docs/python_api.md runs the steps themselves."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import veh_identification as vid
from veh_identification import api
from veh_identification.errors import BagError, UsageError

DOCUMENT = Path(__file__).parents[2] / 'docs' / 'python_api.md'


def test_every_name_exists_and_is_explained() -> None:
    assert dir(api) == sorted(api.__all__)
    for name in api.__all__:
        assert getattr(api, name).__doc__, name
        assert getattr(vid, name) is getattr(api, name), f'vid.{name}'


def test_every_name_is_shown_in_the_document() -> None:
    shown = set(re.findall(r'\bvid\.([A-Za-z_]+)', DOCUMENT.read_text('utf-8')))
    assert shown == set(api.__all__) - {'Finding', 'Outcome', 'Verdict'}  # nobody makes these


def test_unknown_names_are_attribute_errors() -> None:
    with pytest.raises(AttributeError, match='no_such_step'):
        _ = api.no_such_step


def test_import_loads_no_system() -> None:
    """A script that uses one system must not wait for the others."""
    code = (
        'import sys; import veh_identification.api; '
        'print([m for m in ("numba", "scipy", "rosbags", "veh_identification.systems") '
        'if m in sys.modules])'
    )
    done = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == '[]'


def test_wrong_words_are_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match='no_such_car'):
        vid.configure('car', 'no_such_car')
    with pytest.raises(BagError, match='nothing_here'):
        vid.read('car', tmp_path / 'nothing_here', 'car_peugeot_406')
    with pytest.raises(UsageError, match='at least one recording'):
        vid.identify('humanoid', [], urdf='robot.urdf')
    with pytest.raises(UsageError, match='dof'):
        vid.identify('car', ['run'], config='car_peugeot_406', dof=7)
    with pytest.raises(UsageError, match="did you mean 'vehicle'"):
        vid.observe('vehicl', 'run')
