"""The equations of an arm: which parameters its joint rows can tell, and their columns.

torque = W_base(q, qd, qdd) x + fs dry(q, qd) + ha |qd| + coupled motors. Dry friction changes its
sign over a speed (tanh(qd / width)) or, as gears that give way before they slide, over a way
(Dahl: after a reversal it comes round over `width` rad); the data say which. The inertial
parameters with motor inertia, viscous friction and offset are reduced to base parameters by the
structure (for the given gravity and the joints that have efforts); the rest stands beside them.

A sensor below the base adds six equations: the wrench that it exerts on the tree, at the origin of
the root link in its axes. They hold no friction, no drive and no gain (what motors and gears do to
each other stays inside), but a constant each: the weight of the root link and the zero of the
sensor, which no motion tells apart.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numba import njit

from veh_identification.errors import ModelError
from veh_identification.multibody.base_parameters import (
    BaseParameters,
    base_from_factor,
    triangular_factor,
)
from veh_identification.multibody.columns import ExtraColumn, motor_inertia, offset, viscous
from veh_identification.multibody.inertia import PARAMETERS_PER_BODY, transport_matrix
from veh_identification.multibody.motion import Motion, fixed_base_motion
from veh_identification.multibody.regressor import Regressor
from veh_identification.multibody.tree import BASE_ROWS, TreeModel
from veh_identification.multibody.urdf import parse_urdf
from veh_identification.systems.humanoid.robot import Robot
from veh_identification.systems.robot.configuration import Configuration, Coupling
from veh_identification.types import Array, BoolArray

UNITS_ANGLE = {'fs': 'N m', 'ha': 'N m s/rad', 'h': 'N m s/rad', 'Ia': 'kg m^2'}
WRENCH_UNITS = ('N',) * 3 + ('N m',) * 3
UNITS_LENGTH = {'fs': 'N', 'ha': 'N s/m', 'h': 'N s/m', 'Ia': 'kg'}


@dataclass(frozen=True)
class FrictionColumn:
    """A column of the motion of one drive: `weights` of the joints make its speed."""

    name: str
    unit: str
    kind: str  # fs, ha, h, Ia; off: a constant of one equation of the base
    weights: tuple[tuple[int, float], ...]  # joint and its share of the drive's speed

    def of_drive(self, joints: Array) -> Array:
        """Position, speed or acceleration of the drive, from those of the joints (N, joints)."""
        return np.asarray(sum(factor * joints[:, j] for j, factor in self.weights))

    def value(
        self, positions: Array, rates: Array, accelerations: Array, shapes: Sequence[Dry]
    ) -> Array:
        """Torque of the drive for a unit parameter (N,)."""
        if self.kind == 'off':
            return np.ones(len(rates))
        if self.kind == 'Ia':
            return self.of_drive(accelerations)
        speed = self.of_drive(rates)
        if self.kind == 'h':
            return speed
        if self.kind == 'ha':
            return np.abs(speed)
        return shapes[self.weights[-1][0]].value(self.of_drive(positions), speed)


@dataclass(frozen=True)
class Dry:
    """How dry friction changes its sign: over a speed, or over a way."""

    width: float  # rad/s of `speed`, rad of `way`; 0: at once
    kind: str = 'speed'

    def value(self, position: Array, speed: Array) -> Array:
        """Between -1 and 1 (N,), of a motion without gaps."""
        if self.width <= 0.0:
            return np.sign(speed)
        if self.kind == 'speed':
            return np.tanh(speed / self.width)
        return way_friction(position, speed, self.width)

    def slope(self, position: Array, speed: Array) -> Array:
        """Derivative over the logarithm of the width."""
        if self.width <= 0.0:
            return np.zeros_like(speed)
        more, less = (Dry(self.width * f, self.kind) for f in (1.1, 1.0 / 1.1))
        change = more.value(position, speed) - less.value(position, speed)
        return np.asarray(change / (2.0 * np.log(1.1)))


@njit(cache=True, nogil=True)
def way_friction(position, speed, width):  # type: ignore[no-untyped-def]
    """Dahl's friction: comes round exponentially over the way since the last reversal."""
    made = np.empty(len(position))
    state = np.sign(speed[0])
    made[0] = state
    for k in range(1, len(position)):
        step = position[k] - position[k - 1]
        side = 1.0 if step > 0.0 else -1.0
        state = side - (side - state) * np.exp(-abs(step) / width)
        made[k] = state
    return made


