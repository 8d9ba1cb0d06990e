"""Clocks that differ: delays of base pose and joints against the wrenches, from the residuals.

Shifting a signal by one grid step changes the residuals of all rows; that change is a column like
any other, whose unknown is the delay in steps. Only delays that stand far out of their deviation
are taken, since model errors can look like small ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from veh_identification.errors import EstimationError, SignalError
from veh_identification.identification import ArrayBlocks, BlockSource, Prior
from veh_identification.identification.gram import accumulate_fast
from veh_identification.signals.segments import contiguous_segments
from veh_identification.systems.humanoid.cutoff import CORRELATION
from veh_identification.systems.humanoid.evidence import weigh
from veh_identification.systems.humanoid.odometry import gridded
from veh_identification.systems.humanoid.problem import (
    Problem,
    choose_samples,
    prepare,
    source_of,
)
from veh_identification.systems.humanoid.processing import Raw, with_wrenches
from veh_identification.systems.humanoid.recording import Recording

Array = NDArray[np.float64]

CUTOFF = 5.0
SIGNIFICANT = 6.0  # deviations
SMALLEST = 0.002  # s
REST = 0.0005  # s, left after a first correction
LARGEST = 0.2  # s
ROUNDS = 3
GROUPS = ('base', 'joints')


@dataclass(frozen=True)
class Delay:
    """By how much the stamps of a group of signals are late, in seconds."""

    group: str
    value: float
    std: float


def corrected(problem: Problem, recordings: Sequence[Recording], raws: Sequence[Raw]
              ) -> tuple[list[Recording], list[Raw], list[str]]:
    """Recordings with significant delays taken off, each for itself, and notes about them."""
    notes: list[str] = []
    new_recordings, new_raws = list(recordings), list(raws)
    for k, (recording, raw) in enumerate(zip(recordings, raws, strict=True)):
        total = dict.fromkeys(GROUPS, 0.0)
        # Leg odometry depends on the joints' clock itself.
        for turn in range(ROUNDS if raw.inertial is None else 0):
            try:
                measured = measure(problem, raw)
            except (EstimationError, SignalError):
                break  # too little is usable; the estimation itself will say so
            found = [d for d in measured if abs(d.value) > SIGNIFICANT * d.std]
            if not any(abs(d.value) > (REST if turn else SMALLEST) for d in found):
                break
            for one in found:
                total[one.group] += one.value
            if max(abs(value) for value in total.values()) > LARGEST:
                total = dict.fromkeys(GROUPS, 0.0)  # no longer small: not a matter of clocks
                recording, raw = recordings[k], raws[k]
                break
            recording = _shifted(recordings[k], total)
            raw = gridded(recording, problem.model, problem.configuration)
        new_recordings[k], new_raws[k] = recording, raw
        notes.extend(
            f'{recording.label}: the stamps of {group} are {1e3 * value:.3g} ms late against the '
            'wrenches, corrected' for group, value in total.items() if value)
    return new_recordings, new_raws, notes


def measure(problem: Problem, raw: Raw) -> list[Delay]:
    """Delays of base and joints against the wrenches, linearised at zero."""
    selection = choose_samples(problem, raw)
    cutoff = problem.configuration.cutoff_hz or min(CUTOFF, 0.15 * raw.rate)
    rows = source_of([prepare(problem, raw, cutoff, selection)])
    W, Y = _joined(rows)
    information, _ = accumulate_fast(ArrayBlocks(W, Y))
    first = weigh(information, problem.full_prior, problem.base.rank, CORRELATION)
    columns = []
    for group in GROUPS:
        residuals = []
        for steps in (1, -1):
            other = with_wrenches(_stepped(raw, group, steps), problem.model, raw.wrenches)
            W1, Y1 = _joined(source_of([prepare(problem, other, cutoff, selection)]))
            residuals.append(Y1 - W1 @ first.value)
        # To both sides, so that noise of the signal is not correlated with its own shift.
        columns.append((residuals[0] - residuals[1]) * (0.5 * raw.rate))
    wide = np.concatenate([W, np.stack(columns, axis=2)], axis=2)
    information, _ = accumulate_fast(ArrayBlocks(wide, Y))
    prior = problem.full_prior
    count = len(prior.value)
    covariance = np.zeros((count + 2, count + 2))
    covariance[:count, :count] = prior.covariance
    covariance[count:, count:] = np.eye(2) * LARGEST**2
    found = weigh(information, Prior(np.append(prior.value, [0.0, 0.0]), covariance),
                  problem.base.rank, CORRELATION)
    std = np.sqrt(CORRELATION * np.diag(found.covariance))
    # Y = W x + r, and a signal moved later by tau changes r by tau times the column: the best
    # shift is minus the unknown, and stamps that are late need a shift to earlier.
    return [Delay(group, float(found.value[count + k]), float(std[count + k]))
            for k, group in enumerate(GROUPS)]


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
    return replace(recording, base=recording.base.delayed(total['base']),
                   joints=tuple(one.delayed(total['joints']) for one in recording.joints))
