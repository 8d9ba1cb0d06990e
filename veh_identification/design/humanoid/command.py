"""`veh-id design humanoid`: motions over both feet and each foot that excite every parameter."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from veh_identification.design.humanoid.files import write_design
from veh_identification.design.humanoid.options import DesignOptions, load_options
from veh_identification.design.humanoid.search import Candidate, Search
from veh_identification.design.humanoid.stage import Stage
from veh_identification.design.humanoid.start import make_stages
from veh_identification.design.humanoid.wanted import (
    deviations,
    parse_wants,
    reached,
    sentence,
)
from veh_identification.errors import UsageError
from veh_identification.identification.factor import scaled_condition, triangular_factor
from veh_identification.identification.trajectory import FourierTrajectory
from veh_identification.multibody.base_parameters import structural_base_parameters
from veh_identification.multibody.regressor import Regressor
from veh_identification.runtime.bags import Progress
from veh_identification.systems.humanoid.estimation.prior import links_to_base
from veh_identification.systems.humanoid.robot import load_robot
from veh_identification.types import Array

DENSE = 4  # times the samples of the search, for the last check


def design(
    *,
    out: str | Path,
    criterion: str = 'd_optimal',
    config: str | Path | None = None,
    urdf: str | Path | None = None,
    seed: int = 0,
    starts: int = 2,
    time_limit: float | None = None,
    want: Sequence[str] = (),
) -> str:
    """Design an excitation; writes the folder OUT and returns what to print.

    OUT/trajectory.csv holds time, stage, base pose, zero moment point and joint positions,
    velocities and accelerations, OUT/joint_trajectory.json the joints as a
    trajectory_msgs/JointTrajectory, OUT/fourier.json the coefficients, OUT/summary.json the
    condition numbers, margins and predicted deviations. `want` names deviations to reach,
    NAME=SIZE or NAME=PERCENT%; the search brings the worst of these down instead of `criterion`.
    """
    if urdf is None:
        raise UsageError('design humanoid needs the robot description: --urdf FILE')
    options = load_options(config)
    robot = load_robot(urdf)
    stages = make_stages(robot, options)
    base = structural_base_parameters(Regressor(stages[0].model, rows='base'))
    regressor = Regressor(stages[0].model, rows='base', enabled=list(base.names))
    weights = 1.0 / options.noise(robot.total_mass)
    a_priori = links_to_base(robot, stages[0].model, base) @ np.concatenate(
        [robot.parameters[name] for name in robot.massive]
    )
    wants = parse_wants(want, base.names, a_priori)
    inverse = np.array([1.0 / wants[name] if name in wants else 0.0 for name in base.names])
    used = 'wanted' if wants else criterion.replace('-', '_')
    deadline = np.inf if time_limit is None else time.monotonic() + time_limit
    found: list[tuple[Candidate, Candidate, Search]] = []
    count = max(options.evaluations // starts, 1)
    with Progress('trying motions', unit='motions') as progress:
        for k in range(starts):
            search = Search(
                stages,
                regressor,
                weights,
                used,
                options,
                np.random.default_rng([seed, k]),
                inverse,
            )
            first = search.start()
            best = search.improve(
                first, count, deadline, _shifted(progress, k * count, starts * count)
            )
            found.append((best, first, search))
            if time.monotonic() > deadline:
                break
    best, first, search = min(found, key=lambda one: one[0].cost)
    final = [
        _dense(stage, one, options) for stage, one in zip(stages, best.trajectories, strict=True)
    ]
    summary = summarise(search, first, final, list(base.names), a_priori, seed)
    std = np.array([p['std'] for p in summary['parameters']])
    summary['wanted'] = reached(wants, base.names, std, options.periods)
    summary = write_design(Path(out), stages, final, summary, options)
    return table(summary, Path(out))


def _shifted(progress: Progress, done: int, total: int) -> Any:
    return lambda k, _: progress(done + k, total)


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


def summarise(
    search: Search,
    start: Candidate,
    final: Sequence[FourierTrajectory],
    names: list[str],
    a_priori: Array,
    seed: int,
) -> dict[str, Any]:
    """Condition numbers before and after, margins, predicted deviations."""
    options = search.options
    made = [
        stage.motion(one, DENSE * options.samples)
        for stage, one in zip(search.stages, final, strict=True)
    ]
    rows = [search.rows_of(one) for one in made]
    triangle, before = (triangular_factor(np.concatenate(part)) for part in (rows, start.rows))
    # Rows of a recording are independent at about the rate of its cut-off times three.
    per_period = options.row_rate / options.fundamental_hz * options.periods
    factor = np.sqrt(per_period / (DENSE * options.samples))
    std = deviations(triangle * factor)
    std_before = deviations(before * np.sqrt(per_period / options.samples))
    with np.errstate(divide='ignore', invalid='ignore'):
        percent = 100.0 * std / np.abs(a_priori)
    return {
        'system': 'humanoid',
        'criterion': search.criterion,
        'seed': seed,
        'evaluations': search.evaluations,
        'condition_number': scaled_condition(triangle),
        'condition_number_before': scaled_condition(before),
        'median_std_ratio': float(np.median(std / std_before)),
        'noise': (1.0 / search.weights).tolist(),
        'seconds': float(sum(options.periods * one.period for one in final)),
        'stages': [
            {
                'name': stage.label,
                'margins': stage.margins(one),
                'zmp_margin': stage.point_margin(one.zero_moment_point(stage.model)[0]),
            }
            for stage, one in zip(search.stages, made, strict=True)
        ],
        'parameters': [
            {
                'name': name,
                'a_priori': float(value),
                'std': float(s),
                'rel_std_percent': float(p) if np.isfinite(p) else None,
            }
            for name, value, s, p in zip(names, a_priori, std, percent, strict=True)
        ],
    }


def table(summary: dict[str, Any], out: Path) -> str:
    """What to print."""
    known = [p for p in summary['parameters'] if p['rel_std_percent'] is not None]
    good = sum(p['rel_std_percent'] < 10.0 for p in known)
    lines = [
        f'{out}: {summary["seconds"]:.3g} s of motion, criterion {summary["criterion"]}, seed '
        f'{summary["seed"]}, {summary["evaluations"]} motions tried',
        f'condition number {summary["condition_number_before"]:.4g} of random motions within the '
        f'limits, {summary["condition_number"]:.4g} designed; median standard deviation '
        f'{summary["median_std_ratio"]:.3g} times that before',
        f'{good} of {len(summary["parameters"])} base parameters expected with sigma % < 10',
    ]
    for stage in summary['stages']:
        margins = ', '.join(f'{name} {value:.3g}' for name, value in stage['margins'].items())
        lines.append(
            f'stage {stage["name"]}: zero moment point at least '
            f'{1e3 * stage["zmp_margin"]:.3g} mm inside; room left: {margins}'
        )
    lines.extend(sentence(entry) for entry in summary['wanted'])
    if summary['transitions']:
        worst = min(summary['transitions'], key=lambda part: part['zmp_margin'])
        lines.append(
            f'transitions of {summary["transition_seconds"]:.3g} s: zero moment point at '
            f'least {1e3 * worst["zmp_margin"]:.3g} mm inside ({worst["name"]})'
        )
    return '\n'.join(lines) + '\n'
