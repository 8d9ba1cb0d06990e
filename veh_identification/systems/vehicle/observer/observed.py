"""The car as the observer sees it: prediction, closed-form correction, chassis Jacobians."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numba import njit

from veh_identification.errors import EstimationError, ModelError
from veh_identification.observation import BodyView
from veh_identification.observation.noise import integrator_transition
from veh_identification.systems.vehicle.configuration import CORNERS
from veh_identification.systems.vehicle.model.chassis_frame import YAW_PLACE, frame_derivatives
from veh_identification.systems.vehicle.model.ground import CARRIED, carry, lift, tilt_derivatives
from veh_identification.systems.vehicle.model.rigid import correct
from veh_identification.systems.vehicle.model.vehicle import Inputs, Vehicle, VehicleState
from veh_identification.types import Array, IntArray

#: Observed coordinates (79): position, attitude and wheel angles; strokes follow the model.
OBSERVED = ('x', 'y', 'z', 'yaw', 'e1z', 'e2z', *(f'theta_{c}' for c in CORNERS))
CHASSIS = 13  # coordinates of chassis and yaw, the first of the model
POSE = 6
YAW = 3


@njit(cache=True, nogil=True)
def chassis_view(
    q: Array,
    qd: Array,
    qdd: Array,
    order: int,
    carried: bool,
    ground: Array,
    values: Array,
    derivatives: Array,
) -> None:
    """Frame of the chassis and its derivatives up to `order`."""
    for i in range(12):
        values[0, i], values[1, i], values[2, i] = q[i], qd[i], qdd[i]
    yaw = (q[YAW_PLACE], qd[YAW_PLACE], qdd[YAW_PLACE])
    frame_derivatives(values, yaw, order, derivatives)
    if carried:
        lift(values, ground)
        tilt_derivatives(values, order, derivatives)


@njit(cache=True, nogil=True)
def turn_forces(force_error: Array, turn: float) -> None:
    """Estimated forces turn with the car, as their causes do."""
    x, y = force_error[0], force_error[1]
    co, si = np.cos(turn), np.sin(turn)
    force_error[0], force_error[1] = co * x - si * y, si * x + co * y


@njit(cache=True, nogil=True)
def add_forces(
    errors: Array, mass: Array, yaw: float, columns: IntArray, force_error: Array
) -> None:
    """Generalised force of acceleration errors; the mass turns with the car."""
    co, si = np.cos(yaw), np.sin(yaw)
    local, force = errors.copy(), np.zeros(errors.size)
    local[0], local[1] = co * errors[0] + si * errors[1], co * errors[1] - si * errors[0]
    for i in range(force.size):
        for j in range(force.size):
            force[i] += mass[i, j] * local[j]
    force[0], force[1] = co * force[0] - si * force[1], si * force[0] + co * force[1]
    for i in range(force.size):
        force_error[columns[i]] += force[i]


@njit(cache=True, nogil=True)
def apply_errors(
    x: Array,
    orders: int,
    carried: bool,
    ground: Array,
    mass: Array,
    columns: IntArray,
    force_error: Array,
    points: IntArray,
    vectors: IntArray,
    spokes: IntArray,
    q: Array,
    qd: Array,
    qdd: Array,
) -> bool:
    """Put errors of the observed coordinates into the car; False: it stays as it was."""
    n = columns.size
    errors = np.zeros((3, n))
    for row in range(orders):
        for i in range(n):
            errors[row, i] = x[row * n + i]
    if not np.isfinite(np.sum(errors)):
        return False
    if carried:
        for row in range(3):
            for k in range(3):
                errors[row, CARRIED[k]] = 0.0
    if not correct(errors, points, vectors, spokes, q, qd, qdd):
        return False
    if carried:
        for row in range(2):
            for k in range(3):
                ground[row, k] += x[row * n + CARRIED[k]]
    if orders == 3:
        add_forces(x[2 * n : 3 * n], mass, q[YAW_PLACE], columns, force_error)
    return True


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
        self._order = -1
        self.carried = vehicle.car.road.unknown
        self.repeated_steps = 0
        self.turned = 0.0  # with the ground under it, in the last step [rad]
        self._view = BodyView(np.empty((3, 12)), np.zeros((3, 12, self.size)))
        #: Of the wheel angles: their places among the observed coordinates.
        self.columns = {YAW_PLACE: YAW}
        self.columns |= {int(spin): POSE + i for i, spin in enumerate(vehicle.spins)}
        self._unit = np.eye(self.size)
        self._none = np.zeros(self.size)
        self._mass = self._effective_mass()
        self.force_columns = np.array([*model.independent[:10]])
        #: What `apply_errors` takes after the errors.
        self.correction = (
            self.carried,
            vehicle.ground,
            self._mass,
            self.force_columns,
            model.force_error,
            vehicle.points,
            vehicle.vectors,
            vehicle.spokes,
            model.q,
            model.qd,
            model.qdd,
        )

    def _effective_mass(self) -> Array:
        """Mass that forces on the observed coordinates move at design, heading east (126)."""
        R = self.vehicle.model.r_matrix()
        mass = R.T @ self.vehicle.model.mass @ R
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
        if self.carried:
            self.turned = turn
            carry(self.vehicle.ground, self.turned, dt)
        turn_forces(model.force_error, turn)

    def stepped(self, dt: float) -> None:
        """A kernel made a step of this length and filled the view."""
        self.vehicle.stepped(dt)
        self._order = 2

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
        errors = [delta_z, delta_zd] if delta_zdd is None else [delta_z, delta_zd, delta_zdd]
        if not apply_errors(np.concatenate(errors), len(errors), *self.correction):
            raise EstimationError('no chassis has the pose that the estimated errors give')
        self.corrected()

    def corrected(self) -> None:
        """What belonged to the pose before the last correction holds no more."""
        self.vehicle.model._factor = ''
        self._order = -1

    @property
    def force_error(self) -> Array:
        """Estimated generalised force errors on the observed coordinates."""
        return np.asarray(self.vehicle.model.force_error[self.force_columns], dtype=float)

    def forget_forces(self, observed: IntArray) -> None:
        """Take off the force errors that accelerate these of the observed coordinates."""
        force, yaw = self.force_error, float(self.vehicle.model.q[YAW_PLACE])
        co, si = np.cos(yaw), np.sin(yaw)
        force[0], force[1] = co * force[0] + si * force[1], co * force[1] - si * force[0]
        kept = np.asarray(np.linalg.solve(self._mass, force), dtype=float)
        kept[observed] = 0.0
        kept[0], kept[1] = co * kept[0] - si * kept[1], si * kept[0] + co * kept[1]
        self.vehicle.model.force_error[self.force_columns] = 0.0
        add_forces(kept, self._mass, yaw, self.force_columns, self.vehicle.model.force_error)

    def transition(self, dt: float, orders: int) -> Array:
        """Integrator of equation (54)."""
        return integrator_transition(dt, self.size, orders)

    # -- what sensors ask for -------------------------------------------------------------------

    def seen(self, order: int) -> BodyView:
        """The view, which the caller fills up to `order` for the present pose."""
        self._order = order
        return self._view

    def prepare(self, order: int) -> None:
        """Frame of the chassis and its derivatives up to `order`."""
        if order <= self._order:
            return
        model, view = self.vehicle.model, self._view
        chassis_view(
            model.q,
            model.qd,
            model.qdd,
            order,
            self.carried,
            self.vehicle.ground,
            view.values,
            view.derivatives,
        )
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
        return values, self._unit[self.columns[index]], self._none, self._none

    def snapshot(self) -> ObservedState:
        """Copy of the state."""
        return ObservedState(self.vehicle.state())

    def restore(self, snapshot: ObservedState) -> None:
        """Go back to a copy."""
        self.vehicle.restore(snapshot.vehicle)
        self._order = -1
