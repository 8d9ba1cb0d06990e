"""Whatever somebody names as a file: a sentence at once, where it is none."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from veh_identification.configuration.reading import read
from veh_identification.errors import VehIdError
from veh_identification.files import read_json
from veh_identification.multibody.mdh import load_mdh
from veh_identification.multibody.urdf import load_urdf
from veh_identification.runtime.bags import BagReader
from veh_identification.runtime.csv_files import read_csv_columns
from veh_identification.saved_state import read_state
from veh_identification.systems.humanoid.laboratory.c3d import read_c3d
from veh_identification.systems.humanoid.laboratory.storage import read_table
from veh_identification.systems.humanoid.robot import load_robot


def open_bag(path: Path) -> None:
    """A recording."""
    with BagReader(path):
        pass


#: Every reader of files that a user names.
READERS = (
    *(open_bag, read, read_json, read_state, load_urdf, load_robot, load_mdh),
    *(read_csv_columns, read_table, read_c3d),
)


@pytest.fixture
def patience() -> Iterator[None]:
    """A reader that waits for a writer never ends."""

    def late(*_: object) -> None:
        pytest.fail('waits for ever')

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(20)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize('call', READERS, ids=lambda one: one.__name__)
def test_what_is_no_file(call: Callable[[Path], Any], tmp_path: Path, patience: None) -> None:
    os.mkfifo(tmp_path / 'pipe')
    loop = tmp_path / 'loop'
    loop.symlink_to(loop)
    places = ['pipe', 'x' * 5000, 'a\0b', 'none', 'loop', '.']
    for place in [*(tmp_path / one for one in places), Path('/dev/zero')]:
        with pytest.raises(VehIdError) as caught:
            call(place)
        text = str(caught.value)
        assert '\n' not in text and len(text) < 900 + len(str(tmp_path)), text
