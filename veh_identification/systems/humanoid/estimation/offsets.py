"""Offsets of the wrench sensors: how large, which of them can be told from the weight."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy.stats import chi2

from veh_identification.findings import Finding
from veh_identification.identification import Information
from veh_identification.identification.gram import accumulate_fast
from veh_identification.systems.humanoid.estimation.noise_and_trust import Evidence, weigh
from veh_identification.systems.humanoid.estimation.problem import Problem, prepare, source_of
from veh_identification.systems.humanoid.processing.equations import CORRELATION, source_label
from veh_identification.systems.humanoid.processing.signals import Raw
from veh_identification.systems.humanoid.processing.supports import Selection
from veh_identification.types import Array

# An offset larger than this many of its usual deviations deserves a word.
OFFSET_LIMIT = 2.5
OFFSET_SCALES = (0.5, 3.0)
OFFSET_ITERATIONS = 20
# m by which the centre of pressure may miss the model before it stops telling offsets.
WELL_PLACED = 0.002
# Offsets that differ between recordings must be as unlikely as this by chance.
SIGNIFICANCE = 1e-4


def with_offsets(
    problem: Problem, raws: Sequence[Raw], selections: Sequence[Selection], cutoff: float
) -> tuple[Problem, list[Finding]]:
    """Add the offsets of the wrench sensors as unknowns.

    A tared sensor may be off by a little, and the deviations (of the total mass above all) are
    honest only if that is allowed for. How much, the recording says itself.
    """
    mode = problem.configuration.wrench_offset
    trial = replace(problem, unknowns=replace(problem.unknowns, offset=mode != 'off'))
    if mode == 'off':
        return trial, []
    trial, findings = _apart(trial, raws, selections, cutoff)
    trial, found = _offset_size(trial, _information(trial, raws, selections, cutoff))
    trial = _weighed_only(trial, found)
    allowed = np.sqrt(np.diag(found.prior.covariance)) / trial.unknowns.offset_scale
    far = [
        (name, found.value[k])
        for k, name in enumerate(trial.names)
        if '.offset.' in name
        and abs(found.value[k]) > OFFSET_LIMIT * allowed[k]
        and not (trial.unknowns.weighed and name.endswith('.FZ'))
    ]
    if not far:
        return trial, findings
    what = ', '.join(f'{name} {value:.3g}' for name, value in far)
    large = Finding(
        'warn',
        'offsets_large',
        f'sensor offsets seem to be large ({what}): was the sensor tared? Errors of '
        'the model can look like that as well; the total mass is less certain then',
        ', '.join(name for name, _ in far),
    )
    # Noise of the accelerations would decide about the mass: rather trust the weight.
    held = replace(trial, unknowns=replace(trial.unknowns, offset_scale=1.0))
    return held, [*findings, large]


def _information(
    problem: Problem, raws: Sequence[Raw], selections: Sequence[Selection], cutoff: float
) -> Information:
    rows = source_of(
        [prepare(problem, raw, cutoff, one) for raw, one in zip(raws, selections, strict=True)]
    )
    return accumulate_fast(rows)[0]


def _apart(
    problem: Problem, raws: Sequence[Raw], selections: Sequence[Selection], cutoff: float
) -> tuple[Problem, list[Finding]]:
    """Offsets of their own for recordings after the first, where the data insist on them."""
    labels = tuple(
        raw.label for raw, one in zip(raws, selections, strict=True) if one.usable.any()
    )[1:]
    if not labels or problem.unknowns.drifting:
        return problem, []
    trial = replace(problem, unknowns=replace(problem.unknowns, apart=labels))
    found = weigh(
        _information(trial, raws, selections, cutoff),
        trial.full_prior,
        trial.base.rank,
        CORRELATION,
    )
    different = []
    for number, label in enumerate(labels, start=2):
        for source in problem.unknowns.sources:
            first = f'{source_label(source)}.offset{number}.'
            which = [k for k, name in enumerate(trial.names) if name.startswith(first)]
            value, covariance = found.value[which], found.covariance[np.ix_(which, which)]
            distance = value @ np.linalg.solve(CORRELATION * covariance, value)
            if distance > chi2.isf(SIGNIFICANCE, len(which)):
                different.append((label, source.topic))
    if not different:
        return problem, []
    findings = [
        Finding(
            'note',
            'offsets_differ',
            f'{label}: {topic} has other offsets than in the first recording; estimated apart',
            f'{label}, topic {topic}',
        )
        for label, topic in different
    ]
    wanted = {label for label, _ in different}
    chosen = tuple(label if label in wanted else '' for label in labels)
    return replace(problem, unknowns=replace(problem.unknowns, apart=chosen)), findings


def _weighed_only(problem: Problem, found: Evidence) -> Problem:
    """Vertical offsets are not estimated where places are known too badly to tell them.

    Motion tells a plate's vertical offset from the weight by centres of pressure (0.1 N at 0.4 m
    are half a millimetre of it, for 8 kg). Legs and IMU do not know the place that well, and
    persons are no rigid bodies: their errors are no white noise and look like such offsets.
    """
    weight = problem.prior.load * float(problem.prior.mass.sum()) * problem.configuration.gravity
    weighed = problem.configuration.estimator == 'prior' and (
        bool(problem.unknowns.drifting) or not well_placed(found.sigma, weight)
    )
    return replace(problem, unknowns=replace(problem.unknowns, weighed=weighed))


def well_placed(sigma: Array, weight: float) -> bool:
    """Whether the noise (6,) of the moments is small enough to tell vertical offsets."""
    return float(np.max(sigma[3:5])) <= WELL_PLACED * weight


def with_held(covariance: Array, measured: Array, column: int, variance: float) -> Array:
    """The covariance with what an unknown does that is held, and may be off by so much.

    `measured` is the column of W'W, weighted, that belongs to it.
    """
    effect = covariance @ measured
    effect[column] -= 1.0
    return np.asarray(covariance + variance * np.outer(effect, effect))


def considered(problem: Problem, evidence: Evidence) -> Array:
    """The covariance with what vertical offsets that are not estimated do to the estimate."""
    covariance = evidence.covariance
    if not problem.unknowns.weighed:
        return covariance
    free = replace(problem, unknowns=replace(problem.unknowns, weighed=False, offset_scale=1.0))
    before = np.diag(free.full_prior.covariance)
    result = covariance
    for k, name in enumerate(problem.names):
        if name.endswith('.offset.FZ') and not _is_tared(problem, name):
            measured = evidence.factor.R.T @ evidence.factor.R[:, k]
            result = result + with_held(covariance, measured, k, before[k]) - covariance
    return result


def _offset_size(problem: Problem, information: Information) -> tuple[Problem, Evidence]:
    """How large offsets are, from those that the motion shows well (mostly the horizontal ones).

    Fixed-point iteration of the most likely common deviation of all offsets. Where the attitude
    comes from an IMU, horizontal offsets cannot be told from a tilt, and the usual size stays.
    """
    found = weigh(information, problem.full_prior, problem.base.rank, CORRELATION)
    which = np.array(
        [
            k
            for k, name in enumerate(problem.names)
            if '.offset.' in name and not _is_tared(problem, name)
        ],
        dtype=int,
    )
    scale = 1.0
    learnt = len(which) > 0 and not problem.unknowns.drifting
    for _ in range(OFFSET_ITERATIONS if learnt else 0):
        variance = np.diag(found.prior.covariance)[which] / scale**2
        second = np.square(found.value[which]) + np.diag(found.covariance)[which]
        new = float(np.clip(np.sqrt(np.mean(second / variance)), *OFFSET_SCALES))
        if abs(new - scale) < 0.01 * scale:
            break
        scale = new
        problem = replace(problem, unknowns=replace(problem.unknowns, offset_scale=scale))
        found = weigh(information, problem.full_prior, problem.base.rank, CORRELATION, found.sigma)
    return problem, found


def _is_tared(problem: Problem, name: str) -> bool:
    return any(
        source.tared and name.startswith(f'{source_label(source)}.offset')
        for source in problem.unknowns.sources
    )
