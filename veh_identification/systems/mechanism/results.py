"""What a run of a mechanism leaves: samples, observed topics, figures and states."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from veh_identification.observation import Innovation, ObserverAnalysis
from veh_identification.reporting.content import StateSeries
from veh_identification.results.observation import at
from veh_identification.runtime.messages import header, new
from veh_identification.systems.mechanism.configuration import Description
from veh_identification.systems.mechanism.model import Mechanism
from veh_identification.systems.mechanism.online import MechanismSession
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


@dataclass
class Run:
    """Steps of an observer, or of the model alone; the sample axis is first."""

    stamps: list[int] = field(default_factory=list)
    q: list[Array] = field(default_factory=list)
    qd: list[Array] = field(default_factory=list)
    covariance: list[Array] = field(default_factory=list)  # of independent places and rates
    force: list[Array] = field(default_factory=list)  # estimated errors of the forces
    innovations: dict[str, list[Innovation]] = field(default_factory=dict)
    session: MechanismSession | None = None  # of the last step

    def store(self, session: MechanismSession, end_ns: int, found: Sequence[Innovation]) -> None:
        """Keep a step."""
        size = 2 * session.observed.size
        self.session = session
        self.stamps.append(end_ns)
        self.q.append(session.model.q.copy())
        self.qd.append(session.model.qd.copy())
        self.covariance.append(session.filter.P[:size, :size].copy())
        self.force.append(session.observed.force_error.copy())
        for innovation in found:
            self.innovations.setdefault(innovation.sensor, []).append(innovation)

    @property
    def times(self) -> Array:
        """Seconds since the first step."""
        return np.asarray((np.array(self.stamps) - self.stamps[0]) * 1e-9, dtype=float)

    @property
    def levels(self) -> tuple[Array, Array]:
        """Positions and rates of all natural coordinates."""
        return np.array(self.q), np.array(self.qd)


@dataclass(frozen=True)
class Shown:
    """A quantity that is shown: its names at two levels, its column and its meaning."""

    name: str
    column: int
    angle: bool
    place: int = -1  # among the independent coordinates
    point: bool = False

    def title(self, level: int) -> str:
        """Of its place or its rate."""
        if level == 0:
            return self.name
        return f'v{self.name}' if self.point else f'{self.name} rate'

    def unit(self, level: int) -> str:
        """Of its place or its rate."""
        return ('rad' if self.angle else 'm') + ('' if level == 0 else '/s')


def shown(mechanism: Mechanism) -> list[Shown]:
    """Independent coordinates, then the others and the points."""
    found = mechanism.description
    own = [
        Shown(name, mechanism.columns[name], found.coordinates[name].kind == 'angle', k)
        for k, name in enumerate(found.independent)
    ]
    taken = {one.column for one in own}
    others = {column: name for name, column in mechanism.columns.items()}
    for column, name in enumerate(mechanism.names):
        if column in taken:
            continue
        called = others.get(column)
        if called is None:
            own.append(Shown(name, column, False, point=True))
        else:
            angle = found.coordinates[called].kind == 'angle'
            own.append(Shown(called, column, angle))
    return own


def joints_message(mechanism: Mechanism, stamp_ns: int, q: Array, qd: Array) -> Any:
    """sensor_msgs/msg/JointState: the points and the coordinates."""
    return new(
        'sensor_msgs/msg/JointState',
        header=header(stamp_ns, ''),
        name=list(mechanism.names),
        position=q,
        velocity=qd,
    )


def truth_of(
    one: Shown, level: int, mechanism: Mechanism, truth: Mapping[str, Array], first: float
) -> Array | None:
    """The true series of a quantity; angles on the turn of the estimate."""
    kind = ('position', 'velocity')[level]
    name = mechanism.names[one.column]
    exact = truth.get(f'{kind}[{one.name}]', truth.get(f'{kind}[{name}]'))
    if exact is None or not one.angle or level:
        return exact
    unwrapped = np.unwrap(exact)
    return np.asarray(unwrapped + 2 * np.pi * np.round((first - unwrapped[0]) / (2 * np.pi)))


def error_tables(
    mechanism: Mechanism,
    run: Run,
    truth: Mapping[str, Array],
    alone: tuple[Array, Array] | None,
) -> dict[str, dict[str, dict[str, float]]]:
    """Errors over the whole run and after the first second."""
    times, levels = run.times, run.levels
    tables: dict[str, dict[str, dict[str, float]]] = {'coordinates': {}, 'after_one_second': {}}
    for title, begin in (('coordinates', times[0]), ('after_one_second', times[0] + 1.0)):
        inside = (truth['time'] >= begin) & (truth['time'] <= times[-1])
        if not inside.any():
            continue
        for level in (0, 1):
            for one in shown(mechanism):
                exact = truth_of(one, level, mechanism, truth, levels[0][0, one.column])
                if exact is None:
                    continue
                gaps = [
                    None
                    if values is None
                    else np.interp(truth['time'][inside], times, values[level][:, one.column])
                    - exact[inside]
                    for values in (levels, alone)
                ]
                assert gaps[0] is not None
                tables[title][one.title(level)] = error_columns(gaps[0], gaps[1])
    return tables


def judged(innovations: Mapping[str, Sequence[Innovation]]) -> dict[str, Any]:
    """Whiteness and NIS of every sensor after the start has been forgotten."""
    white: dict[str, Any] = {}
    nis: dict[str, Any] = {}
    for name, items in innovations.items():
        used = [one for one in items if one.accepted]
        settled = judge_innovations(used[min(len(used) // START_SHARE, START_MOST) :])
        if settled['samples'] < FEWEST or not settled['whiteness']:
            continue
        tests = settled['whiteness']
        white[name] = tests[0] if len(tests) == 1 else tests
        nis[name] = {k: settled[k] for k in ('nis', 'nis_lower', 'nis_upper')}
    result: dict[str, Any] = {'consistency': {'nis': nis}}
    return {'innovation_whiteness': white, **result} if white else result


def nees(mechanism: Mechanism, run: Run, truth: Mapping[str, Array]) -> dict[str, float] | None:
    """Average NEES of the independent coordinates and rates after the first second."""
    times, levels = run.times, run.levels
    own = [one for one in shown(mechanism) if one.place >= 0]
    columns = []
    for level in (0, 1):
        for one in own:
            exact = truth_of(one, level, mechanism, truth, levels[0][0, one.column])
            if exact is None:
                return None
            columns.append(levels[level][:, one.column] - at(times, truth['time'], exact))
    gaps = np.stack(columns, axis=1)
    good = np.isfinite(gaps).all(axis=1) & (times >= times[0] + 1.0)
    if not good.any():
        return None
    P = np.array(run.covariance)[good]
    solved = np.linalg.solve(P, gaps[good][:, :, None])[:, :, 0]
    return {
        'average': float(np.mean(np.sum(gaps[good] * solved, axis=1))),
        'expected': float(gaps.shape[1]),
        'samples': int(good.sum()),
    }


def text_of(metrics: Mapping[str, Any], analysis: ObserverAnalysis, mechanism: Mechanism) -> str:
    """What a terminal shows between the lines of the verdict."""
    lines = []
    units = {one.title(level): one.unit(level) for one in shown(mechanism) for level in (0, 1)}
    for title in ('coordinates', 'after_one_second'):
        if metrics.get(title):
            lines += error_lines(title, metrics[title], units)
    for name, tests in metrics.get('innovation_whiteness', {}).items():
        for white in tests if isinstance(tests, list) else [tests]:
            lines.append(
                f'{name}: innovation {"white" if white["white"] else "not white"} '
                f'({white["statistic"]:.4f}, 5 % band {white["band"]:.4f})'
            )
    average = (metrics['consistency'].get('nees') or {}).get('average')
    if average is not None:
        expected = metrics['consistency']['nees']['expected']
        lines.append(f'NEES after one second: {average:.3g}, expected {expected:g}')
    if 'force_error' in metrics:
        told = ', '.join(f'{name} {one:.4g}' for name, one in metrics['force_error'].items())
        lines.append(f'unknown force at the end: {told}')
    lines += [
        *sensor_lines(metrics),
        *adaptive_lines(metrics),
        *analysis.lines(),
        speed_line(metrics),
    ]
    return '\n'.join(lines)


def states_of(
    mechanism: Mechanism,
    run: Run,
    truth: Mapping[str, Array],
    alone: tuple[Array, Array] | None,
) -> tuple[StateSeries, ...]:
    """Independent coordinates and rates with their deviations, then all others."""
    times, levels = run.times, run.levels
    spread = np.sqrt(np.maximum(np.einsum('nii->ni', np.array(run.covariance)), 0.0))
    size = len(mechanism.description.independent)
    states = []
    for independent in (True, False):
        for level in (0, 1):
            for one in shown(mechanism):
                if (one.place >= 0) != independent:
                    continue
                exact = truth_of(one, level, mechanism, truth, levels[0][0, one.column])
                states.append(
                    StateSeries(
                        one.title(level),
                        one.unit(level),
                        times,
                        levels[level][:, one.column],
                        spread[:, level * size + one.place] if independent else None,
                        None if exact is None else at(times, truth['time'], exact),
                        None if alone is None else alone[level][:, one.column],
                        folded=not independent,
                    )
                )
    return tuple(states)


def glossary_of(description: Description) -> dict[str, str]:
    """What the names of a mechanism mean."""
    found = {}
    for name, one in description.coordinates.items():
        what = getattr(one, one.kind)
        found[name] = f'{one.kind} of {" and ".join(what) if isinstance(what, tuple) else what}'
    return found
