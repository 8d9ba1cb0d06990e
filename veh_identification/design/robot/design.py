"""`veh-id design robot`: a periodic motion that excites an arm within its limits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from veh_identification._version import __version__
from veh_identification.design.base import Design, DesignTask, time_ran_out
from veh_identification.design.excitation import (
    CRITERIA,
    DesignProblem,
    ExcitationDesign,
    design_excitation,
)
from veh_identification.errors import UsageError
from veh_identification.findings import Finding, verdict_of
from veh_identification.identification.trajectory import MotionLimits
from veh_identification.results.outcome import Outcome, Value
from veh_identification.results.provenance import provenance
from veh_identification.systems.humanoid.robot import Robot, load_robot, parse_xml
from veh_identification.systems.options import option
from veh_identification.systems.robot.configuration import Configuration, load_configuration
from veh_identification.systems.robot.model import ArmModel, Dry, fixed_tree
from veh_identification.types import Array

#: Speed over which dry friction changes its sign in the judged rows, as a share of the limit.
WIDTH_SHARE = 0.02


@dataclass(frozen=True)
class RobotDesignOptions:
    """Options of `design robot`."""

    urdf: Path | None = option(None, 'the robot with its joint limits (needed)')
    criterion: str = option(
        'condition', 'condition number, or determinant of the information', choices=CRITERIA
    )
    fundamental_hz: tuple[float, ...] = option(
        (0.1,), 'fundamental, several are tried in turn over the starts, Hz', metavar='HZ'
    )
    harmonics: int = option(5, 'harmonics', metavar='N', minimum=1)
    samples: int = option(60, 'samples of a period at which the motion is judged', minimum=3)
    limit_share: float = option(
        0.8, 'of the range, speed and torque of the URDF that may be used', minimum=0.05
    )
    acceleration: float = option(
        5.0, 'largest of each joint, rad/s^2 or m/s^2', metavar='A', minimum=0.01
    )
    starts: int = option(2, 'independent starts of the search', minimum=1)
    seed: int = option(0, 'of the starts', minimum=0)
    max_iterations: int = option(20, 'iterations of every start', minimum=1)
    workers: int = option(
        1, 'processes that the starts are spread over, 0: all cores', metavar='N', minimum=0
    )
    time_limit: float = option(120.0, 'for the whole search, 0: none, s', metavar='S', minimum=0.0)


class RobotDesign(Design[Configuration, ExcitationDesign]):
    """Excitation of an arm: Fourier series under limits of position, speed, torque."""

    name: ClassVar[str] = 'robot'
    options: ClassVar[type] = RobotDesignOptions
    files: ClassVar[tuple[str, ...]] = ('design.json', 'trajectory.yaml')
    single_file_endings: ClassVar[tuple[str, ...]] = ('.yaml', '.yml', '.json')

    def configure(self, path: Path | None) -> Configuration:
        """The configuration of `identify robot`: friction terms, gravity, joints held still."""
        return load_configuration(path)

    def cost(self, result: ExcitationDesign) -> float:
        """Of the criterion."""
        return result.cost

    def single_file(self, result: ExcitationDesign, ending: str) -> str:
        """The trajectory."""
        return result.trajectory.to_text(ending)

    def design(self, task: DesignTask[Configuration]) -> Outcome[ExcitationDesign]:
        """The best motion of several starts."""
        chosen: RobotDesignOptions = task.options
        if chosen.urdf is None:
            raise UsageError('design robot needs the robot description: --urdf FILE')
        model = _model(load_robot(chosen.urdf), task.config)
        limits, torque = _limits(model, chosen)
        widths = tuple(Dry(float(WIDTH_SHARE * v)) for v in np.asarray(limits.velocity_max))
        problem = DesignProblem(
            lambda q, qd, qdd: np.concatenate(
                [model.linear_rows(q, qd, qdd), model.friction_rows(q, qd, qdd, widths)], axis=2
            )[:, model.measured],
            limits,
            len(model.joints),
            chosen.harmonics,
            chosen.samples,
            chosen.criterion,
            constraints=[lambda q, qd, qdd: 1.0 - np.abs(_torque(model, q, qd, qdd)) / torque],
            names=tuple(model.joints),
        )
        found = design_excitation(
            problem,
            chosen.fundamental_hz,
            starts=chosen.starts,
            seed=chosen.seed,
            max_iterations=chosen.max_iterations,
            time_limit=chosen.time_limit or None,
            progress=task.progress,
            only=task.only,
        )
        verdict = verdict_of(
            _findings(found, chosen),
            yes='the motion keeps its limits and excites every parameter',
            no='this motion must not be run',
        )
        facts = _facts(found, model, chosen)
        return Outcome(
            'design',
            self.name,
            found,
            verdict,
            provenance('design', self.name, task.arguments, facts),
            _values(found),
            _text(found, model, torque),
            ('design.json', {**facts, 'verdict': verdict.as_dict()}),
            files={'trajectory.yaml': self.single_file(found, '.yaml').encode()},
            inputs=task.inputs,
        )


def _model(robot: Robot, configuration: Configuration) -> ArmModel:
    tree = fixed_tree(robot, configuration.locked_joints)
    used = np.array([name not in configuration.without_effort for name in tree.coordinate_names])
    return ArmModel(robot, tree, np.array(configuration.gravity), used, configuration)


def _torque(model: ArmModel, q: Array, qd: Array, qdd: Array) -> Array:
    """What the URDF's masses ask of the joints."""
    W = model.regressor.compute(model.motion(q, qd, qdd))
    return np.asarray(W @ model.regressor.columns.values(model.tree))


