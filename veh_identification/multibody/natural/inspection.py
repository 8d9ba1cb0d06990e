"""What can be looked at in a model: residuals, Jacobian, energies, frames of bodies."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from veh_identification.multibody.natural import kinematics, views
from veh_identification.multibody.natural import packing as pk
from veh_identification.multibody.natural.constraints import evaluate_forms
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
        kinetic = 0.5 * float(self.qd @ self.mass @ self.qd)
        potential = 0.0
        gravity = np.array(self.description.gravity)
        for form, mass in self.description.weights:
            potential -= mass * float(gravity @ form.value(self.q))
        for spring in self.description.springs:
            length = float(np.linalg.norm(self.description.forms[spring.form].value(self.q)))
            potential += (
                0.5 * spring.stiffness * (length - spring.free_length) ** 2
                + spring.preload * length
            )
        for item in self.description.coordinate_springs:
            potential += 0.5 * item.stiffness * (self.q[item.coordinate] - item.rest) ** 2
        return kinetic, potential
