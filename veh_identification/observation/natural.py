"""Lets a natural-coordinate model be observed: prediction, correction, cached Jacobians."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from veh_identification.errors import EstimationError, ModelError
from veh_identification.multibody.natural.checks import turned_over
from veh_identification.multibody.natural.fused import (
    held_model,
    shift_independent,
    step_with_r,
)
from veh_identification.multibody.natural.model import NaturalModel
from veh_identification.multibody.natural.model_state import State
from veh_identification.multibody.natural.views import body_motion
from veh_identification.observation.noise import integrator_transition
from veh_identification.observation.protocols import BodyView
from veh_identification.types import Array

ApplyInputs = Callable[[NaturalModel, Any], None]
#: A correction by more than this [rad or m] is made in steps, of which there are no more than
#: so many: a large one would leave the branch of the mechanism (a crank half a turn off its arm).
LARGEST_SHIFT, MOST_SHIFTS = 0.2, 100
#: Steps after which it is looked whether a fast one has left the branch all the same.
LOOK = 50


@dataclass
class _Jacobians:
    """R, R' and R'' of the observed coordinates, valid up to `order` (-1: not at all)."""

    order: int
    R: Array
    Rd: Array
    Rdd: Array


@dataclass
class _BodyCache:
    """View of one body (its arrays are used again) and the state it belongs to."""

    index: int
    view: BodyView
    version: int = -1
    order: int = -2


