"""From what an observer leaves to its outcome: states, innovations, metrics, verdict, files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from veh_identification.findings import Finding
from veh_identification.observation import Innovation
from veh_identification.reporting.content import (
    Colour,
    ErrorRow,
    ExtraTable,
    InnovationSeries,
    ObservationContent,
    Outage,
    Provenance,
    SensorRow,
    StateSeries,
    table,
)
from veh_identification.reporting.health import sensor_health
from veh_identification.reporting.judging.observation import judge
from veh_identification.reporting.series import colour_of, outages
from veh_identification.results.outcome import Outcome
from veh_identification.types import Array


@dataclass(frozen=True, eq=False)
class ObserverRun:
    """An observer's run over a recording, the same for every system."""

    states: tuple[StateSeries, ...]
    innovations: Mapping[str, Sequence[Innovation]]  # by sensor
    metrics: Mapping[str, Any]  # as in metrics.json
    #: Constraints of the model that enter as measurements: they have no outages and no noise.
    pseudo_sensors: frozenset[str] = frozenset()
    gate_probability: float | None = None
    path: tuple[str, str] | None = None  # the two states that make a map
    details: Any = field(default=None, repr=False)  # the system's own run


def observation_outcome(
    run: ObserverRun,
    *,
    system: str,
    title: str,
    bag: Path,
    findings: Sequence[Finding],
    provenance: Provenance,
    body: str,
    files: Mapping[str, bytes | Path] | None = None,
    spool: Any = None,
    inputs: Sequence[Path] = (),
) -> Outcome[ObserverRun]:
    """The outcome of an observer run; the verdict is made here and nowhere else."""
    content = _content(run, system, title, bag, findings, provenance)
    verdict = judge(content)
    document = {**run.metrics, 'verdict': verdict.as_dict(), 'provenance': provenance.as_dict()}
    return Outcome(
        'observe',
        system,
        run,
        verdict,
        provenance,
        {one.name: one for one in run.states},
        body,
        ('metrics.json', document),
        content,
        (),
        files or {},
        (bag, *inputs),
        spool,
    )


def _content(
    run: ObserverRun,
    system: str,
    title: str,
    bag: Path,
    findings: Sequence[Finding],
    provenance: Provenance,
) -> ObservationContent:
    metrics, states = run.metrics, run.states
    series = tuple(
        one
        for name, items in run.innovations.items()
        if (one := innovation_series(name, items)) is not None
    )
    end = max((float(state.time[-1]) for state in states if len(state.time)), default=0.0)
    away = tuple(
        gap
        for one in series
        if one.sensor not in run.pseudo_sensors
        for gap in outages(one.sensor, one.time, one.accepted, end)
    )
    nees = (metrics.get('consistency') or {}).get('nees') or {}
    return ObservationContent(
        title=f'{title}: {bag.name}',
        system=system,
        duration=float(metrics['duration']),
        real_time_factor=float(metrics['real_time_factor']),
        states=tuple(states),
        innovations=series,
        errors=error_rows(metrics, states),
        sensors=tuple(sensor_rows(metrics, series, run.pseudo_sensors)),
        outages=merged(away),
        whiteness=_whiteness(series, run.pseudo_sensors),
        gate_probability=run.gate_probability,
        findings=tuple(findings),
        health=sensor_health([bag]),
        provenance=provenance,
        path=run.path,
        extras=_streams(metrics),
        nees=float(nees.get('average', np.nan)),
        nees_expected=float(nees.get('expected', np.nan)),
    )


def _streams(metrics: Mapping[str, Any]) -> tuple[ExtraTable, ...]:
    """Messages that arrived at an observer, by stream."""
    rows = [{'name': name, **counts} for name, counts in (metrics.get('streams') or {}).items()]
    made = table(
        'Messages',
        'What arrived, and what could not be used.',
        rows,
        {
            'name': 'stream',
            'received': 'received',
            'late': 'late',
            'duplicate': 'duplicate',
            'invalid': 'invalid',
        },
    )
    return () if made is None else (made,)


def innovation_series(name: str, items: Sequence[Innovation]) -> InnovationSeries | None:
    """Innovations of one sensor as arrays, in the order of time."""
    if not items:
        return None
    ordered = sorted(items, key=lambda one: one.time)
    value = np.array([one.value for one in ordered])
    variance = np.array([one.variance for one in ordered])
    with np.errstate(divide='ignore', invalid='ignore'):
        normalised = value / np.sqrt(variance)
        nis = np.array([one.nis for one in ordered]) / np.array(
            [one.degrees for one in ordered], dtype=float
        )
    return InnovationSeries(
        name,
        np.array([one.time for one in ordered]),
        normalised,
        nis,
        np.array([one.degrees for one in ordered], dtype=float),
        np.array([one.accepted for one in ordered], dtype=bool),
    )


