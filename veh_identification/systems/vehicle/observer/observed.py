"""The car as the observer sees it: prediction, closed-form correction, chassis Jacobians."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit

from veh_identification.errors import EstimationError, ModelError
from veh_identification.multibody.natural import NaturalBuilder, NaturalModel
from veh_identification.multibody.natural.r_matrix import fresh_r_matrices
from veh_identification.multibody.natural.views import body_derivatives, body_values
from veh_identification.observation import BodyView
from veh_identification.observation.noise import integrator_transition
from veh_identification.systems.vehicle.configuration import CORNERS
from veh_identification.systems.vehicle.model.ground import CARRIED, carry, lift, tilt_derivatives
from veh_identification.systems.vehicle.model.rigid import correct
from veh_identification.systems.vehicle.model.vehicle import Inputs, Vehicle, VehicleState
from veh_identification.types import Array, IntArray

#: Observed coordinates (79): position, attitude and wheel angles; strokes follow the model.
OBSERVED = ('x', 'y', 'z', 'yaw', 'e1z', 'e2z', *(f'theta_{c}' for c in CORNERS))
CHASSIS = 13  # coordinates of chassis and yaw, the first of the model
POSE = 6
YAW = 3


def _chassis_model() -> NaturalModel:
    """The chassis alone: its frame as a function of x, y, z, yaw, e1z, e2z."""
    builder = NaturalBuilder(3, (0.0, 0.0, 0.0))
    body = builder.free_body('chassis', [1.0, 0, 0, 0, 1.0, 0, 0, 1.0, 0, 1.0], (0.0, 0.0, 0.0))
    world = builder.fixed((1.0, 0.0, 0.0)), builder.fixed((0.0, 1.0, 0.0))
    builder.angle('yaw', world, body.axes[0], 0.0)
    model = NaturalModel(
        builder,
        [
            'chassis.origin.x',
            'chassis.origin.y',
            'chassis.origin.z',
            'yaw',
            'chassis.e1.z',
            'chassis.e2.z',
        ],
    )
    model.assemble()
    return model


@njit(cache=True, nogil=True)
def chassis_view(
    chassis: tuple[Any, ...],
    drive: Array,
    part: Array,
    q: Array,
    qd: Array,
    qdd: Array,
    pose: IntArray,
    order: int,
    R: Array,
    Rd: Array,
    Rdd: Array,
    carried: bool,
    ground: Array,
    values: Array,
    derivatives: Array,
) -> int:
    """Frame of the chassis and its derivatives up to `order`; not negative: it is singular."""
    size = part.shape[1]
    part[0], part[1], part[2] = q[:size], qd[:size], qdd[:size]
    bad = fresh_r_matrices(chassis, drive, part[0], part[1], part[2], pose, order, R, Rd, Rdd)
    if bad >= 0:
        return bad
    body_values(chassis, 0, part[0], part[1], part[2], values)
    if carried:
        lift(values, ground)
    body_derivatives(chassis, 0, order, R, Rd, Rdd, derivatives)
    if carried:
        tilt_derivatives(values, order, derivatives)
    return bad


@dataclass(frozen=True)
class ObservedState:
    """A copy of everything that changes with time."""

    vehicle: VehicleState


class ObservedVehicle:
    """`Model` of the observer over a `Vehicle`."""

    size = len(OBSERVED)

    def __init__(self, vehicle: Vehicle) -> None:
        self.vehicle = vehicle
        model = vehicle.model
        starts = {name[:-2]: i for i, name in enumerate(model.names) if name.endswith('.x')}
        self._points = np.array(
            [i for name, i in starts.items() if 'ball' in name or name == 'rack_point']
        )
        self._vectors = np.array(
            [i for name, i in starts.items() if name.startswith(('axis_', 'forward_'))]
        )
        self._chassis = _chassis_model()
        self._independent = np.array(self._chassis.independent, dtype=np.int64)
        self._part, self._errors = np.empty((3, CHASSIS)), np.empty((3, self.size))
        self._pose = np.arange(POSE)
        self._R = np.zeros((3, CHASSIS, POSE))
        self._order = -1
        self._carried = vehicle.car.road.unknown
        self.repeated_steps = 0
        self.turned = 0.0  # with the ground under it, in the last step [rad]
        self._view = BodyView(np.empty((3, 12)), np.zeros((3, 12, self.size)))
        self._column = {int(spin): POSE + i for i, spin in enumerate(vehicle.spins)}
        self._unit = np.eye(self.size)
        self._none = np.zeros(self.size)
        self._mass = self._effective_mass()
        self.force_columns = np.array([*model.independent[:10]])

    def _effective_mass(self) -> Array:
        """Mass that forces on the observed coordinates move at design, heading east (126)."""
        mass = self.vehicle.model.reduced_mass(self.vehicle.model.r_matrices()[0])
        seen, hidden = slice(0, self.size), slice(self.size, None)
        return np.asarray(
            mass[seen, seen]
            - mass[seen, hidden] @ np.linalg.solve(mass[hidden, hidden], mass[hidden, seen]),
            dtype=float,
        )

    # -- prediction and correction ------------------------------------------------------------

    def predict(self, dt: float, inputs: Inputs | None) -> None:
        """One step; estimated force errors turn with the car, as their causes do."""
        model = self.vehicle.model
        yaw = model.q[CHASSIS - 1]
        self._step(dt, inputs)
        self._order = -1
        turn = float(model.q[CHASSIS - 1] - yaw)
        if self._carried:
            self.turned = turn
            carry(self.vehicle.ground, self.turned, dt)
        x, y = model.force_error[:2].tolist()
        co, si = math.cos(turn), math.sin(turn)
        model.force_error[0], model.force_error[1] = co * x - si * y, si * x + co * y

    def _step(self, dt: float, inputs: Inputs | None) -> None:
        """A step, or four short ones; a car that cannot go on is put down anew where it is."""
        vehicle = self.vehicle
        try:
            vehicle.step(dt, inputs)
            return
        except EstimationError:
            self.repeated_steps += 1
        try:
            for _ in range(4):
                vehicle.step(0.25 * dt, inputs)
        except EstimationError:
            vehicle.model.multipliers[:] = 0.0
            vehicle.model.force_error[:] = 0.0
            vehicle.tread[:] = 0.0
            vehicle.model.assemble(vehicle.model.z, vehicle.model.zd)
            vehicle.step(dt, inputs)

    def correct(self, delta_z: Array, delta_zd: Array, delta_zdd: Array | None = None) -> None:
        """Add errors to the observed coordinates; strokes and rack keep their values."""
        if not math.isfinite(delta_z.sum() + delta_zd.sum()):
            raise EstimationError('the estimated errors are not finite')
        model, chassis = self.vehicle.model, self._chassis
        errors = self._errors
        errors[0], errors[1] = delta_z, delta_zd
        errors[2] = 0.0 if delta_zdd is None else delta_zdd
        if self._carried:
            carried = errors[:2, CARRIED]
            errors[:, CARRIED] = 0.0
        if (
            correct(
                chassis.memory,
                chassis.drive,
                self._independent,
                self._part,
                model.memory,
                self.vehicle.chassis,
                errors,
                self._points,
                self._vectors,
                self.vehicle.spokes,
                model.q,
                model.qd,
                model.qdd,
            )
            < 0
        ):
            self._fail(errors)
        if self._carried:
            self.vehicle.ground += carried
        if delta_zdd is not None:
            model.force_error[self.force_columns] += self._force(delta_zdd)
        model._factor = ''  # belongs to the pose before
        self._order = -1

    def _fail(self, errors: Array) -> None:
        """Say why the chassis cannot follow: the same problem once more, with its errors."""
        chassis = self._chassis
        self._load_chassis()
        chassis.set_independent(
            chassis.z + errors[0, :POSE],
            chassis.zd + errors[1, :POSE],
            chassis.zdd + errors[2, :POSE],
        )
        raise EstimationError('the chassis cannot follow its correction')

    def _force(self, delta_zdd: Array) -> Array:
        """Generalised force of an acceleration error; the mass turns with the car."""
        yaw = self.vehicle.model.q[CHASSIS - 1]
        co, si = np.cos(yaw), np.sin(yaw)
        local = delta_zdd.copy()
        local[0], local[1] = (
            co * delta_zdd[0] + si * delta_zdd[1],
            co * delta_zdd[1] - si * delta_zdd[0],
        )
        force = self._mass @ local
        x, y = force[0], force[1]
        force[0], force[1] = co * x - si * y, si * x + co * y
        return np.asarray(force, dtype=float)

    @property
    def force_error(self) -> Array:
        """Estimated generalised force errors on the observed coordinates."""
        return np.asarray(self.vehicle.model.force_error[self.force_columns], dtype=float)

    def transition(self, dt: float, orders: int) -> Array:
        """Integrator of equation (54)."""
        return integrator_transition(dt, self.size, orders)

    # -- what sensors ask for -------------------------------------------------------------------

    def _load_chassis(self) -> None:
        model, chassis = self.vehicle.model, self._chassis
        chassis.q[:], chassis.qd[:] = model.q[:CHASSIS], model.qd[:CHASSIS]
        chassis.qdd[:] = model.qdd[:CHASSIS]
        chassis._factor = ''

    def prepare(self, order: int) -> None:
        """Frame of the chassis and its derivatives up to `order`."""
        if order <= self._order:
            return
        model, chassis, view = self.vehicle.model, self._chassis, self._view
        chassis._factor = ''
        if (
            chassis_view(
                chassis.memory,
                chassis.drive,
                self._part,
                model.q,
                model.qd,
                model.qdd,
                self._pose,
                order,
                self._R[0],
                self._R[1],
                self._R[2],
                self._carried,
                self.vehicle.ground,
                view.values,
                view.derivatives,
            )
            >= 0
        ):
            self._load_chassis()
            chassis.r_matrices(self._pose, order)  # says why
        self._order = order

    def body(self, name: str, order: int) -> BodyView:
        """View of the chassis, the only body that carries sensors."""
        if name != 'chassis':
            raise ModelError(f'sensors are on the chassis, not on {name!r}')
        self.prepare(max(order, 0))
        return self._view

    def coordinate(self, index: int, order: int) -> tuple[Sequence[float], Array, Array, Array]:
        """[q, q', q''] of a wheel angle and its rows of R, R', R''."""
        model = self.vehicle.model
        values = model.q[index], model.qd[index], model.qdd[index]
        return values, self._unit[self._column[index]], self._none, self._none

    def snapshot(self) -> ObservedState:
        """Copy of the state."""
        return ObservedState(self.vehicle.state())

    def restore(self, snapshot: ObservedState) -> None:
        """Go back to a copy."""
        self.vehicle.restore(snapshot.vehicle)
        self._order = -1
