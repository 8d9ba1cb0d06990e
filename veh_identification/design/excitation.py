"""Design of excitation trajectories (Abdellatif 2009, section 4): equations (20) to (22).

The trajectory is a Fourier series; position, velocity and acceleration limits are linear in its
coefficients and enter the optimiser (SLSQP) as such. Every iterate is also shrunk until it keeps
all limits on a dense grid; only such trajectories are candidates, so the result keeps its limits
even when the budget ends early.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize

from veh_identification.errors import EstimationError, UsageError
from veh_identification.identification.gauss_markov import whitening
from veh_identification.identification.trajectory import FourierTrajectory, MotionLimits
from veh_identification.types import Array, Progress

Regressor = Callable[[Array, Array, Array], Array]
Constraint = Callable[[Array, Array, Array], Array]
CRITERIA = ('condition', 'd_optimal')
# Points per shortest wavelength: on such a grid a trigonometric polynomial hides at most
# 1 - cos(pi / 64) = 0.12 % of its maximum.
DENSE = 64
# The same of the grid on which the optimiser keeps the limits: at most 1 - cos(pi / 8) = 7.6 %.
COARSE = 8


@dataclass(frozen=True)
class DesignProblem:
    """What a designed trajectory must keep and how it is judged."""

    regressor: Regressor
    limits: MotionLimits
    channels: int
    harmonics: int = 5
    samples: int = 100
    criterion: str = 'd_optimal'
    noise_covariance: Array | None = None
    constraints: Sequence[Constraint] = ()
    home: ArrayLike | None = None
    from_rest: bool = False
    names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.criterion not in CRITERIA:
            raise UsageError(
                f'unknown criterion {self.criterion!r}, use one of {", ".join(CRITERIA)}'
            )
        if self.harmonics < 1 or self.channels < 1:
            raise UsageError(
                f'a trajectory needs at least one harmonic and one channel, found '
                f'{self.harmonics} and {self.channels}'
            )
        if self.samples < 2 * self.harmonics + 1:
            raise UsageError(
                f'{self.harmonics} harmonics need at least {2 * self.harmonics + 1} samples per '
                f'period, found {self.samples}'
            )
        self.limits.arrays(self.channels)
        if self.noise_covariance is not None:
            self._whitening()  # refuses what is no covariance

    def home_position(self) -> Array:
        """Where the robot stands still: given, or the middle of the position limits."""
        low, high, _, _ = self.limits.arrays(self.channels)
        if self.home is None:
            return 0.5 * (low + high)
        return np.broadcast_to(np.asarray(self.home, dtype=float), (self.channels,)).copy()

    def evaluate(self, trajectory: FourierTrajectory) -> tuple[float, float]:
        """(condition number of the column-scaled regressor, log det of the information)."""
        motion = trajectory.evaluate(trajectory.sample_times(self.samples))
        w = np.asarray(self.regressor(*motion), dtype=float)
        if w.ndim == 2:
            w = w[:, None, :]
        if self.noise_covariance is not None:
            # Whitening by the Cholesky factor: Psi^T Sigma^-1 Psi of equation (22).
            transform = self._whitening()
            if w.shape[1] != len(transform):
                raise UsageError(
                    f'the noise covariance is for {len(transform)} equations, but the regressor '
                    f'has {w.shape[1]} per sample'
                )
            w = np.matmul(transform, w)
        psi = w.reshape(-1, w.shape[-1])
        if len(psi) < psi.shape[1]:
            raise EstimationError(f'{len(psi)} equations cannot give {psi.shape[1]} parameters')
        if not np.isfinite(psi).all():
            return np.inf, -np.inf
        triangle = np.linalg.qr(psi, mode='r')
        norms = np.linalg.norm(triangle, axis=0)
        singular = np.linalg.svd(triangle / np.maximum(norms, 1e-300), compute_uv=False)
        condition = singular[0] / max(singular[-1], 1e-300)
        diagonal = np.maximum(np.abs(np.diag(triangle)), 1e-300)
        return float(condition), float(2.0 * np.log(diagonal).sum())

    def _whitening(self) -> Array:
        covariance = np.asarray(self.noise_covariance, dtype=float)
        count = len(covariance) if covariance.ndim else 1
        return whitening(covariance, [str(k) for k in range(count)])

    def cost(self, trajectory: FourierTrajectory) -> float:
        """What is minimised: log of the condition number (21), or -log det (22)."""
        condition, log_det = self.evaluate(trajectory)
        return float(np.log(condition)) if self.criterion == 'condition' else -log_det

    def worst_use(self, trajectory: FourierTrajectory) -> float:
        """Largest share of any limit that is used; above one a limit is broken."""
        return self.limits.worst_use(trajectory, DENSE * self.harmonics)

    def constraint_margin(self, trajectory: FourierTrajectory) -> float:
        """Smallest value of the user's constraints (negative: broken); inf without any."""
        times = trajectory.sample_times(max(self.samples, DENSE * self.harmonics))
        motion = trajectory.evaluate(times)
        return min((float(np.min(g(*motion))) for g in self.constraints), default=np.inf)

    def feasible(self, trajectory: FourierTrajectory) -> bool:
        """Whether all limits and constraints hold on the dense grid."""
        within = self.worst_use(trajectory) <= 1.0 + 1e-9
        return within and self.constraint_margin(trajectory) >= -1e-9

    def repair(self, trajectory: FourierTrajectory) -> FourierTrajectory | None:
        """The trajectory, shrunk towards home until it is feasible; None when home is not."""
        home = self.home_position()
        upper = self.limits.largest_scale(trajectory, home, DENSE * self.harmonics)
        inside = trajectory if upper == 1.0 else trajectory.scaled(upper, home)
        if self.feasible(inside):
            return inside
        if not self.feasible(trajectory.scaled(0.0, home)):
            return None
        lower = 0.0
        for _ in range(20):
            middle = 0.5 * (lower + upper)
            if self.feasible(trajectory.scaled(middle, home)):
                lower = middle
            else:
                upper = middle
        return trajectory.scaled(lower, home)