def sensor_rows(
    metrics: Mapping[str, Any], series: Sequence[InnovationSeries], pseudo_sensors: frozenset[str]
) -> list[SensorRow]:
    """Counts, rates and consistency of every sensor."""
    by_name = {one.sensor: one for one in series}
    nis = (metrics.get('consistency') or {}).get('nis') or {}
    white = metrics.get('innovation_whiteness') or {}
    rows = []
    for name, counts in metrics['sensors'].items():
        judged = nis.get(name, {})
        tests = white.get(name, [])
        tests = [tests] if isinstance(tests, Mapping) else tests
        one = by_name.get(name)
        rate, pause = _pace(one)
        other = sum(int(counts.get(key, 0)) for key in ('unavailable', 'invalid', 'late'))
        rows.append(
            SensorRow(
                name,
                rate,
                int(counts['used']),
                int(counts['rejected']),
                other,
                float(judged.get('nis', np.nan)),
                float(judged.get('nis_lower', np.nan)),
                float(judged.get('nis_upper', np.nan)),
                tuple(bool(test['white']) for test in tests),
                pause,
                name in pseudo_sensors,
            )
        )
    return rows


def _pace(one: InnovationSeries | None) -> tuple[float, float]:
    """Usual rate and the longest pause between accepted measurements."""
    if one is None or len(one.time) < 2:
        return float('nan'), float('nan')
    step = np.diff(one.time)
    usual = float(np.median(step[step > 0.0])) if np.any(step > 0.0) else float('nan')
    used = one.time[one.accepted]
    return 1.0 / usual, float(np.diff(used).max()) if len(used) > 1 else float('nan')


def error_rows(metrics: Mapping[str, Any], states: Sequence[StateSeries]) -> tuple[ErrorRow, ...]:
    """The thesis' columns with the share of the truth within two deviations."""
    by_name = {state.name: state for state in states}
    rows = []
    for name, row in (metrics.get('coordinates') or {}).items():
        state = by_name.get(name)
        rows.append(
            ErrorRow(
                name,
                '' if state is None else state.unit,
                row['max_obs'],
                row.get('max_model', np.nan),
                row['rms_obs'],
                row.get('rms_model', np.nan),
                float('nan') if state is None else inside(state),
                float('nan') if state is None else in_sigma(state),
                1 if state is None else independent(state),
            )
        )
    listed = {row.name for row in rows}
    # States that the metrics leave out, but whose deviation can be judged.
    rows += [
        errors_of(state)
        for state in states
        if state.name not in listed and np.isfinite(inside(state))
    ]
    return tuple(rows)


def errors_of(state: StateSeries) -> ErrorRow:
    """Largest and rms error of one state against its truth."""

    def size(estimate: Array | None) -> tuple[float, float]:
        if estimate is None or state.truth is None:
            return float('nan'), float('nan')
        gap = np.abs(estimate - state.truth)
        gap = gap[np.isfinite(gap)]
        if not gap.size:
            return float('nan'), float('nan')
        return float(gap.max()), float(np.sqrt(np.mean(np.square(gap))))

    largest, rms = size(state.value)
    largest_model, rms_model = size(state.model)
    return ErrorRow(
        state.name,
        state.unit,
        largest,
        largest_model,
        rms,
        rms_model,
        inside(state),
        in_sigma(state),
        independent(state),
    )


def inside(state: StateSeries) -> float:
    """Share of samples whose truth lies within two standard deviations."""
    ratios = _in_deviations(state)
    return float(np.mean(np.abs(ratios) <= 2.0)) if len(ratios) else float('nan')


def in_sigma(state: StateSeries) -> float:
    """Rms of the error in stated deviations: one where the observer knows how well it does."""
    ratios = _in_deviations(state)
    return float(np.sqrt(np.mean(np.square(ratios)))) if len(ratios) else float('nan')


def independent(state: StateSeries) -> int:
    """Runs of one sign of the error: no more errors than these are independent."""
    signs = np.sign(_in_deviations(state))
    signs = signs[signs != 0.0]
    return 1 + int(np.count_nonzero(np.diff(signs)))


def _in_deviations(state: StateSeries) -> Array:
    if state.std is None or state.truth is None:
        return np.zeros(0)
    known = np.isfinite(state.value - state.truth) & (state.std > 0.0)
    return np.asarray((state.value - state.truth)[known] / state.std[known])


def merged(away: Sequence[Outage]) -> tuple[Outage, ...]:
    """Sensors that fail together share one shaded time."""
    found: list[Outage] = []
    for one in sorted(away, key=lambda gap: (gap.begin, gap.end)):
        same = next(
            (
                k
                for k, other in enumerate(found)
                if abs(other.begin - one.begin) < 0.3 and abs(other.end - one.end) < 0.3
            ),
            None,
        )
        if same is None:
            found.append(one)
        elif one.sensor not in found[same].sensor.split(', '):
            found[same] = replace(found[same], sensor=f'{found[same].sensor}, {one.sensor}')
    return tuple(found)


def at(time: Array, known_time: Array, known: Array) -> Array:
    """A known series at other times; nan outside of it."""
    return np.asarray(np.interp(time, known_time, known, left=np.nan, right=np.nan))


def _whiteness(
    series: Sequence[InnovationSeries], pseudo_sensors: frozenset[str]
) -> tuple[Colour, ...]:
    found: list[Colour | None] = []
    for one in series:
        if one.sensor in pseudo_sensors:
            continue
        for k in range(one.normalised.shape[1]):
            good = one.accepted & np.isfinite(one.normalised[:, k])
            values = one.normalised[good, k]
            name = one.sensor if one.normalised.shape[1] == 1 else f'{one.sensor} {k + 1}'
            # By number, not by time: the test asks for a sequence, not for a clock.
            found.append(colour_of(name, '-', np.arange(float(len(values))), values))
    return tuple(one for one in found if one is not None)
