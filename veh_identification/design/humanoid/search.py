"""Search for exciting motions: random changes of one stage at a time, kept when they help."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from veh_identification.design.humanoid.options import DesignOptions
from veh_identification.design.humanoid.stage import Stage
from veh_identification.design.humanoid.stance import StanceMotion
from veh_identification.design.humanoid.wanted import deviations
from veh_identification.errors import UsageError
from veh_identification.identification.factor import scaled_condition, triangular_factor
from veh_identification.identification.trajectory import FourierTrajectory
from veh_identification.multibody.regressor import Regressor
from veh_identification.types import Array, Progress

SHRINK = (1.0, 0.8, 0.6, 0.4)


@dataclass(eq=False)
class Candidate:
    """Trajectories of all stages with their weighted rows."""

    trajectories: list[FourierTrajectory]
    rows: list[Array]  # (6 samples, columns) per stage
    cost: float = np.inf


@dataclass(eq=False)
class Search:
    """Random changes of one stage at a time, kept when they are feasible and better."""

    stages: Sequence[Stage]
    regressor: Regressor
    weights: Array  # (6,) one over the noise
    criterion: str
    options: DesignOptions
    rng: np.random.Generator
    wanted: Array | None = None  # one over wanted deviations, zero where none is wanted
    evaluations: int = 0
    history: list[float] = field(default_factory=list)

    def rows_of(self, made: StanceMotion) -> Array:
        """Weighted rows of one period."""
        W = self.regressor.compute(made.motion) * self.weights[:, None]
        return W.reshape(-1, W.shape[2])

    def cost(self, rows: Sequence[Array]) -> float:
        """Log of the condition number, of the worst deviation over the wanted one, or minus
        log det of the information.
        """
        triangle = triangular_factor(np.concatenate(rows))
        if self.criterion == 'wanted' and self.wanted is not None:
            return float(np.log((deviations(triangle) * self.wanted).max()))
        if self.criterion == 'condition':
            return float(np.log(min(scaled_condition(triangle), 1e300)))
        return -2.0 * float(np.log(np.maximum(np.abs(np.diag(triangle)), 1e-300)).sum())

    def random(self, stage: Stage) -> tuple[FourierTrajectory, StanceMotion]:
        """A feasible trajectory, from rest to rest at home, that is not small."""
        o, sizes = self.options, stage.sizes()
        k = np.arange(1, o.harmonics + 1)[:, None]
        mu, nu = (
            self.rng.standard_normal((2, o.harmonics, len(sizes)))
            * sizes
            * 2.0
            * np.pi
            * o.fundamental_hz
            / np.sqrt(o.harmonics)
            / np.sqrt(k)
        )
        raw = FourierTrajectory(stage.home, mu, nu, o.fundamental_hz, stage.stance.names)
        scale = 1.0
        for _ in range(40):
            found = raw.scaled(scale, stage.home).at_rest()
            made = stage.checked(_home(found, stage), o.samples)
            if made is not None:
                return _home(found, stage), made
            scale *= 0.8
        raise UsageError(
            f'no motion of stage {stage.label} keeps all limits; check zmp_margin, '
            'clearance and the sole in the configuration'
        )

    def start(self) -> Candidate:
        """Random motions of all stages."""
        pairs = [self.random(stage) for stage in self.stages]
        rows = [self.rows_of(made) for _, made in pairs]
        return Candidate([one for one, _ in pairs], rows, self.cost(rows))

    def improve(
        self, best: Candidate, evaluations: int, deadline: float, progress: Progress | None = None
    ) -> Candidate:
        """Evolution strategy with one parent; the step adapts to its success."""
        step = [0.3] * len(self.stages)
        for k in range(evaluations):
            if time.monotonic() > deadline:
                break
            index = k % len(self.stages)
            found = self._changed(best, index, step[index])
            self.evaluations += 1
            better = found is not None and found.cost < best.cost
            step[index] = float(np.clip(step[index] * (1.5 if better else 0.9), 0.02, 1.0))
            if found is not None and better:
                best = found
            self.history.append(best.cost)
            if progress is not None:
                progress(k + 1, evaluations)
        return best

    def _changed(self, best: Candidate, index: int, step: float) -> Candidate | None:
        stage, old = self.stages[index], best.trajectories[index]
        size = stage.sizes() * 2.0 * np.pi * self.options.fundamental_hz
        size = size / np.sqrt(self.options.harmonics)
        some = self.rng.uniform(size=len(size)) < 0.4
        change = [step * size * some * self.rng.standard_normal(old.mu.shape) for _ in range(2)]
        for shrink in SHRINK:
            made_from = FourierTrajectory(
                old.offset,
                old.mu + shrink * change[0],
                old.nu + shrink * change[1],
                old.fundamental_hz,
                old.names,
            )
            trajectory = _home(made_from.at_rest(), stage)
            made = stage.checked(trajectory, self.options.samples)
            if made is None:
                continue
            rows = [*best.rows]
            rows[index] = self.rows_of(made)
            trajectories = [*best.trajectories]
            trajectories[index] = trajectory
            return Candidate(trajectories, rows, self.cost(rows))
        return None


def _home(trajectory: FourierTrajectory, stage: Stage) -> FourierTrajectory:
    """Moved so that it begins and ends at home."""
    first = trajectory.evaluate([0.0])[0][0]
    return FourierTrajectory(
        trajectory.offset + stage.home - first,
        trajectory.mu,
        trajectory.nu,
        trajectory.fundamental_hz,
        trajectory.names,
    )
