"""A heading that is found turns the car, and what was learnt of its forces with it."""

from __future__ import annotations

import numpy as np
import pytest

from veh_identification.observation.streaming.arrivals import Item
from veh_identification.runtime.share import share_directory
from veh_identification.systems.vehicle.loading import load
from veh_identification.systems.vehicle.observer import bearings
from veh_identification.systems.vehicle.observer.online import VehicleSystem


def accelerations(filter_):
    """What the learnt forces do to the observed coordinates, in axes of the car."""
    frame, force = filter_.vehicle.frame(), filter_.observed.force_error
    yaw = np.arctan2(frame[0, 4], frame[0, 3])
    co, si = np.cos(yaw), np.sin(yaw)
    force[0], force[1] = co * force[0] + si * force[1], co * force[1] - si * force[0]
    return np.linalg.solve(filter_.observed._mass, force)


@pytest.mark.parametrize('turn', [0.4, -1.8, 3.0])
def test_forces_ahead_stay_ahead_when_the_heading_is_found(turn):
    car = load(share_directory() / 'config' / 'buggy.yaml')
    still = (0.0, 0.0, 0.0, 0.0, 0.0, car.gravity)
    items = [Item(1_000_000_000 + 2_000_000 * k, 'imu', still) for k in range(100)]
    filter_ = VehicleSystem(car, say=lambda finding: None).start(items).filter
    errors = np.zeros(filter_.size)
    errors[2 * filter_.model.size] = 2.0
    filter_.put(errors)
    before = accelerations(filter_)
    assert before[0] == pytest.approx(2.0)
    assert bearings._turn(filter_, turn)
    assert accelerations(filter_) == pytest.approx(before, abs=1e-6)
