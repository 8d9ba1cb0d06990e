"""The word that kernels are being compiled."""

import pytest
from numba.core import event

from veh_identification.cli import compiling


@pytest.mark.parametrize(('seconds', 'said'), [(1.0, 0), (10.0, 1)])
def test_a_word_is_said_once_when_compiling_lasts(seconds, said, monkeypatch, capsys):
    listeners = []
    monkeypatch.setattr(event, 'register', lambda kind, one: listeners.append(one))
    compiling.tell_of_compiling()
    now = iter([100.0, 100.0, *(100.0 + seconds * k for k in range(1, 9))])
    monkeypatch.setattr(compiling.time, 'monotonic', lambda: next(now))
    for _ in range(4):
        listeners[0].on_start(None)
    assert capsys.readouterr().err.count(compiling.TEXT) == said
