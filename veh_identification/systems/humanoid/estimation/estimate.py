"""Base parameters of a humanoid over its recordings, step by step (equation 4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from veh_identification.errors import EstimationError
from veh_identification.findings import Finding
from veh_identification.identification import BlockSource, Information, Options
from veh_identification.identification.batch import residual_shares, solve
from veh_identification.identification.factor import scaled_condition
from veh_identification.identification.gram import accumulate_fast
from veh_identification.identification.least_squares import PRIOR
from veh_identification.identification.result import Solved
from veh_identification.multibody.tree import BASE_ROWS
from veh_identification.systems.humanoid.estimation.by_impulse import with_impulse
from veh_identification.systems.humanoid.estimation.cutoff import (
    FEWEST_SAMPLES,
    CutoffFound,
    choose_cutoff,
)
from veh_identification.systems.humanoid.estimation.noise_and_trust import (
    Evidence,
    normal_noise,
    weigh,
    whitened,
)
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
from veh_identification.systems.humanoid.processing.equations import CORRELATION
from veh_identification.systems.humanoid.processing.impulse import ImpulseMass, impulse_mass
from veh_identification.systems.humanoid.processing.joint_errors import JointErrors
from veh_identification.systems.humanoid.processing.signals import Raw
from veh_identification.systems.humanoid.processing.supports import (
    Selection,
    fitting_tolerance,
    select,
)
from veh_identification.systems.humanoid.recording.reader import Recording
from veh_identification.types import Array

# A person may weigh this many times what the model does (or one over it).
SMALLEST_LOAD = 0.2
# Condition number from which on it is one of rounding errors.
SINGULAR = 1e12
# Deviations from zero of an error of a joint angle that is worth a word.
CLEAR = 3.0
# Share of the samples that the second look may judge otherwise without any consequence.
CHANGED_SHARE = 0.002


@dataclass(frozen=True, eq=False)
class Estimate:
    """The solution with everything that later steps need."""

    problem: Problem
    solved: Solved  # base parameters, then further unknowns
    prepared: tuple[Prepared, ...]
    cutoff: CutoffFound
    evidence: Evidence
    impulse: ImpulseMass | None  # what the balance of impulse gives
    findings: list[Finding] = field(default_factory=list)
    plain: Array | None = (
        None  # the estimate that takes joint angles as they are, if this does not
    )

    @property
    def as_measured(self) -> Array:
        """Unknowns that belong to the joint angles as they were measured."""
        return self.value if self.plain is None else self.plain

    @property
    def total_mass(self) -> tuple[float, float]:
        """Mass of the identified tree and its deviation."""
        weights = self.problem.mass_weights
        count = len(weights)
        variance = weights @ self.solved.covariance[:count, :count] @ weights
        return float(weights @ self.solved.value[:count]), float(np.sqrt(variance))

    @property
    def value(self) -> Array:
        """Base parameters, then further unknowns."""
        return self.solved.value


def estimate(problem: Problem, raws: Sequence[Raw], recordings: Sequence[Recording]) -> Estimate:
    """Choose samples and cut-off, decide on offsets, estimate, look at the samples again."""
    selections = [choose_samples(problem, raw) for raw in raws]
    if not any(one.usable.any() for one in selections):
        raise EstimationError(f'no sample can be used: {_left_out(raws, selections)}')
    try:
        found, findings = _look(problem, raws, recordings, selections)
        again = [
            _second_look(found.problem, raw, one, found.value)
            for raw, one in zip(raws, selections, strict=True)
        ]
        if not _same(selections, again):
            selections = again
            found, findings = _look(problem, raws, recordings, selections)
        if problem.configuration.joint_errors:
            found = _with_joint_errors(found, raws, recordings, selections)
            findings = findings + _corrected_joints(found)
        return replace(found, findings=findings + _robust_findings(found.solved))
    except EstimationError as error:
        raise EstimationError(f'{error}; {_left_out(raws, selections)}') from None


def _look(
    problem: Problem,
    raws: Sequence[Raw],
    recordings: Sequence[Recording],
    selections: Sequence[Selection],
) -> tuple[Estimate, list[Finding]]:
    """Everything that depends on which samples are used: weight, cut-off, offsets, estimate."""
    loaded = _loaded(problem, selections)
    cutoff = choose_cutoff(loaded, raws, recordings, selections)
    made, findings = with_offsets(loaded, raws, selections, cutoff.cutoff_hz)
    found = _solve(made, raws, recordings, selections, cutoff)
    return found, findings + cutoff.findings()


def _with_joint_errors(
    found: Estimate,
    raws: Sequence[Raw],
    recordings: Sequence[Recording],
    selections: Sequence[Selection],
) -> Estimate:
    """The estimate again with zero and gain of every joint as unknowns.

    Samples, cut-off and the choice of offsets stay: they are judged with angles as measured.
    """
    problem = found.problem
    joints = JointErrors(problem.model, problem.body_parameters(found.value))
    made = replace(problem, unknowns=replace(problem.unknowns, joints=joints))
    again = _solve(made, raws, recordings, selections, found.cutoff)
    return replace(again, plain=found.value)


def _corrected_joints(found: Estimate) -> list[Finding]:
    """That the parameters are those of a robot whose joints are elsewhere than measured."""
    clear = [
        f'{one["name"]} {one["value"]:+.2g}'
        for one in unknowns_table(found)
        if one['name'].endswith(('.zero', '.gain')) and abs(one['value']) > CLEAR * one['std']
    ]
    text = (
        'the parameters and identified.urdf belong to corrected joint angles (1 + gain) q + zero; '
        'with angles as they were measured they predict worse than without joint_errors'
    )
    text += f' ({", ".join(clear)})' if clear else ' (no error is clear)'
    return [Finding('note', 'joint_angles_corrected', text, 'joint_states')]


def _same(before: Sequence[Selection], after: Sequence[Selection]) -> bool:
    """Whether hardly any sample is judged otherwise."""
    changed = sum(int(np.sum(a.usable != b.usable)) for a, b in zip(before, after, strict=True))
    return changed <= CHANGED_SHARE * sum(len(one.usable) for one in before)


def _robust_findings(solved: Solved) -> list[Finding]:
    """What a robust estimate says of itself."""
    if 'converged' not in solved.noise:
        return []
    shares = solved.noise['down_weighted_share']
    told = ', '.join(f'{name} {100.0 * share:.2g} %' for name, share in shares.items())
    found = [Finding('note', 'rows_down_weighted', f'rows that count for less: {told}')]
    if not solved.noise['converged']:
        text = (
            f'the robust estimate has not settled after {solved.noise["iterations"]} iterations: '
            'many rows do not fit the model'
        )
        found.append(Finding('warn', 'robust_not_converged', text, 'estimator: robust'))
    return found


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
    return problem.about(load)


def _solve(
    problem: Problem,
    raws: Sequence[Raw],
    recordings: Sequence[Recording],
    selections: Sequence[Selection],
    cutoff: CutoffFound,
) -> Estimate:
    prepared = [
        prepare(problem, raw, cutoff.cutoff_hz, one)
        for raw, one in zip(raws, selections, strict=True)
    ]
    rows = source_of(prepared)
    information, _ = accumulate_fast(rows)
    if information.samples < FEWEST_SAMPLES:
        raise EstimationError(
            f'{information.samples} rows are left for each of the six '
            f'equations, at least {FEWEST_SAMPLES} are needed'
        )
    if problem.configuration.estimator == 'prior':
        excess = find_excess(problem, raws, recordings, selections, cutoff.cutoff_hz)
        evidence = _weighed(problem, rows, information, excess)
        solved = _with_prior(problem, evidence, information)
    else:
        evidence = _weighed(problem, rows, information, None)
        solved = _by_data_alone(problem, rows, evidence)
    solved = _with_bias(solved, cutoff)
    if problem.unknowns.joints is None:
        solved = _with_doubts(solved, prepared, evidence)
    impulse = impulse_mass(
        [(one.raw, one.samples, one.selection.usable) for one in prepared],
        problem.model,
        problem.configuration.gravity,
    )
    if problem.configuration.estimator == 'prior':
        solved = with_impulse(solved, problem, impulse)
        rms, relative = residual_shares(information, solved.value)
        solved = replace(solved, residual_rms=rms, residual_rms_relative=relative)
    # Rows that keep stretches apart were never samples.
    left_out = solved.excluded - sum(one.equations.separators for one in prepared)
    solved = replace(solved, excluded=left_out)
    return Estimate(problem, solved, tuple(prepared), cutoff, evidence, impulse)


def _with_prior(problem: Problem, evidence: Evidence, information: Information) -> Solved:
    """The evidence's estimate, which is free of noise in the regressor."""
    rms, relative = residual_shares(information, evidence.value)
    return Solved(
        value=evidence.value,
        covariance=considered(problem, evidence),
        sigma=evidence.sigma,
        residual_rms=rms,
        residual_rms_relative=relative,
        estimator=PRIOR,
        samples=information.samples,
        excluded=information.excluded,
        condition_number=_condition(evidence),
        noise={'model': 'coloured'},
    )


