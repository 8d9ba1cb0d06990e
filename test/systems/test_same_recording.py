"""A recording counts once, whatever its copies are called."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from veh_identification.errors import UsageError
from veh_identification.simulation.scenarios import simulate
from veh_identification.systems.driver import run
from veh_identification.systems.same import same_recording


@pytest.fixture(scope='module')
def bags(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Path]:
    folder = tmp_path_factory.mktemp('same')
    one, copy, other = folder / 'one', folder / 'copy', folder / 'other'
    simulate('hexapod-periodic', one, duration=7.5, seed=1)
    simulate('hexapod-periodic', other, duration=7.5, seed=2)
    shutil.copytree(one, copy)
    return one, copy, other


def test_a_recording_that_is_given_twice_is_refused(bags: tuple[Path, Path, Path]) -> None:
    one, copy, other = bags
    assert (
        same_recording(one, copy)
        and same_recording(str(one), one)
        and not same_recording(one, other)
    )
    assert not same_recording(one, None) and not same_recording(one, one.parent / 'nothing')
    for again in (one, copy):
        with pytest.raises(UsageError, match='are the same recording: give each once'):
            run('identify', 'parallel', [one, again])


def test_a_recording_does_not_validate_itself(bags: tuple[Path, Path, Path]) -> None:
    one, copy, other = bags
    told = {f.code for f in run('identify', 'parallel', [one], validate=copy).findings}
    assert 'not_validated' in told and 'validation_fit' not in told
    told = {f.code for f in run('identify', 'parallel', [one], validate=other).findings}
    assert 'validation_fit' in told and 'not_validated' not in told
