"""Base parameters of a humanoid over its recordings, step by step (equation 4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from veh_identification.errors import EstimationError
from veh_identification.identification import (
    BlockSource,
    IdentificationResult,
    Information,
    Options,
    identify,
)
from veh_identification.identification.gram import accumulate_fast
from veh_identification.multibody.tree import BASE_ROWS
from veh_identification.systems.humanoid.cutoff import CORRELATION, CutoffFound, choose_cutoff
from veh_identification.systems.humanoid.equations import Unknowns, source_label
from veh_identification.systems.humanoid.evidence import Evidence, weigh
from veh_identification.systems.humanoid.held_out import held_out_scale
from veh_identification.systems.humanoid.problem import (
    Prepared,
    Problem,
    choose_samples,
    judging_samples,
    prepare,
    source_of,
)
from veh_identification.systems.humanoid.processing import Raw
from veh_identification.systems.humanoid.recording import Recording
from veh_identification.systems.humanoid.selection import Selection, vertical_forces

Array = NDArray[np.float64]

# An offset larger than this many of its usual deviations deserves a word.
OFFSET_LIMIT = 2.5
OFFSET_SCALES = (0.5, 3.0)
OFFSET_ITERATIONS = 20
# A person may weigh this many times what the model does (or one over it).
SMALLEST_LOAD = 0.2
# The second look at the support: at least this share of the weight, at most the first one's.
TIGHTEST_SUPPORT = 0.06


@dataclass(frozen=True, eq=False)
class Estimate:
    """The result with everything that later steps need."""

    problem: Problem
    result: IdentificationResult
    prepared: tuple[Prepared, ...]
    cutoff: CutoffFound
    evidence: Evidence
    notes: list[str] = field(default_factory=list)

    @property
    def total_mass(self) -> tuple[float, float]:
        """Mass of the identified tree and its deviation."""
        weights = self.problem.mass_weights
        count = len(weights)
        variance = weights @ self.result.covariance[:count, :count] @ weights
        return float(weights @ self.result.value[:count]), float(np.sqrt(variance))

    @property
    def value(self) -> Array:
        """Base parameters, then further unknowns."""
        return self.result.value


def estimate(problem: Problem, raws: Sequence[Raw], recordings: Sequence[Recording]) -> Estimate:
    """Choose samples and cut-off, decide on offsets, estimate, look at the samples again."""
    notes: list[str] = []
    selections = [choose_samples(problem, raw) for raw in raws]
    if not any(one.usable.any() for one in selections):
        why = '; '.join(text for raw, one in zip(raws, selections, strict=True)
                        for text in one.sentences(raw.label))
        raise EstimationError(f'no sample can be used: {why}')
    problem = _loaded(problem, selections)
    found = choose_cutoff(problem, raws, recordings, selections)
    problem = _with_offsets(problem, raws, selections, found.cutoff_hz, notes)
    first = _solve(problem, raws, selections, found, notes)
    again = [_second_look(problem, raw, one, first.value) for raw, one in zip(
        raws, selections, strict=True)]
    if all(np.array_equal(a.usable, b.usable) for a, b in zip(selections, again, strict=True)):
        return first
    return _solve(problem, raws, again, found, notes)


def _loaded(problem: Problem, selections: Sequence[Selection]) -> Problem:
    """The CAD values scaled as a whole to the weight that the sensors show.

    Persons and payloads differ from their models by a common factor first of all; links that the
    motion does not excite follow the others then.
    """
    weights = [one.weight for one in selections if one.usable.any()]
    load = float(np.median(weights)) / (problem.prior.mass.sum() * problem.configuration.gravity)
    if not SMALLEST_LOAD < load < 1.0 / SMALLEST_LOAD:
        return problem
    unknowns = replace(problem.unknowns, parameters=load * problem.model.parameters)
    return replace(problem, prior=replace(problem.prior, load=load), unknowns=unknowns)


def _solve(problem: Problem, raws: Sequence[Raw], selections: Sequence[Selection],
           found: CutoffFound, notes: list[str]) -> Estimate:
    c = problem.configuration
    prepared = [prepare(problem, raw, found.cutoff_hz, one) for raw, one in zip(
        raws, selections, strict=True)]
    rows = source_of(prepared)
    information, _ = accumulate_fast(rows)
    evidence = _weighed(problem, rows, information)
    result = identify(rows, problem.names, BASE_ROWS, problem.units, problem.a_priori, Options(
        # Filtered rows are never white, and a short recording cannot tell.
        estimator=c.estimator, noise='coloured', sigma=evidence.sigma,
        prior=evidence.prior if c.estimator == 'prior' else None))
    result = replace(result, covariance=_considered(problem, result.covariance))
    return Estimate(problem, result, tuple(prepared), found, evidence, notes)


def _weighed(problem: Problem, rows: BlockSource, information: Information) -> Evidence:
    """Noise and trust in the CAD values, by likelihood and by stretches left out."""
    prior, rank = problem.full_prior, problem.base.rank
    sigma = np.array(problem.configuration.sigma) if problem.configuration.sigma else None
    first = weigh(information, prior, rank, CORRELATION, sigma)
    scale = held_out_scale(rows, first, prior, rank)
    if scale == first.scale:
        return first
    return weigh(information, prior, rank, CORRELATION, sigma, scale)


def _with_offsets(problem: Problem, raws: Sequence[Raw], selections: Sequence[Selection],
                  cutoff: float, notes: list[str]) -> Problem:
    """Add the offsets of the wrench sensors as unknowns.

    A tared sensor may be off by a little, and the deviations (of the total mass above all) are
    honest only if that is allowed for. How much, the recording says itself.
    """
    mode = problem.configuration.wrench_offset
    trial = replace(problem, unknowns=replace(problem.unknowns, offset=mode != 'off'))
    if mode == 'off':
        return trial
    rows = source_of([prepare(trial, raw, cutoff, one) for raw, one in zip(
        raws, selections, strict=True)])
    information, _ = accumulate_fast(rows)
    trial, found = _offset_size(trial, information)
    allowed = np.sqrt(np.diag(found.prior.covariance)) / trial.unknowns.offset_scale
    far = [(name, found.value[k]) for k, name in enumerate(trial.names)
           if '.offset.' in name and abs(found.value[k]) > OFFSET_LIMIT * allowed[k]]
    if far:
        what = ', '.join(f'{name} {value:.3g}' for name, value in far)
        notes.append(f'sensor offsets seem to be large ({what}): was the sensor tared? Errors of '
                     'the model can look like that as well; the total mass is less certain then')
        # Noise of the accelerations would decide about the mass: rather trust the weight.
        return replace(trial, unknowns=replace(trial.unknowns, offset_scale=1.0))
    return trial


def _considered(problem: Problem, covariance: Array) -> Array:
    """The covariance with vertical offsets as uncertain as they were before the recording.

    A walk tells a plate's vertical offset from the weight by centres of pressure (0.1 N at 0.4 m
    are half a millimetre of it). Legs and IMU do not know the place that well, and their errors
    are no white noise: what the estimate seems to know of the offset is taken back, for the
    offset and for all that depends on it.
    """
    if not problem.unknowns.drifting:
        return covariance
    before = np.diag(problem.full_prior.covariance)
    for k, name in enumerate(problem.names):
        if name.endswith('.offset.FZ') and before[k] > covariance[k, k]:
            gain = covariance[:, k] / covariance[k, k]
            covariance = covariance + np.outer(gain, gain) * (before[k] - covariance[k, k])
    return covariance


def _offset_size(problem: Problem, information: Information) -> tuple[Problem, Evidence]:
    """How large offsets are, from those that the motion shows well (mostly the horizontal ones).

    Fixed-point iteration of the most likely common deviation of all offsets. Where the attitude
    comes from an IMU, horizontal offsets cannot be told from a tilt, and the usual size stays.
    """
    found = weigh(information, problem.full_prior, problem.base.rank, CORRELATION)
    which = np.array([k for k, name in enumerate(problem.names) if '.offset.' in name
                      and not _is_tared(problem, name)], dtype=int)
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
        found = weigh(information, problem.full_prior, problem.base.rank, CORRELATION,
                      found.sigma)
    return problem, found


def _is_tared(problem: Problem, name: str) -> bool:
    return any(source.tared and name.startswith(f'{source_label(source)}.offset.')
               for source in problem.unknowns.sources)


def _second_look(problem: Problem, raw: Raw, selection: Selection, value: Array) -> Selection:
    """Judge the support again with identified parameters and a tolerance that fits the noise."""
    c = problem.configuration
    if not c.exclude_support:
        return selection
    parameters = problem.body_parameters(value)
    samples = judging_samples(problem, raw)
    measured, predicted = vertical_forces(samples, problem.model, parameters)
    use = selection.usable & samples.valid
    if not use.any():
        return selection
    spread = 1.4826 * float(np.median(np.abs(measured - predicted)[use]))
    tolerance = float(np.clip(6.0 * spread / selection.weight, TIGHTEST_SUPPORT,
                              c.support_tolerance))
    return choose_samples(problem, raw, parameters, tolerance)


def unknowns_table(unknowns: Unknowns, result: IdentificationResult, first: int
                   ) -> list[dict[str, object]]:
    """Further unknowns as plain entries."""
    return [{'name': name, 'unit': unit, 'value': float(result.value[first + k]),
             'std': float(result.std[first + k])}
            for k, (name, unit) in enumerate(zip(unknowns.names, unknowns.units, strict=True))]