class ObservedModel:
    """Adapter between `NaturalModel` and the observer.

    `observed` names the independent coordinates whose errors are estimated (all by default); the
    others keep their own values when the model is corrected. Positions are corrected by Newton on
    the constraints (section 4.5.4), not by the linear velocity problem (58).
    """

    def __init__(
        self,
        model: NaturalModel,
        observed: Sequence[str] | None = None,
        *,
        apply_inputs: ApplyInputs | None = None,
    ) -> None:
        self.model = model
        names = [model.names[i] for i in model.independent]
        chosen = names if observed is None else list(observed)
        for name in chosen:
            if name not in names:
                raise ModelError(
                    f'{name!r} cannot be observed: it is not an independent coordinate'
                )
        self.observed = chosen
        self.columns = np.array([names.index(name) for name in chosen], dtype=np.int64)
        self.coordinates = np.array([model.independent[k] for k in self.columns], dtype=np.int64)
        self.size = len(chosen)
        self._still = np.zeros(self.size)
        self.apply_inputs = apply_inputs
        self._jacobians = _Jacobians(-1, *np.zeros((3, model.q.size, self.size)))
        r = self._jacobians
        self._held = held_model(model, self.columns, r.R, r.Rd, r.Rdd)
        self._wanted = 0
        self._bodies: dict[str, _BodyCache] = {}
        self._version = 0
        self._until_look = LOOK

    def _changed(self) -> None:
        self._jacobians.order = -1
        self._version += 1

    # -- prediction and correction -----------------------------------------------------------

    def predict(self, dt: float, inputs: Any) -> None:
        """One step of the model with these inputs."""
        self._until_look -= 1
        if self._until_look == 0:
            self._look()
        if self.apply_inputs is not None:
            self.apply_inputs(self.model, inputs)
        cache = self._jacobians
        self._changed()
        # R up to what the last update wanted comes with the step
        if step_with_r(self.model, self._held, dt, self._wanted):
            cache.order = self._wanted
        else:
            self.model.step(dt)

    def _look(self) -> None:
        """What would last and show in nothing is looked at now and then."""
        self._until_look = LOOK
        if name := turned_over(self.model.description, self.model.q):
            raise EstimationError(f'{name!r} of the model points the other way')

    def correct(self, delta_z: Array, delta_zd: Array, delta_zdd: Array | None = None) -> None:
        """Add errors to the observed coordinates and solve for all others."""
        model = self.model
        force = None if delta_zdd is None else self._effective_mass() @ delta_zdd
        seconds = self._still if delta_zdd is None else delta_zdd
        far = max(map(abs, delta_z.tolist()), default=0.0)
        if far > LARGEST_SHIFT:
            count = min(1 + int(far / LARGEST_SHIFT), MOST_SHIFTS)
            self._shift_far(count, delta_z, delta_zd, seconds)
        else:
            self._shift(delta_z, delta_zd, seconds)
        if force is not None:
            model.force_error[self.coordinates] += force
        self._changed()

    def _shift_far(self, count: int, delta_z: Array, delta_zd: Array, delta_zdd: Array) -> None:
        """A shift in so many steps; all of it or none."""
        before = self.model.state()
        step = delta_z / count
        try:
            for _ in range(count - 1):
                self._shift(step, self._still, self._still)
            self._shift(step, delta_zd, delta_zdd)
        except EstimationError:
            self.restore(before)
            raise

    def _shift(self, delta_z: Array, delta_zd: Array, delta_zdd: Array) -> None:
        if not shift_independent(self.model, self._held, delta_z, delta_zd, delta_zdd):
            self._correct_slowly(delta_z, delta_zd, delta_zdd)

    def _correct_slowly(self, delta_z: Array, delta_zd: Array, delta_zdd: Array) -> None:
        """The correction in steps that can say what fails."""
        model = self.model
        z, zd, zdd = model.z, model.zd, model.zdd
        z[self.columns] += delta_z
        zd[self.columns] += delta_zd
        zdd[self.columns] += delta_zdd
        model.set_independent(z, zd, zdd)

    def _effective_mass(self) -> Array:
        """Mass (126) that forces on the observed coordinates have to move.

        Independent coordinates that are not observed stay free, so it is the Schur complement of
        the reduced mass matrix.
        """
        count = len(self.model.independent)
        if self.size == count:
            return self.model.reduced_mass(self._need(0).R)
        mass = self.model.reduced_mass(self.model.r_matrices()[0])
        seen = self.columns
        hidden = np.setdiff1d(np.arange(count), seen)
        return mass[np.ix_(seen, seen)] - mass[np.ix_(seen, hidden)] @ np.linalg.solve(
            mass[np.ix_(hidden, hidden)], mass[np.ix_(hidden, seen)]
        )

    @property
    def force_error(self) -> Array:
        """Estimated generalised force error on the observed coordinates."""
        return self.model.force_error[self.coordinates]

    def transition(self, dt: float, orders: int) -> Array:
        """Integrator of equation (54)."""
        return integrator_transition(dt, self.size, orders)

    # -- what sensors ask for -------------------------------------------------------------------

    def _need(self, order: int) -> _Jacobians:
        cache = self._jacobians
        if order > cache.order:
            self._wanted = max(self._wanted, order)
            cache.R[:], cache.Rd[:], cache.Rdd[:] = self.model.r_matrices(self.columns, order)
            cache.order = order
        return cache

    def prepare(self, order: int) -> None:
        """Compute R and its derivatives once for all sensors of an update."""
        self._need(order)

    def body(self, name: str, order: int) -> BodyView:
        """View of a body, valid until the state changes; `order` -1 asks for the values only."""
        cache = self._bodies.get(name)
        if cache is None:
            index = self.model.body_index.get(name)
            if index is None:
                raise ModelError(
                    f'there is no body {name!r} in the model; it has '
                    f'{", ".join(self.model.body_index)}'
                )
            view = BodyView(np.empty((3, 12)), np.empty((3, 12, self.size)))
            cache = self._bodies[name] = _BodyCache(index, view)
        if cache.version == self._version and cache.order >= order:
            return cache.view
        r = self._need(order) if order >= 0 else self._jacobians
        model, view = self.model, cache.view
        body_motion(
            model.memory,
            cache.index,
            model.q,
            model.qd,
            model.qdd,
            r.order,
            r.R,
            r.Rd,
            r.Rdd,
            view.values,
            view.derivatives,
        )
        # all that is there anyway: other sensors of the body will ask
        cache.version, cache.order = self._version, r.order
        return view

    def coordinate(self, index: int, order: int) -> tuple[Sequence[float], Array, Array, Array]:
        """[q, q', q''] of one coordinate and its rows of R, R', R''."""
        model = self.model
        values = model.q[index], model.qd[index], model.qdd[index]
        if order < 0:
            empty = np.zeros(self.size)
            return values, empty, empty, empty
        r = self._need(order)
        return values, r.R[index], r.Rd[index], r.Rdd[index]

    def snapshot(self) -> State:
        """Copy of the model's state."""
        return self.model.state()

    def restore(self, snapshot: State) -> None:
        """Go back to a snapshot."""
        self.model.restore(snapshot)
        self._changed()
