"""What a car is made of: geometry, masses, suspension, tyres, air, brakes.

SI units; everything in the axes of base_link: midpoint of the rear wheel centres at design height,
x forward, y left, z up. The defaults are a light buggy but for the geometry, which is a saloon's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from veh_identification.configuration.models import Model, entry
from veh_identification.configuration.quantities import (
    DAMPING,
    DRAG,
    INERTIA,
    LENGTH,
    SPEED,
    STIFFNESS,
    Components,
    Dimension,
    NotNegativeLength,
    NotNegativeNumber,
    Position,
    PositiveInertia,
    PositiveLength,
    PositiveMass,
    PositiveNumber,
    PositiveStiffness,
    Quantity,
)
from veh_identification.systems.car.parameters import CORNERS
from veh_identification.types import Vector

FourNumbers = tuple[float, float, float, float]
NotNegativeDamping = Annotated[float, Quantity(DAMPING, 0.0)]
_INERTIA_NAMES = ('xx', 'xy', 'xz', 'yy', 'yz', 'zz')


@dataclass(frozen=True)
class OfCorners(Components):
    """Four numbers in the order fl, fr, rl, rr, by these names, or one for all wheels."""

    names: tuple[str, ...] = CORNERS

    def listed(self, value: object) -> object:
        """One number counts for all."""
        return super().listed([value] * 4 if isinstance(value, (int, float, str)) else value)

    def json_schema(self) -> dict[str, Any]:
        """A number for all wheels too; some corners are enough where a base gives the others."""
        schema = super().json_schema()
        listed, named = schema['anyOf']
        return {**schema, 'anyOf': [listed['items'], listed, {**named, 'required': []}]}


@dataclass(frozen=True)
class Geometry(Model):
    """Where the wheel centres are; four numbers are in the order fl, fr, rl, rr."""

    wheelbase: PositiveLength = entry(2.70, 'x of the front wheel centres')
    half_track: Annotated[FourNumbers, OfCorners(Quantity(LENGTH, positive=True))] = entry(
        (0.75, 0.75, 0.74, 0.74),
        'distance of each wheel centre from the x axis, positive on both sides',
    )
    wheel_radius: PositiveLength = entry(
        0.31, 'rolling: way over angle; taken as the height of the standing wheel centre, too'
    )
    suspension_zero: Annotated[FourNumbers, OfCorners(Quantity(LENGTH))] = entry(
        (0.0, 0.0, 0.0, 0.0),
        'z of the wheel centre when the travel sensor shows zero; it is added to the reading',
    )
    deviation: NotNegativeLength = entry(
        0.0, 'how well wheelbase and half tracks are known, such as 5 mm by a tape; 0: exactly'
    )

    older_entries: ClassVar[Mapping[str, Any]] = {
        **{
            name: {**Quantity(LENGTH, positive=True).json_schema(), 'description': text}
            for name, text in (
                ('track', 'full width of both axles, instead of half_track'),
                ('track_front', 'full width of the front axle'),
                ('track_rear', 'full width of the rear axle'),
                ('half_track_front', 'of both front wheels'),
                ('half_track_rear', 'of both rear wheels'),
                *((f'half_track_{corner}', 'of this wheel alone') for corner in CORNERS),
            )
        },
    }

    @property
    def wheel_x(self) -> FourNumbers:
        """x of each wheel centre."""
        return (self.wheelbase, self.wheelbase, 0.0, 0.0)

    @property
    def wheel_y(self) -> FourNumbers:
        """y of each wheel centre: left positive, right negative."""
        fl, fr, rl, rr = self.half_track
        return (fl, -fr, rl, -rr)

    @property
    def half_track_front(self) -> float:
        """Half the front track."""
        return 0.5 * (self.half_track[0] + self.half_track[1])

    @property
    def half_track_rear(self) -> float:
        """Half the rear track."""
        return 0.5 * (self.half_track[2] + self.half_track[3])

    def centre(self, corner: str) -> Vector:
        """Wheel centre of a corner in base_link at design height."""
        place = CORNERS.index(corner)
        return (self.wheel_x[place], self.wheel_y[place], 0.0)


@dataclass(frozen=True)
class Weighed(Model):
    """What scales showed below the tyres, with everybody and everything that was recorded."""

    total: PositiveMass | None = entry(None, 'of the whole car')
    front: PositiveMass | None = entry(None, 'of the front axle')
    rear: PositiveMass | None = entry(None, 'of the rear axle')
    deviation: PositiveMass = entry(5.0, 'of each of these')
    beyond: PositiveMass = entry(20.0, 'of one wheel, which stands outside of its force sensor')
    beyond_deviation: PositiveMass = entry(5.0, 'of that')


@dataclass(frozen=True)
class Chassis(Model):
    """Body with engine and driver, without the parts that are listed beside it."""

    mass: PositiveMass = entry(440.0, 'of the body')
    centre: Position = entry((0.88, 0.0, 0.20), 'centre of gravity in base_link')
    inertia: Annotated[
        tuple[float, float, float, float, float, float],
        Components(Quantity(INERTIA), _INERTIA_NAMES, zeros=True),
    ] = entry(
        (75.0, 0.0, -5.0, 230.0, 0.0, 260.0),
        'xx xy xz yy yz zz about the centre of gravity; xy = -integral of x y dm',
    )


@dataclass(frozen=True)
class Wheel(Model):
    """Wheel with tyre, axisymmetric."""

    mass: PositiveMass = entry(14.0, 'of one wheel with its tyre')
    spin_inertia: PositiveInertia = entry(0.60, 'about its axis')
    transverse_inertia: PositiveInertia = entry(0.36, 'about a diameter')


@dataclass(frozen=True)
class Hub(Model):
    """Hub carrier."""

    mass: PositiveMass = entry(7.0, 'of one hub carrier')
    inertia: PositiveInertia = entry(0.05, 'about every axis through its centre')


@dataclass(frozen=True)
class Wishbone(Model):
    """Masses of the arms (uniform triangles)."""

    lower_mass: PositiveMass = entry(3.5, 'of a lower arm')
    upper_mass: PositiveMass = entry(2.5, 'of an upper arm')


@dataclass(frozen=True)
class Rack(Model):
    """Steering rack."""

    mass: PositiveMass = entry(4.0, 'of the rack')


@dataclass(frozen=True)
class Axle(Model):
    """Hardpoints of the left corner relative to the wheel centre (y outwards), spring, damper."""

    lower_ball: Position = entry((0.0, -0.10, -0.10), 'ball joint of the lower arm')
    upper_ball: Position = entry((-0.015, -0.125, 0.12), 'ball joint of the upper arm')
    lower_pivots: tuple[Position, Position] = entry(
        ((0.16, -0.42, -0.085), (-0.16, -0.42, -0.085)), 'of the lower arm on the body'
    )
    upper_pivots: tuple[Position, Position] = entry(
        ((0.12, -0.38, 0.105), (-0.12, -0.38, 0.105)), 'of the upper arm on the body'
    )
    tie_outer: Position = entry((0.12, -0.095, -0.05), 'outer end of the tie rod')
    tie_inner: Position = entry(
        (0.12, -0.41, -0.042), 'inner end: moves with the rack in front, fixed behind'
    )
    spring_share: PositiveNumber = entry(
        0.65, 'place of the lower spring eye between pivots and ball joint'
    )
    spring_top: Position = entry((0.0, -0.30, 0.33), 'upper end of spring and damper')
    stiffness: PositiveStiffness = entry(21000.0, 'of the spring, along its stroke')
    damping: NotNegativeDamping = entry(1700.0, 'of the damper, along its stroke')
    bump_travel: PositiveLength = entry(0.055, 'stroke at which the bump stop begins')
    rebound_travel: PositiveLength = entry(0.065, 'stroke at which the rebound stop begins')
    stop_stiffness: PositiveStiffness = entry(150000.0, 'of the stops')
    antiroll: Annotated[float, Quantity(STIFFNESS, 0.0)] = entry(
        0.0, 'of the anti-roll bar, between the strokes of the axle'
    )


@dataclass(frozen=True)
class Suspension(Model):
    """Both axles."""

    front: Axle = entry(Axle, 'front axle')
    rear: Axle = entry(Axle, 'rear axle')


@dataclass(frozen=True)
class Tyre(Model):
    """Tyre data; the slip stiffnesses are over load."""

    stiffness: PositiveStiffness = entry(130000.0, 'vertical')
    damping: NotNegativeDamping = entry(300.0, 'vertical')
    friction: PositiveNumber = entry(1.0, 'friction coefficient')
    longitudinal: PositiveNumber = entry(18.0, 'slip stiffness over load')
    cornering: PositiveNumber = entry(14.0, 'cornering stiffness over load [1/rad]')
    relaxation: PositiveLength = entry(0.30, 'length over which the tread deflects')
    slow_damping: NotNegativeDamping = entry(1500.0, 'of the tread at standstill')
    rolling_resistance: NotNegativeNumber = entry(0.015, 'over load')


@dataclass(frozen=True)
class Air(Model):
    """Drag -C v |v| along x of base_link at a point."""

    drag: Annotated[float, Quantity(DRAG, 0.0)] = entry(
        0.55, 'half the density times area times drag coefficient'
    )
    point: Position = entry((1.0, 0.0, 0.35), 'where it acts, in base_link')
    wind: Annotated[float, Quantity(SPEED, 0.0)] = entry(
        0.0, 'how strong it may be along each of two axes, as a deviation; 0: the air is still'
    )


BrakeGain = Annotated[float, Quantity(Dimension('a brake gain', 'N m/Pa', '1.1e-4'), 0.0)]


@dataclass(frozen=True)
class Brakes(Model):
    """Brake torque of one wheel over pressure."""

    front: BrakeGain = entry(1.1e-4, 'of a front wheel')
    rear: BrakeGain = entry(0.7e-4, 'of a rear wheel')
