"""Tree-structured multibody models as plain arrays.

A model is a list of bodies in topological order (a parent stands before its children). The root
frame has the index -1: the ground of a fixed-base model, or the moving base of a floating one,
whose first body is rigidly joined to it and whose motion comes as Euler variables (the mixed
Newton-Lagrange form of Venture 2006, section III.B.4).

The frame of body j stands in its parent's frame at `rotation[j]`, `translation[j]` when the joint
is at zero; a revolute joint turns it about `axis[j]`, a prismatic one shifts it along `axis[j]`.
Joint positions come from generalised coordinates: position = multiplier * coordinate + offset, so
several joints may follow one coordinate (mimic joints, a common steering angle). All arrays over
coordinates (positions, velocities, accelerations) have `dof` columns.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from veh_identification.errors import ModelError
from veh_identification.multibody.inertia import PARAMETERS_PER_BODY
from veh_identification.types import Array

# Joint types carry Khalil's sigma.
REVOLUTE, PRISMATIC, LOCKED = 0, 1, 2
ROOT = -1
BASE_ROWS = ('FX', 'FY', 'FZ', 'NX', 'NY', 'NZ')


def _zero_vector() -> Array:
    return np.zeros(3)


@dataclass(frozen=True, eq=False)
class Frame:
    """A frame fixed on a body (or on the root, body -1): where sensors and contacts are."""

    body: int
    rotation: Array
    translation: Array


@dataclass(frozen=True, eq=False)
class BodySpec:
    """One body with the joint to its parent, as a loader reads it; `parent` '' is the root."""

    name: str
    parent: str
    joint: str = ''
    joint_type: int = LOCKED
    rotation: Array = field(default_factory=lambda: np.eye(3))
    translation: Array = field(default_factory=_zero_vector)
    axis: Array = field(default_factory=lambda: np.array([0.0, 0.0, 1.0]))
    coordinate: str = ''
    multiplier: float = 1.0
    offset: float = 0.0
    real: bool = True
    parameters: Array = field(default_factory=lambda: np.zeros(PARAMETERS_PER_BODY))


@dataclass(frozen=True, eq=False)
class TreeModel:
    """A tree of bodies; see the module's text for the meaning of the arrays."""

    name: str
    floating: bool
    body_names: tuple[str, ...]
    joint_names: tuple[str, ...]
    parent: NDArray[np.int64]
    joint_type: NDArray[np.int64]
    rotation: Array
    translation: Array
    axis: Array
    coordinate_names: tuple[str, ...]
    coordinate: NDArray[np.int64]
    multiplier: Array
    offset: Array
    real: NDArray[np.bool_]
    parameters: Array
    frames: Mapping[str, Frame] = field(default_factory=dict)
    merged: Mapping[str, str] = field(default_factory=dict)
    ties: tuple[str, ...] = ()
    # Sentences about values that can be used but look wrong; callers show them to the user.
    warnings: tuple[str, ...] = ()

    @property
    def bodies(self) -> int:
        """Number of bodies, virtual ones included."""
        return len(self.body_names)

    @property
    def dof(self) -> int:
        """Number of generalised coordinates (without the six of a floating base)."""
        return len(self.coordinate_names)

    @property
    def row_names(self) -> tuple[str, ...]:
        """Names of all equations: the six of a floating base, then one per coordinate."""
        return (BASE_ROWS if self.floating else ()) + self.coordinate_names

    def body_index(self, name: str) -> int:
        """Index of a body by name."""
        try:
            return self.body_names.index(name)
        except ValueError:
            raise ModelError(
                f'model {self.name}: there is no body "{name}", only {", ".join(self.body_names)}'
            ) from None

    def coordinate_index(self, name: str) -> int:
        """Index of a generalised coordinate by its name or by the name of a joint that uses it."""
        if name in self.coordinate_names:
            return self.coordinate_names.index(name)
        if name in self.joint_names:
            index = int(self.coordinate[self.joint_names.index(name)])
            if index >= 0:
                return index
        raise ModelError(
            f'model {self.name}: there is no moving joint "{name}", only '
            f'{", ".join(self.coordinate_names)}'
        )

    def coordinate_is_angle(self, index: int) -> bool:
        """True when the first joint that uses the coordinate is revolute."""
        first = int(np.flatnonzero(self.coordinate == index)[0])
        return bool(self.joint_type[first] == REVOLUTE)

    def frame(self, name: str) -> Frame:
        """A named frame: a body's own, or one of a link that was merged into a body."""
        if name in self.frames:
            return self.frames[name]
        return Frame(self.body_index(name), np.eye(3), np.zeros(3))

    def joint_transform(self) -> tuple[Array, Array, Array]:
        """Matrices C, B, S with rotation of body j in its parent = C + B cos(q) + S sin(q)."""
        outer = self.axis[:, :, None] * self.axis[:, None, :]
        turns = (self.joint_type == REVOLUTE)[:, None, None]
        constant = np.where(turns, self.rotation @ outer, self.rotation)
        cosine = np.where(turns, self.rotation @ (np.eye(3) - outer), 0.0)
        sine = np.where(turns, self.rotation @ skew(self.axis), 0.0)
        return constant, cosine, sine


