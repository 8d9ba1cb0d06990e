"""What a run of the linkage leaves: samples, observed topics, figures and states."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from veh_identification.observation import Innovation, ObserverAnalysis
from veh_identification.reporting.content import StateSeries
from veh_identification.results.observation import at
from veh_identification.runtime.messages import header, new
from veh_identification.systems.four_bar.filter_setup import CRANK
from veh_identification.systems.four_bar.model import COORDINATES
from veh_identification.systems.four_bar.online import FourBarSession
from veh_identification.systems.observing.figures import (
    FEWEST,
    adaptive_lines,
    error_columns,
    error_lines,
    judge_innovations,
    sensor_lines,
    speed_line,
)
from veh_identification.types import Array

#: Innovations of the start say how wrong it was, not how good the filter is.
START_SHARE, START_MOST = 5, 200
GLOSSARY = {
    'crank': 'angle of the crank, counter-clockwise from x',
    'crank rate': 'turning rate of the crank',
    **{
        f'{prefix}{axis}{pin}': f'{words} of pin {pin} along {axis}'
        for prefix, words in (('', 'place'), ('v', 'velocity'))
        for pin in '12'
        for axis in 'xy'
    },
}


@dataclass
class Run:
    """Steps of an observer, or of the model alone; the sample axis is first."""

    stamps: list[int] = field(default_factory=list)
    q: list[Array] = field(default_factory=list)
    qd: list[Array] = field(default_factory=list)
    covariance: list[Array] = field(default_factory=list)  # (2, 2) of the crank's angle and rate
    innovations: dict[str, list[Innovation]] = field(default_factory=dict)

    def store(self, session: FourBarSession, end_ns: int, found: Sequence[Innovation]) -> None:
        """Keep a step."""
        self.stamps.append(end_ns)
        self.q.append(session.model.q.copy())
        self.qd.append(session.model.qd.copy())
        self.covariance.append(session.filter.P[:2, :2].copy())
        for innovation in found:
            self.innovations.setdefault(innovation.sensor, []).append(innovation)

    @property
    def times(self) -> Array:
        """Seconds since the first step."""
        return np.asarray((np.array(self.stamps) - self.stamps[0]) * 1e-9, dtype=float)

    @property
    def levels(self) -> tuple[Array, Array]:
        """Positions and rates (N, 5)."""
        return np.array(self.q), np.array(self.qd)


def joints_message(stamp_ns: int, q: Array, qd: Array) -> Any:
    """sensor_msgs/msg/JointState: points 1 and 2 and the crank angle."""
    return new(
        'sensor_msgs/msg/JointState',
        header=header(stamp_ns, ''),
        name=[*COORDINATES, 'crank'],
        position=q,
        velocity=qd,
    )


def error_tables(
    times: Array,
    truth: Mapping[str, Array],
    observer: tuple[Array, Array],
    model: tuple[Array, Array] | None,
) -> dict[str, dict[str, dict[str, float]]]:
    """Errors over the whole run and after the first second."""
    tables: dict[str, dict[str, dict[str, float]]] = {'coordinates': {}, 'after_one_second': {}}
    for name, begin in (('coordinates', times[0]), ('after_one_second', times[0] + 1.0)):
        inside = (truth['time'] >= begin) & (truth['time'] <= times[-1])
        if not inside.any():
            continue
        for prefix, kind, level in (('', 'position', 0), ('v', 'velocity', 1)):
            for column, coordinate in enumerate(COORDINATES):
                exact = truth[f'{kind}[{coordinate}]'][inside]
                gaps = [
                    None
                    if run is None
                    else np.interp(truth['time'][inside], times, run[level][:, column]) - exact
                    for run in (observer, model)
                ]
                assert gaps[0] is not None
                tables[name][prefix + coordinate] = error_columns(gaps[0], gaps[1])
    return tables


def judged(innovations: Mapping[str, Sequence[Innovation]]) -> dict[str, Any]:
    """Whiteness and NIS of the encoder after the start has been forgotten."""
    used = [one for one in innovations.get('encoder', ()) if one.accepted]
    settled = judge_innovations(used[min(len(used) // START_SHARE, START_MOST) :])
    if settled['samples'] < FEWEST or not settled['whiteness']:
        return {'consistency': {'nis': {}}}
    return {
        'innovation_whiteness': {'encoder': settled['whiteness'][0]},
        'consistency': {
            'nis': {'encoder': {k: settled[k] for k in ('nis', 'nis_lower', 'nis_upper')}}
        },
    }


def text_of(metrics: Mapping[str, Any], analysis: ObserverAnalysis) -> str:
    """What a terminal shows between the lines of the verdict."""
    lines = []
    for title in ('coordinates', 'after_one_second'):
        if metrics.get(title):
            lines += error_lines(title, metrics[title])
    white = metrics.get('innovation_whiteness', {}).get('encoder')
    if white:
        lines.append(
            f'innovation {"white" if white["white"] else "not white"} '
            f'({white["statistic"]:.4f}, 5 % band {white["band"]:.4f})'
        )
    lines += [
        *sensor_lines(metrics),
        *adaptive_lines(metrics),
        *analysis.lines(),
        speed_line(metrics),
    ]
    return '\n'.join(lines)


def _crank_truth(
    times: Array, angle: Array, truth: Mapping[str, Array]
) -> tuple[Array | None, Array | None]:
    """Angle and rate of the crank, which turns about the origin, from its pin."""
    if not truth:
        return None, None
    x, y, vx, vy = (
        truth[f'{kind}[{name}]'] for kind in ('position', 'velocity') for name in ('x1', 'y1')
    )
    exact = np.unwrap(np.arctan2(y, x))
    exact = exact + 2 * np.pi * np.round((angle[0] - exact[0]) / (2 * np.pi))
    return at(times, truth['time'], exact), at(
        times, truth['time'], (x * vy - y * vx) / (x * x + y * y)
    )


def states_of(
    run: Run, truth: Mapping[str, Array], alone: tuple[Array, Array] | None
) -> tuple[StateSeries, ...]:
    """Crank angle and rate with their deviations, then the two pins."""
    times, levels = run.times, run.levels
    spread = np.sqrt(np.maximum(np.einsum('nii->ni', np.array(run.covariance)), 0.0))
    exact = _crank_truth(times, levels[0][:, CRANK], truth)
    states = [
        StateSeries(
            name,
            unit,
            times,
            levels[level][:, CRANK],
            spread[:, level],
            exact[level],
            None if alone is None else alone[level][:, CRANK],
        )
        for level, (name, unit) in enumerate((('crank', 'rad'), ('crank rate', 'rad/s')))
    ]
    for prefix, kind, level, unit in (('', 'position', 0, 'm'), ('v', 'velocity', 1, 'm/s')):
        for k, name in enumerate(COORDINATES):
            known = truth.get(f'{kind}[{name}]')
            states.append(
                StateSeries(
                    prefix + name,
                    unit,
                    times,
                    levels[level][:, k],
                    None,
                    None if known is None else at(times, truth['time'], known),
                    None if alone is None else alone[level][:, k],
                    folded=True,
                )
            )
    return tuple(states)
