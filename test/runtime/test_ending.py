"""How a live node notices its end: signals, and silence of all input."""

from __future__ import annotations

import signal

import pytest

from veh_identification.runtime.silence import Silence
from veh_identification.runtime.stopping import SIGNALS, StopRequest


@pytest.fixture(autouse=True)
def signals_as_before():
    before = {number: signal.getsignal(number) for number in SIGNALS}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize('number', SIGNALS)
def test_a_signal_asks_and_interrupts_nothing(number) -> None:
    with StopRequest() as stop:
        assert not stop.asked
        for _ in range(3):  # a second Ctrl-C does not break the end
            signal.raise_signal(number)
        assert stop.asked
    for number in SIGNALS:
        signal.raise_signal(number)  # nor does one while the process ends


def test_handlers_are_put_back_where_nobody_asked_to_stop() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with StopRequest():
        assert signal.getsignal(signal.SIGTERM) is not before
    assert signal.getsignal(signal.SIGTERM) is before


@pytest.mark.parametrize('number', SIGNALS)
def test_a_signal_breaks_off_what_is_being_made(number) -> None:
    with StopRequest() as stop:
        with pytest.raises(KeyboardInterrupt), stop.interrupting():
            signal.raise_signal(number)
        assert stop.asked
        signal.raise_signal(number)
        with pytest.raises(KeyboardInterrupt), stop.interrupting():
            raise AssertionError('nothing is made after a signal')


class Watched:
    """Silence over a clock that tests set."""

    def __init__(self) -> None:
        self.now = 0.0
        self.ends = 0
        self.silence = Silence(self.end, seconds=3.0, monotonic=lambda: self.now)

    def end(self) -> None:
        self.ends += 1

    def at(self, now: float, messages: int) -> int:
        self.now = now
        self.silence.heard(messages)
        return self.ends


def test_the_end_of_the_input_is_told_once() -> None:
    watched = Watched()
    assert watched.at(100.0, 0) == 0  # nothing came yet: nothing has ended
    assert watched.at(101.0, 5) == 0
    assert watched.at(103.9, 0) == 0
    assert watched.at(104.1, 0) == 1
    assert watched.at(200.0, 0) == 1


def test_input_that_goes_on_may_end_again() -> None:
    watched = Watched()
    watched.at(0.0, 1)
    assert watched.at(3.5, 0) == 1
    watched.at(4.0, 1)
    assert watched.at(6.9, 0) == 1
    assert watched.at(7.1, 0) == 2
