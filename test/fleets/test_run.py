"""Batches over recordings of two simulated arms and a file that is none."""

from __future__ import annotations

import csv
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import veh_identification as vid
from veh_identification.cli.main import main
from veh_identification.errors import UsageError
from veh_identification.fleets import run as batch_run
from veh_identification.fleets.fleet import Fleet
from veh_identification.results.comparison import load

URDF = Path(__file__).parents[2] / 'config' / 'models' / 'arm_6_axis.urdf'


@pytest.fixture(scope='module')
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp('batch') / 'out'


@pytest.fixture(scope='module')
def fleet(arms: Path, out: Path) -> Fleet:
    return vid.batch('robot', arms, out=out, urdf=URDF)


def test_recordings_are_what_identify_says_of_them(fleet: Fleet, arms: Path) -> None:
    assert [one.machine for one in fleet.entries] == ['arm_00'] * 3 + ['arm_01'] * 2
    (bad,) = fleet.refused
    assert bad.address.endswith('noise.mcap')
    assert 'is not a recording' in bad.reduction.error
    alone = vid.identify('robot', arms / 'arm_01' / 'week_001', urdf=URDF)
    found = fleet.entries[-1].reduction
    assert list(found.names) == alone.result.names
    np.testing.assert_allclose(found.value, alone.result.value, rtol=1e-9)
    # In deviations: an entry between two that have nothing to do with each other is rounding.
    std = np.sqrt(np.diag(alone.result.covariance))
    apart = (found.covariance - alone.result.covariance) / np.outer(std, std)
    assert np.abs(apart).max() < 1e-9
    assert found.verdict == alone.verdict.level
    assert found.findings == alone.findings
    assert fleet.entries[-1].date == '2023-11-21T22:13:20Z'


def test_machine_is_near_its_truth_and_better_than_one_recording(fleet: Fleet, arms: Path) -> None:
    """The truth is that of the simulation; friction is no sum of other parameters."""
    truth = json.loads((arms / 'arm_01' / 'week_000' / 'truth.json').read_text())['parameters']
    machine, single = fleet.machine('arm_01'), fleet.entries[-1].reduction
    places = [k for k, name in enumerate(machine.names) if name.endswith(('.h', '.fs'))]
    assert len(places) == 12
    error = np.array([machine.value[k] - truth[machine.names[k]] for k in places])
    assert np.sqrt(np.mean((error / machine.std[places]) ** 2)) < 2.0
    assert np.all(machine.std < single.std)
    assert machine.recordings == 2


def test_second_run_reduces_only_what_is_new(
    fleet: Fleet, arms: Path, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reduced: list[str] = []
    real = batch_run.reduce_job

    def counting(job: Any) -> Any:
        reduced.append(Path(job.address).name)
        return real(job)

    monkeypatch.setattr(batch_run, 'reduce_job', counting)
    again = vid.batch('robot', arms, out=out, urdf=URDF)
    assert reduced == []
    assert all(one.stored for one in again.entries)
    for a, b in zip(fleet.entries, again.entries, strict=True):
        np.testing.assert_array_equal(a.reduction.value, b.reduction.value)
        np.testing.assert_array_equal(a.reduction.covariance, b.reduction.covariance)
    np.testing.assert_array_equal(fleet.machine('arm_00').value, again.machine('arm_00').value)
    vid.batch('robot', [arms / 'arm_01'], store=out / 'reduced', urdf=URDF, cutoff_hz=8.0)
    assert sorted(reduced) == ['week_000', 'week_001']  # another option, another reduction


def test_tables_hold_everything(fleet: Fleet, out: Path) -> None:
    rows = list(csv.DictReader((out / 'parameters.csv').open()))
    used = [one.reduction for one in fleet.entries if not one.reduction.error]
    assert len(rows) == sum(len(one.names) for one in used) + 1
    last = rows[-1]
    assert (last['machine'], last['date']) == ('arm_01', '2023-11-21T22:13:20Z')
    assert float(last['value']) == used[-1].value[-1]
    assert float(last['std']) == used[-1].std[-1]
    assert 'warn parameters_weak' in last['findings']
    (refused,) = [row for row in rows if row['error']]
    assert (refused['parameter'], refused['value'], refused['used']) == ('', '', 'no')
    summary = json.loads((out / 'batch.json').read_text())
    assert [one['name'] for one in summary['machines']] == ['arm_00', 'arm_01']


def test_parquet_and_dataframe_hold_the_same(fleet: Fleet, out: Path) -> None:
    pandas = pytest.importorskip('pandas', reason='pandas is not installed')
    pytest.importorskip('pyarrow', reason='pyarrow is not installed')
    stored, table = pandas.read_parquet(out / 'parameters.parquet'), fleet.to_dataframe()
    assert list(stored.columns) == list(table.columns)
    assert len(stored) == len(table)
    np.testing.assert_array_equal(stored['value'], table['value'])
    assert stored['used'].tolist() == table['used'].tolist()
    table = table[table['parameter'] == 'joint_1.h']
    assert table.groupby('machine')['value'].count().to_dict() == {'arm_00': 2, 'arm_01': 2}


def test_without_optional_libraries(
    fleet: Fleet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from veh_identification.fleets.output import save

    for name in ('pandas', 'pyarrow'):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(UsageError, match='to_dataframe needs pandas'):
        fleet.to_dataframe()
    assert any('pyarrow is not installed' in line for line in save(fleet, tmp_path / 'x'))
    assert (tmp_path / 'x' / 'parameters.csv').is_file()


def test_machines_that_are_gone_leave_no_result(fleet: Fleet, tmp_path: Path) -> None:
    from veh_identification.fleets.output import save

    save(fleet, tmp_path)
    save(replace(fleet, entries=fleet.entries[-2:]), tmp_path)
    assert [one.name for one in (tmp_path / 'machines').iterdir()] == ['arm_01']


def test_machines_can_be_compared(fleet: Fleet, out: Path) -> None:
    stored = load(out / 'machines' / 'arm_01')
    machine = fleet.machine('arm_01')
    assert stored.correlated
    np.testing.assert_allclose(stored.covariance, machine.covariance, rtol=1e-12)
    folders = [str(out / 'machines' / name) for name in ('arm_00', 'arm_01')]
    assert main(['compare', *folders, '--strict']) == 3


def test_command_line(
    arms: Path, out: Path, fleet: Fleet, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ['batch', 'robot', str(arms), '--urdf', str(URDF), '--out', str(out), '--strict']
    assert main(words) == 0
    text = capsys.readouterr().out
    assert '5 recordings of 2 machines' in text
    assert '1 unusable; 5 of them known from an earlier run' in text
    assert 'noise.mcap is not a recording' in text


def test_what_is_wrong_with_the_call(
    arms: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / 'full').mkdir()
    (tmp_path / 'full' / 'thesis.tex').write_text('years of work')
    calls = {
        ('--out', str(tmp_path / 'full')): (1, 'other content'),
        ('--out', str(tmp_path / 'a'), '--workers', '-1'): (2, 'expected 0 (all cores) or more'),
        ('--out', str(tmp_path / 'a'), '--level', '2'): (2, 'expected a probability'),
        ('--out', str(tmp_path / 'a'), '--machine-from', 'x'): (2, 'expected folder'),
        ('--out', str(tmp_path / 'a')): (2, '--urdf FILE'),  # the same for every recording
    }
    for words, (status, told) in calls.items():
        assert main(['batch', 'robot', str(arms / 'arm_01'), *words]) == status
        assert told in capsys.readouterr().err
