"""Planar mechanisms in absolute coordinates [x, y, angle] of every body, with multipliers.

Another formulation than the estimator's: that one shares points in natural coordinates, moves
with penalties and a trapezoidal rule; this one joins free bodies by Lagrange multipliers,

    [ M  J^T ] [ u'   ]   [ Q                          ]
    [ J   0  ] [ -mu  ] = [ -J' u - 2 a Phi' - a^2 Phi ]

(Baumgarte's a keeps Phi at zero), and is integrated by an explicit method of order eight. Only
the description is shared.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.integrate import solve_ivp

from veh_identification.errors import ModelError
from veh_identification.systems.mechanism.configuration import (
    CoordinateEntries,
    Description,
    JointEntries,
)
from veh_identification.types import Array

STABILISATION = 30.0  # a [1/s]
SLOW = 0.01  # rate at which dry friction has three quarters of its force [rad/s or m/s]
TOLERANCE = 1e-8
INSIDE = 1e-9  # [s]
#: From the drawing to the start.
STEPS = 60


@dataclass(frozen=True)
class Bar:
    """A body: place of its state, inertia and centre in its own axes."""

    place: int
    mass: float
    inertia: float
    centre: Array


@dataclass
class Motion:
    """A scalar or vector function of the state: value, rate, Jacobian, and what u' lacks."""

    value: Array
    rate: Array
    jacobian: Array
    bias: Array  # second derivative without the part of u'


@dataclass(frozen=True)
class Anchor:
    """A point: of the ground (`bar` None) or of a body, in its axes."""

    bar: Bar | None
    local: Array


@dataclass(frozen=True)
class Line:
    """The line of a slider on the ground or on a body."""

    anchor: Anchor
    direction: Array


