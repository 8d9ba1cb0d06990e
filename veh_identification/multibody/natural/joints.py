"""Kinematic pairs between bodies in natural coordinates (section 2.1.2).

Where two bodies already share a point or a vector, the pair needs no equation at all; these
functions are for bodies that do not.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from veh_identification.errors import ModelError
from veh_identification.multibody.natural.builder import AXES, NaturalBuilder
from veh_identification.multibody.natural.forms import Form
from veh_identification.multibody.natural.records import Body


def check_length(name: str, value: float) -> float:
    """A strictly positive finite length, or one clear sentence."""
    if not (math.isfinite(value) and value > 0.0):
        raise ModelError(f'{name} must be a positive length in metres, found {value}')
    return value


def coincident(builder: NaturalBuilder, name: str, first: Form, second: Form) -> None:
    """Two points are one: spherical joint in space, revolute joint in the plane."""
    difference = second - first
    if not difference.columns:
        raise ModelError(f'joint {name!r} joins two points that are both fixed or identical')
    for component in range(builder.description.dimension):
        builder.linear(f'{name} {AXES[component]}', difference, component)


def spherical(builder: NaturalBuilder, name: str, first: Form, second: Form) -> None:
    """Ball joint: the two points coincide."""
    coincident(builder, name, first, second)


def revolute(
    builder: NaturalBuilder,
    name: str,
    first: Form,
    second: Form,
    axis: Form | None = None,
    normals: tuple[Form, Form] | None = None,
) -> None:
    """Hinge: coincident points and, in space, `axis` of one body normal to two of the other."""
    coincident(builder, name, first, second)
    if builder.description.dimension == 3:
        if axis is None or normals is None:
            raise ModelError(f'revolute joint {name!r} in space needs an axis and two normals')
        for number, normal in enumerate(normals, start=1):
            builder.dot(f'{name} axis {number}', axis, normal, 0.0)


def universal(
    builder: NaturalBuilder,
    name: str,
    first: Form,
    second: Form,
    axis_first: Form,
    axis_second: Form,
    value: float = 0.0,
) -> None:
    """Cardan joint: coincident points and a constant angle between the two cross axes."""
    coincident(builder, name, first, second)
    builder.dot(f'{name} cross', axis_first, axis_second, value)


def constant_distance(
    builder: NaturalBuilder, name: str, first: Form, second: Form, length: float
) -> None:
    """Massless link with two ball joints (a tie rod): equations (1) and (2)."""
    check_length(f'link {name!r}', length)
    difference = second - first
    builder.dot(f'{name} length', difference, difference, length**2)


def cylindrical(
    builder: NaturalBuilder,
    name: str,
    point: Form,
    normals: tuple[Form, Form],
    sliding_point: Form,
    sliding_axis: Form,
) -> None:
    """Sliding and turning along one axis: the line through `point` normal to both `normals`."""
    offset = sliding_point - point
    for number, normal in enumerate(normals, start=1):
        builder.dot(f'{name} line {number}', normal, offset, 0.0)
        builder.dot(f'{name} axis {number}', normal, sliding_axis, 0.0)


def prismatic(
    builder: NaturalBuilder,
    name: str,
    point: Form,
    normals: Sequence[Form],
    sliding_point: Form,
    sliding_axis: Form,
    lock: tuple[Form, Form] | None = None,
    lock_value: float = 0.0,
) -> None:
    """Sliding along one axis without turning (equations 5 and 6).

    In the plane `normals` is the one normal of the guide; in space two normals, and `lock` is a
    pair of vectors of the two bodies whose dot product stays `lock_value`.
    """
    if builder.description.dimension == 2:
        builder.dot(f'{name} line', normals[0], sliding_point - point, 0.0)
        builder.dot(f'{name} axis', normals[0], sliding_axis, 0.0)
        return
    if lock is None or len(normals) != 2:
        raise ModelError(f'prismatic joint {name!r} in space needs two normals and a lock pair')
    cylindrical(builder, name, point, (normals[0], normals[1]), sliding_point, sliding_axis)
    builder.dot(f'{name} lock', lock[0], lock[1], lock_value)


def rack(
    builder: NaturalBuilder,
    name: str,
    guide: Body,
    start: Sequence[float],
    normals: tuple[Sequence[float], Sequence[float]],
    guess: Sequence[float],
) -> Form:
    """A point that slides along a body-fixed line (a steering rack); returns the new point."""
    point = builder.point(name, guess)
    offset = point - guide.point(start)
    for number, normal in enumerate(normals, start=1):
        builder.dot(f'{name} line {number}', guide.vector(normal), offset, 0.0)
    return point
