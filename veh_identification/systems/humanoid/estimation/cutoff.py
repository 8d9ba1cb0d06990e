"""Choice of the cut-off: the one with the smallest expected error, bias by noise included.

Noise of poses and joints makes the regressor noisy, which shrinks the estimates (the total mass
first of all), and the more of it the higher the cut-off. For every candidate the estimate is made
twice: as it is, and with noise of the measured size added once more. The difference shows what
the noise that is already there has done, to the estimate and to what looks like excitation. A low
cut-off loses excitation instead, which the estimate's deviations show. The lowest cut-off wins
whose sum of both is nearly the smallest, among those that leave the total mass alone: whose bias
is small, or which together with its deviation is about as small as at any.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from veh_identification.errors import EstimationError, SignalError
from veh_identification.findings import Finding
from veh_identification.identification import Prior
from veh_identification.identification.gram import accumulate_fast
from veh_identification.systems.humanoid.estimation.noise_and_trust import Evidence, weigh
from veh_identification.systems.humanoid.estimation.noise_free_normal import without_excess
from veh_identification.systems.humanoid.estimation.problem import Problem, prepare, source_of
from veh_identification.systems.humanoid.estimation.regressor_noise import noisier, shortened
from veh_identification.systems.humanoid.processing.equations import CORRELATION
from veh_identification.systems.humanoid.processing.signals import Raw
from veh_identification.systems.humanoid.processing.supports import Selection
from veh_identification.systems.humanoid.recording.reader import Recording
from veh_identification.types import Array

LADDER = (1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 12.0, 15.0, 20.0)
# Of the slowest of pose and joints: above it sampling itself limits the derivatives.
LARGEST_SHARE = 0.2
# Drop of the total mass below that of lower cut-offs that counts as bias.
MASS_DROP = 0.004
# Effect of the noise on it that rules a cut-off out.
MASS_BIAS = 0.001
# Where it does so at every cut-off (people): error of the total mass over the smallest one.
MASS_ERROR = 1.25
# Noise in the regressor grows with the cut-off, and not all of it shows: a higher one must pay.
NEARLY = 1.05
MOSTLY_PRIOR, LITTLE = 0.7, 0.5
FEWEST_ROWS = 3.0  # per unknown
SHORT_SHARE = 0.4  # or this share of those at the highest cut-off, for short recordings
FEWEST_SAMPLES = 10  # rows of each equation, below which nothing is known of its noise


@dataclass(frozen=True)
class CutoffTrial:
    """What one candidate gave."""

    cutoff_hz: float
    total_mass: float
    mass_bias: float  # estimated effect of the noise on it, relative
    mass_std: float  # relative, by the rows' noise
    expected_error: float  # mean of (variance + bias^2) over the prior's variance
    rows_per_unknown: float

    @property
    def mass_error(self) -> float:
        """Expected error of the total mass, relative."""
        return float(np.hypot(self.mass_bias, self.mass_std))


@dataclass(frozen=True, eq=False)
class CutoffFound:
    """The cut-off, why, and all trials."""

    cutoff_hz: float
    reason: str
    trials: tuple[CutoffTrial, ...] = ()
    bias: Array | None = None  # estimated effect of the noise on all unknowns at that cut-off

    def findings(self) -> list[Finding]:
        """A reservation where noise changes the total mass at every cut-off that can be used."""
        best = next((one for one in self.trials if one.cutoff_hz == self.cutoff_hz), None)
        if best is None or abs(best.mass_bias) <= MASS_BIAS:
            return []
        text = (
            f'noise in pose and joints changes the total mass by {100 * best.mass_bias:.2g} % at '
            f'{self.cutoff_hz:g} Hz, where it does least; that is taken off as far as it is '
            'known: the recording is short or noisy'
        )
        return [Finding('warn', 'noise_in_mass', text, 'joint_states, base pose')]


def kinematic_rate(recordings: Sequence[Recording]) -> float:
    """Rate of the slowest of base pose and joints."""
    return min(1.0 / one.median_period for r in recordings for one in (r.base, *r.joints))


def choose_cutoff(
    problem: Problem,
    raws: Sequence[Raw],
    recordings: Sequence[Recording],
    selections: Sequence[Selection],
) -> CutoffFound:
    """Try the ladder and take the cut-off of the smallest expected error."""
    if problem.configuration.cutoff_hz:
        return CutoffFound(problem.configuration.cutoff_hz, 'given by the configuration')
    highest = LARGEST_SHARE * kinematic_rate(recordings)
    short, chosen = shortened(raws, selections)
    noisy = [
        noisier(raw, recording, problem, k)
        for k, (raw, recording) in enumerate(zip(short, recordings, strict=True))
    ]
    trials: dict[CutoffTrial, Array] = {}
    reason = ''
    for cutoff in LADDER:
        if cutoff > highest and trials:
            break
        try:
            trial, bias = _trial(problem, short, noisy, chosen, cutoff)
            trials[trial] = bias
        except (EstimationError, SignalError) as error:
            reason = str(error)
    if not trials:
        raise EstimationError(
            f'no cut-off between {LADDER[0]:g} and {highest:g} Hz leaves enough samples: {reason}'
        )
    best, text = _best(list(trials))
    return CutoffFound(best.cutoff_hz, text, tuple(trials), trials[best])


def _best(trials: Sequence[CutoffTrial]) -> tuple[CutoffTrial, str]:
    """The lowest of the nearly best cut-offs among those that leave the total mass alone."""
    # A low cut-off leaves few rows of a short recording, which then say little of their noise.
    most = max(trial.rows_per_unknown for trial in trials)
    enough = [t for t in trials if t.rows_per_unknown >= min(FEWEST_ROWS, SHORT_SHARE * most)]
    plateau = float(
        np.median([t.total_mass for t in enough if t.cutoff_hz <= 6.0] or [enough[0].total_mass])
    )
    honest = [
        t
        for t in enough
        if t.total_mass >= (1.0 - MASS_DROP) * plateau and abs(t.mass_bias) <= MASS_BIAS
    ]
    # A bias outweighs the wish for many rows: it is not known so well that it could be taken off.
    smallest = MASS_ERROR * min(trial.mass_error for trial in trials)
    allowed = honest or [trial for trial in trials if trial.mass_error <= smallest]
    least = min(trial.expected_error for trial in allowed)
    # Where hardly anything can be learnt, what higher cut-offs seem to tell is doubtful.
    limit = NEARLY * least + LITTLE * max(least - MOSTLY_PRIOR, 0.0)
    best = next(trial for trial in allowed if trial.expected_error <= limit)
    text = (
        f'the lowest of {len(trials)} cut-offs with nearly the smallest expected error; noise '
        f'in pose and joints changes the total mass by {100 * best.mass_bias:.2g} %'
    )
    if abs(best.mass_bias) > MASS_BIAS:
        text += ', taken off as far as it is known: the recording is short or noisy'
    worst = min(enough, key=lambda trial: trial.total_mass)
    if worst not in honest:
        text += (
            f' (at {worst.cutoff_hz:g} Hz it would drop to {worst.total_mass:.4g} kg: noise '
            'in the regressor)'
        )
    return best, text


def _trial(
    problem: Problem,
    raws: Sequence[Raw],
    noisy: Sequence[Raw],
    selections: Sequence[Selection],
    cutoff: float,
) -> tuple[CutoffTrial, Array]:
    """What a cut-off gives, and the effect of the noise on all unknowns."""
    found: list[Evidence] = []
    for group in (raws, noisy):
        rows = source_of(
            [
                prepare(problem, raw, cutoff, one)
                for raw, one in zip(group, selections, strict=True)
            ]
        )
        information, _ = accumulate_fast(rows)
        if information.samples < FEWEST_SAMPLES:
            raise EstimationError(
                f'at {cutoff:g} Hz only {information.samples} rows are left, '
                f'at least {FEWEST_SAMPLES} are needed'
            )
        # The noise of the first estimate serves the second one: only its regressor is to differ.
        sigma = found[0].sigma if found else None
        found.append(weigh(information, problem.full_prior, problem.base.rank, CORRELATION, sigma))
    values = [one.value for one in found]
    bias = values[1] - values[0]
    shares = _variance_shares(found, problem.full_prior) + bias**2 / np.diag(
        problem.full_prior.covariance
    )
    weights = problem.mass_weights
    mass = float(weights @ values[0][: len(weights)])
    rows_per_unknown = information.samples * information.equations / information.columns
    count = len(weights)
    variance = CORRELATION * weights @ found[0].covariance[:count, :count] @ weights
    trial = CutoffTrial(
        cutoff,
        mass,
        float(weights @ bias[:count]) / mass,
        float(np.sqrt(variance)) / mass,
        float(np.mean(np.minimum(shares, 1.0))),
        rows_per_unknown,
    )
    return trial, bias


def _variance_shares(found: Sequence[Evidence], prior: Prior) -> Array:
    """Variance of every unknown over that of the prior, from the excitation that is motion.

    Noise looks like excitation. What the second helping of it adds to the information, the first
    one has added already, so that much is taken off.
    """
    once, twice = (one.factor.R.T @ np.column_stack([one.factor.R, one.factor.z]) for one in found)
    seen = without_excess(once, twice - once, prior).R / np.sqrt(CORRELATION)
    covariance = np.linalg.inv(seen.T @ seen + np.linalg.inv(prior.covariance))
    return np.asarray(np.diag(covariance) / np.diag(prior.covariance))
