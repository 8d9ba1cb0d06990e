"""The car that the advisor drives: the simulated one with the user's geometry and a-priori values.

What the configuration does not tell is taken from the shipped example car, and said.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from veh_identification.findings import Finding
from veh_identification.simulation.car.sensors import CarSensors, Instrument
from veh_identification.simulation.car.vehicle import Inertia, Suspension, Vehicle
from veh_identification.systems.car.configuration import (
    CarConfigurationError,
    CarDescription,
    Sensor,
)
from veh_identification.systems.car.parameters import CHASSIS

#: Beyond this travel at standstill the stops would carry the simulated car.
LARGEST_STANDING = 0.04
#: A drive torque per kilogram that keeps any car at 160 km/h.
DRIVE_PER_KILOGRAM = 1.6


def vehicle_of(configuration: CarDescription) -> tuple[Vehicle, list[Finding]]:
    """The simulated car with what the configuration knows, and what had to be assumed."""
    base = replace(Vehicle(), geometry=configuration.geometry)
    given = configuration.a_priori
    assumed = [name for name in base.parameters() if name not in given]
    values = {**base.parameters(), **given}
    inertia, findings = _inertia(values, given, configuration.source)
    corners = [
        _corner(one, values, j, configuration.source)
        for j, one in enumerate(base.corners, start=1)
    ]
    car = replace(
        base,
        inertia=inertia,
        corners=(corners[0], corners[1], corners[2], corners[3]),
        anti_roll_front=values['karf'],
        anti_roll_rear=values['karr'],
        air=(values['Cx'], *base.air[1:]),
    )
    if all(f'off{j}' in given for j in range(1, 5)):
        car, doubts = _standing(car, values)
        findings += doubts
    else:
        assumed = [name for name in assumed if not name.startswith('off')]
        text = 'off1 to off4 follow from the weight on the wheels'
        findings.append(Finding('note', 'offsets_from_weight', text, 'a_priori.off1'))
    if assumed:
        text = 'taken from the example car, for want of a-priori values: ' + ', '.join(assumed)
        findings.insert(0, Finding('note', 'values_assumed', text, f'a_priori.{assumed[0]}'))
    return car, findings


def _inertia(
    values: Mapping[str, float], given: Mapping[str, float], where: str
) -> tuple[Inertia, list[Finding]]:
    """Chassis about its centre of mass from the parameters at base_link."""
    mass = values['Mc']
    known = [name for name in CHASSIS if name in given]
    if not mass > 0.0:
        raise CarConfigurationError(f'{where}: a_priori.Mc must be positive, found {mass:g}')
    if 'Mc' not in known or 'MXc' not in known or not {'XXc', 'YYc', 'ZZc'} <= set(known):
        # A mixture of two cars' moments need not be a body: scale the example car instead.
        example = Inertia()
        factor = mass / example.mass
        xx, yy, zz, xz, xy, yz = (factor * one for one in example.moments)
        text = (
            "Mc, MXc, XXc, YYc and ZZc are not all given: the chassis is the example car's, "
            'scaled to the mass'
        )
        return Inertia(mass, example.centre, (xx, yy, zz, xz, xy, yz)), [
            Finding('warn', 'chassis_assumed', text, 'a_priori')
        ]
    c = np.array([values['MXc'], values['MYc'], values['MZc']]) / mass
    J = np.array(
        [
            [values['XXc'], values['XYc'], values['XZc']],
            [values['XYc'], values['YYc'], values['YZc']],
            [values['XZc'], values['YZc'], values['ZZc']],
        ]
    )
    about = J - mass * (c @ c * np.eye(3) - np.outer(c, c))
    principal = np.linalg.eigvalsh(about)
    if principal[0] <= 0.0 or principal[2] > 1.02 * (principal[0] + principal[1]):
        raise CarConfigurationError(
            f'{where}: a_priori: no body has the principal moments '
            f'{", ".join(f"{one:.4g}" for one in principal)} kg m^2 about its centre of mass; '
            'XXc to YZc are meant at the base_link origin'
        )
    return Inertia(
        mass,
        (float(c[0]), float(c[1]), float(c[2])),
        (
            float(about[0, 0]),
            float(about[1, 1]),
            float(about[2, 2]),
            float(about[0, 2]),
            float(about[0, 1]),
            float(about[1, 2]),
        ),
    ), []


def _corner(base: Suspension, values: Mapping[str, float], j: int, where: str) -> Suspension:
    for kind in ('k', 'h', 'M'):
        if not values[f'{kind}{j}'] > 0.0:
            raise CarConfigurationError(
                f'{where}: a_priori.{kind}{j} must be positive, found {values[f"{kind}{j}"]:g}'
            )
    return replace(
        base,
        stiffness=values[f'k{j}'],
        damping=values[f'h{j}'],
        friction=max(values[f'fs{j}'], 0.0),
        unsprung=values[f'M{j}'],
        standing=0.0,
    )


def _standing(car: Vehicle, values: Mapping[str, float]) -> tuple[Vehicle, list[Finding]]:
    """Travel at standstill that belongs to the offsets: k q + bar (q - q') = load - off."""
    missing = car.spring_loads() - np.array([values[f'off{j}'] for j in range(1, 5)])
    travel = np.zeros(4)
    for first, bar in ((0, car.anti_roll_front), (2, car.anti_roll_rear)):
        pair = slice(first, first + 2)
        k = [one.stiffness for one in list(car.corners)[pair]]
        matrix = np.array([[k[0] + bar, -bar], [-bar, k[1] + bar]])
        travel[pair] = np.linalg.solve(matrix, missing[pair])
    if np.abs(travel).max() > LARGEST_STANDING:
        text = (
            'off1 to off4 do not fit the weight on the wheels '
            f'({1e3 * np.abs(travel).max():.0f} mm of travel): taken from the weight'
        )
        return car, [Finding('warn', 'offsets_do_not_fit', text, 'a_priori.off1')]
    corners = [replace(one, standing=float(q)) for one, q in zip(car.corners, travel, strict=True)]
    return replace(car, corners=(corners[0], corners[1], corners[2], corners[3])), []


def sensors_of(configuration: CarDescription, noise: float) -> CarSensors:
    """Instruments of section V.A with the noise and offsets that the configuration gives."""
    instruments = CarSensors()
    described = configuration.sensors
    changed: dict[str, Instrument] = {}
    for name, sensor in described.of_identification().items():
        instrument = getattr(instruments, name)
        changed[name] = replace(
            instrument,
            noise=_sizes(sensor, 'noise', instrument.noise),
            offset=_sizes(sensor, 'offset', instrument.offset),
            cutoff=sensor.bandwidth_hz or instrument.cutoff,
        )
    return replace(instruments, **changed).scaled(noise)


def _sizes(sensor: Sensor, kind: str, default: tuple[float, ...]) -> tuple[float, ...]:
    """One size per group of channels; a single number serves all groups."""
    given: tuple[float, ...] = getattr(sensor, kind)
    if not given:
        return default
    if len(given) == 3 * len(default):  # one per channel
        given = given[::3]
    return tuple(given[min(i, len(given) - 1)] for i in range(len(default)))


def drive_limit(vehicle: Vehicle) -> float:
    """Torque that the engine of such a car has at its wheels [N m]."""
    return max(2400.0, DRIVE_PER_KILOGRAM * vehicle.inertia.mass)
