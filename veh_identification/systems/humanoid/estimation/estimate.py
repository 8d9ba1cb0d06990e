"""Base parameters of a humanoid over its recordings, step by step (equation 4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

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
from veh_identification.systems.humanoid.checks.supports import Selection, select
from veh_identification.systems.humanoid.estimation.noise_and_trust import (
    Evidence,
    weigh,
    whitened,
)
from veh_identification.systems.humanoid.estimation.noise_colour import normal_noise
from veh_identification.systems.humanoid.estimation.noise_free_normal import Excess
from veh_identification.systems.humanoid.estimation.offsets import considered, with_offsets
from veh_identification.systems.humanoid.estimation.prior_trust import held_out_scale
from veh_identification.systems.humanoid.estimation.problem import (
    Prepared,
    Problem,
    choose_samples,
    judged_loads,
    prepare,
    source_of,
)
from veh_identification.systems.humanoid.estimation.regressor_noise import find_excess
from veh_identification.systems.humanoid.processing.cutoff import (
    CORRELATION,
    FEWEST_SAMPLES,
    CutoffFound,
    choose_cutoff,
)
from veh_identification.systems.humanoid.processing.equations import Unknowns
from veh_identification.systems.humanoid.processing.signals import Raw
from veh_identification.systems.humanoid.recording.reader import Recording
from veh_identification.types import Array

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
        raise EstimationError(f'no sample can be used: {_left_out(raws, selections)}')
    problem = _loaded(problem, selections)
    try:
        found = choose_cutoff(problem, raws, recordings, selections)
        problem = with_offsets(problem, raws, selections, found.cutoff_hz, notes)
        first = _solve(problem, raws, recordings, selections, found, notes)
        again = [
            _second_look(problem, raw, one, first.value)
            for raw, one in zip(raws, selections, strict=True)
        ]
        if all(np.array_equal(a.usable, b.usable) for a, b in zip(selections, again, strict=True)):
            return first
        selections = again
        return _solve(problem, raws, recordings, selections, found, notes)
    except EstimationError as error:
        raise EstimationError(f'{error}; {_left_out(raws, selections)}') from None


def _left_out(raws: Sequence[Raw], selections: Sequence[Selection]) -> str:
    """What is not used and why, in words."""
    return '; '.join(
        text
        for raw, one in zip(raws, selections, strict=True)
        for text in one.sentences(raw.label)
    )


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


def _solve(
    problem: Problem,
    raws: Sequence[Raw],
    recordings: Sequence[Recording],
    selections: Sequence[Selection],
    found: CutoffFound,
    notes: list[str],
) -> Estimate:
    c = problem.configuration
    prepared = [
        prepare(problem, raw, found.cutoff_hz, one)
        for raw, one in zip(raws, selections, strict=True)
    ]
    rows = source_of(prepared)
    information, _ = accumulate_fast(rows)
    if information.samples < FEWEST_SAMPLES:
        raise EstimationError(
            f'{information.samples} rows are left for each of the six '
            f'equations, at least {FEWEST_SAMPLES} are needed'
        )
    prior = c.estimator == 'prior'
    excess = find_excess(problem, raws, recordings, selections, found.cutoff_hz) if prior else None
    evidence = _weighed(problem, rows, information, excess)
    result = identify(
        rows,
        problem.names,
        BASE_ROWS,
        problem.units,
        problem.a_priori,
        Options(
            # Filtered rows are never white, and a short recording cannot tell.
            estimator=c.estimator,
            noise='white' if prior else 'coloured',
            sigma=evidence.sigma,
            prior=evidence.prior if prior else None,
        ),
        information if prior else None,
    )
    if prior:
        result = _by_evidence(result, evidence, information)
        result = replace(result, covariance=considered(problem, evidence))
    return Estimate(problem, result, tuple(prepared), found, evidence, notes)


def _by_evidence(
    result: IdentificationResult, evidence: Evidence, information: Information
) -> IdentificationResult:
    """The result with the evidence's values, which are free of noise in the regressor."""
    rms = np.sqrt(information.residual_squares(evidence.value) / information.samples)
    measured = np.sqrt(information.squares / information.samples)
    return replace(
        result,
        value=evidence.value,
        residual_rms=rms,
        noise={'model': 'coloured'},
        covariance=evidence.covariance,
        residual_rms_relative=np.where(measured > 0.0, rms / np.maximum(measured, 1e-300), np.nan),
    )


def _weighed(
    problem: Problem, rows: BlockSource, information: Information, excess: Excess | None
) -> Evidence:
    """Noise and trust in the CAD values, by likelihood and by stretches left out."""
    prior, rank = problem.full_prior, problem.base.rank
    sigma = np.array(problem.configuration.sigma) if problem.configuration.sigma else None
    found = weigh(information, prior, rank, CORRELATION, sigma, excess=excess)
    if excess is None:
        return found
    noise = normal_noise(rows, found, information.samples)
    found = whitened(found, noise, prior, rank)
    scale = held_out_scale(rows, found, prior, rank, excess)
    return found if scale == found.scale else whitened(found, noise, prior, rank, scale)


def _second_look(problem: Problem, raw: Raw, selection: Selection, value: Array) -> Selection:
    """Judge the support again with identified parameters and a tolerance that fits the noise."""
    c = problem.configuration
    if not c.exclude_support:
        return selection
    loads = judged_loads(problem, raw, problem.body_parameters(value))
    use = selection.usable & loads.valid
    if not use.any():
        return selection
    spread = 1.4826 * float(np.median(np.abs(loads.measured - loads.predicted)[use]))
    tolerance = float(
        np.clip(6.0 * spread / selection.weight, TIGHTEST_SUPPORT, c.support_tolerance)
    )
    return select(
        raw,
        loads,
        tolerance,
        impacts=c.exclude_impacts,
        identified=True,
        unfit=loads.unfit(use, selection.weight),
    )


def unknowns_table(
    unknowns: Unknowns, result: IdentificationResult, first: int
) -> list[dict[str, object]]:
    """Further unknowns as plain entries."""
    return [
        {
            'name': name,
            'unit': unit,
            'value': float(result.value[first + k]),
            'std': float(result.std[first + k]),
        }
        for k, (name, unit) in enumerate(zip(unknowns.names, unknowns.units, strict=True))
    ]
