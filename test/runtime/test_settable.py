"""Which parameters of a managed node may be set, and the reason where they may not."""

from __future__ import annotations

import pytest

from veh_identification.runtime.parameters import ParameterDescriptor
from veh_identification.runtime.settable import Settable


@pytest.fixture
def settable() -> Settable:
    made = Settable('car')
    made.declared['rate'] = 10.0, ParameterDescriptor('', 'Hz', 1.0, 100.0)
    made.declared['mode'] = 'auto', ParameterDescriptor(choices=('auto', 'off'))
    return made


def test_before_configuration_all_may_be_set(settable) -> None:
    assert settable.set({'rate': 20, 'mode': 'off', 'use_sim_time': True}, False) == ''


@pytest.mark.parametrize(
    ('values', 'reason'),
    [
        ({'rate': 200.0}, 'rate: 200 Hz is above its maximum 100 Hz'),
        ({'rate': 'fast'}, 'rate: expected a number'),
        ({'rate': float('nan')}, 'rate: is not a number'),
        ({'mode': 'on'}, "mode: 'on' is not one of auto, off"),
        ({'mode': None}, 'mode: cannot be taken away'),
    ],
)
def test_values_are_checked_in_every_state(settable, values, reason) -> None:
    settable.changes.update(rate=pytest.fail, mode=pytest.fail)
    for configured in (False, True):
        assert reason in settable.set(values, configured)


def test_a_running_node_takes_what_it_said_and_nothing_else(settable) -> None:
    told: list[float] = []
    settable.changes['rate'] = told.append
    assert settable.set({'rate': 20}, True) == ''
    assert told == [20.0]
    reason = settable.set({'rate': 30.0, 'mode': 'off'}, True)
    assert 'mode: is read when the node is configured' in reason
    assert 'may be changed: rate' in reason
    assert told == [20.0], 'all or nothing'


def test_nothing_from_the_network_chooses_a_path(settable) -> None:
    settable.declared['file'] = '', ParameterDescriptor(path=True)
    settable.changes['file'] = pytest.fail
    for configured in (False, True):
        assert 'file: names a file' in settable.set({'file': '/etc/passwd'}, configured)
