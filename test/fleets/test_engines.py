"""The same results wherever the work is done, and when workers die."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import fleet_workers
import numpy as np
import pytest

from veh_identification import engines
from veh_identification.errors import UsageError
from veh_identification.fleets.reduction import Job, Reduction
from veh_identification.fleets.run import given_up


def jobs(count: int, system: str = 'car') -> list[Job]:
    return [Job(str(index), system) for index in range(count)]


def check(found: dict[int, Reduction], count: int, without: Sequence[int] = ()) -> None:
    assert sorted(found) == list(range(count))
    for index, one in found.items():
        if index not in without:
            assert one.headline == str(index)
            expected = np.random.default_rng(index).standard_normal(3)
            np.testing.assert_array_equal(one.value, expected)


def test_processes_give_the_same_as_this_one() -> None:
    check(dict(engines.in_this_process(fleet_workers.number, jobs(9))), 9)
    found = dict(engines.in_processes(fleet_workers.number, jobs(9), workers=2))
    check(found, 9)
    assert os.getpid() not in {one.samples for one in found.values()}
    assert os.environ.get('MKL_NUM_THREADS') is None  # set for the new processes alone


def test_studies_come_back_in_order_and_lack_nothing() -> None:
    found = engines.study(fleet_workers.surroundings, range(7))
    assert [job for job, *_ in found] == list(range(7))
    with pytest.raises(UsageError, match='--workers -1'):
        engines.study(fleet_workers.surroundings, range(7), workers=-1)


def test_study_whose_job_ends_its_processes_ends_with_a_sentence() -> None:
    with pytest.raises(engines.EngineError, match='3 worker processes ended at Job'):
        dict(
            engines.in_processes(
                fleet_workers.ends_always, jobs(2), workers=1, given_up=engines.study_given_up
            )
        )


def test_dask_workers_keep_their_memory() -> None:
    """Dask's own thresholds of the allocator cost a third of the time of a recording."""
    pytest.importorskip('distributed', reason='dask.distributed is not installed')
    found = engines.study(fleet_workers.surroundings, range(3), workers=2)
    assert found == [(job, str(32 * 2**20), '1') for job in range(3)]


def test_worker_that_is_killed_once(tmp_path: Path) -> None:
    work = jobs(6, str(tmp_path / 'mark'))
    check(dict(engines.in_processes(fleet_workers.ends_once, work, workers=2)), 6)
    assert (tmp_path / 'mark').exists()


def test_recording_that_kills_every_worker_is_given_up_alone() -> None:
    found = dict(
        engines.in_processes(fleet_workers.ends_always, jobs(5), workers=2, given_up=given_up)
    )
    check(found, 5, without=[1])
    assert '3 worker processes ended' in found[1].error
    assert not found[1].kept  # another run tries again


def test_dask_workers_and_one_that_is_killed(tmp_path: Path) -> None:
    pytest.importorskip('distributed', reason='dask.distributed is not installed')
    work = jobs(8, str(tmp_path / 'mark'))
    found = dict(engines.on_cluster(fleet_workers.ends_once, work, workers=2))
    check(found, 8)
    assert (tmp_path / 'mark').exists()
    assert os.getpid() not in {one.samples for one in found.values()}


def test_dask_gives_up_what_kills_every_worker_and_nothing_else() -> None:
    pytest.importorskip('distributed', reason='dask.distributed is not installed')
    found = dict(
        engines.on_cluster(fleet_workers.ends_always, jobs(5), workers=2, given_up=given_up)
    )
    check(found, 5, without=[1])
    assert '3 worker processes ended' in found[1].error


def test_scheduler_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip('distributed', reason='dask.distributed is not installed')
    monkeypatch.setattr(engines, 'PATIENCE', 0.5)
    with pytest.raises(engines.EngineError, match=r'no Dask scheduler answers at tcp://127\.0'):
        list(engines.on_cluster(fleet_workers.number, jobs(1), address='tcp://127.0.0.1:9'))


def test_choice_of_the_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    assert engines.engine(1) is engines.in_this_process
    monkeypatch.setattr(engines, 'has_dask', lambda: False)
    assert engines.engine(3).func is engines.in_processes  # type: ignore[attr-defined]
    monkeypatch.setattr(engines, 'has_dask', lambda: True)
    assert engines.engine(3).func is engines.on_cluster  # type: ignore[attr-defined]
    monkeypatch.setattr(engines, 'cores', lambda: 1)
    assert engines.engine(0) is engines.in_this_process
    monkeypatch.setitem(__import__('sys').modules, 'distributed', None)
    with pytest.raises(UsageError, match='pip install'):
        list(engines.engine(1, 'tcp://127.0.0.1:9')(fleet_workers.number, jobs(1)))