@dataclass(frozen=True)
class ExcitationDesign:
    """Result of a design: the best feasible trajectory of all starts."""

    trajectory: FourierTrajectory
    criterion: str
    condition_number: float
    log_det: float
    worst_use: float
    constraint_margin: float
    histories: tuple[tuple[float, ...], ...]
    evaluations: int
    seed: int
    stopped_by: str

    @property
    def cost(self) -> float:
        """What was minimised, as `DesignProblem.cost`."""
        if self.criterion == 'condition':
            return float(np.log(self.condition_number))
        return -self.log_det

    @property
    def limits_hold(self) -> bool:
        """Whether every limit and user constraint holds on the dense grid."""
        return self.worst_use <= 1.0 + 1e-9 and self.constraint_margin >= -1e-9


def random_trajectory(
    problem: DesignProblem, fundamental_hz: float, rng: np.random.Generator
) -> FourierTrajectory:
    """Random feasible trajectory that touches a limit: the start of a search, or a baseline."""
    low, high, velocity, acceleration = problem.limits.arrays(problem.channels)
    home = problem.home_position()
    shape = (problem.harmonics, problem.channels)
    k = np.arange(1, problem.harmonics + 1)[:, None]
    room = np.minimum(velocity, 0.5 * (high - low) * 2.0 * np.pi * fundamental_hz)
    room = np.minimum(room, acceleration / (2.0 * np.pi * fundamental_hz))
    mu, nu = rng.standard_normal((2, *shape)) * room / np.sqrt(k)
    offset = home + rng.uniform(-0.2, 0.2, problem.channels) * (high - low)
    raw = FourierTrajectory(offset, mu, nu, fundamental_hz, problem.names)
    raw = raw.at_rest() if problem.from_rest else raw
    fitted = problem.repair(raw)
    if fitted is None:
        raise UsageError(
            f'standing still at home {home.tolist()} breaks a limit or constraint: give another'
        )
    return fitted


class _BudgetExhaustedError(Exception):
    """Raised inside the optimiser to leave it."""


