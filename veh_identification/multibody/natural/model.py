"""A multibody model in natural coordinates: state, kinematic problems, one time step."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from veh_identification.errors import EstimationError, ModelError
from veh_identification.multibody.natural import dynamics, kinematics, r_matrix
from veh_identification.multibody.natural import packing as pk
from veh_identification.multibody.natural.builder import NaturalBuilder
from veh_identification.multibody.natural.checks import (
    check_implied,
    check_redundancy,
    explain_singularity,
)
from veh_identification.multibody.natural.forces import MAXIMUM_BODY_COLUMNS
from veh_identification.multibody.natural.inspection import Inspection
from veh_identification.multibody.natural.model_state import Loads, Solver, State
from veh_identification.types import Array

# Penalty over the largest inertia of a step: high enough that one pass gains five digits, low
# enough that the matrix keeps eight digits of its own.
PENALTY_RATIO = 1e5
POSITION_TOLERANCE = 1e-11
MOST_ITERATIONS = 60
ForceHook = Callable[['NaturalModel', Loads], None]


class NaturalModel(Inspection):
    """Flat arrays and state of one system; every heavy operation is one kernel call."""

    def __init__(
        self,
        builder: NaturalBuilder,
        independent: Sequence[str | int],
        *,
        loaded_bodies: Sequence[str] = (),
        force_hook: ForceHook | None = None,
        solver: Solver | None = None,
    ) -> None:
        description = builder.description
        self.description = description
        self.names = list(description.names)
        self.independent = [builder.index(c) if isinstance(c, str) else c for c in independent]
        self._z_index = np.array(self.independent, dtype=np.int64)
        self.constraint_names = [c.name for c in description.constraints]
        self.packed = pk.pack(description, self.independent)
        self.memory = self.packed.memory
        self.solver = Solver() if solver is None else solver
        self.force_hook = force_hook
        n, m = len(self.names), len(self.constraint_names)
        self.q = np.array(description.guess, dtype=float)
        self.qd, self.qdd, self.multipliers = np.zeros(n), np.zeros(n), np.zeros(m)
        self.drive = np.zeros((3, m))
        self.drive[0] = [c.value for c in description.constraints]
        self.body_index = {b.name: b.index for b in description.bodies}
        self.loads = Loads(
            np.zeros(n),
            np.zeros((2, n)),
            np.zeros((len(loaded_bodies), pk.LOAD_SIZE)),
            np.array([self.body_index[b] for b in loaded_bodies], dtype=np.int64),
        )
        # A persistent correction of Q (the force error that an observer estimates).
        self.force_error = np.zeros(n)
        self.mass = self.packed.mass
        self._mass_scale = float(np.max(np.diag(self.mass), initial=0.0)) or 1.0
        self._moving = (self.q, self.qd, self.qdd, self.multipliers)
        self._before = tuple(a.copy() for a in self._moving)
        # Kinematic factor in the scratch memory: none, of a nearby pose, or of this very pose.
        self._factor = ''
        self._scratch(pk.ROW_SHARE)[:] = 1.0
        self._check_description()

    def twin(self) -> NaturalModel:
        """Another model of the same system as it is now, in memory of its own.

        Describing a large system takes tenths of a second, copying it a hundredth of that.
        """
        other = copy.copy(self)
        packed = other.packed = replace(
            self.packed,
            reals=self.packed.reals.copy(),
            scratch=self.packed.scratch.copy(),
            buffer=self.packed.buffer.copy(),
            mass=self.packed.mass.copy(),
        )
        other.memory = packed.memory
        other.mass = packed.mass
        other.q, other.qd, other.qdd, other.multipliers = (a.copy() for a in self._moving)
        other._moving = (other.q, other.qd, other.qdd, other.multipliers)
        other._before = tuple(a.copy() for a in other._moving)
        other.drive, other.force_error = self.drive.copy(), self.force_error.copy()
        other.loads = self.loads.copied()
        return other

    def _check_description(self) -> None:
        freedom = len(self.names) - len(self.constraint_names)
        if len(set(self.independent)) != len(self.independent):
            raise ModelError('an independent coordinate is named twice')
        if len(set(self.loads.bodies.tolist())) != self.loads.bodies.size:
            raise ModelError('a loaded body is named twice')
        pointer = pk.integers_of(self.packed.integers, pk.BODY_POINTER)
        if np.max(np.diff(pointer), initial=0) > MAXIMUM_BODY_COLUMNS:
            raise ModelError(f'a body depends on more than {MAXIMUM_BODY_COLUMNS} coordinates')
        if freedom > len(self.independent):
            raise ModelError(
                f'{len(self.names)} coordinates and {len(self.constraint_names)} '
                f'constraints leave {freedom} degrees of freedom, but only '
                f'{len(self.independent)} independent coordinates are named'
            )

    # -- position, velocity, acceleration problems ------------------------------------------

    def assemble(self, z: ArrayLike | None = None, zd: ArrayLike | None = None) -> None:
        """Solve position, velocity and dynamics at the start; checks the whole description."""
        guess = self.q.copy()
        target = self.q[self._z_index] if z is None else np.array(z, dtype=float)
        rates = np.zeros(len(self.independent)) if zd is None else np.array(zd, dtype=float)
        # far from the guess Newton may leave its branch; then the target is approached in steps
        for steps in (1, 10, 100):
            self.q[:] = guess
            status = self._approach(guess[self._z_index], target, steps)
            if status >= 0:
                break
        if status == -1:
            worst = kinematics.evaluate(self.memory, self.drive, self.q)
            row = int(np.argmax(np.abs(self._scratch(pk.RESIDUAL))))
            raise ModelError(
                f'the mechanism cannot be assembled: constraint '
                f'{self.constraint_names[row]!r} stays off by {worst:.3g} '
                '(impossible geometry, or a guess far away)'
            )
        check_redundancy(self.jacobian(), self.constraint_names)
        if status <= -2:
            self._fail(status, ModelError)
        check_implied(self.description, self.q)
        self._share_penalty()
        self._factor = ''
        self.set_rates(rates)
        self.update_acceleration()

    def _approach(self, start: Array, target: Array, steps: int) -> int:
        """Position problems on the way from one set of independent coordinates to another."""
        status = 0
        for share in np.linspace(0.0, 1.0, steps + 1)[0 if steps > 1 else 1 :]:
            status = int(
                kinematics.position_problem(
                    self.memory,
                    self.drive,
                    self.q,
                    start + share * (target - start),
                    1e-12,
                    100,
                    False,
                )
            )
            if status < 0:
                break
        return status

    def _fail(self, status: int, kind: type[Exception] = EstimationError) -> NoReturn:
        if status <= -2:
            raise kind(
                explain_singularity(
                    self.jacobian(), self.independent, self.names, self.constraint_names
                )
            )
        row = int(np.argmax(np.abs(self._scratch(pk.RESIDUAL)), axis=0))
        raise kind(
            f'the position problem does not converge: constraint '
            f'{self.constraint_names[row]!r} stays off by '
            f'{self._scratch(pk.RESIDUAL)[row]:.3g}'
        )

    def set_independent(self, z: Array, zd: Array, zdd: Array) -> None:
        """Position (9), velocity (10) and acceleration (11) problems from the present pose.

        The factor of a nearby pose is reused. The state stays as it was when this fails.
        """
        before = self.q.copy(), self.qd.copy(), self.qdd.copy()
        reuse = self._factor != ''
        status = kinematics.set_independent(
            self.memory,
            self.drive,
            self.q,
            self.qd,
            self.qdd,
            z,
            zd,
            zdd,
            POSITION_TOLERANCE,
            MOST_ITERATIONS,
            reuse,
        )
        if status >= 0:
            self._factor = 'exact' if status == 0 and self._factor != 'near' else 'near'
            return
        self._factor = ''
        try:
            if not np.all(np.isfinite(self.q)):
                raise EstimationError('the position problem diverges')
            self._fail(status)
        finally:
            self.q[:], self.qd[:], self.qdd[:] = before

    def set_positions(self, z: Array) -> None:
        """Position problem only; rates and accelerations are made consistent."""
        self.set_independent(z, self.zd, self.zdd)

    def _factorise(self) -> None:
        kinematics.evaluate(self.memory, self.drive, self.q)
        bad = kinematics.factorise_kinematics(self.memory)
        self._factor = 'exact' if bad < 0 else ''
        if bad >= 0:
            self._fail(-2 - bad)

    def set_rates(self, zd: Array) -> None:
        """Velocity problem (10) at the present pose."""
        if not self._factor:
            self._factorise()
        kinematics.velocity_problem(self.memory, self.drive, zd, self.qd)

    def set_accelerations(self, zdd: Array) -> None:
        """Acceleration problem (11) at the present pose and rates."""
        if not self._factor:
            self._factorise()
        kinematics.acceleration_problem(self.memory, self.drive, self.q, self.qd, zdd, self.qdd)

    # -- R matrix and reduced dynamics --------------------------------------------------------

    def r_matrices(
        self, columns: NDArray[np.int64] | None = None, order: int = 0
    ) -> tuple[Array, Array, Array]:
        """R = dq/dz and, by `order`, its first and second time derivative (n, columns).

        `columns` picks independent coordinates by their place in `independent`; the matrices
        beyond `order` are zero.
        """
        chosen = np.arange(len(self.independent)) if columns is None else columns
        R, Rd, Rdd = np.zeros((3, self.q.size, chosen.size))
        if self._factor == 'exact':
            r_matrix.r_matrices(self.memory, self.q, self.qd, self.qdd, chosen, order, R, Rd, Rdd)
            return R, Rd, Rdd
        bad = r_matrix.fresh_r_matrices(
            self.memory, self.drive, self.q, self.qd, self.qdd, chosen, order, R, Rd, Rdd
        )
        self._factor = 'exact' if bad < 0 else ''
        if bad >= 0:
            self._fail(-2 - bad)
        return R, Rd, Rdd

    def r_matrix(self) -> Array:
        """R = dq/dz (59) by the dense equations, for what is done once: nothing to compile."""
        if self._factor != 'exact':
            self._factorise()
        J = self.jacobian()
        count = len(self.independent)
        stacked, unit = np.zeros((J.shape[0] + count, self.q.size)), np.eye(count)
        stacked[: J.shape[0]] = J
        stacked[J.shape[0] + np.arange(count), self._z_index] = 1.0
        right = np.vstack([np.zeros((J.shape[0], count)), unit])
        return np.asarray(np.linalg.lstsq(stacked, right, rcond=None)[0], dtype=float)

    def reduced_mass(self, R: Array) -> Array:
        """R^T M R."""
        mass = np.empty((R.shape[1], R.shape[1]))
        dynamics.reduced_mass(self.memory, R, mass)
        return mass

    def reduced(self, R: Array | None = None) -> tuple[Array, Array]:
        """Reduced mass matrix R^T M R and force R^T (Q - M R' z') of equation (67).

        `R`: that of the present pose, where it is known.
        """
        R = self.r_matrix() if R is None else R
        bias = np.zeros_like(self.q)
        kinematics.acceleration_problem(
            self.memory, self.drive, self.q, self.qd, np.zeros(R.shape[1]), bias
        )
        if self.force_hook is not None:
            self.force_hook(self, self.loads)
        force = np.empty(R.shape[1])
        dynamics.reduced_force(
            self.memory,
            self.q,
            self.qd,
            bias,
            R,
            self.loads.coordinate_force + self.force_error,
            self.loads.wrenches,
            self.loads.bodies,
            force,
        )
        return R.T @ self.mass @ R, force

    def independent_acceleration(self) -> Array:
        """z'' of equation (67) at the present state."""
        mass, force = self.reduced()
        return np.asarray(np.linalg.solve(mass, force), dtype=float)

    def update_acceleration(self) -> None:
        """Make q'' follow from the dynamics at the present state."""
        self.set_accelerations(self.independent_acceleration())

    # -- integration --------------------------------------------------------------------------

    def penalty(self, dt: float) -> float:
        """Penalty number of (39)."""
        if self.solver.penalty is not None:
            return self.solver.penalty
        return PENALTY_RATIO * self._mass_scale * 4.0 / (dt * dt)

    def _share_penalty(self) -> None:
        """Give each constraint the penalty of the mass that it moves.

        One number for all, large enough for the heaviest body, would be millions of times what a
        light one needs: between two poses the curvature of its constraints times that number
        would be more than its inertia, and a factor would be good for one pose only.
        """
        if self.solver.penalty is not None:
            return
        mass = np.diag(self.mass)
        squares = self.jacobian()[:, mass > 0.0] ** 2 / mass[mass > 0.0]
        inverse = np.maximum(squares.sum(axis=1), 1.0 / self._mass_scale)
        self._scratch(pk.ROW_SHARE)[:] = 1.0 / (inverse * self._mass_scale)

    def step(self, dt: float) -> int:
        """Advance by dt (equations 39-42); returns the Newton iterations.

        The state stays as it was when the step fails.
        """
        if not (math.isfinite(dt) and dt > 0.0):
            raise EstimationError(f'the time step must be positive, found {dt}')
        self._factor = ''
        for kept, array in zip(self._before, self._moving, strict=True):
            kept[:] = array
        count = self._newton(dt)
        if count <= 0:
            what = (
                'the motion is not finite'
                if not np.all(np.isfinite(self.q))
                else f'coordinate {self.names[-1 - count]!r} carries neither mass nor constraint'
                if count < 0
                else 'the Newton iteration does not converge'
            )
            for kept, array in zip(self._before, self._moving, strict=True):
                array[:] = kept
            raise EstimationError(f'a time step of {dt:.4g} s fails: {what}')
        return count

    def _newton(self, dt: float) -> int:
        """Newton iteration of one step: its length, 0 without convergence, -1 - k: pivot k."""
        loads, penalty, previous, renew = self.loads, self.penalty(dt), np.inf, True
        if self.force_hook is None:
            return int(
                dynamics.advance(
                    self.memory,
                    self.drive,
                    self.q,
                    self.qd,
                    self.qdd,
                    self.multipliers,
                    loads.coordinate_force + self.force_error,
                    loads.tangents,
                    loads.wrenches,
                    loads.bodies,
                    dt,
                    penalty,
                    self.solver.tolerance,
                    self.solver.iterations,
                )
            )
        dynamics.begin_step(self.memory, self.q, self.qd, self.qdd, dt)
        for iteration in range(self.solver.iterations):
            self.force_hook(self, loads)
            external = loads.coordinate_force + self.force_error
            change = dynamics.newton_iteration(
                self.memory,
                self.drive,
                self.q,
                self.qd,
                self.qdd,
                self.multipliers,
                external,
                loads.tangents,
                loads.wrenches,
                loads.bodies,
                dt,
                penalty,
                renew,
            )
            if change < 0.0 or not np.isfinite(change):
                return int(change) if change < 0.0 else 0
            limit = self.solver.tolerance + kinematics.rounding(self.q)
            if change <= limit:
                worst = dynamics.finish_step(
                    self.memory,
                    self.drive,
                    self.q,
                    self.qd,
                    self.qdd,
                    loads.bodies,
                    dt,
                    penalty,
                    dynamics.PROJECTED,
                )
                if worst <= limit:
                    return iteration + 1
            renew, previous = change > 0.1 * previous, change
        return 0

    def state(self) -> State:
        """A copy of the state, for `restore`."""
        return State(
            self.q.copy(),
            self.qd.copy(),
            self.qdd.copy(),
            self.multipliers.copy(),
            self.drive.copy(),
            self.force_error.copy(),
        )

    def restore(self, state: State) -> None:
        """Go back to a state."""
        self.q[:], self.qd[:], self.qdd[:] = state.q, state.qd, state.qdd
        self.multipliers[:], self.drive[:] = state.multipliers, state.drive
        self.force_error[:] = state.force_error
        self._factor = ''

    def set_drive(self, name: str, value: float, rate: float = 0.0, second: float = 0.0) -> None:
        """Value, rate and acceleration of a driven constraint."""
        row = self.constraint_names.index(name)
        if not self.description.constraints[row].driven:
            raise ModelError(f'constraint {name!r} is not driven')
        self.drive[:, row] = value, rate, second
