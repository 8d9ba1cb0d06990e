"""Assembles the car: 18 bodies and 15 degrees of freedom in natural coordinates (section 2.3).

Chassis, four hub carriers, four wheels and the rack are bodies with frames; the eight wishbones
are plates over three points. Every joint is a shared point or vector except the tie rods
(constant distances) and the rack's guide. Points of the chassis need no coordinates of their own
(equation 34), so 97 coordinates and 82 constraints remain of the thesis' 168.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from veh_identification.errors import ModelError
from veh_identification.multibody.inertia import from_centre_of_mass
from veh_identification.multibody.natural import (
    Body,
    Form,
    NaturalBuilder,
    NaturalModel,
    Solver,
    joints,
)
from veh_identification.multibody.natural.forms import combination
from veh_identification.systems.car.description.parts import (
    Chassis,
    Geometry,
    Hub,
    Rack,
    Suspension,
    Wheel,
    Wishbone,
)
from veh_identification.systems.vehicle.configuration import CORNERS, Axle, CarDescription
from veh_identification.types import Array

CHASSIS_COORDINATES = (
    'chassis.origin.x',
    'chassis.origin.y',
    'chassis.origin.z',
    'yaw',
    'chassis.e1.z',
    'chassis.e2.z',
)
WHEEL_COORDINATES = tuple(f'wheel_{c}' for c in CORNERS)
STROKE_COORDINATES = tuple(f'stroke_{c}' for c in CORNERS)
RACK = 'rack'
# 1 chassis, 4 hub carriers, 4 wheels, 1 rack; and 8 wishbones
BODIES = ('chassis', *(f'hub_{c}' for c in CORNERS), *WHEEL_COORDINATES, RACK)
WISHBONES = tuple(f'{level}_{c}' for c in CORNERS for level in ('lower', 'upper'))


class Parts(NamedTuple):
    """What bodies and joints of a car follow from."""

    gravity: float
    geometry: Geometry
    chassis: Chassis
    wheel: Wheel
    hub: Hub
    wishbone: Wishbone
    rack: Rack
    suspension: Suspension


def _sphere(mass: float, inertia: float, centre: Sequence[float] = (0.0, 0.0, 0.0)) -> Array:
    return from_centre_of_mass(mass, centre, inertia * np.eye(3))


def _chassis(builder: NaturalBuilder, car: Parts) -> Body:
    xx, xy, xz, yy, yz, zz = car.chassis.inertia
    inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    parameters = from_centre_of_mass(car.chassis.mass, car.chassis.centre, inertia)
    chassis = builder.free_body('chassis', parameters, (0.0, 0.0, car.geometry.wheel_radius))
    world = builder.fixed((1.0, 0.0, 0.0)), builder.fixed((0.0, 1.0, 0.0))
    builder.angle('yaw', world, chassis.axes[0], 0.0)  # equation (95)
    return chassis


def _rack(builder: NaturalBuilder, car: Parts, chassis: Body) -> tuple[Body, Array]:
    """Rack body at the middle between the inner tie rod joints; shares the chassis' axes."""
    inner = np.array(car.suspension.front.tie_inner)
    place = np.array([car.geometry.wheelbase + inner[0], 0.0, inner[2]])
    point = builder.point('rack_point', tuple(place + [0.0, 0.0, car.geometry.wheel_radius]))
    elements: list[tuple[Form, str, Sequence[float]]] = [(point, 'point', (0.0, 0.0, 0.0))]
    elements += [(axis, 'vector', tuple(np.eye(3)[k])) for k, axis in enumerate(chassis.axes)]
    body = builder.body(RACK, elements, _sphere(car.rack.mass, 0.05 * car.rack.mass))
    start = chassis.point(tuple(place))
    for number, normal in enumerate((chassis.axes[0], chassis.axes[2]), start=1):
        builder.dot(f'rack line {number}', normal, point - start, 0.0)
    builder.projection(RACK, chassis.axes[1], start, point, 0.0)
    return body, place


def _wishbone(
    builder: NaturalBuilder, name: str, points: Sequence[Form], places: Array, mass: float
) -> None:
    """Uniform triangle over two chassis pivots and a ball joint."""
    along, across = places[1] - places[0], places[2] - places[0]
    length = float(np.linalg.norm(along))
    if length < 1e-6:
        raise ModelError(f'wishbone {name!r}: its two pivots are at one place')
    u = along / length
    x = float(across @ u)
    corners = np.array([[0.0, 0.0], [length, 0.0], [x, float(np.linalg.norm(across - x * u))]])
    centre = corners.mean(axis=0)
    offsets = corners - centre
    second = mass / 12.0 * offsets.T @ offsets
    builder.lamina(
        name, points, corners, mass, tuple(centre), (second[0, 0], second[0, 1], second[1, 1])
    )


def _mirror(side: float, point: Sequence[float]) -> Array:
    return np.array(point) * [1.0, side, 1.0]