@dataclass
class _Search:
    """One run of the optimiser: scaling of the unknowns, budget, best feasible candidate."""

    problem: DesignProblem
    fundamental_hz: float
    evaluations_left: int
    deadline: float
    report: Callable[[int], None] | None = None  # called with the number of iterations
    best_cost: float = np.inf
    best: FourierTrajectory | None = None
    history: list[float] = field(default_factory=list)
    evaluations: int = 0

    def __post_init__(self) -> None:
        low, high, velocity, _ = self.problem.limits.arrays(self.problem.channels)
        count = self.problem.harmonics
        # Without a limit the velocity of the widest swing at the fundamental serves as its unit.
        swing = 0.5 * (high - low) * 2.0 * np.pi * self.fundamental_hz
        velocity = np.where(np.isfinite(velocity), velocity, swing)
        self.scale = np.stack([0.5 * (high - low)] + [velocity] * (2 * count)).T.ravel()

    def trajectory(self, z: Array) -> FourierTrajectory:
        made = FourierTrajectory.from_vector(
            z * self.scale, self.problem.channels, self.fundamental_hz, self.problem.names
        )
        return made.at_rest() if self.problem.from_rest else made

    def cost(self, z: Array) -> float:
        if self.evaluations >= self.evaluations_left:
            raise _BudgetExhaustedError('evaluations')
        if time.monotonic() > self.deadline:
            raise _BudgetExhaustedError('time')
        self.evaluations += 1
        # A finite wall instead of inf keeps the finite differences of the optimiser usable.
        return float(np.clip(self.problem.cost(self.trajectory(z)), -1e6, 1e6))

    def note(self, z: Array) -> None:
        """Book-keeping after an iteration: the shrunk iterate is the candidate."""
        candidate = self.problem.repair(self.trajectory(z))
        if candidate is None:
            return
        cost = self.problem.cost(candidate)
        self.evaluations += 1
        if cost < self.best_cost:
            self.best_cost, self.best = cost, candidate
        self.history.append(self.best_cost)
        if self.report is not None:
            self.report(len(self.history))

    def constraint_values(self, z: Array) -> Array:
        trajectory = self.trajectory(z)
        motion = trajectory.evaluate(trajectory.sample_times(self.problem.samples))
        values = [np.asarray(g(*motion), dtype=float) for g in self.problem.constraints]
        return np.concatenate([v.reshape(len(v), -1).min(axis=0) for v in values])

    def run(self, start: FourierTrajectory, iterations: int) -> str:
        z = start.vector() / self.scale
        self.note(z)
        a, b = self.problem.limits.matrix(self.trajectory, len(z), COARSE * self.problem.harmonics)
        conditions: Any = [{'type': 'ineq', 'fun': lambda x: b - a @ x, 'jac': lambda _: -a}]
        if self.problem.constraints:
            conditions.append({'type': 'ineq', 'fun': self.constraint_values})
        cost: Any = self.cost
        note: Any = self.note
        try:
            result = minimize(
                cost,
                z,
                method='SLSQP',
                constraints=conditions,
                callback=note,
                options={'maxiter': iterations, 'ftol': 1e-6},
            )
        except _BudgetExhaustedError as stop:
            return str(stop)
        self.note(np.asarray(result.x))
        return 'iterations' if result.nit >= iterations else 'converged'


def _part(progress: Progress, index: int, starts: int, iterations: int) -> Callable[[int], None]:
    """Progress of one start of several."""
    return lambda done: progress(index * iterations + min(done, iterations), starts * iterations)


def design_excitation(
    problem: DesignProblem,
    fundamental_hz: float | Sequence[float],
    *,
    starts: int = 4,
    seed: int = 0,
    max_iterations: int = 60,
    max_evaluations: int = 20_000,
    time_limit: float | None = None,
    progress: Progress | None = None,
    only: int | None = None,
) -> ExcitationDesign:
    """Best of several optimised random starts.

    Several fundamentals are tried in turn over the starts; `only` makes one of them. On one
    machine the result depends on the seed and the budget alone (another BLAS or thread count
    rounds differently); `time_limit` in seconds may end the search early. Raises EstimationError
    when no motion determines all columns of the regressor.
    """
    tries = [float(f) for f in np.atleast_1d(np.asarray(fundamental_hz, dtype=float))]
    if starts < 1 or not all(f > 0.0 for f in tries):
        raise UsageError(f'at least one start and positive fundamentals needed, found {starts}')
    deadline = np.inf if time_limit is None else time.monotonic() + time_limit
    searches: list[_Search] = []
    stopped = 'converged'
    used = 0
    for index in range(starts) if only is None else (only,):
        # Each start has its own stream: a larger `starts` only adds candidates.
        rng = np.random.default_rng([seed, index])
        left = starts - index if only is None else starts
        share = (max_evaluations - used) // left
        report = None if progress is None else _part(progress, index, starts, max_iterations)
        search = _Search(problem, tries[index % len(tries)], share, deadline, report)
        first = random_trajectory(problem, search.fundamental_hz, rng)
        stopped = search.run(first, max_iterations)
        used += search.evaluations
        searches.append(search)
        if stopped == 'time':
            break
    return _best_of(problem, searches, seed, stopped)


def _best_of(
    problem: DesignProblem, searches: Sequence[_Search], seed: int, stopped: str
) -> ExcitationDesign:
    """The best feasible trajectory, if it determines every column."""
    best = min(searches, key=lambda one: one.best_cost).best
    if best is None:
        raise UsageError('no feasible trajectory was found: check the limits and constraints')
    condition, log_det = problem.evaluate(best)
    if not condition < 1e12:
        raise EstimationError(
            f'no start determines all columns of the regressor (condition number '
            f'{condition:.2g}): give the columns of base parameters only'
        )
    return ExcitationDesign(
        best,
        problem.criterion,
        condition,
        log_det,
        problem.worst_use(best),
        problem.constraint_margin(best),
        tuple(tuple(one.history) for one in searches),
        sum(one.evaluations for one in searches),
        seed,
        stopped,
    )
