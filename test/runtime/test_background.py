"""Work beside a node: done once, its result taken once, its failure told."""

from __future__ import annotations

import threading

import pytest

from veh_identification.runtime.background import Background


def test_under_replay_the_result_is_there_at_once() -> None:
    work = Background[int](beside=False)
    assert work.take() is None
    work.start(lambda: 3)
    assert work.take() == 3
    assert work.take() is None


def test_beside_a_node_it_is_there_when_it_is_done_and_other_work_waits() -> None:
    go_on = threading.Event()
    work = Background[str](beside=True)

    def slow() -> str:
        assert go_on.wait(30.0)
        return threading.current_thread().name

    work.start(slow)
    work.start(lambda: 'too early')
    assert work.busy
    assert work.take() is None
    go_on.set()
    found = work.take(wait=True)
    assert found is not None
    assert found != threading.current_thread().name
    assert found != 'too early'


@pytest.mark.parametrize('beside', [False, True])
def test_what_it_raises_reaches_the_node(beside: bool) -> None:
    work = Background[int](beside)

    def fail() -> int:
        raise ArithmeticError('no')

    with pytest.raises(ArithmeticError):
        work.start(fail)
        work.take(wait=True)
    assert work.take() is None
