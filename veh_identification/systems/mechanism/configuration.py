"""What a file says about a planar mechanism, its sensors, its observer and its truth.

Points are drawn in one pose of the mechanism; bodies join two of them. Bodies that share a point
are hinged there. Everything is in the plane, angles are counter-clockwise from x.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from veh_identification.configuration.document import Document
from veh_identification.configuration.faults import ConfigurationError, shown
from veh_identification.configuration.models import Model, entry, validate
from veh_identification.configuration.quantities import (
    ACCELERATION,
    ANGLE,
    ANGULAR_SPEED,
    FORCE,
    LENGTH,
    NUMBER,
    SPEED,
    Angle,
    Checked,
    Choice,
    Components,
    Dimension,
    Flag,
    NotNegativeTime,
    Number,
    Numbers,
    PositiveFrequency,
    PositiveInertia,
    PositiveLength,
    PositiveMass,
    PositiveTime,
    Quantity,
    QuantityError,
    Text,
    Topic,
)
from veh_identification.configuration.reading import read_all
from veh_identification.systems.mechanism.references import wrong_references

Pair = tuple[float, float]
PlanePoint = Annotated[Pair, Components(Quantity(LENGTH), ('x', 'y'))]
PlaneVector = Annotated[Pair, Components(Quantity(NUMBER), ('x', 'y'))]
PlaneForce = Annotated[Pair, Components(Quantity(FORCE), ('x', 'y'))]
Gravity = Annotated[Pair, Components(Quantity(ACCELERATION), ('x', 'y'))]
NotNegative = Annotated[float, Quantity(NUMBER, 0.0)]
Share = Annotated[float, Quantity(NUMBER, 0.0, 1.0)]

JOINTS = ('revolute', 'link', 'slider', 'prismatic')
#: Kinds of coordinates: an angle of a line, a distance, a travel along a guide, or x or y.
COORDINATES = ('angle', 'distance', 'travel', 'x', 'y')
SENSORS = ('encoder', 'distance', 'rate', 'gyro', 'accelerometer', 'position')


@dataclass(frozen=True)
class OneOf(Checked):
    """Makes `float` a number of one of several dimensions: an angle or a length, say."""

    dimensions: tuple[Dimension, ...]
    minimum: float | None = None

    def read(self, value: object) -> float:
        """The number in SI."""
        for dimension in self.dimensions:
            try:
                return Quantity(dimension, self.minimum).read(value)
            except QuantityError:
                continue
        names = ' or '.join(one.name for one in self.dimensions)
        bound = '' if self.minimum is None else f' of at least {self.minimum:g}'
        raise QuantityError(f'expected {names}{bound}, found {shown(value)}')

    def json_schema(self) -> dict[str, Any]:
        """A number, or a text with a unit."""
        units = ' or '.join(one.unit for one in self.dimensions)
        return {
            **Quantity(self.dimensions[0], self.minimum).json_schema(),
            'x-unit': units,
        }


_MEASURED = (ANGLE, LENGTH, ANGULAR_SPEED, SPEED, ACCELERATION)
Measured = Annotated[float, OneOf(_MEASURED)]
Spread = Annotated[float, OneOf(_MEASURED, 0.0)]
Displacement = Annotated[float, OneOf((ANGLE, LENGTH))]
Rate = Annotated[float, OneOf((ANGULAR_SPEED, SPEED))]


@dataclass(frozen=True)
class PointEntries(Model):
    """A point of the drawing."""

    at: PlanePoint = entry(description='where it is drawn [m]')
    fixed: Flag = entry(False, 'whether it is a point of the ground')


@dataclass(frozen=True)
class BodyEntries(Model):
    """A rigid body: its x axis goes from its first to its second point."""

    points: tuple[Text, Text] = entry(description='the two points that it joins')
    mass: PositiveMass = entry(description='[kg]')
    length: PositiveLength | None = entry(None, 'between its points; left out: as drawn')
    centre: PlanePoint | None = entry(
        None, 'centre of mass from the first point in axes of the body; left out: the middle'
    )
    inertia: PositiveInertia | None = entry(
        None, 'about the centre of mass [kg m^2]; left out: of a uniform bar'
    )
    further: Mapping[Text, PlanePoint] = entry(
        {}, 'more points of the body, from its first point in axes of the body'
    )


@dataclass(frozen=True)
class JointEntries(Model):
    """What joins points beside bodies that share them."""

    kind: Annotated[str, Choice(JOINTS)] = entry(
        description='revolute: two points are one; link: they keep their distance; slider: a '
        'point stays on a line; prismatic: and its body does not turn against it'
    )
    points: tuple[Text, ...] = entry(description='two points; of sliders and prismatic ones one')
    length: PositiveLength | None = entry(None, 'of a link; left out: as drawn')
    on: Text | None = entry(None, 'body that carries the line; left out: the ground')
    through: PlanePoint = entry((0.0, 0.0), 'a point of the line, in axes of what carries it')
    direction: PlaneVector = entry((1.0, 0.0), 'of the line, in axes of what carries it')
    body: Text | None = entry(None, 'of a prismatic joint: the body that slides')
    axis: PlaneVector = entry((1.0, 0.0), 'of that body, which stays along the line')

    def __post_init__(self) -> None:
        for name in ('direction', 'axis'):
            if math.hypot(*getattr(self, name)) == 0.0:
                raise ValueError(f'{name}: expected a vector that is not zero, found 0, 0')
        count = 1 if self.kind in ('slider', 'prismatic') else 2
        if len(self.points) != count:
            raise ValueError(f'points: a {self.kind} has {count}, found {len(self.points)}')
        if self.kind == 'prismatic' and self.body is None:
            raise ValueError('body: a prismatic joint needs the body that slides')


@dataclass(frozen=True)
class CoordinateEntries(Model):
    """A scalar that moves; the independent ones are what the observer estimates."""

    angle: tuple[Text, Text] | None = entry(None, 'of the line from one point to another')
    of: Text | None = entry(None, 'body against which the angle is; left out: the ground')
    distance: tuple[Text, Text] | None = entry(None, 'of two points')
    travel: Text | None = entry(None, 'along the line of this slider or prismatic joint')
    x: Text | None = entry(None, 'of this point')
    y: Text | None = entry(None, 'of this point')
    independent: Flag = entry(
        True, 'whether it is a degree of freedom; the others only serve sensors and springs'
    )
    start: Displacement | None = entry(None, 'at the start; left out: as drawn')
    rate: Rate = entry(0.0, 'at the start')

    def __post_init__(self) -> None:
        given = [name for name in COORDINATES if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError(
                f'expected one of {", ".join(COORDINATES)}, found {", ".join(given) or "none"}'
            )

    @property
    def kind(self) -> str:
        """Which of the kinds it is."""
        return next(name for name in COORDINATES if getattr(self, name) is not None)


@dataclass(frozen=True)
class SpringEntries(Model):
    """Spring and damper between two points, or along a coordinate."""

    points: tuple[Text, Text] | None = entry(None, 'between these points')
    coordinate: Text | None = entry(None, 'or along this coordinate')
    stiffness: NotNegative = entry(0.0, '[N/m or N m/rad]')
    damping: NotNegative = entry(0.0, '[N s/m or N m s/rad]')
    rest: Displacement = entry(0.0, 'length or coordinate without force of the spring')
    preload: Number = entry(0.0, 'constant pull between the points [N]')

    def __post_init__(self) -> None:
        if (self.points is None) == (self.coordinate is None):
            raise ValueError('expected either points or coordinate')
        if self.coordinate is not None and self.preload != 0.0:
            raise ValueError('preload: a spring along a coordinate has a rest instead')


@dataclass(frozen=True)
class DriveEntries(Model):
    """A force or torque along a coordinate, of a motor or a brake."""

    coordinate: Text = entry(description='that it pushes')
    force: Number = entry(0.0, 'as long as no message brings it [N or N m]')
    joint: Text | None = entry(
        None, 'of joint_states whose effort it is; left out: the coordinate; empty: none'
    )


@dataclass(frozen=True)
class LoadEntries(Model):
    """A constant force on a point in axes of the world."""

    point: Text = entry(description='where it acts')
    force: PlaneForce = entry(description='[N]')


@dataclass(frozen=True)
class PointMass(Model):
    """A mass at a point."""

    point: Text = entry(description='where it is')
    mass: PositiveMass = entry(description='[kg]')


@dataclass(frozen=True)
class SensorEntries(Model):
    """A sensor: what it looks at, its noise, and the message that brings it.

    encoder (of an angle), distance (of a length) and rate come by joint_states, gyro and
    accelerometer by sensor_msgs/Imu, position by geometry_msgs/PointStamped.
    """

    kind: Annotated[str, Choice(SENSORS)] = entry(description='what it measures')
    coordinate: Text | None = entry(None, 'of encoder, distance and rate')
    body: Text | None = entry(None, 'that carries a gyro or an accelerometer')
    point: Text | None = entry(None, 'of that body; or of a position')
    turned: Angle = entry(0.0, 'x axis of an accelerometer against that of its body')
    deviation: Spread = entry(0.0, 'standard deviation of its noise in SI units')
    resolution: Spread = entry(0.0, 'step of an encoder, in SI units')
    counting: Flag = entry(False, 'an encoder that shows whole steps passed, so rounds down')
    delay: NotNegativeTime = entry(0.0, 'how late its stamps are')
    bias_deviation: Spread = entry(0.0, 'of a bias that is estimated; 0: none is')
    bias_walk: NotNegative = entry(0.0, 'random walk of that bias [unit^2/s]')
    joint: Text | None = entry(None, 'of joint_states; left out: the coordinate')
    topic: Topic | None = entry(None, 'of Imu and PointStamped; left out: the name of the sensor')

    def __post_init__(self) -> None:
        needed = {
            'gyro': ('body',),
            'accelerometer': ('body', 'point'),
            'position': ('point',),
        }.get(self.kind, ('coordinate',))
        for name in needed:
            if getattr(self, name) is None:
                raise ValueError(f'{name}: a sensor of kind {self.kind} needs it')
        if self.deviation == 0.0 and (self.resolution == 0.0 or not self.by_joint):
            raise ValueError('deviation: expected a positive number, found 0')
        if self.by_joint and self.topic is not None:
            raise ValueError(
                f'topic: a sensor of kind {self.kind} comes by joint_states; joint names it there '
                '(veh-id convert --map gives a topic another name)'
            )
        if self.by_joint and self.bias_deviation > 0.0:
            raise ValueError(
                f'bias_deviation: the bias of a sensor of kind {self.kind} is none '
                'that can be told from its coordinate'
            )

    @property
    def by_joint(self) -> bool:
        """Whether joint_states brings it."""
        return self.kind in ('encoder', 'distance', 'rate')


@dataclass(frozen=True)
class ObserverEntries(Model):
    """Settings of the errorEKF; one number for all independent coordinates, or a list of them."""

    sensors: tuple[Text, ...] | None = entry(None, 'which it takes; left out: all')
    start: Annotated[str, Choice(('measured', 'given'))] = entry(
        'measured', 'from the first samples of the sensors, or as the coordinates say'
    )
    step: PositiveTime = entry(0.005, 'longest step')
    position_deviation: Numbers = entry((0.1,), 'at the start [rad or m]')
    velocity_deviation: Numbers = entry((1.0,), 'at the start [rad/s or m/s]')
    acceleration_noise: Numbers = entry(
        (1.0,), 'white acceleration noise: what the model gets wrong [rad^2/s^3 or m^2/s^3]'
    )
    force_estimation: Flag = entry(False, 'errorEKF-FE: estimate unknown forces as well')
    acceleration_deviation: Numbers = entry((10.0,), 'at the start, errorEKF-FE')
    force_estimation_noise: Numbers | None = entry(
        None, 'acceleration_noise of errorEKF-FE; left out: the same'
    )
    force_noise: Numbers = entry((1.0,), 'random walk of the acceleration error, errorEKF-FE')
    gate_probability: Share | None = entry(
        None, 'of the gate that refuses outliers; left out: none is refused'
    )


@dataclass(frozen=True)
class TrueBody(Model):
    """What a body really is."""

    mass: PositiveMass | None = entry(None, '[kg]')
    centre: PlanePoint | None = entry(None, 'centre of mass')
    inertia: PositiveInertia | None = entry(None, 'about the centre of mass')


@dataclass(frozen=True)
class TrueCoordinate(Model):
    """What a coordinate really does."""

    start: Displacement | None = entry(None, 'at the start')
    rate: Rate | None = entry(None, 'at the start')
    friction: NotNegative = entry(0.0, 'dry friction along it, unknown to the model [N or N m]')


@dataclass(frozen=True)
class TrueSpring(Model):
    """What a spring really is."""

    stiffness: NotNegative | None = entry(None, '[N/m or N m/rad]')
    damping: NotNegative | None = entry(None, '[N s/m or N m s/rad]')


@dataclass(frozen=True)
class Pulse(Model):
    """A while in which a drive does something else than its message says."""

    drive: Text = entry(description='which')
    force: Number = entry(description='meanwhile')
    start: NotNegativeTime = entry(description='begin')
    end: NotNegativeTime = entry(description='end')


@dataclass(frozen=True)
class Swing(Model):
    """A drive that goes to and fro, as its messages say."""

    amplitude: Number = entry(description='beside the constant force')
    frequency: PositiveFrequency = entry(description='of the sine')


@dataclass(frozen=True)
class TrueSensor(Model):
    """What a sensor really does, unknown to the observer."""

    rate: PositiveFrequency | None = entry(None, 'left out: one sample a step')
    bias: Measured = entry(0.0, 'constant')
    delay: NotNegativeTime = entry(0.0, 'of its stamps, beyond what the observer knows')
    deviation: Spread | None = entry(None, 'left out: as the sensor says')


@dataclass(frozen=True)
class TruthEntries(Model):
    """How the real mechanism differs from the model; `simulate` only."""

    duration: PositiveTime = entry(10.0, 'of a recording')
    step: PositiveTime = entry(0.005, 'between two samples')
    jitter: NotNegativeTime = entry(0.0, 'standard deviation of the stamps')
    gravity: Gravity | None = entry(None, 'left out: as the model says')
    bodies: Mapping[Text, TrueBody] = entry({}, 'by name')
    coordinates: Mapping[Text, TrueCoordinate] = entry({}, 'by name')
    springs: Mapping[Text, TrueSpring] = entry({}, 'by name')
    swings: Mapping[Text, Swing] = entry({}, 'by name of the drive')
    pulses: tuple[Pulse, ...] = entry((), 'that no message tells of')
    sensors: Mapping[Text, TrueSensor] = entry({}, 'by name')


@dataclass(frozen=True)
class Description(Model):
    """A planar mechanism."""

    points: Mapping[Text, PointEntries] = entry(description='the drawing')
    bodies: Mapping[Text, BodyEntries] = entry(description='rigid bodies')
    coordinates: Mapping[Text, CoordinateEntries] = entry(description='that move')
    sensors: Mapping[Text, SensorEntries] = entry(description='by name')
    name: Text = entry('mechanism', 'in reports')
    gravity: Gravity = entry((0.0, -9.80665), '[m/s^2]')
    joints: Mapping[Text, JointEntries] = entry({}, 'beside shared points')
    springs: Mapping[Text, SpringEntries] = entry({}, 'and dampers')
    drives: Mapping[Text, DriveEntries] = entry({}, 'forces and torques along coordinates')
    loads: Mapping[Text, LoadEntries] = entry({}, 'constant forces')
    masses: Mapping[Text, PointMass] = entry({}, 'at points')
    observer: ObserverEntries = entry(ObserverEntries, 'of errorEKF and errorEKF-FE')
    truth: TruthEntries = entry(TruthEntries, 'of `veh-id simulate mechanism`')

    @property
    def independent(self) -> list[str]:
        """Names of the independent coordinates."""
        return [name for name, one in self.coordinates.items() if one.independent]


def load(path: Path | str) -> Description:
    """A mechanism from a file; every wrong entry and every unknown name at once."""
    return checked(read_all(path))


def checked(document: Document) -> Description:
    """A mechanism from a document."""
    found = validate(Description, document)
    faults = [document.fault(place, text) for place, text in wrong_references(found)]
    if faults:
        raise ConfigurationError(faults)
    return found
