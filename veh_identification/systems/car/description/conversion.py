"""Between the 33 parameters at the origin and the parts that the vehicle observer is built of.

The parameters (Venture 2006) lump what hangs on the body: Mc .. YZc at the base_link origin, M1 ..
M4 between suspension and wheel, stiffness and damping at the wheel. The observer's model has the
parts themselves. A wishbone, a uniform triangle, counts by a third at each of its corners: two on
the body, one on the hub; the rack counts for the body.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from veh_identification.multibody.inertia import (
    PARAMETER_NAMES,
    centre_of_mass,
    consistency_violation,
    from_centre_of_mass,
)
from veh_identification.systems.car.description.axle_motion import (
    MotionRatio,
    Standing,
    motion_ratio,
)
from veh_identification.systems.car.description.model import CarDescription
from veh_identification.systems.car.description.parts import Axle
from veh_identification.systems.car.parameters import CORNERS
from veh_identification.types import Array

#: Names of the contract in the order of `multibody.inertia`.
_ORDER = dict(
    zip(
        PARAMETER_NAMES,
        ('Mc', 'MXc', 'MYc', 'MZc', 'XXc', 'XYc', 'XZc', 'YYc', 'YZc', 'ZZc'),
        strict=True,
    )
)
CHASSIS = tuple(_ORDER.values())


def sprung(car: CarDescription) -> Array:
    """Parameters (10) at the origin of all that the suspensions carry."""
    chassis = car.chassis
    xx, xy, xz, yy, yz, zz = chassis.inertia
    inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    return from_centre_of_mass(chassis.mass, chassis.centre, inertia) + _on_body(car)


def _on_body(car: CarDescription) -> Array:
    """Parameters (10) at the origin of wishbones and rack as far as the body carries them."""
    total = np.zeros(10)
    for corner in CORNERS:
        axle = axle_of(car, corner)
        side = np.array([1.0, 1.0 if corner[1] == 'l' else -1.0, 1.0])
        for pivots, mass in (
            (axle.lower_pivots, car.wishbone.lower_mass),
            (axle.upper_pivots, car.wishbone.upper_mass),
        ):
            for pivot in pivots:
                place = np.array(car.geometry.centre(corner)) + side * pivot
                total += from_centre_of_mass(mass / 3.0, place, np.zeros((3, 3)))
    inner = car.suspension.front.tie_inner
    place = np.array([car.geometry.wheelbase + inner[0], 0.0, inner[2]])
    return total + from_centre_of_mass(car.rack.mass, place, np.zeros((3, 3)))


def axle_of(car: CarDescription, corner: str) -> Axle:
    """The axle of a corner."""
    return car.suspension.front if corner[0] == 'f' else car.suspension.rear


def unsprung(car: CarDescription) -> float:
    """Mass of a hub with its part of the wishbones, without the wheel."""
    return car.hub.mass + (car.wishbone.lower_mass + car.wishbone.upper_mass) / 3.0


def standing(car: CarDescription, body: Array, below: float) -> dict[str, Standing]:
    """What a wheel of each axle carries at rest.

    `body` are the parameters (10) of all that the springs carry, `below` is the mass between
    spring and wheel.
    """
    weight = float(body[0]) * car.gravity
    front = float(body[1]) * car.gravity / car.geometry.wheelbase
    more = (below + car.wheel.mass) * car.gravity
    return {
        name: Standing(0.5 * load, 0.5 * load + more, car.geometry.wheel_radius)
        for name, load in (('front', front), ('rear', weight - front))
    }


def parameters_of(car: CarDescription) -> dict[str, float]:
    """The parameters of the contract that the parts amount to (friction and off are unknown)."""
    body = sprung(car)
    values = {name: float(value) for name, value in zip(CHASSIS, body, strict=True)}
    at_rest = standing(car, body, unsprung(car))
    for name, bar, numbers in (('front', 'karf', (1, 2)), ('rear', 'karr', (3, 4))):
        axle: Axle = getattr(car.suspension, name)
        ratio = motion_ratio(axle)
        values[bar] = axle.antiroll * ratio.slope**2
        for number in numbers:
            values[f'k{number}'] = ratio.wheel_rate(axle.stiffness, at_rest[name])
            values[f'h{number}'] = axle.damping * ratio.slope**2
    values |= {f'M{number}': unsprung(car) for number in range(1, 5)}
    return {**values, 'Cx': car.air.drag}


@dataclass(frozen=True)
class Part:
    """An entry of a description that follows from parameters, and from which."""

    value: object
    reason: str


def parts_of(given: Mapping[str, float], car: CarDescription) -> dict[str, Part]:
    """Entries (`chassis.mass` ...) that known parameters amount to, in a car of that geometry.

    `car` gives everything else: hardpoints, wishbones, rack, gravity. What the parameters do not
    tell, or tell so that no body can have it, is left out.
    """
    found = _chassis(given, car)
    body = sprung(car)
    if 'chassis.mass' in found:
        body = np.array([given.get(name, body[k]) for k, name in enumerate(CHASSIS)])
    masses = [given[f'M{number}'] for number in range(1, 5) if f'M{number}' in given]
    below = float(np.mean(masses)) if masses else unsprung(car)
    at_rest = standing(car, body, below)
    for name, bar, numbers in (('front', 'karf', (1, 2)), ('rear', 'karr', (3, 4))):
        ratio = motion_ratio(getattr(car.suspension, name))
        found |= _axle(given, name, bar, numbers, ratio, at_rest[name])
    hub = below - unsprung(car) + car.hub.mass if masses else 0.0
    if hub > 0.0:
        found['hub.mass'] = Part(hub, 'mean of a_priori.M1 to M4, less a third of the wishbones')
    if given.get('Cx', -1.0) >= 0.0:
        found['air.drag'] = Part(given['Cx'], 'a_priori.Cx')
        found['air.point'] = Part([0.0, 0.0, 0.0], 'a_priori.Cx acts at the base_link origin')
    return found


_PAIRS = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))


def _chassis(given: Mapping[str, float], car: CarDescription) -> dict[str, Part]:
    if not {'Mc', 'MXc'} <= set(given):
        return {}
    told = 'a_priori at the base_link origin, less wishbones and rack'
    body = np.array([given.get(name, 0.0) for name in CHASSIS]) - _on_body(car)
    mass, centre, inertia = centre_of_mass(body)
    if not mass > 0.0:
        return {}
    height = [float(one) for one in centre]
    if 'MZc' not in given:  # as high as the example's
        height[2] = car.chassis.centre[2]
    found = {
        'chassis.mass': Part(float(mass), told),
        'chassis.centre': Part(height, told),
    }
    if {'XXc', 'YYc', 'ZZc', 'MZc'} <= set(given) and not consistency_violation(body):
        xx, xy, xz, yy, yz, zz = (float(inertia[i, j]) for i, j in _PAIRS)
        found['chassis.inertia'] = Part([xx, xy, xz, yy, yz, zz], told)
    return found


def _axle(
    given: Mapping[str, float],
    name: str,
    bar: str,
    numbers: tuple[int, int],
    ratio: MotionRatio,
    at_rest: Standing,
) -> dict[str, Part]:
    """Spring, damper and bar of an axle, from the wheels' by the motion ratio."""
    over = f'over the square of the motion ratio {ratio.slope:.3f}'
    found: dict[str, Part] = {}

    def mean(kind: str) -> float | None:
        names = [f'{kind}{number}' for number in numbers]
        known = [given[one] for one in names if one in given]
        return float(np.mean(known)) if known else None

    left, right = numbers
    k, h = mean('k'), mean('h')
    if k is not None and (spring := ratio.spring_rate(k, at_rest)) > 0.0:
        text = f'the mean of a_priori.k{left} and k{right}, {over}'
        found[f'suspension.{name}.stiffness'] = Part(spring, text)
    if h is not None and h > 0.0:
        text = f'the mean of a_priori.h{left} and h{right}, {over}'
        found[f'suspension.{name}.damping'] = Part(h / ratio.slope**2, text)
    if given.get(bar, -1.0) >= 0.0:
        text = f'a_priori.{bar}, {over}'
        found[f'suspension.{name}.antiroll'] = Part(given[bar] / ratio.slope**2, text)
    return found