def _condition(evidence: Evidence) -> float:
    """What the data alone say; infinite where they are singular, which the prior is there for."""
    found = scaled_condition(evidence.measured.R)
    return found if found < SINGULAR else float('inf')


def _with_bias(solved: Solved, cutoff: CutoffFound) -> Solved:
    """Deviations that allow for what noise in pose and joints has done to the estimate.

    It is taken off where the noise is white. That of skin over bones is not, and nothing says how
    much of it is left.
    """
    if cutoff.bias is None:
        return solved
    bias = np.zeros(len(solved.value))
    count = min(len(bias), len(cutoff.bias))
    bias[:count] = cutoff.bias[:count]
    return replace(solved, covariance=solved.covariance + np.outer(bias, bias))


def _with_doubts(solved: Solved, prepared: Sequence[Prepared], evidence: Evidence) -> Solved:
    """Deviations that allow for errors of joints and links that are not taken off."""
    usable = np.array([float(one.selection.usable.sum()) for one in prepared])
    if not usable.any() or all(one.raw.doubt is None for one in prepared):
        return solved
    response = evidence.response if solved.estimator == PRIOR else solved.covariance
    covariance = solved.covariance
    for one, share in zip(prepared, usable / usable.sum(), strict=True):
        if one.raw.doubt is not None:
            normal = one.raw.doubt.normal(evidence.sigma, share * solved.samples)
            bias = response[:, : len(normal)] @ normal
            covariance = covariance + np.outer(bias, bias)
    return replace(solved, covariance=covariance)