@dataclass
class Plane:
    """A planar mechanism with its real numbers."""

    description: Description
    gravity: Array
    bars: dict[str, Bar] = field(default_factory=dict)
    anchors: dict[str, list[Anchor]] = field(default_factory=dict)
    lengths: dict[str, float] = field(default_factory=dict)
    drawn: Array = field(default_factory=lambda: np.zeros(0))

    # -- points and vectors ----------------------------------------------------------------------

    def point(self, anchor: Anchor, q: Array, u: Array) -> Motion:
        """A point of a body."""
        jacobian = np.zeros((2, q.size))
        if anchor.bar is None:
            return Motion(anchor.local, np.zeros(2), jacobian, np.zeros(2))
        k = anchor.bar.place
        arm = _turned(anchor.local - anchor.bar.centre, q[k + 2])
        across = np.array([-arm[1], arm[0]])
        jacobian[0, k] = jacobian[1, k + 1] = 1.0
        jacobian[:, k + 2] = across
        rate = u[k : k + 2] + across * u[k + 2]
        return Motion(q[k : k + 2] + arm, rate, jacobian, -arm * u[k + 2] ** 2)

    def named(self, name: str, q: Array, u: Array) -> Motion:
        """A point by its name."""
        return self.point(self.anchors[name][0], q, u)

    def direction(self, bar: Bar | None, local: Array, q: Array, u: Array) -> Motion:
        """A vector of a body, or of the ground."""
        jacobian = np.zeros((2, q.size))
        if bar is None:
            return Motion(local, np.zeros(2), jacobian, np.zeros(2))
        turn = bar.place + 2
        vector = _turned(local, q[turn])
        jacobian[:, turn] = -vector[1], vector[0]
        return Motion(vector, jacobian[:, turn] * u[turn], jacobian, -vector * u[turn] ** 2)

    # -- scalars ---------------------------------------------------------------------------------

    def coordinate(self, one: CoordinateEntries, q: Array, u: Array) -> Motion:
        """A coordinate of the description: value, rate and the row along which a force acts."""
        if one.angle is not None:
            return self._angle(one, q, u)
        if one.distance is not None:
            return self.distance(*one.distance, q, u)
        if one.travel is not None:
            joint = self.description.joints[one.travel]
            line = self.line(joint)
            return _product(
                self.direction(line.anchor.bar, line.direction, q, u),
                _difference(self.named(joint.points[0], q, u), self.point(line.anchor, q, u)),
            )
        axis = 0 if one.x is not None else 1
        name = one.x if one.x is not None else one.y
        assert name is not None
        point = self.named(name, q, u)
        rows = slice(axis, axis + 1)
        return Motion(point.value[rows], point.rate[rows], point.jacobian[rows], point.bias[rows])

    def _angle(self, one: CoordinateEntries, q: Array, u: Array) -> Motion:
        assert one.angle is not None
        d = _difference(self.named(one.angle[1], q, u), self.named(one.angle[0], q, u))
        square = float(d.value @ d.value)
        across = np.array([-d.value[1], d.value[0]]) / square
        rate = float(across @ d.rate)
        jacobian = across @ d.jacobian
        bias = float(across @ d.bias) - 2.0 * rate * float(d.value @ d.rate) / square
        value = math.atan2(d.value[1], d.value[0])
        if one.of is not None:
            turn = self.bars[one.of].place + 2
            value, rate = value - q[turn], rate - u[turn]
            jacobian = jacobian.copy()
            jacobian[turn] -= 1.0
        return Motion(np.array([value]), np.array([rate]), jacobian[None], np.array([bias]))

    def distance(self, first: str, second: str, q: Array, u: Array) -> Motion:
        """Distance of two points."""
        d = _difference(self.named(second, q, u), self.named(first, q, u))
        length = float(np.hypot(*d.value))
        if length == 0.0:
            raise ModelError(f'points {first!r} and {second!r} meet: their distance has no rate')
        unit = d.value / length
        rate = float(unit @ d.rate)
        bias = float(unit @ d.bias) + (float(d.rate @ d.rate) - rate**2) / length
        return Motion(
            np.array([length]), np.array([rate]), (unit @ d.jacobian)[None], np.array([bias])
        )

    def line(self, joint: JointEntries) -> Line:
        """The line of a slider."""
        along = np.array(joint.direction) / math.hypot(*joint.direction)
        bar = None if joint.on is None else self.bars[joint.on]
        return Line(Anchor(bar, np.array(joint.through)), along)

    # -- constraints -----------------------------------------------------------------------------

    def constraints(self, q: Array, u: Array) -> Motion:
        """All constraints, one below the other."""
        rows: list[Motion] = []
        for anchors in self.anchors.values():
            first = self.point(anchors[0], q, u)
            rows += [_difference(self.point(one, q, u), first) for one in anchors[1:]]
        for name, joint in self.description.joints.items():
            rows += self._joint(name, joint, q, u)
        if not rows:
            return Motion(np.zeros(0), np.zeros(0), np.zeros((0, q.size)), np.zeros(0))
        return Motion(
            np.concatenate([one.value for one in rows]),
            np.concatenate([one.rate for one in rows]),
            np.vstack([one.jacobian for one in rows]),
            np.concatenate([one.bias for one in rows]),
        )

    def _joint(self, name: str, joint: JointEntries, q: Array, u: Array) -> list[Motion]:
        if joint.kind == 'revolute':
            return [
                _difference(
                    self.named(joint.points[1], q, u),
                    self.named(joint.points[0], q, u),
                )
            ]
        if joint.kind == 'link':
            first, second = joint.points
            found = self.distance(first, second, q, u)
            return [
                Motion(found.value - self.lengths[name], found.rate, found.jacobian, found.bias)
            ]
        line = self.line(joint)
        normal = np.array([-line.direction[1], line.direction[0]])
        across = self.direction(line.anchor.bar, normal, q, u)
        offset = _difference(self.named(joint.points[0], q, u), self.point(line.anchor, q, u))
        rows = [_product(across, offset)]
        if joint.kind == 'prismatic':
            assert joint.body is not None
            axis = np.array(joint.axis) / math.hypot(*joint.axis)
            rows.append(_product(across, self.direction(self.bars[joint.body], axis, q, u)))
        return rows

    # -- forces ----------------------------------------------------------------------------------

    def forces(self, q: Array, u: Array, drives: dict[str, float]) -> Array:
        """Generalised forces: weight, springs, drives, dry friction, loads."""
        Q = np.zeros_like(q)
        for bar in self.bars.values():
            Q[bar.place : bar.place + 2] += bar.mass * self.gravity
        found, truth = self.description, self.description.truth
        for name, spring in found.springs.items():
            real = truth.springs.get(name)
            k = spring.stiffness if real is None or real.stiffness is None else real.stiffness
            c = spring.damping if real is None or real.damping is None else real.damping
            if spring.points is not None:
                along = self.distance(*spring.points, q, u)
            else:
                assert spring.coordinate is not None
                along = self.coordinate(found.coordinates[spring.coordinate], q, u)
            stretch = along.value[0] - spring.rest
            if spring.coordinate and found.coordinates[spring.coordinate].kind == 'angle':
                stretch = math.remainder(stretch, math.tau)
            pull = k * stretch + c * along.rate[0] + spring.preload
            Q -= along.jacobian[0] * pull
        for name, force in drives.items():
            entries = found.coordinates[found.drives[name].coordinate]
            Q += self.coordinate(entries, q, u).jacobian[0] * force
        for name, real_coordinate in truth.coordinates.items():
            if real_coordinate.friction:
                along = self.coordinate(found.coordinates[name], q, u)
                drag = real_coordinate.friction * math.tanh(along.rate[0] / SLOW)
                Q -= along.jacobian[0] * drag
        for load in found.loads.values():
            Q += np.array(load.force) @ self.named(load.point, q, u).jacobian
        return Q

    def mass(self) -> Array:
        """The diagonal mass matrix, and masses at points where they are carried by bodies."""
        diagonal = np.zeros(3 * len(self.bars))
        for bar in self.bars.values():
            diagonal[bar.place : bar.place + 3] = bar.mass, bar.mass, bar.inertia
        return np.diag(diagonal)

    def acceleration(self, q: Array, u: Array, drives: dict[str, float]) -> Array:
        """u' of the equations above."""
        held = self.constraints(q, u)
        n, m = q.size, held.value.size
        K = np.zeros((n + m, n + m))
        K[:n, :n] = self.mass()
        K[:n, n:], K[n:, :n] = held.jacobian.T, held.jacobian
        a = STABILISATION
        Q = self.forces(q, u, drives)
        for name, point in self.description.masses.items():
            self._point_mass(name, point.point, point.mass, q, u, K[:n, :n], Q)
        right = np.concatenate([Q, -held.bias - 2 * a * held.rate - a * a * held.value])
        try:
            found = np.linalg.solve(K, right)
        except np.linalg.LinAlgError:  # joints that repeat each other
            found = np.linalg.lstsq(K, right, rcond=1e-12)[0]
        return np.asarray(found[:n])

    def _point_mass(
        self, name: str, point: str, mass: float, q: Array, u: Array, M: Array, Q: Array
    ) -> None:
        if self.anchors[point][0].bar is None:
            raise ModelError(f'masses.{name}: point {point!r} does not move')
        motion = self.named(point, q, u)
        M += mass * motion.jacobian.T @ motion.jacobian
        Q += mass * (self.gravity - motion.bias) @ motion.jacobian

    # -- start -----------------------------------------------------------------------------------

    def start(self, values: dict[str, float], rates: dict[str, float]) -> tuple[Array, Array]:
        """Places and speeds of all bodies for those of the independent coordinates."""
        entries = [self.description.coordinates[name] for name in self.description.independent]
        names = self.description.independent
        q, still = self.drawn.copy(), np.zeros_like(self.drawn)

        def rows(at: Array) -> tuple[Array, Array]:
            moved = [self.coordinate(one, at, still) for one in entries]
            return (
                np.array([one.value[0] for one in moved]),
                np.vstack([one.jacobian for one in moved]),
            )

        begin = rows(q)[0]
        aim = np.array([values.get(name, begin[k]) for k, name in enumerate(names)])
        for k, one in enumerate(entries):
            if one.kind == 'angle':
                aim[k] = begin[k] + math.remainder(aim[k] - begin[k], math.tau)
        for share in np.linspace(0.0, 1.0, STEPS):
            wanted = begin + share * (aim - begin)
            for _ in range(30):
                held = self.constraints(q, still)
                value, jacobian = rows(q)
                gap = value - wanted
                for k, one in enumerate(entries):
                    if one.kind == 'angle':
                        gap[k] = math.remainder(gap[k], math.tau)
                residual = np.concatenate([held.value, gap])
                if np.max(np.abs(residual)) < 1e-13:
                    break
                full = np.vstack([held.jacobian, jacobian])
                q -= np.linalg.lstsq(full, residual, rcond=1e-12)[0]
        if not np.max(np.abs(residual)) < 1e-9:
            raise ModelError('the truth of the mechanism cannot be assembled at its start')
        full = np.vstack([self.constraints(q, still).jacobian, rows(q)[1]])
        speeds = np.array([rates.get(name, 0.0) for name in names])
        right = np.concatenate([np.zeros(full.shape[0] - speeds.size), speeds])
        return q, np.linalg.lstsq(full, right, rcond=1e-12)[0]


