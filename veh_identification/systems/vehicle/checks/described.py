"""Tyres and inertias of a description that no car has: another unit, as a rule."""

from __future__ import annotations

import numpy as np

from veh_identification.checks.ranges import LENGTH, MASS, STIFFNESS, check_entry
from veh_identification.findings import Finding
from veh_identification.systems.car.checks.described import check_car
from veh_identification.systems.vehicle.configuration import CarDescription

#: Slip stiffness over load (1/rad, 1) and friction of rubber on any road, from trucks to races.
STIFFNESSES, FRICTIONS = (4.0, 60.0), (0.03, 3.0)
#: By how much the load presses a tyre in, over the radius of its wheel.
PRESSED = (5e-4, 0.5)
#: Radii of inertia over the wheelbase.
RADII = (0.02, 1.5)


#: Of the body [kg]; of a spring along its stroke [N/m]; of joints of the suspension [m].
BODY, SPRING, FAR = (0.5, 6e4), (50.0, 1e7), 3.0


def check_described(car: CarDescription) -> list[Finding]:
    """What of a description no vehicle has, the first cause alone."""
    return check_car(car) or _parts(car) or check_tyres(car) or check_inertia(car)


def _parts(car: CarDescription) -> list[Finding]:
    """Mass of the body, springs and places of the suspension."""
    found = check_entry(car.chassis.mass, MASS, 'chassis.mass', *BODY)
    for axle in ('front', 'rear'):
        part, where = getattr(car.suspension, axle), f'suspension.{axle}'
        found += check_entry(part.stiffness, STIFFNESS, f'{where}.stiffness', *SPRING)
        for name in ('lower_ball', 'upper_ball', 'tie_outer', 'tie_inner', 'spring_top'):
            far = float(np.linalg.norm(getattr(part, name)))
            found += check_entry(far, LENGTH, f'{where}.{name}', 0.0, FAR)
    return found


def check_inertia(car: CarDescription) -> list[Finding]:
    """Inertia by its radius: how far from its middle the mass would sit."""
    chassis, length = car.chassis, car.geometry.wheelbase
    found = []
    for axis, value in zip('xyz', np.array(chassis.inertia, dtype=float)[[0, 3, 5]], strict=True):
        radius = float(np.sqrt(max(value, 0.0) / chassis.mass)) if chassis.mass > 0.0 else 0.0
        if radius and not RADII[0] * length < radius < RADII[1] * length:
            text = (
                f'chassis.inertia about {axis} is {value:.4g} kg m^2, a mass of '
                f'{chassis.mass:.4g} kg that sits {radius:.3g} m from its middle: is it in '
                'another unit (g m^2, kg mm^2)? It must be in kg m^2'
            )
            found.append(Finding('bad', 'unit', text, 'chassis.inertia'))
    return found[:1]


def check_tyres(car: CarDescription) -> list[Finding]:
    """Entries of `tyre` by their ranges, the stiffness by the weight that it carries."""
    tyre = car.tyre
    found = []
    for name, value, (least, most), unit in (
        ('cornering', tyre.cornering, STIFFNESSES, '1/rad'),
        ('longitudinal', tyre.longitudinal, STIFFNESSES, '1'),
        ('friction', tyre.friction, FRICTIONS, '1'),
    ):
        if not least <= value <= most:
            text = (
                f'tyre.{name} is {value:.4g} {unit}, tyres have {least:g} to {most:g}: is it in '
                'another unit, or not over the load?'
            )
            found.append(Finding('bad', 'unit', text, f'tyre.{name}'))
    load = 0.25 * car.chassis.mass * car.gravity
    pressed = load / tyre.stiffness
    least, most = (share * car.geometry.wheel_radius for share in PRESSED)
    if load > 0.0 and not least < pressed < most:
        text = (
            f'tyre.stiffness is {tyre.stiffness:.4g} N/m: a quarter of the weight presses the '
            f'tyre in by {1e3 * pressed:.3g} mm: is it in N/mm or kN/m? It must be in N/m'
        )
        found.append(Finding('bad', 'unit', text, 'tyre.stiffness'))
    return found
