"""Gauss-Markov (9), (10) and maximum likelihood with the cut-off as a parameter (24)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from veh_identification.errors import EstimationError, UsageError
from veh_identification.identification import (
    IdentificationResult,
    Options,
    identify,
    validate,
)
from veh_identification.identification.gauss_markov import whitening
from veh_identification.systems.parallel.estimation.equations import Equations, floored
from veh_identification.systems.parallel.model.geometry import LEGS
from veh_identification.systems.parallel.model.model import HexapodModel
from veh_identification.systems.parallel.processing import (
    length_errors,
    measured_pose,
    motion_of_efforts,
    platform_motion,
)
from veh_identification.systems.parallel.recording.mean_period import PeriodicRecord
from veh_identification.types import Array

#: Relative difference of two recordings' fundamentals that is only that of their clocks.
SAME_FUNDAMENTAL = 1e-3
PENALTIES = ('bic', 'aic', 'none')


def pooled_force_covariance(records: Sequence[PeriodicRecord]) -> Array:
    """Noise covariance of one raw force sample, over all recordings."""
    freedom = np.array([r.samples * (r.periods - 1) for r in records], dtype=float)
    total = sum(w * r.forces.covariance for w, r in zip(freedom, records, strict=True))
    scale = np.sqrt(np.mean([np.nanmean(r.forces.mean**2, axis=0) for r in records], axis=0))
    return floored(np.asarray(total) / freedom.sum(), scale)


def gauss_markov(
    model: HexapodModel,
    system: Equations,
    covariance: Array,
    *,
    diagonal: bool = False,
    noise: str = 'auto',
) -> IdentificationResult:
    """Equation (9) with the covariance of one raw force sample; `diagonal` drops the coupling.

    `noise` as in `identification.Options`: 'white' trusts (10), 'auto' looks at the residuals.
    """
    blocks = system.weighted_blocks()

    def fitted(of_mean: Array, noise: str) -> IdentificationResult:
        if diagonal:
            of_mean = np.diag(np.diag(of_mean))
        options = Options('gauss-markov', noise=noise, noise_covariance=of_mean)  # type: ignore[arg-type]
        return identify(blocks, model.names, LEGS, model.units, model.a_priori(), options)

    of_mean = covariance / system.periods[0]
    if any(scatter is not None for scatter in system.scatter):
        first = fitted(of_mean, 'white').value
        of_mean = system.force_covariance(covariance, first) / system.periods[0]
    result = fitted(of_mean, noise)
    # Residuals are reported for the forces as measured, not as weighted.
    found = validate(system.blocks(), result.value, LEGS)
    return replace(result, residual_rms=found.rms, residual_rms_relative=found.rms_relative)


@dataclass(frozen=True)
class Likelihood:
    """Cost (24) over the cut-offs that were tried, and the best of them."""

    cutoff_hz: float
    line_spacing_hz: float
    tried: dict[float, float]  # cut-off [Hz] -> cost, penalty included
    evaluations: int

    @property
    def cutoff_std(self) -> float:
        """Between two spectral lines every cut-off does the same: a uniform distribution."""
        return self.line_spacing_hz / np.sqrt(12.0)


class _Cost:
    """Equation (24) as a function of the cut-off, the parameters p eliminated by (9)."""

    def __init__(
        self, model: HexapodModel, records: Sequence[PeriodicRecord], harmonics: int, penalty: str
    ) -> None:
        self.model, self.records, self.harmonics = model, list(records), harmonics
        self.penalty = penalty
        self.poses = [measured_pose(model.robot, record) for record in records]
        self.force_covariance = pooled_force_covariance(records)
        self.force_white = whitening(self.force_covariance, LEGS)
        resolution = model.robot.resolution
        # Quantisation is noise too, and the only one when the averages agree exactly.
        self.length_white = [
            whitening(r.lengths.covariance + np.eye(6) * resolution**2 / 12.0, LEGS)
            for r in records
        ]
        self.tried: dict[int, float] = {}

    def __call__(self, line: int) -> float:
        if line not in self.tried:
            self.tried[line] = self._evaluate(line)
        return self.tried[line]

    def _evaluate(self, line: int) -> float:
        delta, W, Y = 0.0, [], []
        for record, pose, white in zip(self.records, self.poses, self.length_white, strict=True):
            cutoff = line * record.fundamental_hz
            motion = platform_motion(
                self.model.robot, record, self.harmonics, 'frequency', cutoff, pose
            )
            errors = length_errors(self.model.robot, record, motion) @ white.T
            delta += record.periods * float(np.square(errors).sum())
            motion = motion_of_efforts(record, motion)
            A = self.model.regressor(motion.pose, motion.velocity, motion.acceleration)
            scale = np.sqrt(record.periods) * self.force_white
            A[~np.isfinite(record.forces.mean).all(axis=1)] = 0.0
            W.append((scale @ A).reshape(-1, A.shape[2]))
            Y.append((np.nan_to_num(record.forces.mean) @ scale.T).ravel())
        psi, gamma = np.concatenate(W), np.concatenate(Y)
        norms = np.maximum(np.linalg.norm(psi, axis=0), 1e-300)
        triangle: Array = np.asarray(np.linalg.qr(np.column_stack([psi / norms, gamma]), mode='r'))
        eta = float(triangle[-1, -1] ** 2)
        return 0.5 * (delta + eta) + self._charge(line)

    def _charge(self, line: int) -> float:
        """What the coefficients of the passed lines cost: each fits noise as well as motion."""
        coefficients = sum(6 * (2 * line + 1) for _ in self.records)
        if self.penalty == 'none':
            return 0.0
        if self.penalty == 'aic':
            return float(coefficients)
        return 0.5 * coefficients * float(np.log(12 * sum(r.samples for r in self.records)))


def maximum_likelihood(
    model: HexapodModel,
    records: Sequence[PeriodicRecord],
    harmonics: int,
    *,
    start_hz: float | None = None,
    maximum_hz: float | None = None,
    penalty: str = 'bic',
) -> Likelihood:
    """Best cut-off by (24), p_z = f_c.

    A rectangular window changes only where the cut-off passes a spectral line, so the cost is a
    staircase in f_c and its minimum is searched over lines: a geometric ladder (with the start)
    over the whole band, then every line around its best rung. `penalty` charges the 12 trajectory
    coefficients that each further line frees (Schwarz 'bic', Akaike 'aic', which now and then lets
    a few lines of noise pass); with 'none', the cost as printed, delta always shrinks with f_c
    and the cut-off runs far beyond the motion.
    """
    if penalty not in PENALTIES:
        raise UsageError(f'penalty must be one of {", ".join(PENALTIES)}, found {penalty!r}')
    spacing = sorted(r.fundamental_hz for r in records)
    if spacing[-1] > (1.0 + SAME_FUNDAMENTAL) * spacing[0]:
        raise EstimationError(
            'maximum likelihood needs recordings of one fundamental, found '
            f'{", ".join(f"{value:.6g}" for value in spacing)} Hz'
        )
    fundamental = records[0].fundamental_hz
    highest = min(r.samples for r in records) // 2 - 1
    if maximum_hz is not None:
        highest = min(highest, max(int(maximum_hz / fundamental), 1))
    cost = _Cost(model, records, harmonics, penalty)
    first = harmonics if start_hz is None else round(start_hz / fundamental)
    ladder = {int(np.clip(first, 1, highest))}
    rung = 1.0
    while round(rung) <= min(highest, 128):
        ladder.add(round(rung))
        rung *= 1.5
    rungs = sorted(ladder)
    costs = [cost(line) for line in rungs]
    best = int(np.argmin(costs))
    low = rungs[max(best - 1, 0)]
    high = rungs[min(best + 1, len(rungs) - 1)]
    inner = range(low, high + 1)
    line = min(inner, key=cost)
    tried = {n * fundamental: value for n, value in sorted(cost.tried.items())}
    return Likelihood(line * fundamental, fundamental, tried, len(tried))


def with_cutoff(
    result: IdentificationResult, cutoff_hz: float | None, std: float = np.nan
) -> IdentificationResult:
    """The result with the cut-off `fc` as its last parameter, nan where there is none.

    It has no deviation unless it was estimated.
    """
    count = len(result.names)
    covariance = np.zeros((count + 1, count + 1))
    covariance[:count, :count] = result.covariance
    covariance[count, count] = std**2
    return replace(
        result,
        names=[*result.names, 'fc'],
        units=[*result.units, 'Hz'],
        value=np.append(result.value, np.nan if cutoff_hz is None else cutoff_hz),
        covariance=covariance,
        a_priori=None if result.a_priori is None else np.append(result.a_priori, np.nan),
    )
