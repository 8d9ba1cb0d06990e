"""Describes a multibody system in natural coordinates: points, vectors, angles, bodies."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from veh_identification.errors import ModelError
from veh_identification.multibody.natural import masses
from veh_identification.multibody.natural.forms import (
    Form,
    combination,
    fixed,
    in_span,
    of_columns,
    scalar,
)
from veh_identification.multibody.natural.records import (
    ANGLE,
    DISTANCE,
    DOT,
    LINEAR,
    PROJECTION,
    Body,
    Constraint,
    CoordinateSpring,
    Description,
    Spring,
)

AXES = ('x', 'y', 'z')


def _finite(name: str, values: ArrayLike) -> np.ndarray:
    result = np.asarray(values, dtype=float)
    if not np.all(np.isfinite(result)):
        raise ModelError(f'{name!r}: every number must be finite, found {result}')
    return result


class NaturalBuilder:
    """Collects coordinates, bodies, constraints and forces; `joints` adds the kinematic pairs.

    `dimension` is 2 or 3; in the plane all third components are zero and gravity has two
    components. Guesses of the coordinates only need to be near the wanted assembly.
    """

    def __init__(self, dimension: int, gravity: Sequence[float]) -> None:
        if dimension not in (2, 3):
            raise ModelError(f'dimension must be 2 or 3, found {dimension}')
        vector = [float(v) for v in _finite('gravity', gravity)] + [0.0]
        if len(vector) < dimension + 1:
            raise ModelError(f'gravity needs {dimension} components, found {len(vector) - 1}')
        self.description = Description(dimension, (vector[0], vector[1], vector[2]))
        self._form_index: dict[tuple[object, ...], int] = {}
        self._rigid: list[list[Form]] = []

    # -- coordinates ---------------------------------------------------------------------

    def _coordinate(self, name: str, guess: float) -> int:
        if name in self.description.names:
            raise ModelError(f'coordinate {name!r} is defined twice')
        self.description.names.append(name)
        self.description.guess.append(float(guess))
        return len(self.description.names) - 1

    def _triple(self, name: str, guess: Sequence[float]) -> Form:
        values = _finite(name, guess)
        if values.size != self.description.dimension:
            raise ModelError(
                f'{name!r} needs {self.description.dimension} components, found {values.size}'
            )
        return of_columns(
            [
                self._coordinate(f'{name}.{axis}', value)
                for axis, value in zip(AXES, values, strict=False)
            ]
        )

    def point(self, name: str, guess: Sequence[float]) -> Form:
        """A basic point: its Cartesian coordinates `name.x`, `name.y`(, `name.z`)."""
        return self._triple(name, guess)

    def vector(self, name: str, guess: Sequence[float]) -> Form:
        """A vector with coordinates of its own (its length comes from the bodies that use it)."""
        return self._triple(name, guess)

    def fixed(self, vector: Sequence[float]) -> Form:
        """A point or vector of the ground."""
        _finite('ground point', vector)
        return fixed(vector)

    def angle(self, name: str, axes: tuple[Form, Form], vector: Form, guess: float) -> int:
        """Relative angle of `vector` in the plane of two perpendicular unit vectors `axes`.

        One smooth equation replaces the sine-or-cosine choice of equation (21): its derivative
        with respect to the angle is the length of the vector's projection, never zero.
        """
        theta = self._coordinate(name, guess)
        numbers = (self._form(axes[0]), self._form(axes[1]), self._form(vector))
        self._append(Constraint(f'angle {name}', ANGLE, numbers, theta, 0.0))
        return theta

    def distance(self, name: str, first: Form, second: Form, guess: float) -> int:
        """Relative distance between two points (equation 38); it must stay positive."""
        if not guess > 0.0:
            raise ModelError(f'distance {name!r} must start above zero, found {guess}')
        s = self._coordinate(name, guess)
        number = self._form(second - first)
        self._append(Constraint(f'distance {name}', DISTANCE, (number, 0, 0), s, 0.0))
        return s

    def projection(self, name: str, axis: Form, first: Form, second: Form, guess: float) -> int:
        """Signed travel of `second` from `first` along a unit vector `axis`."""
        s = self._coordinate(name, guess)
        numbers = (self._form(axis), self._form(second - first), 0)
        self._append(Constraint(f'travel {name}', PROJECTION, numbers, s, 0.0))
        return s

    def index(self, name: str) -> int:
        """Index of a coordinate by name."""
        try:
            return self.description.names.index(name)
        except ValueError:
            raise ModelError(f'there is no coordinate {name!r}') from None

    # -- constraints ---------------------------------------------------------------------

    def _form(self, form: Form) -> int:
        number = self._form_index.get(form.key)
        if number is None:
            number = len(self.description.forms)
            self._form_index[form.key] = number
            self.description.forms.append(form)
        return number

    def _append(self, constraint: Constraint) -> None:
        if any(other.name == constraint.name for other in self.description.constraints):
            raise ModelError(f'constraint {constraint.name!r} is defined twice')
        self.description.constraints.append(constraint)

    def dot(
        self, name: str, first: Form, second: Form, value: float, *, rigid: bool = False
    ) -> None:
        """Constant dot product of two vectors; the rigid-body kind is left out when implied.

        A rigid-body constraint whose vectors both belong to one body that is already rigid would
        repeat that body's own constraints (two bodies that share a vector, say).
        """
        _finite(name, value)
        record = Constraint(name, DOT, (self._form(first), self._form(second), 0), -1, value)
        if rigid and any(in_span(first, body) and in_span(second, body) for body in self._rigid):
            self.description.implied.append(record)
        else:
            self._append(record)

    def linear(
        self, name: str, form: Form, component: int, value: float = 0.0, *, driven: bool = False
    ) -> None:
        """One component of a form equals a value; a driven value may change with time."""
        _finite(name, value)
        row = 3 * self._form(form) + component
        self._append(Constraint(name, LINEAR, (row, 0, 0), -1, value, driven))

    def drive(self, coordinate: int) -> str:
        """Prescribe a coordinate as a function of time (its value comes with the inputs)."""
        name = f'drive {self.description.names[coordinate]}'
        self.linear(name, scalar(coordinate), 0, self.description.guess[coordinate], driven=True)
        return name

    # -- bodies --------------------------------------------------------------------------

    def _body(
        self,
        name: str,
        origin: Form,
        axes: tuple[Form, Form, Form],
        mass: float,
        centre: Sequence[float],
    ) -> Body:
        if any(body.name == name for body in self.description.bodies):
            raise ModelError(f'body {name!r} is defined twice')
        x, y, z = [float(v) for v in centre] + [0.0] * (3 - len(centre))
        body = Body(name, origin, axes, len(self.description.bodies), float(mass), (x, y, z))
        self.description.bodies.append(body)
        for form in (origin, *axes):
            self._form(form)
        if mass > 0.0:
            self.description.weights.append((body.point((x, y, z)), float(mass)))
        return body

    def _rigid_basis(self, name: str, vectors: Sequence[Form], local: np.ndarray) -> None:
        for i in range(len(vectors)):
            for j in range(i + 1):
                self.dot(
                    f'{name} rigid {j + 1}{i + 1}',
                    vectors[j],
                    vectors[i],
                    float(local[i] @ local[j]),
                    rigid=True,
                )
        self._rigid.append(list(vectors))

    def planar_body(
        self,
        name: str,
        first: Form,
        second: Form,
        length: float,
        *,
        mass: float,
        centre: Sequence[float],
        inertia: float,
    ) -> Body:
        """Body of two points (equations 20, 24-27): x from the first to the second point.

        `centre` in local axes, `inertia` about the first point.
        """
        if not length > 0.0:
            raise ModelError(f'body {name!r}: its length must be positive, found {length}')
        _finite(name, [length, mass, inertia, *centre])
        e1 = (second - first) * (1.0 / length)
        axes = (e1, e1.perpendicular(), fixed((0.0, 0.0, 1.0)))
        body = self._body(name, first, axes, mass, centre)
        self.dot(f'{name} length', second - first, second - first, length**2, rigid=True)
        self._rigid.append([e1, axes[1]])
        matrix = masses.planar_mass(name, mass, centre, inertia)
        self.description.masses.append(((first, e1, axes[1]), matrix.tolist()))
        return body

    def body(
        self,
        name: str,
        elements: Sequence[tuple[Form, str, Sequence[float]]],
        inertial_parameters: ArrayLike,
    ) -> Body:
        """Spatial body over four basis elements `(form, 'point' or 'vector', local)`.

        `inertial_parameters` are [M, MSx, MSy, MSz, Jxx, Jxy, Jxz, Jyy, Jyz, Jzz] at the local
        origin. Elements may be forms of other bodies: that is how joints share them.
        """
        parameters = _finite(name, inertial_parameters)
        forms = tuple(form for form, _, _ in elements)
        B = masses.basis_matrix(
            name, [local for _, _, local in elements], [kind for _, kind, _ in elements]
        )
        matrix = masses.spatial_mass(name, parameters, B)
        weights = np.linalg.inv(B)  # columns: local unit vectors and origin in element weights
        origin = combination(forms, weights[:, 3])
        e1, e2, e3 = (combination(forms, weights[:, k]) for k in range(3))
        mass = float(parameters[0])
        centre = parameters[1:4] / mass if mass > 0.0 else np.zeros(3)
        body = self._body(name, origin, (e1, e2, e3), mass, tuple(centre))
        base = next(i for i, (_, kind, _) in enumerate(elements) if kind == 'point')
        others = [i for i in range(4) if i != base]
        vectors = [
            forms[i] if elements[i][1] == 'vector' else forms[i] - forms[base] for i in others
        ]
        local = np.array(
            [B[:3, i] - (B[:3, base] if elements[i][1] == 'point' else 0.0) for i in others]
        )
        self._rigid_basis(name, vectors, local)
        self.description.masses.append((forms, matrix.tolist()))
        return body

    def free_body(
        self,
        name: str,
        inertial_parameters: ArrayLike,
        position: Sequence[float],
        rotation: ArrayLike | None = None,
    ) -> Body:
        """Spatial body with a point and three unit vectors of its own (12 coordinates)."""
        R = np.eye(3) if rotation is None else _finite(name, rotation)
        elements: list[tuple[Form, str, Sequence[float]]] = [
            (self.point(f'{name}.origin', position), 'point', (0.0, 0.0, 0.0))
        ]
        elements += [
            (self.vector(f'{name}.e{k + 1}', tuple(R[:, k])), 'vector', tuple(np.eye(3)[k]))
            for k in range(3)
        ]
        return self.body(name, elements, inertial_parameters)

    def rod(
        self,
        name: str,
        first: Form,
        second: Form,
        length: float,
        mass: float,
        centre: float | None = None,
        inertia: float | None = None,
    ) -> None:
        """Thin rod between two points in space (uniform unless centre and inertia are given)."""
        if not length > 0.0:
            raise ModelError(f'rod {name!r}: its length must be positive, found {length}')
        middle = 0.5 * length if centre is None else centre
        moment = mass * length**2 / 3.0 if inertia is None else inertia
        self.dot(f'{name} length', second - first, second - first, length**2, rigid=True)
        self._rigid.append([second - first])
        matrix = masses.rod_mass(name, mass, middle, moment, length)
        self.description.masses.append(((first, second), matrix.tolist()))
        position = combination((first, second), (1 - middle / length, middle / length))
        self.description.weights.append((position, mass))

    def lamina(
        self,
        name: str,
        points: Sequence[Form],
        corners: ArrayLike,
        mass: float,
        centre: Sequence[float],
        inertia: Sequence[float],
    ) -> None:
        """Thin rigid plate over three points (a wishbone); `corners` (3, 2) in its own plane."""
        local = _finite(name, corners)
        edges = local[1:] - local[0]
        if abs(edges[0, 0] * edges[1, 1] - edges[0, 1] * edges[1, 0]) < 1e-12:
            raise ModelError(f'lamina {name!r}: its three points lie on one line')
        self._rigid_basis(name, [p - points[0] for p in points[1:]], edges)
        matrix = masses.lamina_mass(mass, local, centre, inertia)
        self.description.masses.append((tuple(points), matrix.tolist()))
        weights = np.linalg.solve(np.vstack([local.T, np.ones(3)]), [*centre, 1.0])
        self.description.weights.append((combination(points, weights), mass))

    def point_mass(self, point: Form, mass: float) -> None:
        """A mass concentrated at a point."""
        self.description.masses.append(((point,), [[mass]]))
        self.description.weights.append((point, mass))

    def rotor_inertia(self, coordinate: int, inertia: float) -> None:
        """Inertia that moves with one scalar coordinate (a motor behind a gear)."""
        self.description.masses.append(((scalar(coordinate),), [[inertia]]))

    # -- forces --------------------------------------------------------------------------

    def spring(
        self,
        name: str,
        first: Form,
        second: Form,
        *,
        stiffness: float = 0.0,
        damping: float = 0.0,
        free_length: float = 0.0,
        preload: float = 0.0,
    ) -> None:
        """Spring and damper along the line between two points."""
        _finite(name, [stiffness, damping, free_length, preload])
        self.description.springs.append(
            Spring(name, self._form(second - first), stiffness, damping, free_length, preload)
        )

    def coordinate_spring(
        self,
        name: str,
        coordinate: int,
        *,
        stiffness: float = 0.0,
        damping: float = 0.0,
        rest: float = 0.0,
    ) -> None:
        """Spring and damper on a scalar coordinate."""
        _finite(name, [stiffness, damping, rest])
        self.description.coordinate_springs.append(
            CoordinateSpring(name, coordinate, stiffness, damping, rest)
        )
