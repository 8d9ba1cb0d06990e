"""A start anew on the way: the start that the configuration knows is left behind."""

from __future__ import annotations

import numpy as np
import pytest

from veh_identification.observation.streaming.arrivals import Item
from veh_identification.runtime.share import share_directory
from veh_identification.systems.vehicle.loading import load
from veh_identification.systems.vehicle.observer.online import VehicleSystem

CAR = load(share_directory() / 'config' / 'buggy.yaml')


def standing(start_ns):
    """Samples of a car at rest that no satellite sees."""
    still = (0.0, 0.0, 0.0, 0.0, 0.0, CAR.gravity)
    return [Item(start_ns + 2_000_000 * k, 'imu', still) for k in range(100)]


def moved(session, way, turn):
    """Put the car elsewhere."""
    errors = np.zeros(session.filter.size)
    errors[0], errors[3] = way, turn
    session.filter.put(errors)


@pytest.mark.parametrize(
    ('way', 'turn', 'again_ns', 'source'),
    [
        (20.0, 0.0, 60_000_000_000, 'unknown until the car moves'),
        (0.0, 0.3, 60_000_000_000, 'unknown until the car moves'),
        (20.0, 0.0, 0, 'configuration'),  # the same recording once more
        (0.2, 0.0, 60_000_000_000, 'configuration'),
    ],
)
def test_a_start_that_is_left_is_not_known(way, turn, again_ns, source):
    first_ns = 1_700_000_000_000_000_000
    system = VehicleSystem(CAR, say=lambda finding: None)
    session = system.start(standing(first_ns))
    assert session.sources['heading'] == 'configuration'
    moved(session, way, turn)
    again = system.start(standing(first_ns + again_ns))
    assert again.sources['heading'] == source
    known = source == 'configuration'
    assert (again.start.yaw_deviation < 0.1) == known
    assert (again.start.position_deviation < 1.0) == known