def _corner(
    builder: NaturalBuilder, car: Parts, chassis: Body, corner: str, tie_inner: Form
) -> None:
    axle: Axle = car.suspension.front if corner[0] == 'f' else car.suspension.rear
    side = 1.0 if corner[1] == 'l' else -1.0
    hub_place = np.array(car.geometry.centre(corner))
    lift = np.array([0.0, 0.0, car.geometry.wheel_radius])

    def place(point: Sequence[float]) -> Array:
        return hub_place + _mirror(side, point)

    balls: dict[str, Form] = {}
    for level, ball, pivots, mass in (
        ('lower', axle.lower_ball, axle.lower_pivots, car.wishbone.lower_mass),
        ('upper', axle.upper_ball, axle.upper_pivots, car.wishbone.upper_mass),
    ):
        balls[level] = builder.point(f'{level}_ball_{corner}', tuple(place(ball) + lift))
        inner = [chassis.point(tuple(place(p))) for p in pivots]
        places = np.array([place(pivots[0]), place(pivots[1]), place(ball)])
        _wishbone(builder, f'{level}_{corner}', [*inner, balls[level]], places, mass)
        if level == 'lower':
            share = axle.spring_share
            eye = combination(
                [*inner, balls[level]], [0.5 * (1 - share), 0.5 * (1 - share), share]
            )
            eye_place = 0.5 * (1 - share) * (places[0] + places[1]) + share * places[2]
            top = place(axle.spring_top)
            builder.distance(
                f'stroke_{corner}',
                eye,
                chassis.point(tuple(top)),
                float(np.linalg.norm(top - eye_place)),
            )
    _upright(builder, car, axle, corner, side, balls, tie_inner)


def _upright(
    builder: NaturalBuilder,
    car: Parts,
    axle: Axle,
    corner: str,
    side: float,
    balls: dict[str, Form],
    tie_inner: Form,
) -> None:
    """Hub carrier and wheel; local axes are those of base_link at design, origin the centre."""
    axis = builder.vector(f'axis_{corner}', (0.0, 1.0, 0.0))
    forward = builder.vector(f'forward_{corner}', (1.0, 0.0, 0.0))
    hub = builder.body(
        f'hub_{corner}',
        [
            (balls['lower'], 'point', tuple(_mirror(side, axle.lower_ball))),
            (balls['upper'], 'point', tuple(_mirror(side, axle.upper_ball))),
            (forward, 'vector', (1.0, 0.0, 0.0)),
            (axis, 'vector', (0.0, 1.0, 0.0)),
        ],
        _sphere(car.hub.mass, car.hub.inertia),
    )
    outer = hub.point(tuple(_mirror(side, axle.tie_outer)))
    length = float(np.linalg.norm(np.array(axle.tie_outer) - np.array(axle.tie_inner)))
    joints.constant_distance(builder, f'tie_{corner}', outer, tie_inner, length)
    spin, across = car.wheel.spin_inertia, car.wheel.transverse_inertia
    first = builder.vector(f'spoke_1_{corner}', (1.0, 0.0, 0.0))
    second = builder.vector(f'spoke_2_{corner}', (0.0, 0.0, 1.0))
    builder.body(
        f'wheel_{corner}',
        [
            (hub.origin, 'point', (0.0, 0.0, 0.0)),
            (axis, 'vector', (0.0, 1.0, 0.0)),
            (first, 'vector', (1.0, 0.0, 0.0)),
            (second, 'vector', (0.0, 0.0, 1.0)),
        ],
        from_centre_of_mass(car.wheel.mass, (0.0, 0.0, 0.0), np.diag([across, spin, across])),
    )
    # positive when rolling forward: from hub x towards hub -z
    down = hub.axes[2] * -1.0
    builder.angle(f'wheel_{corner}', (hub.axes[0], down), first, 0.0)


def build(
    car: CarDescription, *, driven_rack: bool = True, solver: Solver | None = None
) -> NaturalModel:
    """The car at design pose; with `driven_rack` the steering is an input, not a freedom.

    Samples wait while an observer starts, or starts anew: cars with the same bodies and joints
    are described once.
    """
    parts = Parts(*(getattr(car, name) for name in Parts._fields))
    return _described(parts, driven_rack, Solver() if solver is None else solver).twin()


@lru_cache(maxsize=4)
def _described(car: Parts, driven_rack: bool, solver: Solver) -> NaturalModel:
    builder = NaturalBuilder(3, (0.0, 0.0, -car.gravity))
    chassis = _chassis(builder, car)
    rack, rack_place = _rack(builder, car, chassis)
    if driven_rack:
        builder.drive(builder.index(RACK))
    for corner in CORNERS:
        axle = car.suspension.front if corner[0] == 'f' else car.suspension.rear
        side = 1.0 if corner[1] == 'l' else -1.0
        inner = np.array(car.geometry.centre(corner)) + _mirror(side, axle.tie_inner)
        tie_inner = (
            rack.point(tuple(inner - rack_place))
            if corner[0] == 'f'
            else chassis.point(tuple(inner))
        )
        _corner(builder, car, chassis, corner, tie_inner)
    independent = [*CHASSIS_COORDINATES, *WHEEL_COORDINATES, *STROKE_COORDINATES]
    if not driven_rack:
        independent.append(RACK)
    model = NaturalModel(
        builder, independent, loaded_bodies=[*WHEEL_COORDINATES, 'chassis'], solver=solver
    )
    model.assemble()
    return model
