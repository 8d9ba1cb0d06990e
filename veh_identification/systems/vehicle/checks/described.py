"""Tyres of a description that no car stands or rolls on: another unit, as a rule."""

from __future__ import annotations

from veh_identification.findings import Finding
from veh_identification.systems.vehicle.configuration import CarDescription

#: Slip stiffness over load (1/rad, 1) and friction of rubber on any road, from trucks to races.
STIFFNESSES, FRICTIONS = (4.0, 60.0), (0.03, 3.0)
#: By how much the load presses a tyre in, over the radius of its wheel.
PRESSED = (5e-4, 0.5)


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