def skew(vector: Array) -> Array:
    """Cross-product matrices (..., 3, 3) of vectors (..., 3): equation 13 of Venture 2006."""
    v = np.asarray(vector, dtype=float)
    result = np.zeros(v.shape[:-1] + (3, 3))
    result[..., 0, 1], result[..., 0, 2] = -v[..., 2], v[..., 1]
    result[..., 1, 0], result[..., 1, 2] = v[..., 2], -v[..., 0]
    result[..., 2, 0], result[..., 2, 1] = -v[..., 1], v[..., 0]
    return result


def axis_rotation(axis: Array, angle: float) -> Array:
    """Rotation matrix about a unit axis."""
    outer = np.outer(axis, axis)
    return outer + np.cos(angle) * (np.eye(3) - outer) + np.sin(angle) * skew(axis)


def assemble(
    name: str, specs: list[BodySpec], floating: bool, ties: tuple[str, ...] = (), where: str = ''
) -> TreeModel:
    """Sort the bodies, check that they form one tree and build the arrays.

    `where` names the source in errors (the model's name when left out).
    """
    ordered = _topological_order(where or f'model {name}', specs, floating)
    index = {spec.name: k for k, spec in enumerate(ordered)}
    coordinates = tuple(dict.fromkeys(spec.coordinate for spec in ordered if spec.coordinate))
    return TreeModel(
        name=name,
        floating=floating,
        body_names=tuple(spec.name for spec in ordered),
        joint_names=tuple(spec.joint for spec in ordered),
        parent=np.array([index.get(spec.parent, ROOT) for spec in ordered], dtype=np.int64),
        joint_type=np.array([spec.joint_type for spec in ordered], dtype=np.int64),
        rotation=np.array([spec.rotation for spec in ordered]),
        translation=np.array([spec.translation for spec in ordered]),
        axis=np.array([spec.axis for spec in ordered]),
        coordinate_names=coordinates,
        coordinate=np.array(
            [coordinates.index(spec.coordinate) if spec.coordinate else -1 for spec in ordered],
            dtype=np.int64,
        ),
        multiplier=np.array([spec.multiplier for spec in ordered]),
        offset=np.array([spec.offset for spec in ordered]),
        real=np.array([spec.real for spec in ordered], dtype=bool),
        parameters=np.array([spec.parameters for spec in ordered], dtype=float),
        ties=ties,
    )


def _topological_order(where: str, specs: list[BodySpec], floating: bool) -> list[BodySpec]:
    """The bodies with every parent before its children (stable); ModelError if not one tree."""
    if not specs:
        raise ModelError(f'{where}: there is no body in it')
    seen: set[str] = set()
    for spec in specs:
        if spec.name in seen:
            raise ModelError(f'{where}: two bodies have the name "{spec.name}"')
        seen.add(spec.name)
    for spec in specs:
        if spec.parent and spec.parent not in seen:
            raise ModelError(
                f'{where}: body "{spec.name}" names the parent '
                f'"{spec.parent}", which is no body of the model'
            )
    roots = [spec for spec in specs if not spec.parent]
    if floating and len(roots) > 1:
        raise ModelError(
            f'{where}: the tree is disconnected, body "{roots[1].name}" does '
            f'not hang on the base "{roots[0].name}"'
        )
    children: dict[str, list[BodySpec]] = {}
    for spec in specs:
        children.setdefault(spec.parent, []).append(spec)
    ordered: list[BodySpec] = []
    stack = list(reversed(roots))
    while stack:
        spec = stack.pop()
        ordered.append(spec)
        stack.extend(reversed(children.get(spec.name, [])))
    if len(ordered) < len(specs):
        reached = {spec.name for spec in ordered}
        loop = _cycle([spec for spec in specs if spec.name not in reached])
        raise ModelError(f'{where}: the tree is cyclic, {" -> ".join(loop)}')
    return ordered


def _cycle(specs: list[BodySpec]) -> list[str]:
    """Names along the cycle that the first unreachable body leads into, closed."""
    parent = {spec.name: spec.parent for spec in specs}
    path = [specs[0].name]
    while parent[path[-1]] not in path:
        path.append(parent[path[-1]])
    start = path.index(parent[path[-1]])
    return path[start:] + [path[start]]
