"""What an excitation trajectory must keep and how it is judged (document 002, section 4)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from veh_identification.errors import EstimationError, UsageError
from veh_identification.identification.gauss_markov import whitening
from veh_identification.identification.trajectory import FourierTrajectory, MotionLimits

FloatArray = NDArray[np.float64]
Regressor = Callable[[FloatArray, FloatArray, FloatArray], FloatArray]
Constraint = Callable[[FloatArray, FloatArray, FloatArray], FloatArray]
CRITERIA = ('condition', 'd_optimal')
# Points per shortest wavelength: on such a grid a trigonometric polynomial hides at most
# 1 - cos(pi / 64) = 0.12 % of its maximum.
DENSE = 64


@dataclass(frozen=True)
class DesignProblem:
    """What a designed trajectory must keep and how it is judged."""

    regressor: Regressor
    limits: MotionLimits
    channels: int
    harmonics: int = 5
    samples: int = 100
    criterion: str = 'd_optimal'
    noise_covariance: FloatArray | None = None
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

    def home_position(self) -> FloatArray:
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

    def _whitening(self) -> FloatArray:
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
