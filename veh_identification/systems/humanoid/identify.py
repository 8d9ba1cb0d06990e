"""The whole identification of a humanoid: estimate, consistent links, wrenches, result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from veh_identification.findings import Finding
from veh_identification.identification import IdentificationResult
from veh_identification.multibody.base_parameters import triangular_factor, unexcited_parameters
from veh_identification.multibody.tree import BASE_ROWS
from veh_identification.systems.humanoid.checks.sensors import against_scale
from veh_identification.systems.humanoid.configuration import Configuration
from veh_identification.systems.humanoid.estimation.estimate import (
    Estimate,
    estimate,
    unknowns_table,
)
from veh_identification.systems.humanoid.estimation.links import LinkFit, fit_links
from veh_identification.systems.humanoid.processing.supports import left_out
from veh_identification.systems.humanoid.results.findings import (
    against_impulse,
    implausible_links,
    kept_to_the_urdf,
    link_findings,
    other_weight,
    poor_fit,
    scaled_motion,
    validation_offsets,
)
from veh_identification.systems.humanoid.results.wrenches import (
    Wrenches,
    joined,
    reconstruct,
    validation_rows,
)
from veh_identification.systems.humanoid.setup import Setup


@dataclass(frozen=True, eq=False)
class Identified:
    """An identified humanoid."""

    setup: Setup
    estimate: Estimate
    fit: LinkFit
    result: IdentificationResult  # of the base parameters alone
    recordings: tuple[Wrenches, ...]
    validation: Wrenches | None
    findings: list[Finding]


def identify(setup: Setup, config: str | None = None) -> Identified:
    """Base parameters, consistent links, and how well both reconstruct the wrenches.

    `config` is the name of the configuration file, for the record.
    """
    found = estimate(setup.problem, setup.raws, setup.recordings)
    fit = fit_links(found)
    recordings = tuple(reconstruct(found, one, fit.base_value) for one in found.prepared)
    validation, judged = _validated(found, setup, fit)
    every = [*recordings, *([validation] if validation is not None else [])]
    findings = [
        *setup.findings,
        *found.findings,
        *left_out([(one.raw.label, one.selection) for one in found.prepared]),
        *judged,
        *other_weight(every, found.total_mass[0]),
        *against_impulse(found.total_mass, found.impulse),
        *scaled_motion(found.problem.names, found.value, found.solved.covariance),
        *_weighed(found),
        *poor_fit(recordings),
        *link_findings(fit),
        *kept_to_the_urdf(fit),
        *implausible_links(fit, found.problem.prior),
    ]
    base = found.problem.base
    result = found.solved.result(
        base.names,
        found.problem.units[: base.rank],
        BASE_ROWS,
        found.problem.a_priori,
        system='humanoid',
        unexcited=sorted(_unexcited(found)),
        validation=None if validation is None else validation.validation(validation.identified),
        input=_input(setup, found, config),
        extra=_extra(found, fit, recordings, validation),
    )
    return Identified(setup, found, fit, result, recordings, validation, findings)


def _validated(
    found: Estimate, setup: Setup, fit: LinkFit
) -> tuple[Wrenches | None, list[Finding]]:
    """The recording given for validation, if any of it can be used."""
    if setup.validation is None:
        return None, []
    rows = validation_rows(found, setup.validation)
    findings = rows.selection.findings(rows.raw.label)
    made = reconstruct(found, rows, fit.base_value)
    if len(made.measured):
        return made, findings + validation_offsets(made)
    text = f'{made.label}: no sample can be used for validation'
    return None, [*findings, Finding('warn', 'validation_unusable', text, made.label)]


def _unexcited(found: Estimate) -> dict[str, str]:
    """Base parameters that the recordings do not tell apart at all."""
    rank = found.problem.base.rank
    factor = triangular_factor([found.evidence.factor.R[:, :rank]], rank)
    wide = np.zeros((rank, len(found.problem.base.columns)))
    wide[:, found.problem.base.base] = factor
    return unexcited_parameters(found.problem.base, wide, 1e-8)


def _input(setup: Setup, found: Estimate, config: str | None) -> dict[str, Any]:
    problem = found.problem
    return {
        'bags': [raw.label for raw in setup.raws],
        'urdf': problem.robot.path,
        'config': config,
        'cutoff_hz': found.cutoff.cutoff_hz,
        'cutoff_reason': found.cutoff.reason,
        'cutoff_trials': [asdict(trial) for trial in found.cutoff.trials],
        'rate_hz': [raw.rate for raw in setup.raws],
        'wrenches': sorted({s.topic for raw in setup.raws for s in raw.sources}),
        'gravity': problem.configuration.gravity,
        'locked_joints': setup.locked,
        'merged_links': dict(problem.model.merged),
        'links_beyond_sensors': sorted(problem.robot.beyond),
        'prior_percent': problem.configuration.prior_percent * found.evidence.scale,
        'sigma': found.evidence.sigma,
    }


def _extra(
    found: Estimate,
    fit: LinkFit,
    recordings: Sequence[Wrenches],
    validation: Wrenches | None,
) -> dict[str, Any]:
    """Further entries of parameters.json."""
    problem, pooled = found.problem, joined(recordings)
    mass, std = found.total_mass
    beyond, beyond_std = problem.robot.mass_beyond, _beyond_deviation(found)
    return {
        'total_mass': {
            'value': mass + beyond,
            'std': float(np.hypot(std, beyond_std)),
            'identified': mass,
            'identified_std': std,
            'beyond_sensors': beyond,
            'a_priori': problem.robot.total_mass,
            **_scale_row(problem.configuration),
        },
        'impulse_mass': None if found.impulse is None else asdict(found.impulse),
        'base_relations': dict(zip(problem.base.names, problem.base.relations(), strict=True)),
        'sensor_unknowns': unknowns_table(found),
        'residuals_urdf': pooled.validation(pooled.urdf).as_dict(),
        'validation_urdf': {}
        if validation is None
        else validation.validation(validation.urdf).as_dict(),
        'consistency': {
            'relative_cost': fit.relative_cost,
            'links_at_their_limit': list(fit.active),
            'status': fit.status,
            'kept_equations': list(fit.kept),
        },
        'link_parameters': fit.as_dict(),
    }


def _scale_row(configuration: Configuration) -> dict[str, float]:
    """The mass by a scale, where there is one."""
    weighed = configuration.weighed
    return {} if weighed is None else {'weighed': weighed[0], 'weighed_std': weighed[1]}


def _weighed(found: Estimate) -> list[Finding]:
    """The identified mass against that of a scale."""
    weighed = found.problem.configuration.weighed
    if weighed is None:
        return []
    mass, std = found.total_mass
    std = float(np.hypot(std, _beyond_deviation(found)))
    mass += found.problem.robot.mass_beyond
    return against_scale(mass, std, weighed, 'identified', 'total_mass')


def _beyond_deviation(found: Estimate) -> float:
    """How far the CAD mass beyond the sensors may be off: no recording says anything of it."""
    problem = found.problem
    typical = 0.01 * problem.configuration.prior_percent
    common = abs(problem.prior.load - 1.0)
    robot = problem.robot
    masses = np.array(
        [robot.parameters[name][0] for name in robot.beyond if name in robot.parameters]
    )
    return float(np.hypot(typical * np.linalg.norm(masses), common * masses.sum()))
