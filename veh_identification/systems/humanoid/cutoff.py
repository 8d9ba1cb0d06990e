"""Choice of the cut-off: the one with the smallest expected error, bias by noise included.

Noise of poses and joints makes the regressor noisy, which shrinks the estimates (the total mass
first of all), and the more of it the higher the cut-off. For every candidate the estimate is made
twice: as it is, and with noise of the measured size added once more. The difference shows what
the noise that is already there has done. A low cut-off loses excitation instead, which the
estimate's deviations show. The cut-off with the smallest sum of both wins, unless the total mass
has already dropped below what low cut-offs say.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import comb

from veh_identification.errors import EstimationError, SignalError
from veh_identification.identification.gram import accumulate_fast
from veh_identification.signals import TimeSeries
from veh_identification.systems.humanoid.evidence import Evidence, weigh
from veh_identification.systems.humanoid.problem import Problem, prepare, source_of
from veh_identification.systems.humanoid.processing import Raw
from veh_identification.systems.humanoid.recording import Recording
from veh_identification.systems.humanoid.selection import Selection

Array = NDArray[np.float64]

LADDER = (1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 12.0, 15.0, 20.0)
# Of the slowest of pose and joints: above it sampling itself limits the derivatives.
LARGEST_SHARE = 0.2
SAMPLES = 20_000  # per recording, enough to see noise and excitation
# Drop of the total mass below that of lower cut-offs that counts as bias.
MASS_DROP = 0.004
# Neighbouring rows (three per period of the cut-off) are correlated.
CORRELATION = 1.5
DIFFERENCE = 4


@dataclass(frozen=True)
class CutoffTrial:
    """What one candidate gave."""

    cutoff_hz: float
    total_mass: float
    mass_bias: float  # estimated effect of the noise on it, relative
    expected_error: float  # mean of (variance + bias^2) over the prior's variance


@dataclass(frozen=True)
class CutoffFound:
    """The cut-off, why, and all trials."""

    cutoff_hz: float
    reason: str
    trials: tuple[CutoffTrial, ...] = ()


def white_noise(series: TimeSeries) -> Array:
    """Deviation of each channel's white noise, from differences that leave motion out."""
    if len(series) < 4 * DIFFERENCE:
        return np.zeros(series.values.shape[1])
    change = np.diff(series.values, n=DIFFERENCE, axis=0)
    gain = np.sqrt(float(comb(2 * DIFFERENCE, DIFFERENCE)))
    return np.asarray(1.4826 * np.median(np.abs(change), axis=0) / gain)


def kinematic_rate(recordings: Sequence[Recording]) -> float:
    """Rate of the slowest of base pose and joints."""
    return min(1.0 / one.median_period for r in recordings for one in (r.base, *r.joints))


def choose_cutoff(problem: Problem, raws: Sequence[Raw], recordings: Sequence[Recording],
                  selections: Sequence[Selection]) -> CutoffFound:
    """Try the ladder and take the cut-off of the smallest expected error."""
    if problem.configuration.cutoff_hz:
        return CutoffFound(problem.configuration.cutoff_hz, 'given by the configuration')
    highest = LARGEST_SHARE * kinematic_rate(recordings)
    rows = [_first_rows(raw) for raw in raws]
    short = [_shortened(raw, part) for raw, part in zip(raws, rows, strict=True)]
    chosen = [replace(one, usable=one.usable[part]) for one, part in zip(
        selections, rows, strict=True)]
    noisy = [_noisier(raw, recording, problem, k) for k, (raw, recording) in enumerate(
        zip(short, recordings, strict=True))]
    trials: list[CutoffTrial] = []
    reason = ''
    for cutoff in LADDER:
        if cutoff > highest and trials:
            break
        try:
            trials.append(_trial(problem, short, noisy, chosen, cutoff))
        except (EstimationError, SignalError) as error:
            reason = str(error)
    if not trials:
        raise EstimationError(f'no cut-off between {LADDER[0]:g} and {highest:g} Hz leaves enough '
                              f'samples: {reason}')
    return _best(trials)


def _best(trials: Sequence[CutoffTrial]) -> CutoffFound:
    best = min(trials, key=lambda trial: trial.expected_error)
    plateau = float(np.median([t.total_mass for t in trials if t.cutoff_hz <= 6.0]
                              or [trials[0].total_mass]))
    text = (f'smallest expected error of {len(trials)} cut-offs; noise in pose and joints changes '
            f'the total mass by {100 * best.mass_bias:.2g} %')
    if best.total_mass < (1.0 - MASS_DROP) * plateau:
        lower = [t for t in trials if t.total_mass >= (1.0 - MASS_DROP) * plateau]
        found = min(lower, key=lambda trial: trial.expected_error)
        text = (f'the total mass drops from {plateau:.4g} to {best.total_mass:.4g} kg at '
                f'{best.cutoff_hz:g} Hz (noise in the regressor), hence the best lower cut-off')
        best = found
    return CutoffFound(best.cutoff_hz, text, tuple(trials))


def _trial(problem: Problem, raws: Sequence[Raw], noisy: Sequence[Raw],
           selections: Sequence[Selection], cutoff: float) -> CutoffTrial:
    found: list[Evidence] = []
    for group in (raws, noisy):
        rows = source_of([prepare(problem, raw, cutoff, one) for raw, one in zip(
            group, selections, strict=True)])
        information, _ = accumulate_fast(rows)
        # The noise of the first estimate serves the second one: only its regressor is to differ.
        sigma = found[0].sigma if found else None
        found.append(weigh(information, problem.full_prior, problem.base.rank, CORRELATION,
                           sigma))
    covariance, prior = found[0].covariance, problem.full_prior
    values = [one.value for one in found]
    spread = CORRELATION * np.diag(covariance)
    size = np.diag(prior.covariance)
    bias = values[1] - values[0]
    error = float(np.mean(np.minimum((spread + bias**2) / size, 1.0)))
    weights = problem.mass_weights
    mass = float(weights @ values[0][: len(weights)])
    return CutoffTrial(cutoff, mass, float(weights @ bias[: len(weights)]) / mass, error)


def _first_rows(raw: Raw) -> slice:
    """The first usable samples, so that the ladder stays quick on long recordings."""
    first = int(np.argmax(raw.valid)) if len(raw.stamps) > SAMPLES else 0
    return slice(first, first + SAMPLES)


def _shortened(raw: Raw, rows: slice) -> Raw:
    return replace(raw, stamps=raw.stamps[rows], joints=raw.joints[rows], pose=raw.pose[rows],
                   wrenches=raw.wrenches[rows], world=raw.world[rows], valid=raw.valid[rows])


def _noisier(raw: Raw, recording: Recording, problem: Problem, seed: int) -> Raw:
    """The recording with noise of the measured size added once more to pose and joints."""
    rng = np.random.default_rng([seed, 11])

    def like(series: TimeSeries, shape: tuple[int, ...]) -> Array:
        # The same density over a grid of another rate.
        scale = np.sqrt(raw.rate * series.median_period)
        return np.asarray(scale * white_noise(series) * rng.standard_normal(shape))

    joints = raw.joints.copy()
    for series in recording.joints:
        used = [name for name in series.names if name in problem.model.coordinate_names]
        if used:
            where = [problem.model.coordinate_index(name) for name in used]
            joints[:, where] += like(series.select(used), (len(joints), len(used)))
    pose = raw.pose + like(recording.base, raw.pose.shape)
    return replace(raw, joints=joints, pose=pose)
