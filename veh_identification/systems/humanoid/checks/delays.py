"""Clocks that differ: delays of base pose and joints against the wrenches, from the residuals.

Shifting a signal by one grid step changes the residuals of all rows; that change is a column like
any other, whose unknown is the delay in steps. Only delays that stand far out of their deviation
are taken, since model errors can look like small ones. The same column times a ramp is a delay
that grows: clocks that do not run equally fast.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar, cast

import numpy as np
from scipy import fft

from veh_identification.errors import EstimationError, SignalError
from veh_identification.findings import Finding
from veh_identification.identification import ArrayBlocks, BlockSource, Prior
from veh_identification.identification.gram import accumulate_fast
from veh_identification.multibody.dynamics import inverse_dynamics
from veh_identification.signals.segments import contiguous_segments
from veh_identification.systems.humanoid.estimation.noise_and_trust import weigh
from veh_identification.systems.humanoid.estimation.problem import (
    Problem,
    choose_samples,
    judging_samples,
    prepare,
    source_of,
)
from veh_identification.systems.humanoid.processing.equations import CORRELATION
from veh_identification.systems.humanoid.processing.odometry import gridded
from veh_identification.systems.humanoid.processing.signals import Raw, with_wrenches
from veh_identification.systems.humanoid.recording.reader import Recording
from veh_identification.types import Array

R = TypeVar('R')
# The lowest one serves long recordings best; short ones leave no rows at it.
CUTOFFS = (5.0, 8.0, 12.0)
SIGNIFICANT = 6.0  # deviations
COMMON_SIGNIFICANT = 5.0  # of base and joints alike
SMALLEST = 0.002  # s
REST = 0.0005  # s, left after a first correction
LARGEST = 0.2  # s
ROUNDS = 3
CERTAIN = 0.001  # s of deviation at which a delay that does not show is none
GROUPS = ('base', 'joints')
DRIFT = 'drift'  # of base and joints alike, by how much they are later at the end
AS_A_FILTER = 0.035  # s, from which on a low pass is as likely as a delay, and does more
SMALLEST_DRIFT = 0.006  # s over a recording
# Clocks that were never set to each other: searched by correlation, base and joints together.
LARGEST_OFFSET = 5.0  # s
LIKELY = 0.6  # correlation that a shift must reach
BETTER = 0.25  # and by how much more than without it
SHORTEST_OVERLAP = 0.4  # of the recording


@dataclass(frozen=True)
class Delay:
    """By how much the stamps of a group of signals are late, in seconds."""

    group: str
    value: float
    std: float


def corrected(
    problem: Problem, recordings: Sequence[Recording], raws: Sequence[Raw]
) -> tuple[list[Recording], list[Raw], list[Finding]]:
    """Recordings with significant delays taken off, each for itself, and findings about them."""
    new_recordings, new_raws, findings = [], [], []
    for before, gridded_before in zip(recordings, raws, strict=True):
        recording, raw, total, drift = _corrected(problem, before, gridded_before)
        new_recordings.append(recording)
        new_raws.append(raw)
        findings += [
            _finding(recording.label, group, value) for group, value in total.items() if value
        ]
        findings += [drift_finding(one, recording.label) for one in drift]
    return new_recordings, new_raws, findings


def _corrected(
    problem: Problem, before: Recording, raw_before: Raw
) -> tuple[Recording, Raw, dict[str, float], list[Delay]]:
    """One recording without its delays, the delay of each group, and one that grows."""
    recording, raw = before, raw_before
    offset = clock_offset(problem, raw) if raw.inertial is None and not raw.in_base else 0.0
    total = dict.fromkeys(GROUPS, offset)
    if offset:
        recording = _shifted(before, total)
        raw = gridded(recording, problem.model, problem.configuration)
    drift: list[Delay] = []
    # Leg odometry depends on the joints' clock itself.
    for turn in range(ROUNDS if raw.inertial is None else 0):
        every = significant(problem, raw)
        found = [one for one in every if one.group != DRIFT]
        drift = [one for one in every if one.group == DRIFT]
        if not any(abs(d.value) > (REST if turn else SMALLEST) for d in found):
            break
        for one in found:
            total[one.group] += one.value
        if max(abs(value - offset) for value in total.values()) > LARGEST:
            # No longer small: not a matter of clocks.
            return before, raw_before, dict.fromkeys(GROUPS, 0.0), []
        recording = _shifted(before, total)
        raw = gridded(recording, problem.model, problem.configuration)
    return recording, raw, total, drift


def drift_finding(drift: Delay, label: str) -> Finding:
    """A delay that grows, which nobody takes off."""
    text = (
        f'{label}: the stamps of base and joints are {1e3 * abs(drift.value):.2g} ms '
        f'{"later" if drift.value > 0.0 else "earlier"} against the wrenches at the end than at '
        'the beginning: their clocks do not run equally fast, not corrected'
    )
    return Finding(
        'warn', 'clock_drift', text, f'{label}, stamps of the wrenches', size=drift.value
    )


def _finding(label: str, group: str, value: float) -> Finding:
    """Small delays are taken off well; clocks that were never set to each other are a fault."""
    text = (
        f'{label}: the stamps of {group} are {1e3 * abs(value):.3g} ms '
        f'{"late" if value > 0.0 else "early"} against the wrenches, corrected'
    )
    if abs(value) > LARGEST:
        return Finding('warn', 'clocks_differ', text, f'{label}, stamps of {group}')
    if abs(value) < AS_A_FILTER:
        return Finding('note', 'stamps_delayed', text, f'{label}, stamps of {group}')
    text += (
        '; that much is seldom a matter of stamps alone: what a low pass of one of them has made '
        'smaller no shift puts right, and values come out wrong by it: look for filters, and send '
        'all through the same one'
    )
    return Finding('warn', 'stamps_delayed', text, f'{label}, stamps of {group}')


def clock_offset(problem: Problem, raw: Raw) -> float:
    """By how many seconds base and joints are late against the wrenches, if by very much; or 0."""
    samples = judging_samples(problem, raw)
    count = len(raw.stamps)
    if samples.valid.mean() < 0.5:
        return 0.0
    predicted = inverse_dynamics(problem.model, samples.motion)[:, :6].reshape(-1, 2, 3)
    force, moment = (
        np.einsum('nij,nj->ni', samples.rotation, predicted[:, part]) for part in (0, 1)
    )
    moment = moment + np.cross(samples.position - raw.centre, force)
    known = samples.valid.astype(float)
    longest = min(round(LARGEST_OFFSET * raw.rate), round((1.0 - SHORTEST_OVERLAP) * count))
    scores = np.mean(
        [
            _correlation(
                np.nan_to_num(raw.world[:, k]),
                raw.valid.astype(float),
                np.nan_to_num(one),
                known,
                longest,
            )
            for k, one in enumerate(np.hstack([force, moment]).T)
        ],
        axis=0,
    )
    best = int(np.argmax(scores)) - longest
    if scores[best + longest] < max(LIKELY, scores[longest] + BETTER):
        return 0.0
    return -best / raw.rate


def _correlation(
    measured: Array, there: Array, predicted: Array, known: Array, longest: int
) -> Array:
    """Correlation (2 longest + 1,) of measured[n + lag] and predicted[n] over lags."""
    length = fft.next_fast_len(2 * len(measured), real=True)
    zero = there * (measured - np.sum(there * measured) / max(there.sum(), 1.0))
    one = known * (predicted - np.sum(known * predicted) / max(known.sum(), 1.0))

    def products(a: Array, b: Array) -> Array:
        made = fft.irfft(fft.rfft(a, length) * np.conj(fft.rfft(b, length)), length)
        return np.concatenate([made[-longest:], made[: longest + 1]])

    size = np.sqrt(np.maximum(products(zero**2, known) * products(there, one**2), 1e-300))
    return np.asarray(products(zero, one) / size)


def significant(problem: Problem, raw: Raw) -> list[Delay]:
    """Delays that stand far out of their deviation, at the lowest cut-off that shows any."""
    return finished(significant_in_parts(problem, raw))


def finished(parts: Generator[None, None, R]) -> R:
    """What a computation in parts returns in the end."""
    while True:
        try:
            next(parts)
        except StopIteration as end:
            return cast('R', end.value)


def significant_in_parts(problem: Problem, raw: Raw) -> Generator[None, None, list[Delay]]:
    """The same for those that must not wait for long: each part takes tenths of a second.

    Base and joints mostly come from one clock, so a delay that both share needs less to be
    believed.
    """
    given = problem.configuration.cutoff_hz
    for cutoff in (given,) if given else CUTOFFS:
        try:
            single, common, drift = yield from measure(problem, raw, min(cutoff, 0.15 * raw.rate))
        except (EstimationError, SignalError):
            continue  # too little is usable; the estimation itself will say so
        found = [d for d in single if abs(d.value) > SIGNIFICANT * d.std]
        if not found and abs(common.value) > COMMON_SIGNIFICANT * common.std:
            found = [replace(common, group=group) for group in GROUPS]
        if abs(drift.value) > max(SIGNIFICANT * drift.std, SMALLEST_DRIFT):
            found.append(drift)
        if found or common.std < CERTAIN:
            return found
    return []


def measure(
    problem: Problem, raw: Raw, cutoff: float
) -> Generator[None, None, tuple[list[Delay], Delay, Delay]]:
    """Delays of base and joints against the wrenches, linearised at zero, and of both alike.

    The last one is how much later both are at the end than at the beginning.
    """
    selection = choose_samples(problem, raw)
    yield
    rows = source_of([prepare(problem, raw, cutoff, selection)])
    W, Y = _joined(rows)
    information, _ = accumulate_fast(ArrayBlocks(W, Y))
    first = weigh(information, problem.full_prior, problem.base.rank, CORRELATION)
    columns = []
    for group in GROUPS:
        residuals = []
        for steps in (1, -1):
            yield
            other = with_wrenches(_stepped(raw, group, steps), problem.model, raw.wrenches)
            W1, Y1 = _joined(source_of([prepare(problem, other, cutoff, selection)]))
            residuals.append(Y1 - W1 @ first.value)
        # To both sides, so that noise of the signal is not correlated with its own shift.
        columns.append((residuals[0] - residuals[1]) * (0.5 * raw.rate))
    yield
    value, spread = _unknown(problem, W, Y, columns)
    weights = np.linalg.solve(spread, np.ones(2))
    # Y = W x + r, and a signal moved later by tau changes r by tau times the column: the best
    # shift is minus the unknown, and stamps that are late need a shift to earlier.
    single = [
        Delay(group, float(value[k]), float(np.sqrt(spread[k, k])))
        for k, group in enumerate(GROUPS)
    ]
    total = float(weights.sum())
    both = Delay('both', float(weights @ value) / total, float(1.0 / np.sqrt(total)))
    yield
    ramp = np.linspace(-0.5, 0.5, len(W))[:, None]  # of the rows that are used, in order of time
    growing = _unknown(problem, W, Y, [*columns, ramp * (columns[0] + columns[1])])
    drift = Delay(DRIFT, float(growing[0][2]), float(np.sqrt(growing[1][2, 2])))
    return single, both, drift


def _unknown(
    problem: Problem, W: Array, Y: Array, columns: Sequence[Array]
) -> tuple[Array, Array]:
    """Delays whose effects are columns, estimated beside the parameters; with their covariance."""
    wide = np.concatenate([W, np.stack(columns, axis=2)], axis=2)
    information, _ = accumulate_fast(ArrayBlocks(wide, Y))
    prior = problem.full_prior
    count, more = len(prior.value), len(columns)
    covariance = np.zeros((count + more, count + more))
    covariance[:count, :count] = prior.covariance
    covariance[count:, count:] = np.eye(more) * LARGEST**2
    found = weigh(
        information,
        Prior(np.append(prior.value, np.zeros(more)), covariance),
        problem.base.rank,
        CORRELATION,
    )
    return found.value[count:], CORRELATION * found.covariance[count:, count:]


def _joined(source: BlockSource) -> tuple[Array, Array]:
    blocks = list(source)
    return (np.concatenate([W for W, _ in blocks]), np.concatenate([Y for _, Y in blocks]))


def _stepped(raw: Raw, group: str, steps: int) -> Raw:
    """The recording with one group of signals one grid step later (1) or earlier (-1)."""
    values = (raw.pose if group == 'base' else raw.joints).copy()
    for segment in contiguous_segments(raw.valid, 2):
        late = slice(segment.start + 1, segment.stop)
        early = slice(segment.start, segment.stop - 1)
        target, source = (late, early) if steps > 0 else (early, late)
        values[target] = values[source].copy()
    return replace(raw, pose=values) if group == 'base' else replace(raw, joints=values)


def _shifted(recording: Recording, total: dict[str, float]) -> Recording:
    return replace(
        recording,
        base=recording.base.delayed(total['base']),
        joints=tuple(one.delayed(total['joints']) for one in recording.joints),
    )
