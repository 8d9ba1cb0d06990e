"""From a description to a model in natural coordinates, its sensors and its errorEKF."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from veh_identification.errors import ModelError
from veh_identification.multibody.natural import NaturalBuilder, NaturalModel, joints
from veh_identification.multibody.natural.forms import Form
from veh_identification.multibody.natural.records import Body
from veh_identification.observation import (
    AdaptiveSettings,
    ErrorEKF,
    ErrorEKFSettings,
    ObservedModel,
    Sensor,
)
from veh_identification.observation.natural import ApplyInputs
from veh_identification.observation.sensors import (
    Accelerometer,
    CoordinateRateSensor,
    CoordinateSensor,
    GpsPosition,
    Gyroscope,
)
from veh_identification.systems.mechanism.configuration import (
    CoordinateEntries,
    Description,
    JointEntries,
    SensorEntries,
)
from veh_identification.types import Array

#: Of an independent coordinate between two assemblies on the way to the start [rad or m].
LARGEST_STEP = 0.2


def named(axis: str, point: str) -> str:
    """How a coordinate of a point is called in messages and tables: x1, x_pin."""
    return f'{axis}{point}' if point.isdigit() else f'{axis}_{point}'


@dataclass(frozen=True, eq=False)
class Guide:
    """The line of a slider: a point of it, its direction and its normal."""

    point: Form
    direction: Form
    normal: Form


@dataclass(frozen=True, eq=False)
class Mechanism:
    """A description and what was made of it."""

    description: Description
    model: NaturalModel
    points: Mapping[str, Form]
    places: Mapping[str, tuple[str, tuple[float, float]]]  # of points: a body and where on it
    columns: Mapping[str, int]  # of coordinates among the natural ones
    names: tuple[str, ...]  # of the natural coordinates, in their order

    @property
    def moving(self) -> list[str]:
        """The points that have coordinates of their own."""
        return [name for name, one in self.description.points.items() if not one.fixed]


class _Drawing:
    """Collects what a description says in a builder."""

    def __init__(self, description: Description) -> None:
        self.description = description
        self.builder = NaturalBuilder(2, description.gravity)
        self.points: dict[str, Form] = {}
        self.drawn: dict[str, Array] = {}
        self.places: dict[str, tuple[str, tuple[float, float]]] = {}
        self.bodies: dict[str, Body] = {}
        self.guides: dict[str, Guide] = {}
        self.columns: dict[str, int] = {}
        axes = self.builder.fixed((1.0, 0.0)), self.builder.fixed((0.0, 1.0))
        self.ground = self.builder.fixed((0.0, 0.0)), axes

    def add_all(self) -> None:
        """Everything, in the order in which the parts need each other."""
        for name, point in self.description.points.items():
            make = (
                self.builder.fixed if point.fixed else lambda at, n=name: self.builder.point(n, at)
            )
            self.points[name], self.drawn[name] = make(point.at), np.array(point.at)
        self._add_bodies()
        for name, mass in self.description.masses.items():
            if not self.points[mass.point].columns:
                raise ModelError(f'masses.{name}: point {mass.point!r} does not move')
            self.builder.point_mass(self.points[mass.point], mass.mass)
        for name, joint in self.description.joints.items():
            self._add_joint(name, joint)
        for name, coordinate in self.description.coordinates.items():
            self.columns[name] = self._add_coordinate(name, coordinate)
        self._add_springs()

    def _add_bodies(self) -> None:
        for name, body in self.description.bodies.items():
            first, second = body.points
            length = body.length
            if length is None:
                length = float(np.hypot(*(self.drawn[second] - self.drawn[first])))
            centre = (0.5 * length, 0.0) if body.centre is None else body.centre
            own = body.mass * length**2 / 12.0 if body.inertia is None else body.inertia
            made = self.builder.planar_body(
                name,
                self.points[first],
                self.points[second],
                length,
                mass=body.mass,
                centre=centre,
                inertia=own + body.mass * (centre[0] ** 2 + centre[1] ** 2),
            )
            self.bodies[name] = made
            self.places.setdefault(first, (name, (0.0, 0.0)))
            self.places.setdefault(second, (name, (length, 0.0)))
            along = (self.drawn[second] - self.drawn[first]) / length
            for point, place in body.further.items():
                self.points[point] = made.point(place)
                turned = place[0] * along + place[1] * np.array([-along[1], along[0]])
                self.drawn[point] = self.drawn[first] + turned
                self.places[point] = name, place

    def _add_joint(self, name: str, joint: JointEntries) -> None:
        if joint.kind in ('revolute', 'link'):
            first, second = (self.points[one] for one in joint.points)
            if joint.kind == 'revolute':
                joints.revolute(self.builder, name, first, second)
                return
            apart = float(np.hypot(*(self.drawn[joint.points[1]] - self.drawn[joint.points[0]])))
            length = apart if joint.length is None else joint.length
            joints.constant_distance(self.builder, name, first, second, length)
            return
        guide = self.guides[name] = self._guide(joint)
        sliding = self.points[joint.points[0]]
        if joint.kind == 'slider':
            self.builder.dot(f'{name} line', guide.normal, sliding - guide.point, 0.0)
            return
        assert joint.body is not None
        axis = self.bodies[joint.body].vector(joint.axis)
        joints.prismatic(self.builder, name, guide.point, (guide.normal,), sliding, axis)

    def _guide(self, joint: JointEntries) -> Guide:
        size = math.hypot(*joint.direction)
        x, y = joint.direction[0] / size, joint.direction[1] / size
        if joint.on is None:
            fixed = self.builder.fixed
            return Guide(fixed(joint.through), fixed((x, y)), fixed((-y, x)))
        body = self.bodies[joint.on]
        return Guide(body.point(joint.through), body.vector((x, y)), body.vector((-y, x)))

    def _add_coordinate(self, name: str, one: CoordinateEntries) -> int:
        builder = self.builder
        if one.angle is not None:
            first, second = one.angle
            axes, start = self.ground[1], self.drawn[second] - self.drawn[first]
            turn = math.atan2(start[1], start[0])
            if one.of is not None:
                body = self.bodies[one.of]
                axes = body.axes[0], body.axes[1]
                a, b = (self.drawn[point] for point in self.description.bodies[one.of].points)
                turn = math.remainder(turn - math.atan2(b[1] - a[1], b[0] - a[0]), math.tau)
            return builder.angle(name, axes, self.points[second] - self.points[first], turn)
        if one.distance is not None:
            first, second = one.distance
            apart = float(np.hypot(*(self.drawn[second] - self.drawn[first])))
            return builder.distance(name, self.points[first], self.points[second], apart)
        if one.travel is not None:
            joint = self.description.joints[one.travel]
            guide, point = self.guides[one.travel], joint.points[0]
            return builder.projection(
                name, guide.direction, guide.point, self.points[point], self._drawn_travel(joint)
            )
        own = one.x if one.x is not None else one.y
        assert own is not None
        if own not in self.description.points or self.description.points[own].fixed:
            raise ModelError(f'coordinates.{name}: point {own!r} has no {one.kind} of its own')
        return builder.index(f'{own}.{one.kind}')

    def _drawn_travel(self, joint: JointEntries) -> float:
        size = math.hypot(*joint.direction)
        base, x, y = np.zeros(2), np.array([1.0, 0.0]), np.array([0.0, 1.0])
        if joint.on is not None:
            a, b = (self.drawn[one] for one in self.description.bodies[joint.on].points)
            base, x = a, (b - a) / float(np.hypot(*(b - a)))
            y = np.array([-x[1], x[0]])
        through = base + joint.through[0] * x + joint.through[1] * y
        along = (joint.direction[0] * x + joint.direction[1] * y) / size
        return float(along @ (self.drawn[joint.points[0]] - through))

    def _add_springs(self) -> None:
        for name, spring in self.description.springs.items():
            if spring.points is not None:
                first, second = (self.points[one] for one in spring.points)
                self.builder.spring(
                    name,
                    first,
                    second,
                    stiffness=spring.stiffness,
                    damping=spring.damping,
                    free_length=spring.rest,
                    preload=spring.preload,
                )
                continue
            assert spring.coordinate is not None
            column, rest = self.columns[spring.coordinate], spring.rest
            if self.description.coordinates[spring.coordinate].kind == 'angle':
                # 350 degrees are as good as -10: the turn that is near to the drawing
                drawn = self.builder.description.guess[column]
                rest = drawn - math.remainder(drawn - rest, math.tau)
            self.builder.coordinate_spring(
                name,
                column,
                stiffness=spring.stiffness,
                damping=spring.damping,
                rest=rest,
            )


def build(
    description: Description,
    start: Mapping[str, float] | None = None,
    rates: Mapping[str, float] | None = None,
) -> Mechanism:
    """The assembled model; `start` and `rates` of coordinates instead of those described."""
    drawing = _Drawing(description)
    drawing.add_all()
    builder, independent = drawing.builder, description.independent
    columns = [drawing.columns[name] for name in independent]
    model = NaturalModel(builder, columns)
    freedom = len(model.names) - len(model.constraint_names)
    if freedom < len(independent):
        raise ModelError(
            f'{len(independent)} independent coordinates are named ({", ".join(independent)}), '
            f'but joints and bodies leave {freedom} degrees of freedom'
        )
    for load in description.loads.values():
        matrix = drawing.points[load.point].matrix(len(model.names))
        model.loads.coordinate_force[:] += np.array(load.force) @ matrix[:2]
    for drive in description.drives.values():
        model.loads.coordinate_force[drawing.columns[drive.coordinate]] += drive.force
    _assemble(model, description, columns, start or {}, rates or {})
    names = list(model.names)
    for point, one in description.points.items():
        if not one.fixed:
            for axis in 'xy':
                names[builder.index(f'{point}.{axis}')] = named(axis, point)
    return Mechanism(
        description, model, drawing.points, drawing.places, drawing.columns, tuple(names)
    )


def _assemble(
    model: NaturalModel,
    description: Description,
    columns: Sequence[int],
    start: Mapping[str, float],
    rates: Mapping[str, float],
) -> None:
    """From the drawing to the start in small steps: a large one might end on another branch.

    An angle is approached within its turn; the turns that an encoder has counted are added after.
    """
    names = description.independent
    drawn = model.q[columns]
    wanted = drawn.copy()
    for k, name in enumerate(names):
        given = start.get(name, description.coordinates[name].start)
        wanted[k] = wanted[k] if given is None else given
    angles = np.array([description.coordinates[name].kind == 'angle' for name in names])
    near = drawn + np.where(angles, np.remainder(wanted - drawn + np.pi, 2 * np.pi) - np.pi, 0.0)
    near = np.where(angles, near, wanted)
    zd = [rates.get(name, description.coordinates[name].rate) for name in names]
    count = 1 + int(np.max(np.abs(near - drawn)) / LARGEST_STEP)
    for share in np.linspace(0.0, 1.0, count + 1):
        model.assemble(drawn + share * (near - drawn), zd)
    sprung = {one.coordinate for one in description.springs.values()}
    for k, name in enumerate(names):
        if angles[k] and name not in sprung:
            model.q[columns[k]] = wanted[k]


def make_sensors(mechanism: Mechanism, names: Sequence[str]) -> list[Sensor]:
    """Sensor models by name; the accelerometer predicts with the gravity of the model."""
    return [_sensor(mechanism, name, mechanism.description.sensors[name]) for name in names]


def _sensor(mechanism: Mechanism, name: str, one: SensorEntries) -> Sensor:
    if one.by_joint:
        assert one.coordinate is not None
        column = mechanism.columns[one.coordinate]
        if one.kind == 'rate':
            return CoordinateRateSensor(name, column, one.deviation)
        return CoordinateSensor(
            name,
            column,
            one.deviation,
            resolution=one.resolution,
            counting=one.counting,
            wrap=one.kind == 'encoder',
        )
    if one.kind == 'gyro':
        assert one.body is not None
        return Gyroscope(
            name,
            one.body,
            one.deviation,
            axes=(2,),
            bias_deviation=one.bias_deviation,
            bias_walk=one.bias_walk,
        )
    assert one.point is not None
    if one.kind == 'position':
        if one.point not in mechanism.places:
            raise ModelError(f'sensors.{name}: point {one.point!r} belongs to no body')
        body, place = mechanism.places[one.point]
        return GpsPosition(name, body, place, one.deviation, components=2)
    assert one.body is not None
    c, s = math.cos(one.turned), math.sin(one.turned)
    return Accelerometer(
        name,
        one.body,
        place_on(mechanism, one.body, one.point),
        one.deviation,
        mechanism.description.gravity,
        mounting=np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]]),
        axes=(0, 1),
        bias_deviation=one.bias_deviation,
        bias_walk=one.bias_walk,
    )


def place_on(mechanism: Mechanism, body: str, point: str) -> tuple[float, float]:
    """Where a point of a body is, in its axes."""
    entries = mechanism.description.bodies[body]
    if point in entries.further:
        return entries.further[point]
    if point == entries.points[0]:
        return 0.0, 0.0
    first, second = (mechanism.points[one].value(mechanism.model.q) for one in entries.points)
    return float(np.hypot(*(second - first)[:2])), 0.0


def make_filter(
    mechanism: Mechanism,
    names: Sequence[str] | None = None,
    force: bool | None = None,
    adaptive: AdaptiveSettings | None = None,
    apply_inputs: ApplyInputs | None = None,
    **changes: Any,
) -> ErrorEKF:
    """errorEKF, or errorEKF-FE, over the model of a description."""
    observer = mechanism.description.observer
    chosen = sensors_of(mechanism.description) if names is None else names
    estimated = observer.force_estimation if force is None else force
    noise = observer.acceleration_noise
    if estimated and observer.force_estimation_noise is not None:
        # what is left of the acceleration error once its slow part is a state
        noise = observer.force_estimation_noise
    values: dict[str, Any] = {
        'position_deviation': _each(observer.position_deviation),
        'velocity_deviation': _each(observer.velocity_deviation),
        'acceleration_noise': _each(noise),
        'acceleration_deviation': _each(observer.acceleration_deviation),
        'force_noise': _each(observer.force_noise),
        'gate_probability': observer.gate_probability,
        'force_estimation': estimated,
        'adaptive': adaptive,
        **changes,
    }
    observed = ObservedModel(
        mechanism.model, apply_inputs=apply_inputs or forces_applier(mechanism)
    )
    return ErrorEKF(observed, make_sensors(mechanism, chosen), ErrorEKFSettings(**values))


def _each(values: Sequence[float]) -> Any:
    return values[0] if len(values) == 1 else np.array(values)


def sensors_of(description: Description) -> tuple[str, ...]:
    """The sensors that the observer takes."""
    chosen = description.observer.sensors
    return tuple(description.sensors) if chosen is None else chosen


def forces_applier(mechanism: Mechanism) -> ApplyInputs:
    """Inputs of the observed model: forces by the name of their drive; those it lacks stay."""
    drives = mechanism.description.drives
    applied = {name: drive.force for name, drive in drives.items()}
    columns = {name: mechanism.columns[drive.coordinate] for name, drive in drives.items()}

    def apply(model: NaturalModel, forces: Mapping[str, float] | None) -> None:
        for name, force in (forces or {}).items():
            if force != applied[name]:
                model.loads.coordinate_force[columns[name]] += force - applied[name]
                applied[name] = force

    return apply
