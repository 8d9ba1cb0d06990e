"""A few recordings of simulated arms."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


# New processes find `fleet_workers` and the recordings of the benchmark by their names.
sys.path[:0] = [str(Path(__file__).parent), str(ROOT / 'bench')]


@pytest.fixture(scope='session')
def arms(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two arms, two recordings each and a file that is none."""
    from batch_recordings import write_arms

    folder = tmp_path_factory.mktemp('arms')
    write_arms(folder, 2, 2, seconds=5.0)
    (folder / 'arm_00' / 'noise.mcap').write_bytes(b'this is no recording')
    return folder


@pytest.fixture(scope='session')
def browser() -> Iterator[Any]:
    """One for all pages."""
    from fleet_browser import started

    yield from started()
