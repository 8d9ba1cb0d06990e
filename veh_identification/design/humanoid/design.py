"""`veh-id design humanoid`: motions over both feet and each foot that excite every parameter."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from veh_identification.design.base import Design, DesignTask, time_ran_out
from veh_identification.design.excitation import CRITERIA
from veh_identification.design.humanoid.files import NAMES, design_files
from veh_identification.design.humanoid.options import DesignOptions, load_options
from veh_identification.design.humanoid.search import Candidate, Search
from veh_identification.design.humanoid.sequence import balanced
from veh_identification.design.humanoid.stage import Stage
from veh_identification.design.humanoid.start import make_stages
from veh_identification.design.humanoid.summary import DENSE, summarise, text
from veh_identification.design.humanoid.wanted import finding, reached, wants_of
from veh_identification.errors import UsageError
from veh_identification.findings import Finding, verdict_of
from veh_identification.identification.trajectory import FourierTrajectory
from veh_identification.multibody.base_parameters import structural_base_parameters
from veh_identification.multibody.inertia import PARAMETER_NAMES, PARAMETER_UNITS
from veh_identification.multibody.regressor import Regressor
from veh_identification.results.outcome import Outcome, Value
from veh_identification.results.provenance import provenance
from veh_identification.systems.humanoid.estimation.prior import links_to_base
from veh_identification.systems.humanoid.robot import Robot, load_robot
from veh_identification.systems.options import option
from veh_identification.types import Array, Progress


@dataclass(frozen=True)
class HumanoidDesignOptions:
    """Options of `design humanoid`; limits of the motion stand in the configuration."""

    urdf: Path | None = option(None, 'robot description', metavar='FILE')
    criterion: str = option(
        'd_optimal',
        'condition number, or determinant of the information',
        choices=CRITERIA,
    )
    want: tuple[str, ...] = option(
        (),
        'standard deviation to reach, in percent (base_link.MSz=2%) or in its unit; the worst of '
        'these is then brought down instead of the criterion',
        metavar='NAME=SIGMA',
    )
    starts: int = option(4, 'independent starts of the search', minimum=1)
    seed: int = option(0, 'of the search', minimum=0)
    workers: int = option(
        1, 'processes that the starts are spread over, 0: all cores', metavar='N', minimum=0
    )
    time_limit: float = option(120.0, 'for the whole search, 0: none, s', metavar='S', minimum=0.0)


@dataclass(frozen=True, eq=False)
class HumanoidMotion:
    """The designed motion of every stage, and what it is expected to bring."""

    trajectories: dict[str, FourierTrajectory]  # by stage
    summary: dict[str, Any]  # as in summary.json
    cost: float = np.inf  # of the criterion


@dataclass(frozen=True, eq=False)
class _Problem:
    """What is to be excited, and by what."""

    stages: list[Stage]
    names: list[str]  # of the base parameters
    a_priori: Array
    regressor: Regressor
    weights: Array  # (6,) one over the noise
    wants: dict[str, float]
    criterion: str

    @property
    def inverse_wants(self) -> Array:
        """One over the wanted deviations, zero where none is wanted."""
        return np.array([1.0 / self.wants[n] if n in self.wants else 0.0 for n in self.names])


@dataclass(frozen=True, eq=False)
class _Found:
    """The best of all starts."""

    best: Candidate
    first: Candidate
    search: Search
    starts: int
    in_time: bool


class HumanoidDesign(Design[DesignOptions, HumanoidMotion]):
    """Motions of a humanoid whose supporting feet stay where they are."""

    name: ClassVar[str] = 'humanoid'
    options: ClassVar[type] = HumanoidDesignOptions
    files: ClassVar[tuple[str, ...]] = ('summary.json', *NAMES)

    def configure(self, path: Path | None) -> DesignOptions:
        """Limits and budget of a file, or the defaults."""
        return load_options(path)

    def cost(self, result: HumanoidMotion) -> float:
        """Of the criterion."""
        return result.cost

    def design(self, task: DesignTask[DesignOptions]) -> Outcome[HumanoidMotion]:
        """Search, check between the samples, join the stages."""
        chosen: HumanoidDesignOptions = task.options
        if chosen.urdf is None:
            raise UsageError('design humanoid needs the robot description: --urdf FILE')
        problem = _problem(load_robot(chosen.urdf), task.config, chosen)
        found = _search(problem, task.config, chosen, task.progress, task.only)
        final = [
            _dense(stage, one, task.config)
            for stage, one in zip(problem.stages, found.best.trajectories, strict=True)
        ]
        summary = summarise(
            found.search, found.first, final, problem.names, problem.a_priori, chosen.seed
        )
        std = np.array([p['std'] for p in summary['parameters']])
        summary['wanted'] = reached(problem.wants, problem.names, std, task.config.periods)
        parts, checked, slowed = balanced(problem.stages, final, task.config)
        summary |= {'transition_seconds': slowed.transition, 'transitions': checked.parts}
        verdict = verdict_of(
            _findings(summary, found, chosen),
            yes='the motion keeps all limits and the robot upright',
        )
        return Outcome(
            'design',
            self.name,
            HumanoidMotion(
                {stage.label: one for stage, one in zip(problem.stages, final, strict=True)},
                summary,
                found.best.cost,
            ),
            verdict,
            provenance('design', self.name, task.arguments, {'stages': summary['stages']}),
            _values(summary),
            text(summary),
            ('summary.json', {**summary, 'verdict': verdict.as_dict()}),
            files=design_files(problem.stages, final, parts, checked, slowed.rate_hz),
            inputs=task.inputs,
        )


def _problem(robot: Robot, options: DesignOptions, chosen: HumanoidDesignOptions) -> _Problem:
    stages = make_stages(robot, options)
    base = structural_base_parameters(Regressor(stages[0].model, rows='base'))
    a_priori = links_to_base(robot, stages[0].model, base) @ np.concatenate(
        [robot.parameters[name] for name in robot.massive]
    )
    wants = wants_of(chosen.want, base.names, a_priori)
    return _Problem(
        stages,
        list(base.names),
        a_priori,
        Regressor(stages[0].model, rows='base', enabled=list(base.names)),
        1.0 / options.noise(robot.total_mass),
        wants,
        'wanted' if wants else chosen.criterion,
    )


def _search(
    problem: _Problem,
    options: DesignOptions,
    chosen: HumanoidDesignOptions,
    progress: Progress | None,
    only: int | None = None,
) -> _Found:
    """The best of several random starts, or one of them."""
    deadline = time.monotonic() + chosen.time_limit if chosen.time_limit else np.inf
    count = max(options.evaluations // chosen.starts, 1)
    starts = range(chosen.starts) if only is None else (only,)
    total = len(starts)
    found: list[tuple[Candidate, Candidate, Search]] = []
    for done, k in enumerate(starts):
        search = Search(
            problem.stages,
            problem.regressor,
            problem.weights,
            problem.criterion,
            options,
            np.random.default_rng([chosen.seed, k]),
            problem.inverse_wants,
        )
        first = search.start()
        best = search.improve(first, count, deadline, _part(progress, done * count, total * count))
        found.append((best, first, search))
        if time.monotonic() > deadline:
            break
    in_time = sum(search.evaluations for *_, search in found) == total * count
    return _Found(*min(found, key=lambda one: one[0].cost), len(found), in_time)


def _part(progress: Progress | None, done: int, total: int) -> Progress | None:
    """Progress of one start of several."""
    return None if progress is None else lambda k, _: progress(done + k, total)


def _dense(
    stage: Stage, trajectory: FourierTrajectory, options: DesignOptions
) -> FourierTrajectory:
    """The trajectory, shrunk a little if limits are broken between the samples of the search."""
    for scale in (1.0, 0.98, 0.95, 0.9, 0.8, 0.6):
        one = trajectory.scaled(scale, stage.home)
        if stage.checked(one, DENSE * options.samples) is not None:
            return one
    raise UsageError(
        f'stage {stage.label}: the motion found breaks limits between its samples; '
        'raise samples in the configuration'
    )


def _findings(
    summary: dict[str, Any], found: _Found, chosen: HumanoidDesignOptions
) -> list[Finding]:
    closest = min(stage['zmp_margin'] for stage in summary['stages'])
    kept = (
        'all limits hold between the samples too; the zero moment point stays at least '
        f'{1e3 * closest:.3g} mm inside the soles'
    )
    findings = [
        *(finding(entry) for entry in summary['wanted']),
        Finding('good', 'limits_kept', kept),
    ]
    if not found.in_time:
        done = f'{found.search.evaluations} motions in the best of {found.starts} starts'
        findings.append(time_ran_out(chosen.time_limit, done))
    return findings


def _values(summary: dict[str, Any]) -> dict[str, Value]:
    """The base parameters as the URDF has them, with the deviations that are expected."""
    units = dict(zip(PARAMETER_NAMES, PARAMETER_UNITS, strict=True))
    return {
        p['name']: Value(
            p['name'],
            p['a_priori'],
            p['std'],
            units.get(p['name'].rpartition('.')[2], ''),
            'value of the robot description, with the deviation that is expected',
            p['a_priori'],
        )
        for p in summary['parameters']
    }
