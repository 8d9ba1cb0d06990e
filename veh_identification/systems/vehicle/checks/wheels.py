"""Wheels of the observed car by themselves: standing still, or rates where angles belong."""

from __future__ import annotations

import numpy as np

from veh_identification.checks.channels import WINDOW
from veh_identification.checks.grid import averaged
from veh_identification.checks.health import check_stuck
from veh_identification.checks.motion import Story
from veh_identification.checks.relations import Relation
from veh_identification.checks.wheels import ROLLING, TOLERANCE, WheelPlaces
from veh_identification.findings import Finding
from veh_identification.systems.vehicle.checks.heard import Heard
from veh_identification.systems.vehicle.configuration import CORNERS, CarDescription

#: Correlation of an angle with the speed of the car that tells that it is a rate.
AS_RATE = 0.97
NAMES = tuple(f'wheel_{corner}' for corner in CORNERS)


def places_of(car: CarDescription) -> WheelPlaces:
    """The wheels of a description."""
    geometry, driven = car.geometry, car.sensors.wheels.driven
    return WheelPlaces(NAMES, tuple(geometry.wheel_x), tuple(geometry.wheel_y), driven)


def check_stuck_wheels(heard: Heard, story: Story) -> list[Finding]:
    """A wheel that stands still while the car moves."""
    name = next((one for one in ('wheel_angle', 'wheel_rate') if one in heard), None)
    if name is None:
        return []
    time, values = heard[name]
    moving = story.channels.moving_at(time)
    found: list[Finding] = []
    for k, corner in enumerate(CORNERS):
        where = f'{story.where["wheels"]} wheel_{corner}'
        found += check_stuck(time, values[:, k], where, moving=moving)
    return found


def check_rates_as_angles(heard: Heard, story: Story, car: CarDescription) -> list[Finding]:
    """Angles that go up and down with the speed of the car, as rates do."""
    if 'wheel_angle' not in heard or 'gnss_velocity' not in story.channels:
        return []
    time, values = heard['wheel_angle']
    grid, speed = story.channels.grid, story.channels.ground_speed()
    for k, corner in enumerate(CORNERS):
        as_rate = car.geometry.wheel_radius * averaged(time, values[:, k], grid, WINDOW)
        told = Relation('', as_rate, speed, {}, ROLLING).told()
        if told is None or told.correlation < AS_RATE or abs(np.log(told.slope)) > TOLERANCE:
            continue
        where = f'{story.where["wheels"]} wheel_{corner}'
        text = (
            f'{where}: its position follows the speed of the car ({told.slope:.2f} times it, with '
            f'a radius of {car.geometry.wheel_radius:.3g} m): it holds the speed of the wheel, '
            'which belongs into velocity'
        )
        return [Finding('bad', 'unit', text, where)]
    return []
