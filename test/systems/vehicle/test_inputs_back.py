"""Torque that is heard again: the forces that stood for it are none any more."""

from __future__ import annotations

import numpy as np
import pytest

from veh_identification.observation.streaming.arrivals import Item
from veh_identification.runtime.share import share_directory
from veh_identification.systems.vehicle.loading import load
from veh_identification.systems.vehicle.observer.driving import INPUTS
from veh_identification.systems.vehicle.observer.online import VehicleSystem

PUSHED, BRAKED, YAWED = 3.0, -40.0, 0.2  # of car and wheels against each other; of the car


@pytest.fixture
def buggy():
    """A filter of a car whose torque is missing, and its settings with and without it."""
    car = load(share_directory() / 'config' / 'buggy.yaml')
    items = []
    for k in range(100):
        now = 1_000_000_000 + 2_000_000 * k
        items.append(Item(now, 'imu', (0.0, 0.0, 0.0, 0.0, 0.0, car.gravity)))
        if k % 10 == 0:
            items.append(Item(now, 'gps', (*car.datum, *3 * (float('nan'),))))
            items.append(Item(now, 'gps_velocity', (0.0, 0.0)))
            items.append(Item(now, 'rack', (0.0,)))
    session = VehicleSystem(car, say=lambda finding: None).start(items)
    known, unknown = session._settings(set(INPUTS)), session._settings({'rack'})
    session.filter.retune(unknown)
    return session.filter, known, unknown


def learn(filter_):
    """Teach forces: one that pushes the car against brakes that are none, and a yaw moment."""
    n = filter_.model.size
    errors = np.zeros(filter_.size)
    errors[2 * n], errors[2 * n + 3] = PUSHED, YAWED
    errors[2 * n + 6 : 3 * n] = BRAKED
    filter_.put(errors)
    for state in (2 * n, *range(2 * n + 6, 3 * n)):
        filter_.forget(state, 0.5**2)


def accelerations(filter_):
    """What the learnt forces alone do to the observed coordinates of a car that heads east."""
    observed = filter_.observed
    return np.linalg.solve(observed._mass, observed.force_error)


def assert_forgotten(filter_):
    """None on the wheels, surely; any on the car; what is estimated with torque, too, stays."""
    n = filter_.model.size
    found = accelerations(filter_)
    assert found[[0, 1, 6, 7, 8, 9]] == pytest.approx(0.0, abs=1e-9)
    assert found[3] == pytest.approx(YAWED)
    assert not filter_.P[2 * n + 6 : 3 * n].any()
    assert filter_.P[2 * n, 2 * n] >= 0.5**2


def test_what_stood_for_torque_is_forgotten_when_it_is_heard(buggy):
    filter_, known, _ = buggy
    learn(filter_)
    assert accelerations(filter_)[[0, 6]] == pytest.approx([PUSHED, BRAKED])
    filter_.retune(known)
    assert_forgotten(filter_)


def test_going_back_before_that_forgets_it_again(buggy):
    filter_, known, _ = buggy
    learn(filter_)
    before = filter_.snapshot()
    filter_.retune(known)
    filter_.restore(before)
    assert_forgotten(filter_)


def test_going_back_while_it_is_missing_keeps_it(buggy):
    filter_, _, unknown = buggy
    learn(filter_)
    before = filter_.snapshot()
    filter_.retune(unknown)
    filter_.restore(before)
    assert accelerations(filter_)[[0, 6]] == pytest.approx([PUSHED, BRAKED])


def test_a_motion_that_was_wrong_takes_its_biases_with_it(buggy):
    filter_, _, _ = buggy
    names = [f'gyroscope.bias_{axis}' for axis in 'xyz']
    for name in names:
        filter_.set_parameter(name, 0.04, 1e-4)
    filter_._lose_bearings()
    first = filter_.orders * filter_.model.size
    for name in names:
        state = first + filter_.parameter_names.index(name)
        assert np.sqrt(filter_.P[state, state]) >= 0.04
        assert filter_.parameter(name) == 0.04
