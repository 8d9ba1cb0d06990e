"""Plain records that a model description is made of: coordinates, bodies, constraints, springs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from veh_identification.multibody.natural.forms import Form, combination

# Kinds of constraint rows; every natural-coordinate constraint is one of these five.
LINEAR = 0  # row(q) - value(t) = 0
DOT = 1  # a . b - value = 0                               (equations 1-6, 33, 35)
ANGLE = 2  # (e2 . v) cos(theta) - (e1 . v) sin(theta) = 0   (equations 21, 36, 37, 95)
DISTANCE = 3  # d . d - s^2 = 0                              (equation 38)
PROJECTION = 4  # a . b - s = 0: signed travel along an axis (a steering rack)


@dataclass
class Constraint:
    """One scalar constraint row: kind, form numbers (or a scalar row), coordinate, value."""

    name: str
    kind: int
    forms: tuple[int, int, int]
    coordinate: int
    value: float
    driven: bool = False


@dataclass(frozen=True, eq=False)
class Body:
    """A rigid body: its frame (origin and axes) as linear forms of the coordinates."""

    name: str
    origin: Form
    axes: tuple[Form, Form, Form]
    index: int
    mass: float = 0.0
    centre: tuple[float, float, float] = (0.0, 0.0, 0.0)

    def point(self, local: Sequence[float]) -> Form:
        """The body point with these local coordinates (equations 30-34, 84)."""
        return self.origin + self.vector(local)

    def vector(self, local: Sequence[float]) -> Form:
        """The body-fixed vector with these local components."""
        weights = [float(v) for v in local] + [0.0] * (3 - len(local))
        return combination(self.axes, weights)


@dataclass
class Spring:
    """Spring and damper between two points: pulls with k (L - L0) + c L' + preload."""

    name: str
    form: int
    stiffness: float
    damping: float
    free_length: float
    preload: float


@dataclass
class CoordinateSpring:
    """Spring and damper on one scalar coordinate (an angle or a distance)."""

    name: str
    coordinate: int
    stiffness: float
    damping: float
    rest: float


@dataclass
class Description:
    """Everything that `NaturalBuilder` has collected."""

    dimension: int
    gravity: tuple[float, float, float]
    names: list[str] = field(default_factory=list)
    guess: list[float] = field(default_factory=list)
    forms: list[Form] = field(default_factory=list)
    constraints: list[Constraint] = field(default_factory=list)
    implied: list[Constraint] = field(default_factory=list)
    bodies: list[Body] = field(default_factory=list)
    springs: list[Spring] = field(default_factory=list)
    coordinate_springs: list[CoordinateSpring] = field(default_factory=list)
    masses: list[tuple[tuple[Form, ...], list[list[float]]]] = field(default_factory=list)
    weights: list[tuple[Form, float]] = field(default_factory=list)
