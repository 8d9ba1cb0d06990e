"""Tables of an observer's errors as a terminal shows them."""

from __future__ import annotations

from veh_identification.systems.observing.figures import error_lines
from veh_identification.systems.vehicle.results.metrics import COORDINATES
from veh_identification.systems.vehicle.results.states import units


def test_every_coordinate_of_a_car_has_its_unit():
    row = {'max_obs': 0.5, 'rms_obs': 0.25}
    lines = error_lines('coordinate', dict.fromkeys(COORDINATES, row), units())
    assert [line.partition(']')[0].strip() for line in lines[1:]][:6] == [
        'x [m',
        'y [m',
        'z [m',
        'vx [m/s',
        'vy [m/s',
        'yaw [rad',
    ]
    assert all('[' in line for line in lines[1:])
    assert len({len(line) for line in lines}) == 1  # columns stand below each other
