"""Entries of a car's description that no car has, without any recording."""

from __future__ import annotations

import numpy as np

from veh_identification.checks.possible import impossible_value
from veh_identification.checks.ranges import MASS, STIFFNESS, check_entry
from veh_identification.checks.settled import check_gravity
from veh_identification.findings import Finding, Level
from veh_identification.systems.car.checks.geometry import check_geometry
from veh_identification.systems.car.checks.possible import impossible_values
from veh_identification.systems.car.configuration import CarDescription
from veh_identification.systems.car.parameters import CORNERS, NAMES

#: Of whole cars, from models on a table to lorries [kg]; of what moves with one wheel.
CAR, WHEEL = (0.5, 6e4), (1e-3, 2e3)
#: Of springs and anti-roll bars [N/m].
SPRING = (50.0, 1e7)
#: The scales say more than once what a car weighs: by so many deviations they may differ.
SIGMAS = 5.0


def check_described(car: CarDescription) -> list[Finding]:
    """What no car has, and what an identification with wheel forces cannot use."""
    return check_car(car) or _specific_force(car, 'bad')


def check_alone(car: CarDescription) -> list[Finding]:
    """What no car has, and what it cannot be used for: there may be no wheel forces."""
    return check_car(car) or _specific_force(car, 'note')


def check_car(car: CarDescription) -> list[Finding]:
    """Geometry, gravity, what was weighed, and what is known of the parameters before."""
    return [*check_geometry(car), *check_gravity(car.gravity), *_weighed(car), *_a_priori(car)]


def _specific_force(car: CarDescription, level: Level) -> list[Finding]:
    """Forces on a car are told by what its inertial unit feels, gravity among it."""
    if car.sensors.imu.gravity == 'present':
        return []
    text = (
        'sensors.imu.gravity is removed: with wheel forces an identification needs the specific '
        'force, +9.81 m/s^2 upwards at rest (REP-145)'
    )
    return [Finding(level, 'gravity_removed', text, 'sensors.imu.gravity')]


def _weighed(car: CarDescription) -> list[Finding]:
    weighed = car.weighed
    found = [
        finding
        for name in ('total', 'front', 'rear')
        if (value := getattr(weighed, name)) is not None
        for finding in check_entry(value, MASS, f'weighed.{name}', *CAR)
    ]
    if found or weighed.total is None or weighed.front is None or weighed.rear is None:
        return found
    over = weighed.front + weighed.rear - weighed.total
    if abs(over) <= SIGMAS * np.sqrt(3.0) * weighed.deviation:
        return []
    text = (
        f'weighed.front and weighed.rear make {weighed.front + weighed.rear:.4g} kg, and '
        f'weighed.total is {weighed.total:.4g} kg: expected the same within '
        f'{weighed.deviation:.3g} kg each'
    )
    return [Finding('bad', 'weighed', text, 'weighed')]


def _a_priori(car: CarDescription) -> list[Finding]:
    value = car.a_priori_array()
    std = np.array([car.a_priori_std.get(name, 0.0) for name in NAMES])
    names, found = impossible_values(NAMES, value, np.diag(std**2))
    if names:
        where = 'a_priori'
        return [
            Finding(one.level, one.code, f'{where}: {one.text}', where)
            for one in (found or impossible_value(names))
        ]
    ranges = {
        'Mc': (MASS, CAR),
        **{f'M{k}': (MASS, (0.0, WHEEL[1])) for k in range(1, len(CORNERS) + 1)},
        **{f'k{k}': (STIFFNESS, (0.0, SPRING[1])) for k in range(1, len(CORNERS) + 1)},
    }
    # What is not known well may be anything.
    return [
        finding
        for name, (quantity, (least, most)) in ranges.items()
        if not car.a_priori_std.get(name, 0.0) > abs(car.a_priori.get(name, 0.0))
        for finding in check_entry(
            car.a_priori.get(name, np.nan), quantity, f'a_priori.{name}', least, most
        )
    ]
