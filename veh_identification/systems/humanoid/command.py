"""`veh-id identify humanoid`: whole-body parameters from contact wrenches and motion."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from veh_identification.atomic import atomic_folder, prepare_target, refuse_inputs
from veh_identification.errors import UsageError
from veh_identification.identification import IdentificationResult, to_csv, to_json, to_table
from veh_identification.multibody.base_parameters import triangular_factor, unexcited_parameters
from veh_identification.reporting.hooks import write_identification_report
from veh_identification.systems.humanoid.checks.supports import left_out
from veh_identification.systems.humanoid.configuration import load_configuration
from veh_identification.systems.humanoid.estimation.estimate import (
    Estimate,
    estimate,
    unknowns_table,
)
from veh_identification.systems.humanoid.estimation.links import LinkFit, fit_links
from veh_identification.systems.humanoid.recording.setup import Setup, set_up
from veh_identification.systems.humanoid.results.bag import write_result_bag
from veh_identification.systems.humanoid.results.reconstruction import (
    Reconstruction,
    reconstruct,
    validation_rows,
)
from veh_identification.systems.humanoid.results.urdf import identified_urdf
from veh_identification.types import Progress

# Residuals above this share of the measured rms deserve a word, if they are above this share of
# the weight as well (moments: at 1 m; about a base above the feet the moment itself is small).
POOR_FIT = 0.5
POOR_SHARE = {'FZ': 0.05, 'NX': 0.01, 'NY': 0.01}
# A recording whose weight differs by this share from the identified one deserves a word.
OTHER_WEIGHT = 0.03
# From this share of links at the border of what can exist on, single links are not to be trusted.
MANY_AT_THE_BORDER = 0.5


@dataclass(frozen=True, eq=False)
class Outcome:
    """Everything that is written."""

    setup: Setup
    estimate: Estimate
    fit: LinkFit
    result: IdentificationResult  # of the base parameters alone
    recordings: tuple[Reconstruction, ...]
    validation: Reconstruction | None
    urdf: bytes
    notes: list[str]


def identify(
    *,
    bags: Sequence[str | Path],
    out: str | Path,
    validate: str | Path | None = None,
    config: str | Path | None = None,
    urdf: str | Path | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> str:
    """Identify a humanoid from recordings of its motion and contact wrenches.

    Writes OUT/parameters.json, parameters.csv, identified.urdf, report.html and the bag
    OUT/result, whole or not at all, and returns the table to print. `options` are entries of the
    configuration.
    """
    if urdf is None:
        raise UsageError('identify humanoid needs the robot description: --urdf FILE')
    if not bags:
        raise UsageError('at least one --bag is needed')
    # Before the work: an earlier result is replaced, anything else is not.
    refuse_inputs(out, [*bags, urdf, *(one for one in (validate, config) if one is not None)])
    prepare_target(Path(out), overwrite=True)
    outcome = run(bags, urdf, validate, config, progress, **options)
    text = _table(outcome)
    report = _write(
        Path(out),
        outcome,
        lambda folder: write_identification_report(
            folder,
            outcome.result,
            reconstruction='result',
            bags=bags,
            out=out,
            validate=validate,
            config=config,
            urdf=urdf,
        ),
    )
    return f'{text}{report}\n'


def run(
    bags: Sequence[str | Path],
    urdf: str | Path,
    validate: str | Path | None = None,
    config: str | Path | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Outcome:
    """All of `identify` but the files."""
    configuration = load_configuration(config, **options)
    setup = set_up(urdf, bags, validate, configuration, progress)
    found = estimate(setup.problem, setup.raws, setup.recordings)
    fit = fit_links(found)
    recordings = tuple(reconstruct(found, one, fit.base_value) for one in found.prepared)
    notes = [*setup.problem.model.warnings, *setup.notes, *found.notes]
    notes.extend(left_out([(one.raw.label, one.selection) for one in found.prepared]))
    validation = _validated(found, setup, fit, notes)
    notes.extend(
        _weights(
            [*recordings, *([validation] if validation else [])],
            found.total_mass[0],
            found.problem.configuration.gravity,
        )
    )
    notes.extend([*_poor(recordings), *_bordering(fit)])
    outcome = Outcome(
        setup,
        found,
        fit,
        _base_only(found),
        recordings,
        validation,
        identified_urdf(found.problem.robot, fit.as_dict()),
        notes,
    )
    _complete(outcome, [str(bag) for bag in bags], str(urdf), config)
    return outcome


def _validated(
    found: Estimate, setup: Setup, fit: LinkFit, notes: list[str]
) -> Reconstruction | None:
    """The recording given for validation, if any of it can be used."""
    if setup.validation is None:
        return None
    rows = validation_rows(found, setup.validation)
    notes.extend(rows.selection.sentences(rows.raw.label))
    made = reconstruct(found, rows, fit.base_value)
    if len(made.measured):
        if made.offsets:
            notes.append(f'{made.label}: offsets of the wrench sensors {made.offsets}')
        return made
    notes.append(f'{made.label}: no sample can be used for validation')
    return None


def _base_only(found: Estimate) -> IdentificationResult:
    """The result without the further unknowns, which are listed apart."""
    count, result = found.problem.base.rank, found.result
    kept = slice(0, count)
    a_priori = result.a_priori
    return replace(
        result,
        names=result.names[kept],
        units=result.units[kept],
        value=result.value[kept],
        covariance=result.covariance[kept, kept],
        a_priori=None if a_priori is None else a_priori[kept],
        unexcited=[name for name in result.unexcited if name in result.names[kept]],
    )


def _complete(outcome: Outcome, bags: list[str], urdf: str, config: Any) -> None:
    """System, input, validation and further entries of the result."""
    result, found, setup = outcome.result, outcome.estimate, outcome.setup
    problem = found.problem
    mass, std = found.total_mass
    beyond, beyond_std = problem.robot.mass_beyond, _beyond_deviation(found)
    result.system = 'humanoid'
    if outcome.validation is not None:
        result.validation = outcome.validation.validation(outcome.validation.identified)
    urdf_validation = outcome.validation
    result.input = {
        'bags': bags,
        'urdf': urdf,
        'config': None if config is None else str(config),
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
        'notes': outcome.notes,
    }
    result.extra = {
        'total_mass': {
            'value': mass + beyond,
            'std': float(np.hypot(std, beyond_std)),
            'identified': mass,
            'identified_std': std,
            'beyond_sensors': beyond,
            'a_priori': problem.robot.total_mass,
        },
        'base_relations': dict(zip(problem.base.names, problem.base.relations(), strict=True)),
        'sensor_unknowns': unknowns_table(problem.unknowns, found.result, problem.base.rank),
        'residuals_urdf': _pooled(outcome.recordings),
        'validation_urdf': {}
        if urdf_validation is None
        else urdf_validation.validation(urdf_validation.urdf).as_dict(),
        'consistency': {
            'relative_cost': outcome.fit.relative_cost,
            'links_at_their_limit': list(outcome.fit.active),
            'status': outcome.fit.status,
        },
        'link_parameters': outcome.fit.as_dict(),
    }
    result.unexcited = sorted(_unexcited(found))


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


def _pooled(recordings: Sequence[Reconstruction]) -> dict[str, Any]:
    """Residuals of identified.urdf and of the a-priori values on the identification data."""
    measured, identified, urdf, a_priori = (
        np.concatenate([getattr(r, name) for r in recordings])
        for name in ('measured', 'identified', 'urdf', 'a_priori')
    )
    joined = Reconstruction(
        '', np.concatenate([r.stamps_ns for r in recordings]), measured, identified, urdf, a_priori
    )
    return joined.validation(joined.urdf).as_dict()


def _unexcited(found: Estimate) -> dict[str, str]:
    """Base parameters that the recordings do not tell apart at all."""
    rank = found.problem.base.rank
    factor = triangular_factor([found.evidence.factor.R[:, :rank]], rank)
    wide = np.zeros((rank, len(found.problem.base.columns)))
    wide[:, found.problem.base.base] = factor
    return unexcited_parameters(found.problem.base, wide, 1e-8)


def _poor(recordings: Sequence[Reconstruction]) -> list[str]:
    notes = []
    for one in recordings:
        check = one.validation(one.identified)
        weight = float(np.median(np.linalg.norm(one.measured[:, :3], axis=1)))
        for name, relative, rms in zip(
            check.equations, check.rms_relative, check.rms, strict=True
        ):
            if name in POOR_SHARE and relative > POOR_FIT and rms > POOR_SHARE[name] * weight:
                notes.append(
                    f'{one.label}: {name} is reconstructed poorly ({relative:.2g} of '
                    'its rms): check frames, signs, stamps, supports and the '
                    'pose of the plates (plate_pose: true estimates small errors of it)'
                )
    return notes


def _bordering(fit: LinkFit) -> list[str]:
    """Says when the values of single links are shaped by what can exist more than by data."""
    if len(fit.active) <= MANY_AT_THE_BORDER * len(fit.links):
        return []
    return [
        f'{len(fit.active)} of {len(fit.links)} links of identified.urdf lie at the border of '
        'what can exist: together they predict the wrenches, but masses, centres and inertias '
        'of single links must not be relied on (a smaller prior_percent keeps them nearer to '
        'the URDF as given)'
    ]


def _weights(recordings: Sequence[Reconstruction], mass: float, gravity: float) -> list[str]:
    """Recordings that show another weight than was identified."""
    notes = []
    for one in recordings:
        shown = one.weight
        if abs(shown - 1.0) > OTHER_WEIGHT:
            notes.append(
                f'{one.label} shows a weight of {shown * mass:.4g} kg, '
                f'{100 * abs(shown - 1.0):.2g} % {"more" if shown > 1.0 else "less"} '
                'than identified: a load, or gains of the sensors that differ?'
            )
    return notes


def _table(outcome: Outcome) -> str:
    result, total = outcome.result, outcome.result.extra['total_mass']
    lines = [
        to_table(result).rstrip('\n'),
        f'total mass {total["value"]:.5g} +- {total["std"]:.2g} kg (URDF '
        f'{total["a_priori"]:.5g} kg)',
        f'cut-off {outcome.estimate.cutoff.cutoff_hz:g} Hz: {outcome.estimate.cutoff.reason}',
    ]
    lines += [
        f'{entry["name"]} {entry["value"]:.4g} +- {entry["std"]:.2g} {entry["unit"]}'
        for entry in result.extra['sensor_unknowns']
    ]
    for title, table in (
        ('identification data', result.extra['residuals_urdf']),
        ('validation', result.extra['validation_urdf']),
    ):
        if table:
            lines.append(f'{title}: rms of identified.urdf, of the URDF as given')
            lines += [
                f'  {name}  {row["rms"]:.4g}  {row["a_priori_rms"]:.4g}'
                for name, row in table.items()
            ]
    lines += [f'note: {note}' for note in outcome.notes]
    return '\n'.join(lines) + '\n'


def _write(out: Path, outcome: Outcome, report: Callable[[Path], str]) -> str:
    with atomic_folder(out, overwrite=True) as folder:
        (folder / 'parameters.json').write_text(to_json(outcome.result), encoding='utf-8')
        (folder / 'parameters.csv').write_text(to_csv(outcome.result), encoding='utf-8')
        (folder / 'identified.urdf').write_bytes(outcome.urdf)
        write_result_bag(folder / 'result', outcome.result, outcome.recordings, outcome.validation)
        return report(folder)