@dataclass(frozen=True, eq=False)
class ArmModel:
    """A fixed tree whose joint rows are measured, some of them."""

    robot: Robot
    tree: TreeModel
    gravity: Array
    measured: BoolArray  # (joints,) which have efforts
    configuration: Configuration
    base_wrench: bool = False  # six more equations, of a sensor below the base

    @property
    def joints(self) -> tuple[str, ...]:
        """Moving joints in the order of the equations."""
        return self.tree.coordinate_names

    @property
    def equations(self) -> tuple[str, ...]:
        """One of each joint, then those of the base."""
        return self.joints + (BASE_ROWS if self.base_wrench else ())

    @property
    def told(self) -> BoolArray:
        """(equations,) which are measured."""
        return np.append(self.measured, np.ones(len(self.equations) - len(self.joints), bool))

    @cached_property
    def regressor(self) -> Regressor:
        """All linear columns: ten of every body, then Ia, h and off of the joints."""
        return Regressor(self.tree, rows=self._rows, extras=self._extras)

    @property
    def _extras(self) -> list[ExtraColumn]:
        c, extras = self.configuration, []
        used = [name for name, on in zip(self.joints, self.measured, strict=True) if on]
        if c.motor_inertia:
            extras += [motor_inertia(name) for name in used]
        if c.friction.viscous:
            extras += [viscous(name) for name in used]
        if c.friction.offset:
            extras += [offset(name) for name in used]
        return extras

    @property
    def _rows(self) -> str:
        return 'base and joints' if self.base_wrench else 'joints'

    def full_rows(
        self, q: Array, qd: Array, qdd: Array, regressor: Regressor | None = None
    ) -> Array:
        """All linear columns (N, equations, columns), or those of another regressor."""
        W = (regressor or self.regressor).compute(self.motion(q, qd, qdd))
        # The kernel writes the equations of the base first.
        return np.concatenate([W[:, 6:], W[:, :6]], axis=1) if self.base_wrench else W

    @cached_property
    def base(self) -> BaseParameters:
        """What the measured rows can tell, by the structure."""
        columns, joints = self.regressor.shape[1], len(self.joints)
        rng = np.random.default_rng(0)
        samples = max(30, 5 * (columns // max(int(self.measured.sum()), 1) + 1))
        q = rng.uniform(-np.pi, np.pi, (samples, joints))
        qd, qdd = (rng.normal(0.0, 3.0, (samples, joints)) for _ in range(2))
        W = self.full_rows(q, qd, qdd)
        # Beside constants of their own, equations of the base show changes alone.
        W[:, joints:] -= W[:, joints:].mean(axis=0)
        W = W[:, self.told]
        return base_from_factor(triangular_factor([W], columns), self.regressor.columns)

    def motion(self, q: Array, qd: Array, qdd: Array) -> Motion:
        """Samples for the regressor."""
        return fixed_base_motion(q, qd, qdd, self.gravity)

    @cached_property
    def friction(self) -> tuple[FrictionColumn, ...]:
        """Columns that are not in the regressor: dry friction, asymmetry, coupled motors."""
        c, made = self.configuration, []
        for j, joint in enumerate(self.joints):
            if not self.measured[j]:
                continue
            kinds = ['fs'] * c.friction.coulomb + ['ha'] * c.friction.asymmetric
            made += [
                FrictionColumn(f'{joint}.{kind}', self._unit(j, kind), kind, ((j, 1.0),))
                for kind in kinds
            ]
        for one in c.coupled:
            made += self._coupled(one)
        for j, name in enumerate(self.equations[len(self.joints) :], start=len(self.joints)):
            made.append(FrictionColumn(f'{name}.off', self.effort_units[j], 'off', ((j, 1.0),)))
        return tuple(made)

    def _coupled(self, coupling: Coupling) -> list[FrictionColumn]:
        for name in (coupling.first, coupling.second):
            if name not in self.joints:
                raise ModelError(f'coupled: there is no moving joint "{name}"')
        first, second = (self.joints.index(n) for n in (coupling.first, coupling.second))
        c, name = self.configuration, f'{coupling.first}+{coupling.second}'
        kinds = ['Ia'] * c.motor_inertia + ['h'] * c.friction.viscous
        kinds += ['fs'] * c.friction.coulomb
        weights = ((first, coupling.ratio), (second, 1.0))
        return [
            FrictionColumn(f'{name}.{kind}', self._unit(second, kind), kind, weights)
            for kind in kinds
        ]

    def _unit(self, joint: int, kind: str) -> str:
        return (UNITS_ANGLE if self.tree.coordinate_is_angle(joint) else UNITS_LENGTH)[kind]

    @cached_property
    def names(self) -> list[str]:
        """Of the parameters of the robot, base parameters first."""
        return [*self.base.names, *(one.name for one in self.friction)]

    @cached_property
    def units(self) -> list[str]:
        """Of the same."""
        known = dict(zip(self.base.columns.names, self.base.columns.units, strict=True))
        return [*(known[name] for name in self.base.names), *(one.unit for one in self.friction)]

    @property
    def effort_units(self) -> tuple[str, ...]:
        """Of each equation."""
        count = len(self.joints)
        joints = tuple('N m' if self.tree.coordinate_is_angle(j) else 'N' for j in range(count))
        return joints + (WRENCH_UNITS if self.base_wrench else ())

    def a_priori(self) -> Array:
        """URDF values of the base parameters; nan where friction or drives take part."""
        columns = self.base.columns
        values = columns.values(self.tree)
        unknown = np.array([one.body == '' for one in columns])
        mixed = np.abs(self.base.full_to_base[:, unknown]).max(axis=1, initial=0.0) > 1e-9
        base = np.where(mixed, np.nan, self.base.full_to_base @ values)
        return np.concatenate([base, np.full(len(self.friction), np.nan)])

    def values_of(self, known: Mapping[str, float]) -> Array:
        """Base parameters and friction from standard values by name (a simulated truth)."""
        full = np.array([known.get(name, np.nan) for name in self.base.columns.names])
        used = np.abs(self.base.full_to_base) > 1e-12
        lacking = (used & ~np.isfinite(full)).any(axis=1)
        base = np.where(lacking, np.nan, self.base.full_to_base @ np.nan_to_num(full))
        return np.concatenate([base, [known.get(one.name, np.nan) for one in self.friction]])

    def linear_rows(self, q: Array, qd: Array, qdd: Array) -> Array:
        """Columns of the base parameters (N, equations, rank)."""
        return self.full_rows(q, qd, qdd, self._base_regressor)

    @cached_property
    def _base_regressor(self) -> Regressor:
        """Of the base parameters alone."""
        kept = [self.base.columns.names[k] for k in self.base.base]
        return Regressor(self.tree, rows=self._rows, extras=self._extras, enabled=kept)

    def friction_rows(self, q: Array, qd: Array, qdd: Array, shapes: Sequence[Dry]) -> Array:
        """The further columns (N, equations, columns) of a motion without gaps."""
        made = np.zeros((len(qd), len(self.equations), len(self.friction)))
        for k, one in enumerate(self.friction):
            value = one.value(q, qd, qdd, shapes)
            for j, factor in one.weights:
                made[:, j, k] += factor * value
        return made

    def width_rows(self, q: Array, qd: Array, shapes: Sequence[Dry], value: Array) -> Array:
        """Derivative of the dry friction over the logarithm of each width (N, joints)."""
        made = np.zeros(qd.shape)
        for k, one in enumerate(self.friction):
            if one.kind == 'fs' and len(one.weights) == 1:
                j = one.weights[0][0]
                made[:, j] = value[k] * shapes[j].slope(q[:, j], qd[:, j])
        return made

    def load_rows(self, link: str, q: Array, qd: Array, qdd: Array) -> Array:
        """Columns of a load's ten parameters in the frame of a link (N, equations, 10)."""
        frame = self.tree.frame(link)
        W = self.full_rows(q, qd, qdd, self._bodies[frame.body])
        return np.asarray(W @ transport_matrix(frame.rotation, frame.translation))

    @cached_property
    def _bodies(self) -> list[Regressor]:
        """The ten columns of each body alone."""
        names = self.tree.body_names
        return [Regressor(self.tree, rows=self._rows, bodies=[name]) for name in names]

    def load_link(self, name: str) -> str:
        """The link that a load is fixed to; without a name the last link of the longest chain."""
        if name:
            known = {*self.tree.body_names, *self.tree.frames}
            if name not in known:
                raise ModelError(f'{self.robot.path}: there is no link "{name}" for a payload')
            return name
        depth: dict[str, int] = {}
        for joint in self.robot.joints:  # parents may come later in the file
            depth.setdefault(joint.child, 0)
        parent = {joint.child: joint.parent for joint in self.robot.joints}
        for child in depth:
            place, count = child, 0
            while place in parent and count <= len(parent):
                place, count = parent[place], count + 1
            depth[child] = count
        usable = [n for n in depth if n in self.tree.frames or n in self.tree.body_names]
        return max(usable, key=lambda one: depth[one])

    def links_to_unknowns(self, links: Sequence[str]) -> tuple[Array, list[str]]:
        """Map from the links' parameters and Ia, h, off, fs ... to the names' values."""
        bodies = [column.body for column in self.base.columns if column.parameter == 0]
        standard = self.robot.standard(self.tree, links)
        rows = np.concatenate(
            [
                PARAMETERS_PER_BODY * self.tree.body_index(name) + np.arange(PARAMETERS_PER_BODY)
                for name in bodies
            ]
        )
        extras = [column.name for column in self.base.columns if column.parameter < 0]
        inertial, friction = standard.shape[1], len(self.friction)
        full = np.zeros((len(self.base.columns), inertial + len(extras)))
        full[: len(rows), :inertial] = standard[rows]
        full[len(rows) :, inertial:] = np.eye(len(extras))
        made = np.zeros((len(self.names), full.shape[1] + friction))
        made[: self.base.rank, : full.shape[1]] = self.base.full_to_base @ full
        made[self.base.rank :, full.shape[1] :] = np.eye(friction)
        return made, [*extras, *(one.name for one in self.friction)]


def fixed_tree(robot: Robot, locked: Mapping[str, float]) -> TreeModel:
    """The tree on a fixed root, some joints held."""
    text = robot.text.decode('utf-8', errors='replace').removeprefix('\ufeff')
    return parse_urdf(text, floating=False, locked=dict(locked) or None, where=robot.path)
