"""`veh-id design parallel`: a periodic motion of the platform (Abdellatif 2009, section 4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from veh_identification._version import __version__
from veh_identification.design.base import Design, DesignTask, time_ran_out
from veh_identification.design.excitation import CRITERIA, ExcitationDesign
from veh_identification.design.parallel.excitation import design_trajectory, limits_use
from veh_identification.errors import InputError, UsageError
from veh_identification.files import FileError, read_json
from veh_identification.findings import Finding, verdict_of
from veh_identification.results.outcome import Outcome, Value
from veh_identification.results.provenance import provenance
from veh_identification.systems.options import option
from veh_identification.systems.parallel.configuration import Configuration, load_configuration
from veh_identification.systems.parallel.estimation.likelihood import pooled_force_covariance
from veh_identification.systems.parallel.options import settings_of
from veh_identification.systems.parallel.recording.reader import periodic_record, read_legs
from veh_identification.types import Array

#: Of an excitation that neither an option nor the configuration describes.
FUNDAMENTAL_HZ, HARMONICS = 0.4, 5


@dataclass(frozen=True)
class ParallelDesignOptions:
    """Options of `design parallel`."""

    criterion: str = option(
        'd_optimal',
        'condition number (21), or determinant of the information (22)',
        choices=CRITERIA,
    )
    fundamental_hz: tuple[float, ...] = option(
        (),
        "fundamental, several are tried in turn over the starts; default: of the configuration's "
        'excitation, else 0.4, Hz',
        metavar='HZ',
    )
    harmonics: int | None = option(
        None,
        "harmonics; default: of the configuration's excitation, else 5",
        metavar='N',
        minimum=1,
    )
    samples: int = option(100, 'samples of a period at which the motion is judged', minimum=3)
    covariance_from: Path | None = option(
        None,
        'parameters.json, folder of an earlier identification, or recording, whose force '
        'covariance weighs the information (22); default: all forces count alike',
        metavar='PATH',
    )
    starts: int = option(4, 'independent starts of the search', minimum=1)
    seed: int = option(0, 'of the starts', minimum=0)
    max_iterations: int = option(60, 'iterations of every start', minimum=1)
    workers: int = option(
        1, 'processes that the starts are spread over, 0: all cores', metavar='N', minimum=0
    )
    time_limit: float = option(120.0, 'for the whole search, 0: none, s', metavar='S', minimum=0.0)


@dataclass(frozen=True, eq=False)
class Excitation:
    """The designed motion with what it asks of the actuators."""

    search: ExcitationDesign
    use: dict[str, float]  # extremes of lengths, rates, accelerations, condition


class ParallelDesign(Design[Configuration, Excitation]):
    """Excitation of a six-legged parallel robot."""

    name: ClassVar[str] = 'parallel'
    options: ClassVar[type] = ParallelDesignOptions
    files: ClassVar[tuple[str, ...]] = ('design.json', 'trajectory.yaml')
    single_file_endings: ClassVar[tuple[str, ...]] = ('.yaml', '.yml', '.json')

    def configure(self, path: Path | None) -> Configuration:
        """Geometry and limits of a file, PaLiDA's without one."""
        return load_configuration(path)

    def cost(self, result: Excitation) -> float:
        """Of the criterion."""
        return result.search.cost

    def single_file(self, result: Excitation, ending: str) -> str:
        """The trajectory, as `excitation:` of a configuration may name it."""
        return result.search.trajectory.to_text(ending)

    def design(self, task: DesignTask[Configuration]) -> Outcome[Excitation]:
        """The best motion of several starts."""
        chosen: ParallelDesignOptions = task.options
        stored, model = task.config.excitation, task.config.model()
        if not all(one > 0.0 for one in chosen.fundamental_hz):
            raise UsageError('design parallel: fundamental_hz must be positive')
        covariance = None
        if chosen.covariance_from is not None:
            covariance = force_covariance(chosen.covariance_from, task.config)
        search = design_trajectory(
            model,
            chosen.fundamental_hz or (stored.fundamental_hz if stored else FUNDAMENTAL_HZ),
            criterion=chosen.criterion,
            harmonics=chosen.harmonics or (stored.harmonics if stored else HARMONICS),
            samples=chosen.samples,
            force_covariance=covariance,
            starts=chosen.starts,
            seed=chosen.seed,
            max_iterations=chosen.max_iterations,
            time_limit=chosen.time_limit or None,
            progress=task.progress,
            only=task.only,
        )
        found = Excitation(search, limits_use(model, search.trajectory))
        verdict = verdict_of(
            _findings(found, chosen),
            yes='the motion keeps its limits and excites every parameter',
            no='this motion must not be run',
        )
        facts = _facts(found, task.config, covariance)
        return Outcome(
            'design',
            self.name,
            found,
            verdict,
            provenance('design', self.name, task.arguments, facts),
            _values(found),
            _text(found, task.config),
            ('design.json', {**facts, 'verdict': verdict.as_dict()}),
            files={'trajectory.yaml': self.single_file(found, '.yaml').encode()},
            inputs=task.inputs,
        )


