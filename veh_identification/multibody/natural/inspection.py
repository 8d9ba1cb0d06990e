"""What can be looked at in a model: residuals, Jacobian, energies, frames of bodies."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from veh_identification.multibody.natural import kinematics, views
from veh_identification.multibody.natural import packing as pk
from veh_identification.multibody.natural.constraints import evaluate_forms
from veh_identification.multibody.natural.forms import Form
from veh_identification.multibody.natural.records import Description
from veh_identification.types import Array


class Inspection:
    """The reading half of `NaturalModel`."""

    description: Description
    packed: pk.Packed
    memory: tuple[Any, ...]
    constraint_names: list[str]
    q: Array
    qd: Array
    qdd: Array
    drive: Array
    mass: Array
    _z_index: NDArray[np.int64]

    def _scratch(self, section: int) -> Array:
        places = self.packed.scratch_table
        return self.packed.scratch[places[section] : places[section + 1]]

    def residual(self) -> Array:
        """Phi at the present pose."""
        kinematics.evaluate(self.memory, self.drive, self.q)
        return self._scratch(pk.RESIDUAL).copy()

    def jacobian(self) -> Array:
        """Dense Phi_q (m, n) at the present pose, for checks."""
        kinematics.evaluate(self.memory, self.drive, self.q)
        pointer = pk.integers_of(self.packed.integers, pk.JACOBIAN_POINTER)
        column = pk.integers_of(self.packed.integers, pk.JACOBIAN_COLUMN)
        J = np.zeros((len(self.constraint_names), self.q.size))
        rows = np.repeat(np.arange(J.shape[0]), np.diff(pointer))
        J[rows, column] = self._scratch(pk.JACOBIAN)
        return J

    def forms(self, x: Array, *, constant: bool) -> Array:
        """Values (forms, 3) of all forms for a coordinate, rate or acceleration vector."""
        evaluate_forms(self.memory, x, constant, pk.DIRECTION)
        return self._scratch(pk.DIRECTION).reshape(-1, 3).copy()

    def body_view(self, body: int, values: Array) -> None:
        """Frame of a body with its rate and acceleration into `values` (3, 12)."""
        views.body_values(self.memory, body, self.q, self.qd, self.qdd, values)

    @property
    def z(self) -> Array:
        """Independent positions."""
        return self.q[self._z_index]

    @property
    def zd(self) -> Array:
        """Independent rates."""
        return self.qd[self._z_index]

    @property
    def zdd(self) -> Array:
        """Independent accelerations."""
        return self.qdd[self._z_index]

    def energy(self) -> tuple[float, float]:
        """Kinetic and potential energy (gravity and springs; external loads excluded)."""
        kinetic, potential = self.energies(self.q[None], self.qd[None])
        return float(kinetic[0]), float(potential[0])

    def energies(self, q: Array, qd: Array) -> tuple[Array, Array]:
        """Kinetic and potential energies (n,) of poses and rates (n, coordinates)."""
        kinetic = 0.5 * np.einsum('ni,ij,nj->n', qd, self.mass, qd)
        potential = np.zeros(len(q))
        gravity = np.array(self.description.gravity)
        for form, mass in self.description.weights:
            potential -= mass * (_values(form, q) @ gravity)
        for spring in self.description.springs:
            length = np.linalg.norm(_values(self.description.forms[spring.form], q), axis=1)
            potential += (
                0.5 * spring.stiffness * (length - spring.free_length) ** 2
                + spring.preload * length
            )
        for item in self.description.coordinate_springs:
            potential += 0.5 * item.stiffness * (q[:, item.coordinate] - item.rest) ** 2
        return kinetic, potential

    def damped_power(self, q: Array, qd: Array) -> Array:
        """What dampers take out of poses and rates (n, coordinates), not negative."""
        power = np.zeros(len(q))
        for spring in self.description.springs:
            form = self.description.forms[spring.form]
            along = _values(form, q)
            rate = np.sum(along * (qd @ form.matrix(q.shape[1]).T), axis=1)
            power += spring.damping * rate**2 / np.sum(along * along, axis=1)
        for item in self.description.coordinate_springs:
            power += item.damping * qd[:, item.coordinate] ** 2
        return power


def _values(form: Form, q: Array) -> Array:
    """A form (n, 3) at poses (n, coordinates)."""
    return np.asarray(q @ form.matrix(q.shape[1]).T + np.array(form.constant))