def _turned(vector: Array, angle: float) -> Array:
    c, s = math.cos(angle), math.sin(angle)
    return np.array([c * vector[0] - s * vector[1], s * vector[0] + c * vector[1]])


def _difference(first: Motion, second: Motion) -> Motion:
    return Motion(
        first.value - second.value,
        first.rate - second.rate,
        first.jacobian - second.jacobian,
        first.bias - second.bias,
    )


def _product(first: Motion, second: Motion) -> Motion:
    """Scalar product of two vectors."""
    a, b = first, second
    return Motion(
        np.array([a.value @ b.value]),
        np.array([a.rate @ b.value + a.value @ b.rate]),
        (b.value @ a.jacobian + a.value @ b.jacobian)[None],
        np.array([a.bias @ b.value + 2.0 * (a.rate @ b.rate) + a.value @ b.bias]),
    )


def plane_of(description: Description) -> Plane:
    """The real mechanism of a description: its numbers where `truth` has others."""
    truth = description.truth
    plane = Plane(description, np.array(truth.gravity or description.gravity))
    drawn = {name: np.array(one.at) for name, one in description.points.items()}
    places: list[float] = []
    for name, point in description.points.items():
        plane.anchors[name] = [Anchor(None, drawn[name])] if point.fixed else []
    for number, (name, body) in enumerate(description.bodies.items()):
        first, second = body.points
        apart = drawn[second] - drawn[first]
        length = float(np.hypot(*apart)) if body.length is None else body.length
        real = truth.bodies.get(name)
        mass = body.mass if real is None or real.mass is None else real.mass
        centre = body.centre if real is None or real.centre is None else real.centre
        inertia = body.inertia if real is None or real.inertia is None else real.inertia
        middle = np.array((0.5 * length, 0.0) if centre is None else centre)
        bar = plane.bars[name] = Bar(
            3 * number, mass, mass * length**2 / 12.0 if inertia is None else inertia, middle
        )
        turn = math.atan2(apart[1], apart[0])
        places += [*(drawn[first] + _turned(middle, turn)), turn]
        plane.anchors[first].append(Anchor(bar, np.zeros(2)))
        plane.anchors[second].append(Anchor(bar, np.array([length, 0.0])))
        for point_name, local in body.further.items():
            plane.anchors[point_name] = [Anchor(bar, np.array(local))]
            drawn[point_name] = drawn[first] + _turned(np.array(local), turn)
    for name, joint in description.joints.items():
        if joint.kind == 'link':
            apart = drawn[joint.points[1]] - drawn[joint.points[0]]
            plane.lengths[name] = float(np.hypot(*apart)) if joint.length is None else joint.length
    loose = [name for name, anchors in plane.anchors.items() if not anchors]
    if loose:
        raise ModelError(f'points.{loose[0]}: it belongs to no body, so it cannot be simulated')
    plane.drawn = np.array(places)
    return plane


Drives = Callable[[float], dict[str, float]]
#: A smooth piece of the motion: begin, end and the interpolated state [q, u] between them.
Piece = tuple[float, float, Callable[[float], Array]]


def integrate(
    plane: Plane, start: tuple[Array, Array], drives: Drives, breaks: Sequence[float]
) -> list[Piece]:
    """The motion from break to break; between two of them the forces must be smooth."""
    n = start[0].size
    state = np.concatenate(start)
    pieces: list[Piece] = []
    for begin, end in itertools.pairwise(breaks):

        def slope(time: float, y: Array, first: float = begin, last: float = end) -> Array:
            # a drive that switches at a break has the force of this side of it
            inside = min(max(time, first + INSIDE), last - INSIDE)
            return np.concatenate([y[n:], plane.acceleration(y[:n], y[n:], drives(inside))])

        found = solve_ivp(
            slope,
            (begin, end),
            state,
            method='DOP853',
            rtol=TOLERANCE,
            atol=TOLERANCE,
            dense_output=True,
        )
        if not found.success or found.sol is None:
            raise ModelError(f'the truth of the mechanism cannot be simulated: {found.message}')
        pieces.append((begin, end, found.sol))
        state = found.y[:, -1]
    return pieces
