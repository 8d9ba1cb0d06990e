"""What a designed motion is expected to bring: summary.json, and text for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from veh_identification.design.humanoid.search import Candidate, Search
from veh_identification.design.humanoid.wanted import deviations
from veh_identification.identification.factor import scaled_condition, triangular_factor
from veh_identification.identification.trajectory import FourierTrajectory
from veh_identification.types import Array

DENSE = 4  # times the samples of the search, for the last check


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
        'parameters': _parameters(names, a_priori, std),
    }


def _parameters(names: list[str], a_priori: Array, std: Array) -> list[dict[str, Any]]:
    with np.errstate(divide='ignore', invalid='ignore'):
        percent = 100.0 * std / np.abs(a_priori)
    return [
        {
            'name': name,
            'a_priori': float(value),
            'std': float(s),
            'rel_std_percent': float(p) if np.isfinite(p) else None,
        }
        for name, value, s, p in zip(names, a_priori, std, percent, strict=True)
    ]


def text(summary: dict[str, Any]) -> str:
    """What to print beside the findings."""
    known = [p for p in summary['parameters'] if p['rel_std_percent'] is not None]
    good = sum(p['rel_std_percent'] < 10.0 for p in known)
    lines = [
        f'{summary["seconds"]:.3g} s of motion, criterion {summary["criterion"]}, seed '
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
    if summary['transitions']:
        worst = min(summary['transitions'], key=lambda part: part['zmp_margin'])
        lines.append(
            f'transitions of {summary["transition_seconds"]:.3g} s: zero moment point at '
            f'least {1e3 * worst["zmp_margin"]:.3g} mm inside ({worst["name"]})'
        )
    return '\n'.join(lines) + '\n'
