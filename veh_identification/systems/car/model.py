"""The 20-dof and the 38-dof car in mixed Newton-Lagrange form (Venture 2006, Tables III and I).

Ten equations per sample: the six of the chassis (19) and the four of the suspension joints. Both
models have the same 33 unknowns; they differ in how the wheel centres move.

The equations are handed on as a matrix of *signals*: every non-zero entry of the observation
matrix is one column, so that a filter or a transform works on about a hundred columns and not on
10 x 33, most of which are zero.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from veh_identification.configuration.reading import read
from veh_identification.multibody.mdh import parse_mdh
from veh_identification.multibody.motion import floating_base_motion
from veh_identification.multibody.regressor import Regressor
from veh_identification.multibody.tree import BASE_ROWS, TreeModel
from veh_identification.runtime.share import share_directory
from veh_identification.systems.car.configuration import CarDescription, Geometry
from veh_identification.systems.car.parameters import CORNERS, NAMES, OPPOSITE
from veh_identification.systems.car.recording.samples import CarSamples, wheel_loads
from veh_identification.types import Array

EQUATIONS: tuple[str, ...] = (*BASE_ROWS, *(f'suspension_{corner}' for corner in CORNERS))
EQUATION_UNITS = ('N', 'N', 'N', 'N m', 'N m', 'N m', 'N', 'N', 'N', 'N')
_CHASSIS = {
    'Mc': 'M',
    'MXc': 'MSx',
    'MYc': 'MSy',
    'MZc': 'MSz',
    'XXc': 'Jxx',
    'YYc': 'Jyy',
    'ZZc': 'Jzz',
    'XZc': 'Jxz',
    'XYc': 'Jxy',
    'YZc': 'Jyz',
}
_BODIES = {
    **{name: f'chassis.{entry}' for name, entry in _CHASSIS.items()},
    **{f'M{j}': f'hub_{corner}.M' for j, corner in enumerate(CORNERS, start=1)},
}
_AIR_ROWS = {'Cx': 'FX', 'Cy': 'FY', 'Cz': 'FZ', 'Cl': 'NX', 'Cm': 'NY', 'Cn': 'NZ'}
#: Joints of the tables that move no mass and turn no force of the ten equations.
_IDLE = ('wheel', 'tyre')


@dataclass(frozen=True)
class Entry:
    """One non-zero entry of the observation matrix: signal `column` in (equation, parameter)."""

    equation: int
    parameter: int
    column: int


@dataclass(frozen=True)
class Stop:
    """Beyond a travel a corner is stiffer by a slope [N/m], in compression (`up`) or extension."""

    corner: int
    knot: float
    up: bool
    slope: float

    def force(self, travel: Array) -> Array:
        """What it adds to the force of the spring."""
        beyond = travel - self.knot
        return self.slope * (np.maximum(beyond, 0.0) if self.up else np.minimum(beyond, 0.0))


class EquationModel(Protocol):
    """Ten equations of a car as signals: what `gather` and `CarProblem` need to know."""

    names: tuple[str, ...]

    @property
    def entries(self) -> tuple[Entry, ...]:
        """Where every signal stands in the observation matrix."""

    @property
    def signal_count(self) -> int:
        """Columns of `signals`; the last ten are the measured sides."""

    def signals(self, samples: CarSamples) -> Array:
        """Matrix (N, signal_count)."""


class CarModel:
    """Signals of the ten equations for recordings of one car.

    Its signals do not hang on which dampers are `bent`; only its parameters and entries do.
    """

    def __init__(
        self,
        configuration: CarDescription,
        dof: int = 20,
        names: tuple[str, ...] = NAMES,
    ) -> None:
        """`names` are told; a corner whose damper is bent has a further parameter."""
        self.configuration, self.dof, self.told, self.names = configuration, dof, names, names
        self.bent: tuple[int, ...] = ()
        self.stops: tuple[Stop, ...] = ()
        self.tree = car_tree(configuration.geometry, dof)
        self._regressor = Regressor(self.tree, enabled=sorted(_BODIES.values()))
        rows = [self.tree.row_names.index(name) for name in EQUATIONS]
        columns = [self._regressor.columns.index(_BODIES[name]) for name in _BODIES]
        self._rows, self._columns = np.ix_(rows, columns)
        pattern = _structure(self.tree, self._regressor)[self._rows, self._columns]
        self._inertial = np.flatnonzero(pattern.reshape(-1))

    @cached_property
    def entries(self) -> tuple[Entry, ...]:
        """Where every signal stands; the last ten signals are the measured sides."""
        bodies = list(_BODIES)
        result = []
        for column, flat in enumerate(self._inertial):
            equation, body = divmod(int(flat), len(bodies))
            result.append(Entry(equation, self.names.index(bodies[body]), column))
        start = len(self._inertial)
        for j, corner in enumerate(CORNERS):
            bar = 'karf' if corner in ('fl', 'fr') else 'karr'
            kinds = (f'k{j + 1}', f'h{j + 1}', f'fs{j + 1}', bar, f'off{j + 1}')
            places = [start + 4 * j + i for i in range(4)] + [start + 16]
            result += [
                Entry(6 + j, self.names.index(kind), place)
                for kind, place in zip(kinds, places, strict=True)
            ]
        for name, row in _AIR_ROWS.items():
            if name in self.names:
                result.append(Entry(BASE_ROWS.index(row), self.names.index(name), start + 17))
        for k, j in enumerate(self.bent):
            result.append(Entry(6 + j, len(self.told) + k, start + 18 + j))
        return tuple(result)

    def with_bends(self, corners: tuple[int, ...]) -> CarModel:
        """The same signals with other dampers that resist compression and extension unlike."""
        if corners == self.bent:
            return self
        other = copy(self)
        other.__dict__.pop('entries', None)
        other.bent = corners
        other.names = (*self.told, *(f'bend{j + 1}' for j in corners))
        return other

    def with_stops(self, stops: tuple[Stop, ...]) -> CarModel:
        """The same without what stops push."""
        if stops == self.stops:
            return self
        other = copy(self)
        other.stops = stops
        return other

    @property
    def constant_column(self) -> int:
        """The signal that is one throughout."""
        return len(self._inertial) + 16

    @property
    def signal_count(self) -> int:
        """Columns of `signals`: regressor entries, then the ten measured sides."""
        return len(self._inertial) + 22 + len(EQUATIONS)

    def signals(self, samples: CarSamples, like: tuple[CarSamples, Array] | None = None) -> Array:
        """Matrix (N, signal_count) of all signals of the equations.

        `like`: other samples and their signals, of which the motion need not be done again.
        """
        if like is not None and same_motion(like[0], samples):
            out = like[1].copy()
            out[:, -10:] = self.measured(samples)
            return out
        count, start = len(samples), len(self._inertial)
        out = np.empty((count, self.signal_count))
        motion = floating_base_motion(
            *self._coordinates(samples),
            samples.specific_force,
            samples.angular_velocity,
            samples.angular_acceleration,
            air_speed_squared=samples.air_speed_squared,
        )
        for rows, W in self._regressor.blocks(motion, 512):
            chosen = W[:, self._rows, self._columns].reshape(len(W), -1)
            out[rows, :start] = chosen[:, self._inertial]
        travel = samples.joints['suspension']
        for j, corner in enumerate(CORNERS):
            place = start + 4 * j
            out[:, place] = travel.position[:, j]
            out[:, place + 1] = travel.velocity[:, j]
            out[:, place + 2] = samples.friction_sign[:, j]
            other = CORNERS.index(OPPOSITE[corner])
            out[:, place + 3] = travel.position[:, j] - travel.position[:, other]  # (31)
        out[:, start + 16] = 1.0
        out[:, start + 17] = samples.air_speed_squared  # (32)
        # Beside h the difference of both slopes: h stays their mean.
        out[:, start + 18 : start + 22] = 0.5 * np.abs(travel.velocity)
        out[:, -10:] = self.measured(samples)
        return out

    def measured(self, samples: CarSamples) -> Array:
        """The measured sides (N, 10) alone, without what stops push."""
        loads = wheel_loads(samples, *self._wheel_places(samples))
        return np.concatenate(loads, axis=1) - self.stop_forces(samples)

    def stop_forces(self, samples: CarSamples) -> Array:
        """What the stops add to the measured sides (N, 10)."""
        result = np.zeros((len(samples), len(EQUATIONS)))
        travel = samples.joints['suspension'].position
        for one in self.stops:
            result[:, 6 + one.corner] += one.force(travel[:, one.corner])
        return result

    def matrices(self, samples: CarSamples) -> tuple[Array, Array]:
        """W (N, 10, parameters) and Y (N, 10), for those who want the dense form."""
        signals = self.signals(samples)
        W = np.zeros((len(samples), len(EQUATIONS), len(self.names)))
        for entry in self.entries:
            W[:, entry.equation, entry.parameter] = signals[:, entry.column]
        return W, signals[:, -10:]

    def _wheel_places(self, samples: CarSamples) -> tuple[Array, Array]:
        """x and y (N, 4) of the wheel centres."""
        geometry, shape = self.configuration.geometry, (len(samples), 4)
        if self.dof == 20:
            return (
                np.broadcast_to(geometry.wheel_x, shape),
                np.broadcast_to(geometry.wheel_y, shape),
            )
        side = np.array([1.0, -1.0, 1.0, -1.0])
        return (samples.joints['wheelbase'].position, side * samples.joints['half_track'].position)

    def _coordinates(self, samples: CarSamples) -> tuple[Array, Array, Array]:
        """q, qd, qdd in the order of the tree's coordinates."""
        arrays = [np.zeros((len(samples), self.tree.dof)) for _ in range(3)]
        for index, name in enumerate(self.tree.coordinate_names):
            kind, _, corner = name.rpartition('_')
            if kind in _IDLE:
                continue
            joint, place = samples.joints[kind], CORNERS.index(corner)
            for array, values in zip(
                arrays, (joint.position, joint.velocity, joint.acceleration), strict=True
            ):
                array[:, index] = values[:, place]
        return arrays[0], arrays[1], arrays[2]


def same_motion(one: CarSamples, other: CarSamples) -> bool:
    """Whether two sets of samples share all but their wrenches: the arrays, not only values."""
    return all(
        getattr(one, field.name) is getattr(other, field.name)
        for field in fields(CarSamples)
        if field.name != 'wrench'
    )


def car_tree(geometry: Geometry, dof: int) -> TreeModel:
    """The table of `config/models` with the dimensions of this car."""
    path = share_directory() / 'config' / 'models' / f'car_{dof}_dof.yaml'
    table = read(path).mapping
    if dof == 20:
        table['constants'] = {
            'L': geometry.wheelbase,
            **{f'l{j}': value for j, value in enumerate(geometry.half_track, start=1)},
        }
    return parse_mdh(table, str(path))


def _structure(tree: TreeModel, regressor: Regressor) -> NDArray[np.bool_]:
    """Which entries of the regressor can differ from zero, from random motions."""
    generator = np.random.default_rng(0)
    shape, count = (64, tree.dof), 64
    motion = floating_base_motion(
        *(generator.normal(size=shape) for _ in range(3)),
        *(generator.normal(size=(count, 3)) for _ in range(3)),
    )
    return np.asarray(np.abs(regressor.compute(motion)).max(axis=0) > 1e-9)
