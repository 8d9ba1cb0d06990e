"""Comparisons of results of simulated arms: residuals on each other's data, the page's content."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import veh_identification as vid
from veh_identification.cli.main import main
from veh_identification.fleets.compared import Compared, compared, page_content

URDF = Path(__file__).parents[2] / 'config' / 'models' / 'arm_6_axis.urdf'


def identified(recording: Path, out: Path) -> Path:
    vid.identify('robot', recording, urdf=URDF).save(out, report=False)
    return out


@pytest.fixture(scope='module')
def results(arms: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Recordings of two arms; somebody changed a value of the second by hand."""
    out = tmp_path_factory.mktemp('results')
    made = [identified(arms / name / 'week_000', out / name) for name in ('arm_00', 'arm_01')]
    document = json.loads((made[1] / 'parameters.json').read_text())
    document['parameters'][0]['value'] += document['parameters'][0]['std']
    (made[1] / 'parameters.json').write_text(json.dumps(document))
    return made


@pytest.fixture(scope='module')
def found(results: list[Path]) -> Compared:
    return compared(results, residuals=True)


def test_residuals_tell_another_machine(found: Compared, results: list[Path]) -> None:
    (other,) = found.crossings or ()
    assert len(other.ways) == 2
    for way in other.ways:  # another arm has other inertias and friction
        assert way.worst[1] > 5.0
    (told,) = {one.text for one in other.findings}
    assert f'{results[1]} made again gives other values (up to 1 sigma)' in told


def test_residuals_of_the_same_machine_are_like_its_own(
    results: list[Path], arms: Path, tmp_path: Path
) -> None:
    """And a way is the model of the one on the data of the other, not the reverse."""
    week = arms / 'arm_00' / 'week_001'
    pair = [results[0], identified(week, tmp_path / 'week_001')]
    (same,) = compared(pair, residuals=True).crossings or ()
    assert not same.findings
    for way in same.ways:
        assert 0.9 < way.worst[1] < 2.5
    assert (same.ways[0].model, same.ways[0].data) == (str(pair[0]), str(pair[1]))
    validation = vid.identify(
        'robot', arms / 'arm_00' / 'week_000', urdf=URDF, validate=week
    ).result.validation
    assert validation is not None
    found = [one.rms for one in same.ways[0].fits.values()]
    np.testing.assert_allclose(found, validation.rms, rtol=1e-9)


def test_what_the_page_shows(found: Compared, results: list[Path]) -> None:
    content = page_content(found, results[0].parent)
    assert [one.label for one in content.results] == [one.name for one in results]
    assert [one.recorded[:10] for one in content.results] == [
        '2023-11-14',
        '2023-11-14',
    ]
    assert [pair.different for pair in content.pairs] == [True]
    trend = {one.parameter: one for one in content.trend}['joint_3.h']
    assert trend.value.shape == (2,)
    assert np.isfinite(trend.std).all()


def test_lost_recordings_and_old_results_are_said(
    results: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A recording that is gone, and a result of an older version."""
    lost, old = tmp_path / 'lost', tmp_path / 'old'
    for copy in (lost, old):
        shutil.copytree(results[0], copy)
    document = json.loads((lost / 'parameters.json').read_text())
    document['provenance']['arguments']['bag'] = ['nowhere/week_000']
    (lost / 'parameters.json').write_text(json.dumps(document))
    del document['provenance']['arguments']
    (old / 'parameters.json').write_text(json.dumps(document))
    assert main(['compare', str(lost), str(old), '--residuals']) == 0
    told = capsys.readouterr().out
    assert f'nowhere/week_000 of {lost} is not there any more' in told
    assert f'{old} does not say how it was made' in told
