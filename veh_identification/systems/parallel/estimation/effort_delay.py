"""How much later than the leg lengths the efforts come: one more parameter of the likelihood.

A force that is stamped t and comes tau late belongs to the motion at t - tau. The motion is a
Fourier series, so it can be had at any moment exactly; the forces stay as measured, which keeps
dry friction sharp and noise white. The parameters are eliminated by (9) for each tau.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from veh_identification.errors import EstimationError
from veh_identification.findings import Finding
from veh_identification.identification import IdentificationResult
from veh_identification.identification.gauss_markov import whitening
from veh_identification.systems.parallel.estimation.equations import Equations, equations
from veh_identification.systems.parallel.estimation.likelihood import (
    gauss_markov,
    pooled_force_covariance,
)
from veh_identification.systems.parallel.model.geometry import LEGS
from veh_identification.systems.parallel.model.model import HexapodModel
from veh_identification.systems.parallel.processing import measured_pose
from veh_identification.systems.parallel.recording.mean_period import PeriodicRecord
from veh_identification.types import Array

#: Deviations that a delay must be away from zero.
SIGNIFICANT = 3.0
#: What the chi-square must fall by, in units of one degree of freedom: five deviations.
CLEAR_FALL = 25.0
#: Chi-square for each degree of freedom from which on more than chance is left, and the part of
#: that excess which a delay must take away: other faults of the model lean on a delay a little.
EXCESS, EXCESS_PART = 1.21, 0.5
#: Largest delay, as a share of the period at the cut-off.
LONGEST_SHARE = 0.25
#: Smallest delay that is applied, as a share of a sample: stamps are not more exact than that.
SMALLEST_SHARE = 0.005
ITERATIONS = 20
#: Where the profile is looked at about its best delay, in widths that become smaller.
SCAN = np.linspace(-1.0, 1.0, 9)


@dataclass(frozen=True, eq=False)
class EffortDelay:
    """A delay of the efforts against the lengths, positive where efforts are late."""

    value: float  # s
    std: float  # s, nan: it was given
    applied: bool
    sure: bool = False  # the recording says that there is one
    misfit_before: float = float('nan')  # chi-square for each degree of freedom, without it
    misfit_after: float = float('nan')  # with it
    slope: Array | None = None  # of the parameters over the delay

    @property
    def factor(self) -> float:
        """How many times smaller (rms) it makes the errors of the forces."""
        return float(np.sqrt(self.misfit_before / self.misfit_after))

    @property
    def estimated(self) -> bool:
        """Whether the recording says it, not the user."""
        return bool(np.isfinite(self.std))

    def facts(self) -> dict[str, float | bool | None]:
        """For parameters.json."""
        std = self.std if self.estimated else None
        return {'value': self.value, 'std': std, 'applied': self.applied}

    def line(self) -> str:
        """For a terminal."""
        if not self.estimated:
            return f'delay of the efforts {1e3 * self.value:.4g} ms, as given'
        what = 'applied' if self.applied else 'not applied'
        if not self.sure:
            what = f'not told from zero, {"allowed for" if self.applied else what}'
        return (
            f'delay of the efforts {1e3 * self.value:.4g} +- {1e3 * self.std:.2g} ms by maximum '
            f'likelihood: {what}'
        )

    def findings(self, topic: str) -> list[Finding]:
        """That it was found, whether it was applied, and what cures it."""
        if not self.sure:
            return []
        late = 'later' if self.value > 0.0 else 'earlier'
        size = f'{1e3 * abs(self.value):.4g} +- {1e3 * self.std:.2g} ms {late}'
        cure = (
            'stamp the efforts with the moment they belong to, or set '
            f'`effort_delay: {self.value:.4g}` under identify:'
        )
        if self.applied:
            code = 'effort_delay'
            text = (
                f'{topic}.effort comes {size} than {topic}.position: this delay is applied, the '
                f'errors of the forces become {self.factor:.3g} times smaller by it; {cure}'
            )
        else:
            code = 'effort_delay_possible'
            text = (
                f'{topic}.effort may come {size} than {topic}.position; as this makes the errors '
                f'of the forces only {self.factor:.3g} times smaller, something else is wrong too '
                f'and the delay is not applied: put that right first, or {cure}'
            )
        return [Finding('warn', code, text, f'{topic}.effort', self.factor)]

    def widened(self, result: IdentificationResult) -> IdentificationResult:
        """The result with the doubt of an applied delay in the covariance of its parameters."""
        if not (self.applied and self.estimated) or self.slope is None:
            return result
        doubt = np.outer(self.slope, self.slope) * self.std**2
        return replace(result, covariance=result.covariance + doubt)


def delayed(records: Sequence[PeriodicRecord], delay: float) -> list[PeriodicRecord]:
    """The recordings with efforts taken as that much [s] late."""
    return [replace(record, effort_delay=delay) for record in records]


@dataclass(frozen=True, eq=False)
class _Point:
    """The profile of the likelihood at one delay."""

    delay: float
    chi_square: float
    freedom: int
    step: float  # of Gauss and Newton towards the best delay
    std: float  # of the delay, for white noise of the known size
    slope: Array  # of the parameters over the delay
    system: Equations


class _Profile:
    """Chi-square of the mean forces over the delay, the parameters eliminated."""

    def __init__(
        self,
        model: HexapodModel,
        records: Sequence[PeriodicRecord],
        harmonics: int,
        method: str,
        cutoff_hz: float | None,
    ) -> None:
        self.model, self.records, self.harmonics = model, records, harmonics
        self.method, self.cutoff_hz = method, cutoff_hz
        self.poses = [measured_pose(model.robot, record) for record in records]
        self.covariance = pooled_force_covariance(records)
        self.white: Array | None = None  # one for all delays, that of the first
        self.width = 0.5 / max(record.rate for record in records)

    def system(self, delay: float) -> Equations:
        """Equation (8) with that delay."""
        records = delayed(self.records, delay)
        return equations(
            self.model, records, self.harmonics, self.method, self.cutoff_hz, self.poses
        )

    def __call__(self, delay: float) -> _Point:
        system = self.system(delay)
        if self.white is None:
            # Off the grid the scatter holds what the model explains within a sample's width.
            value = gauss_markov(self.model, system, self.covariance, noise='white').value
            self.white = whitening(system.force_covariance(self.covariance, value), LEGS)
        white = self.white
        psi, gamma = _whitened(system, white)
        # Dry friction changes its sign from sample to sample: a slope over one sample sees it.
        after, _ = _whitened(self.system(delay + self.width), white)
        before, _ = _whitened(self.system(delay - self.width), white)
        p, error = _solved(psi, gamma)
        turning = (after - before) @ p / (2.0 * self.width)
        _, own = _solved(psi, turning)
        information = max(float(own @ own), 1e-300)
        return _Point(
            delay,
            float(error @ error),
            max(int((np.abs(gamma) > 0.0).sum()) - len(p) - 1, 1),
            float(own @ error) / information,
            information**-0.5,
            (_solved(after, gamma)[0] - _solved(before, gamma)[0]) / (2.0 * self.width),
            system,
        )

    def chi_square(self, delay: float) -> float:
        """At a delay near one that was looked at before."""
        assert self.white is not None
        _, error = _solved(*_whitened(self.system(float(delay)), self.white))
        return float(error @ error)

    def colour(self, system: Equations) -> float:
        """Deviations of the parameters over those that white noise would give them."""
        white = gauss_markov(self.model, system, self.covariance, noise='white')
        honest = gauss_markov(self.model, system, self.covariance)
        return max(float(np.median(honest.std / white.std)), 1.0)


def _whitened(system: Equations, white: Array) -> tuple[Array, Array]:
    """Rows of all recordings with unit noise; rows without forces are zero."""
    Y = np.concatenate(system.Y)
    factor = np.sqrt(np.concatenate(system.counts))[:, None]
    known = np.isfinite(Y).all(axis=1, keepdims=True)
    W = np.nan_to_num(np.einsum('ij,njk->nik', white, np.concatenate(system.W)))
    gamma = np.nan_to_num(Y @ white.T) * factor * known
    psi = W * (factor * known)[:, :, None]
    return psi.reshape(-1, psi.shape[2]), gamma.ravel()


def _solved(psi: Array, gamma: Array) -> tuple[Array, Array]:
    """Least squares: the solution and what it leaves."""
    norms = np.maximum(np.linalg.norm(psi, axis=0), 1e-300)
    Q, R = np.linalg.qr(psi / norms)
    along = Q.T @ gamma
    return np.linalg.solve(R, along) / norms, gamma - Q @ along


def estimate_effort_delay(
    model: HexapodModel,
    records: Sequence[PeriodicRecord],
    harmonics: int,
    method: str = 'frequency',
    cutoff_hz: float | None = None,
) -> EffortDelay | None:
    """The most likely delay; applied only where it is surely there and explains the misfit.

    None where the motion does not determine the parameters at all.
    """
    profile = _Profile(model, records, harmonics, method, cutoff_hz)
    try:
        start = profile(0.0)
        if abs(start.step) < SIGNIFICANT * start.std:
            ratio = start.chi_square / start.freedom
            std = start.std * max(ratio, 1.0) ** 0.5
            return EffortDelay(start.step, std, False, False, ratio, ratio)
        highest = cutoff_hz or harmonics * records[0].fundamental_hz
        best = _minimum(profile, start, LONGEST_SHARE / highest)
        ratio = best.chi_square / best.freedom
        std = best.std * max(ratio, 1.0) ** 0.5 * profile.colour(best.system)
    except EstimationError:
        return None
    fall = (start.chi_square - best.chi_square) / max(ratio, 1.0)
    excess = start.chi_square - EXCESS * start.freedom
    sure = (
        abs(best.delay) > max(SIGNIFICANT * std, 2.0 * SMALLEST_SHARE * profile.width)
        and fall > CLEAR_FALL
    )
    explains = start.chi_square - best.chi_square > EXCESS_PART * excess
    before = start.chi_square / start.freedom
    return EffortDelay(best.delay, std, sure and explains, sure, before, ratio, best.slope)


def _minimum(profile: _Profile, start: _Point, longest: float) -> _Point:
    """Gauss-Newton while it helps, then a scan: every change of a sign makes a stair."""
    best = start
    for _ in range(ITERATIONS):
        trial = profile(float(np.clip(best.delay + best.step, -longest, longest)))
        if not trial.chi_square < best.chi_square:
            break
        best = trial
    delay, width = best.delay, profile.width
    while width > best.std:
        delay = min(delay + width * SCAN, key=profile.chi_square)
        width *= SCAN[-1] - SCAN[-2]
    return best if delay == best.delay else profile(float(delay))