def force_covariance(source: Path, configuration: Configuration) -> Array:
    """Noise covariance of one force sample: of an earlier identification, or of a recording."""
    inside = source / 'parameters.json'
    if source.suffix == '.json' or inside.exists():
        return _identified_covariance(inside if inside.exists() else source)
    settings = settings_of(configuration)
    record = periodic_record(
        read_legs(source, settings.topic).legs,
        settings.fundamental_hz,
        settings.harmonics,
        settings.skip_periods,
    )
    return pooled_force_covariance([record])


def _identified_covariance(path: Path) -> Array:
    try:
        data = read_json(path)
        covariance = np.array(data['input']['force_covariance'], dtype=float)
    except (FileError, ValueError, KeyError, TypeError) as error:
        raise InputError(
            f'{path}: no force covariance of an identification in it ({error})'
        ) from error
    if covariance.shape != (6, 6):
        raise InputError(f'{path}: input.force_covariance must be 6 x 6')
    return covariance


def _findings(found: Excitation, chosen: ParallelDesignOptions) -> Sequence[Finding]:
    search = found.search
    findings = []
    if search.limits_hold:
        text = 'all limits hold on a grid of 64 points for the shortest wave'
        findings.append(Finding('good', 'limits_kept', text))
    else:
        text = (
            f'a limit is broken: {search.worst_use:.4g} of the box of the pose is used, and '
            f'{search.constraint_margin:.3g} of an actuator limit or of the singularity guard is '
            'left'
        )
        findings.append(Finding('bad', 'limits_broken', text, 'limits'))
    if search.stopped_by == 'time':
        done = f'{search.evaluations} motions of {len(search.histories)} starts'
        findings.append(time_ran_out(chosen.time_limit, done))
    elif search.stopped_by != 'converged':
        text = f'the last start was ended by its {search.stopped_by}, more of them may find better'
        findings.append(Finding('note', 'search_not_converged', text, 'max_iterations'))
    if chosen.covariance_from is None:
        text = 'all forces count alike: --covariance-from weighs them by their noise'
        findings.append(Finding('note', 'forces_weighed_alike', text, 'covariance_from'))
    return findings


def _values(found: Excitation) -> dict[str, Value]:
    units = {'velocity': 'm/s', 'acceleration': 'm/s^2', 'condition': '', 'period': 's'}
    numbers = {
        'condition_number': found.search.condition_number,
        'log_det': found.search.log_det,
        'period': found.search.trajectory.period,
        **found.use,
    }
    unknown = float('nan')
    return {
        name: Value(
            name,
            value,
            unknown,
            'm' if name.startswith('length') else units.get(name, ''),
            _DESCRIPTIONS[name],
        )
        for name, value in numbers.items()
    }


_DESCRIPTIONS = {
    'condition_number': 'of the regressor with unit columns',
    'log_det': 'of the information (22)',
    'period': 'of the motion',
    'length_min': 'shortest leg',
    'length_max': 'longest leg',
    'velocity': 'fastest leg',
    'acceleration': 'largest of a leg',
    'condition': 'worst of the Jacobian',
}


def _facts(
    found: Excitation, configuration: Configuration, covariance: Array | None
) -> dict[str, Any]:
    """Content of design.json."""
    search, limits = found.search, asdict(configuration.robot.limits)
    return {
        'system': 'parallel',
        'robot': configuration.robot.name,
        'version': __version__,
        'criterion': search.criterion,
        'seed': search.seed,
        'fundamental_hz': search.trajectory.fundamental_hz,
        'harmonics': search.trajectory.harmonics,
        'condition_number': search.condition_number,
        'log_det': search.log_det,
        'evaluations': search.evaluations,
        'stopped_by': search.stopped_by,
        'costs': [list(history) for history in search.histories],
        'use': found.use,
        'limits': limits,
        'force_covariance': None if covariance is None else covariance.tolist(),
    }


def _text(found: Excitation, configuration: Configuration) -> str:
    search, use, limits = found.search, found.use, configuration.robot.limits
    return (
        f'{search.trajectory.harmonics} harmonics of {search.trajectory.fundamental_hz:g} Hz, '
        f'criterion {search.criterion}, seed {search.seed}\n'
        f'condition number {search.condition_number:.5g}, log det {search.log_det:.6g}, '
        f'{search.evaluations} evaluations, stopped by {search.stopped_by}\n'
        f'lengths {use["length_min"]:.4g} to {use["length_max"]:.4g} m (limits '
        f'{limits.length_min:g} to {limits.length_max:g}), rate {use["velocity"]:.4g} m/s '
        f'({limits.velocity:g}), acceleration {use["acceleration"]:.4g} m/s^2 '
        f'({limits.acceleration:g}), Jacobian condition {use["condition"]:.3g} '
        f'({limits.condition:g})\n'
    )