def _limits(model: ArmModel, chosen: RobotDesignOptions) -> tuple[MotionLimits, Array]:
    """Of the URDF, each a share of it; a joint without a limit element is refused."""
    found = {}
    for joint in parse_xml(model.robot.text, model.robot.path).findall('joint'):
        limit = joint.find('limit')
        if limit is not None:
            keys = ('lower', 'upper', 'velocity', 'effort')
            found[joint.get('name', '')] = [float(limit.get(key, 0.0)) for key in keys]
    lacking = [name for name in model.joints if name not in found or min(found[name][2:]) <= 0.0]
    if lacking:
        raise UsageError(
            f'{model.robot.path}: joint {lacking[0]} has no limit element with velocity and '
            'effort above zero, which a motion must keep'
        )
    low, high, velocity, effort = (
        np.array([found[name][k] for name in model.joints]) for k in range(4)
    )
    free = high <= low  # continuous joints turn as far as one likes
    low, high = np.where(free, -np.pi, low), np.where(free, np.pi, high)
    middle, half = 0.5 * (low + high), 0.5 * (high - low) * chosen.limit_share
    share = chosen.limit_share
    motion = MotionLimits(middle - half, middle + half, share * velocity, chosen.acceleration)
    return motion, share * effort


def _findings(found: ExcitationDesign, chosen: RobotDesignOptions) -> Sequence[Finding]:
    findings = []
    if found.limits_hold:
        findings.append(Finding('good', 'limits_kept', 'all limits hold on a dense grid'))
    else:
        text = (
            f'a limit is broken: {found.worst_use:.4g} of position, speed or acceleration is '
            f'used, {found.constraint_margin:.3g} of the torque is left'
        )
        findings.append(Finding('bad', 'limits_broken', text, 'limits'))
    if found.stopped_by == 'time':
        done = f'{found.evaluations} motions of {len(found.histories)} starts'
        findings.append(time_ran_out(chosen.time_limit, done))
    text = 'collisions with itself and the surroundings are not looked at: check the motion'
    findings.append(Finding('note', 'collisions_not_checked', text))
    return findings


def _values(found: ExcitationDesign) -> dict[str, Value]:
    unknown = float('nan')
    about = {
        'condition_number': (found.condition_number, '', 'of the regressor with unit columns'),
        'log_det': (found.log_det, '', 'of the information'),
        'period': (found.trajectory.period, 's', 'of the motion'),
    }
    return {name: Value(name, v, unknown, unit, text) for name, (v, unit, text) in about.items()}


def _facts(found: ExcitationDesign, model: ArmModel, chosen: RobotDesignOptions) -> dict[str, Any]:
    """Content of design.json."""
    return {
        'system': 'robot',
        'robot': model.tree.name,
        'version': __version__,
        'criterion': found.criterion,
        'seed': found.seed,
        'fundamental_hz': found.trajectory.fundamental_hz,
        'harmonics': found.trajectory.harmonics,
        'condition_number': found.condition_number,
        'log_det': found.log_det,
        'evaluations': found.evaluations,
        'stopped_by': found.stopped_by,
        'limit_share': chosen.limit_share,
    }


def _text(found: ExcitationDesign, model: ArmModel, torque: Array) -> str:
    times = found.trajectory.sample_times(400)
    q, qd, qdd = found.trajectory.evaluate(times)
    tau = np.abs(_torque(model, q, qd, qdd)).max(axis=0)
    lines = [
        f'{found.trajectory.harmonics} harmonics of {found.trajectory.fundamental_hz:g} Hz, '
        f'criterion {found.criterion}, seed {found.seed}',
        f'condition number {found.condition_number:.5g}, {found.evaluations} evaluations, '
        f'stopped by {found.stopped_by}',
    ]
    lines += [
        f'{name}: {q[:, j].min():.3g} to {q[:, j].max():.3g}, speed {np.abs(qd[:, j]).max():.3g}, '
        f'torque of the URDF {tau[j]:.3g} of {torque[j]:.3g}'
        for j, name in enumerate(model.joints)
    ]
    return '\n'.join(lines) + '\n'
