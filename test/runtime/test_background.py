"""Work beside a node: done once, its result taken once, its failure told."""

from __future__ import annotations

import threading

import pytest

from veh_identification.runtime.background import Background, give_way


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


def test_it_gives_way_to_a_node_that_is_at_work_and_hurries_when_somebody_waits() -> None:
    busy, began, done = threading.Event(), threading.Event(), threading.Event()
    busy.set()
    work = Background[int](beside=True, busy=busy.is_set)

    def polite() -> int:
        began.set()
        give_way()
        done.set()
        return 5

    work.start(polite)
    assert began.wait(30.0)
    assert not done.wait(0.05)
    busy.clear()
    assert done.wait(30.0)
    assert work.take(wait=True) == 5
    busy.set()
    work.start(polite)
    assert work.take(wait=True) == 5  # whoever waits is at work: they would wait for each other
    done.clear()
    work.start(polite)
    assert not done.wait(0.05) and work.take() is None
    assert done.wait(30.0)  # beside a node that is always at work it would never end
    give_way()  # elsewhere nobody is waited for