def _by_data_alone(problem: Problem, rows: BlockSource, evidence: Evidence) -> Solved:
    c = problem.configuration
    options = Options(
        estimator=c.estimator,
        # Filtered rows are never white, and a short recording cannot tell.
        noise='coloured',
        sigma=None if c.estimator == 'ordinary' else evidence.sigma,
        loss=c.loss,
        eliminate=c.essential,
    )
    return solve(rows, problem.names, BASE_ROWS, options)


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
    if problem.unknowns.joints is not None:
        return found  # errors that follow the motion have unknowns of their own
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
    errors = (loads.measured - loads.predicted)[use]
    tolerance = fitting_tolerance(errors, selection.weight, c.support_tolerance)
    return select(
        raw,
        loads,
        tolerance,
        impacts=c.exclude_impacts,
        identified=True,
        unfit=loads.unfit(use, selection.weight),
    )


def unknowns_table(found: Estimate) -> list[dict[str, Any]]:
    """Further unknowns as plain entries."""
    unknowns, first = found.problem.unknowns, found.problem.base.rank
    value, std = found.solved.value[first:], found.solved.std[first:]
    return [
        {'name': name, 'unit': unit, 'value': float(value[k]), 'std': float(std[k])}
        for k, (name, unit) in enumerate(zip(unknowns.names, unknowns.units, strict=True))
    ]
