"""The car as a running model: inputs, forces, tread deflections and what can be read from it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from veh_identification.errors import EstimationError, ModelError
from veh_identification.multibody.natural import Loads, NaturalModel, State
from veh_identification.observation.sequential import wrap_angle
from veh_identification.systems.vehicle.configuration import CORNERS, CarDescription
from veh_identification.systems.vehicle.model import forces
from veh_identification.systems.vehicle.model.assembly import (
    RACK,
    STROKE_COORDINATES,
    WHEEL_COORDINATES,
    build,
)
from veh_identification.systems.vehicle.model.ground import lift
from veh_identification.systems.vehicle.model.rigid import correct
from veh_identification.systems.vehicle.model.stepper import advance
from veh_identification.types import Array

# Newton stops when no coordinate moved by more than this [m, rad] in its last step; what is left
# after that step is a hundred times smaller.
TOLERANCE = 1e-8
ITERATIONS = 30


class Inputs(NamedTuple):
    """What drives the car during a step: wheel torques [N m], brake pressure [Pa], rack [m]."""

    torques: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 0.0)
    pressure: float = 0.0
    rack: float = 0.0
    rack_rate: float = 0.0
    rack_second: float = 0.0


@dataclass(frozen=True)
class VehicleState:
    """A copy of everything that changes with time."""

    model: State
    tread: Array
    ground: Array


class Vehicle:
    """A car built from a configuration, standing in equilibrium at the origin, heading east."""

    def __init__(self, car: CarDescription) -> None:
        self.car = car
        self.model: NaturalModel = build(car)
        names = self.model.names
        index = self.model.body_index
        self.chassis = index['chassis']
        self._bodies = np.array([index[w] for w in (*WHEEL_COORDINATES, 'chassis')])
        self.spins = np.array([names.index(w) for w in WHEEL_COORDINATES])
        self.strokes = np.array([names.index(s) for s in STROKE_COORDINATES])
        self.rack = names.index(RACK)
        self._rack_row = self.model.constraint_names.index(f'drive {RACK}')
        self.spokes = np.array(
            [
                [
                    names.index(f'{kind}_{c}.x')
                    for kind in ('axis', 'forward', 'spoke_1', 'spoke_2')
                ]
                + [names.index(f'wheel_{c}')]
                for c in CORNERS
            ]
        )
        starts = {name[:-2]: i for i, name in enumerate(names) if name.endswith('.x')}
        #: First coordinates of what moves with the car: points and vectors.
        self.points = np.array(
            [i for name, i in starts.items() if 'ball' in name or name == 'rack_point']
        )
        self.vectors = np.array(
            [i for name, i in starts.items() if name.startswith(('axis_', 'forward_'))]
        )
        self.inputs = np.zeros(5)
        self.tread, self._trial = np.zeros((4, 3)), np.zeros((4, 3))
        self.report = np.zeros((4, 6))
        self._frame = np.empty((3, 12))
        self.elevation = 0.0  # of a known road above odom [m]; the model itself stays at zero
        self.ground = np.zeros((2, 3))  # of an unknown one, see `ground`
        self._dt = car.observer.step
        self._tables(*self._equilibrium())
        self._arguments = self._of_a_step()
        self.model.force_hook = self._forces
        self.model.assemble(self.model.z, self.model.zd)

    def _equilibrium(self) -> tuple[Array, Array]:
        """Tyre loads and spring preloads that hold the car at design height."""
        model, loads = self.model, self.model.loads
        rows = [2, 4, 5, 10, 11, 12, 13]  # height, pitch, roll and the strokes
        R = model.r_matrix()
        start = model.reduced(R)[1][rows]
        columns = []
        for i in range(4):
            loads.wrenches[i, 2] = 1.0
            loads.wrenches[i, 3:6] = [0.0, 0.0, -self.car.geometry.wheel_radius]
            columns.append(model.reduced(R)[1][rows] - start)
            loads.wrenches[i] = 0.0
        for i in range(4):
            loads.coordinate_force[self.strokes[i]] = 1.0
            columns.append(model.reduced(R)[1][rows] - start)
            loads.coordinate_force[self.strokes[i]] = 0.0
        solution = np.asarray(
            np.linalg.lstsq(np.array(columns).T, -start, rcond=None)[0], dtype=float
        )
        if np.any(solution[:4] <= 0.0):
            worst = CORNERS[int(np.argmin(solution[:4]))]
            raise ModelError(
                f'{self.car.name}: wheel {worst} carries no load at rest '
                f'({solution[:4].min():.0f} N): check centre of mass and tracks'
            )
        return solution[:4], solution[4:]

    def _tables(self, wheel_loads: Array, preloads: Array) -> None:
        car, tyre = self.car, self.car.tyre
        self.static_loads = wheel_loads
        self._tyres = np.array(
            [
                [
                    car.geometry.wheel_radius + load / tyre.stiffness,
                    tyre.stiffness,
                    tyre.damping,
                    tyre.friction,
                    tyre.longitudinal,
                    tyre.cornering,
                    tyre.relaxation,
                    tyre.slow_damping,
                    1.0,
                ]
                for load in wheel_loads
            ]
        )
        axles = [car.suspension.front] * 2 + [car.suspension.rear] * 2
        self._suspension = np.array(
            [
                [
                    self.model.q[stroke],
                    preload,
                    a.stiffness,
                    a.damping,
                    a.bump_travel,
                    a.rebound_travel,
                    a.stop_stiffness,
                    a.antiroll,
                ]
                for stroke, preload, a in zip(self.strokes, preloads, axles, strict=True)
            ]
        )
        self.design_strokes = self._suspension[:, forces.STROKE].copy()
        self._scalars = np.array(
            [
                tyre.rolling_resistance,
                car.air.drag,
                *car.air.point,
                car.brakes.front,
                car.brakes.rear,
            ]
        )
        self.road = car.road.table()

    def _of_a_step(self) -> tuple[Any, ...]:
        """What `advance` takes: arrays that stay the same ones."""
        model, loads = self.model, self.model.loads
        return (
            model.memory,
            model.drive,
            model.q,
            model.qd,
            model.qdd,
            model.multipliers,
            self.spokes,
            self._bodies,
            self.spins,
            self.strokes,
            self._tyres,
            self._suspension,
            self._scalars,
            self.road,
            self.inputs,
            self.tread,
            self._trial,
            loads.coordinate_force,
            model.force_error,
            loads.tangents,
            loads.wrenches,
            loads.bodies,
            self.report,
        )

    def _forces(self, model: NaturalModel, loads: Loads) -> None:
        forces.all_forces(
            model.memory,
            model.q,
            model.qd,
            self._bodies,
            self.spins,
            self.strokes,
            self._tyres,
            self._suspension,
            self._scalars,
            self.road,
            self.inputs,
            self.tread,
            self._trial,
            self._dt,
            loads.coordinate_force,
            loads.tangents,
            loads.wrenches,
            self.report,
            self._frame,
        )

    def apply(self, inputs: Inputs | None) -> None:
        """Set the inputs of the next steps (None keeps the last)."""
        if inputs is None:
            return
        self.inputs[:4] = inputs.torques
        self.inputs[4] = max(0.0, inputs.pressure)  # a sensor's zero error is no driving torque
        self.model.drive[:, self._rack_row] = inputs.rack, inputs.rack_rate, inputs.rack_second

    def step(self, dt: float, inputs: Inputs | None = None) -> int:
        """Advance by dt; returns the Newton iterations."""
        if not (math.isfinite(dt) and dt > 0.0):
            raise EstimationError(f'the time step must be positive, found {dt}')
        self.apply(inputs)
        self._dt = dt
        model = self.model
        arguments = (*self._arguments, dt, model.penalty(dt), TOLERANCE, ITERATIONS)
        count = advance(*arguments)
        model._factor = ''  # the scratch memory now holds the factor of the dynamics
        if count <= 0:
            raise EstimationError(f'a time step of {dt:.4g} s of the car does not converge')
        return int(count)

    def at_once(self, dt: float) -> tuple[int, tuple[Any, ...], tuple[float, float, int]]:
        """For a kernel that makes steps: the driven row, and what `advance` takes."""
        return self._rack_row, self._arguments, (self.model.penalty(dt), TOLERANCE, ITERATIONS)

    def stepped(self, dt: float) -> None:
        """A kernel made a step of this length."""
        self._dt = dt
        self.model._factor = ''  # the scratch memory now holds the factor of the dynamics

    def place(
        self,
        position: Array,
        yaw: float,
        speed: float = 0.0,
        velocity: Array | None = None,
        yaw_rate: float = 0.0,
        rack: float = 0.0,
        wheels: Array | None = None,
    ) -> None:
        """Put the car somewhere on the road, level, rolling with a speed, its wheels turned."""
        self.model.drive[:, self._rack_row] = rack, 0.0, 0.0
        model, zd = self.model, np.zeros(14)
        z = model.z
        # as one piece: the position problem has other solutions, which a turn alone may lead to
        errors = np.zeros((3, 10))
        errors[0, 0:3] = np.asarray(position, dtype=float) - z[0:3]
        errors[0, 3] = wrap_angle(yaw - z[3])
        errors[0, 4:6] = -z[4:6]
        if wheels is not None:
            errors[0, 6:10] = np.asarray(wheels, dtype=float) - z[6:10]
        if not correct(
            errors, self.points, self.vectors, self.spokes, model.q, model.qd, model.qdd
        ):
            raise EstimationError(f'{self.car.name}: no chassis has the pose to start from')
        z = model.z
        zd[0:2] = [speed * np.cos(yaw), speed * np.sin(yaw)] if velocity is None else velocity[:2]
        zd[3] = yaw_rate
        zd[6:10] = speed / self.car.geometry.wheel_radius
        self.tread[:] = 0.0
        model.assemble(z, zd)

    def frame(self) -> Array:
        """[origin, e1, e2, e3] of the chassis with first and second derivative (3, 12)."""
        values = np.empty((3, 12))
        self.model.body_view(self.chassis, values)
        return values

    def world_frame(self) -> Array:
        """`frame` with the height of the road, and the slope of one that no map gives."""
        values = self.frame()
        values[0, 2] += self.elevation
        if self.car.road.unknown:
            lift(values, self.ground)
        return values

    def set_rolling_radius(self, corner: int, radius: float) -> None:
        """Effective rolling radius [m] of a wheel, as estimated."""
        self._tyres[corner, forces.ROLLING_RADIUS] = radius / self.car.geometry.wheel_radius

    def rack_per_angle(self) -> float:
        """Rack travel for a mean road wheel angle [m/rad] around the middle."""
        saved, travel = self.state(), 0.002
        try:
            self.model.drive[0, self._rack_row] = travel
            self.model.set_independent(self.model.z, self.model.zd, self.model.zdd)
            q = self.model.q
            angles = [np.arctan2(q[row[1] + 1], q[row[1]]) - q[12] for row in self.spokes[:2]]
        finally:
            self.restore(saved)
        return float(travel / np.mean(angles))

    @property
    def travel(self) -> Array:
        """Compression of the four dampers from their design length [m]."""
        return np.asarray(self.design_strokes - self.model.q[self.strokes], dtype=float)

    def state(self) -> VehicleState:
        """A copy of the state."""
        return VehicleState(self.model.state(), self.tread.copy(), self.ground.copy())

    def restore(self, state: Any) -> None:
        """Go back to a copy."""
        self.model.restore(state.model)
        self.tread[:] = state.tread
        self.ground[:] = state.ground
