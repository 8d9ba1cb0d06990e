"""Content of the report from what an identification leaves: its result and its bag."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from veh_identification.identification import IdentificationResult
from veh_identification.identification.statistics import correlation
from veh_identification.reporting import extras
from veh_identification.reporting.content import (
    Colour,
    FitRow,
    HealthRow,
    IdentificationContent,
    ParameterRow,
    Provenance,
    Trace,
    TraceSet,
)
from veh_identification.reporting.first_screen import Statement
from veh_identification.reporting.health import sensor_health
from veh_identification.reporting.numbers import number, sentence
from veh_identification.reporting.series import colour_of, with_breaks
from veh_identification.runtime.bags import BagReader, columns_of
from veh_identification.types import Array

#: sigma below this share of the largest value with the same unit: a small value, not a weak one.
SMALL_SHARE = 0.01
SYSTEMS = {'car': 'car', 'humanoid': 'humanoid', 'parallel': 'parallel robot'}
RECONSTRUCTION = 'veh_identification/msg/Reconstruction'


def identification_content(
    result: IdentificationResult,
    reconstruction: Path | str | None,
    origin: Provenance,
    bags: Sequence[str | Path],
    validate: str | Path | None = None,
    truth: Mapping[str, float] | None = None,
) -> IdentificationContent:
    """Everything that the report shows; `reconstruction` is the bag beside parameters.json."""
    sets = [] if reconstruction is None else read_traces(Path(reconstruction), bags, validate)
    units = {trace.equation: trace.unit for one in sets for trace in one.traces}
    kept = np.flatnonzero(np.isfinite(result.value) & (result.std > 0.0))
    covariance = result.covariance[np.ix_(kept, kept)]
    judged = next((one for one in sets if not one.held_out), sets[0] if sets else None)
    recordings = [*bags, *([validate] if validate is not None else [])]
    health = sensor_health(list(dict.fromkeys(recordings)))
    system = SYSTEMS.get(result.system, result.system)
    stem = ', '.join(dict.fromkeys(Path(bag).name for bag in bags))
    return IdentificationContent(
        title=f'{system[:1].upper()}{system[1:]}: {stem}',
        system=system,
        estimator=result.estimator,
        samples=result.samples,
        excluded=result.excluded_samples,
        seconds=_seconds(result, judged),
        condition_number=result.condition_number,
        correlation_condition=result.correlation_condition,
        noise_model=str(result.noise.get('model', 'white')),
        parameters=parameter_rows(result, truth or {}),
        fit=fit_rows(result, units),
        trace_sets=tuple(sets),
        colours=_colours(
            judged, result.input.get('cutoff_hz') if result.system != 'parallel' else None
        ),
        names=tuple(result.names[k] for k in kept),
        correlation=correlation(covariance),
        inflation=inflation(covariance),
        removed=tuple((one.name, one.reason) for one in result.removed),
        unexcited=tuple(result.unexcited),
        findings=_findings(result),
        health=health,
        provenance=origin,
        extras=extras.tables(result.extra),
        cards=extras.cards(result.extra),
        model=_model(result),
        recorded=_recorded(health, {Path(bag).name for bag in bags}),
    )


def parameter_rows(
    result: IdentificationResult, truth: Mapping[str, float]
) -> tuple[ParameterRow, ...]:
    """The table, with flags that tell small values from weak ones."""
    prior = result.a_priori if result.a_priori is not None else np.full(len(result.names), np.nan)
    largest: dict[tuple[str, str], tuple[float, str]] = {}
    for name, unit, value in zip(result.names, result.units, result.value, strict=True):
        if np.isfinite(value) and abs(value) > largest.get(_group(name, unit), (0.0, ''))[0]:
            largest[_group(name, unit)] = (abs(float(value)), name)
    std = result.std
    return tuple(
        _row(
            name,
            result.units[k],
            float(prior[k]),
            float(result.value[k]),
            float(std[k]),
            largest.get(_group(name, result.units[k]), (0.0, '')),
            truth.get(name, float('nan')),
        )
        for k, name in enumerate(result.names)
    )


def _group(name: str, unit: str) -> tuple[str, str]:
    """Parameters of one unit, of a robot those of one link."""
    return (name.rpartition('.')[0], unit)


def _row(
    name: str,
    unit: str,
    prior: float,
    value: float,
    std: float,
    largest: tuple[float, str],
    truth: float,
) -> ParameterRow:
    if not np.isfinite(value):
        return ParameterRow(name, unit, prior, value, std, 'none', '', truth)
    if std < 0.1 * abs(value) or not np.isfinite(std):
        return ParameterRow(name, unit, prior, value, std, 'well', '', truth)
    zero = 'not told from zero; ' if abs(value) < 2.0 * std else ''
    if largest[1] != name and std < SMALL_SHARE * largest[0]:
        remark = f'{zero}sigma is {number(100.0 * std / largest[0], 2)} % of {largest[1]}'
        return ParameterRow(name, unit, prior, value, std, 'small', remark, truth)
    return ParameterRow(name, unit, prior, value, std, 'weak', zero.rstrip('; '), truth)


def fit_rows(result: IdentificationResult, units: Mapping[str, str]) -> tuple[FitRow, ...]:
    """Residuals of the identification data and of the validation."""
    rows = []
    noise, validation_noise = _noise_of(result)
    checked = {} if result.validation is None else result.validation.as_dict()
    for j, name in enumerate(result.equations):
        # An equation that was lost has nothing to validate: zeros there are no residuals.
        other = checked.get(name, {}) if np.isfinite(result.residual_rms[j]) else {}
        held_out = [
            float('nan') if other.get(key) is None else float(other[key] or 0.0)
            for key in ('rms', 'rms_relative', 'a_priori_rms')
        ]
        rows.append(
            FitRow(
                name,
                units.get(name, ''),
                float(result.residual_rms[j]),
                float(result.residual_rms_relative[j]),
                held_out[0],
                held_out[1],
                held_out[2],
                noise[j],
                validation_noise[j],
            )
        )
    return tuple(rows)


def _noise_of(result: IdentificationResult) -> tuple[list[float], list[float]]:
    """Noise in the residuals of each equation here and of the validation, nan where not told."""
    unknown = [float('nan')] * len(result.equations)
    own = result.input.get('residual_noise_rms')
    return (
        unknown if not own else np.sqrt(np.mean(np.square(own), axis=0)).tolist(),
        result.input.get('validation_noise_rms') or unknown,
    )


def inflation(covariance: Array) -> Array:
    """sqrt(C_ii (C^-1)_ii): how many times correlation enlarges each deviation."""
    if not len(covariance):
        return np.zeros(0)
    rho = correlation(covariance)
    values, vectors = np.linalg.eigh(rho)
    # Rounding may leave an eigenvalue of a nearly singular matrix at or below zero.
    safe = np.maximum(values, 1e-12 * values[-1])
    return np.asarray(np.sqrt(np.square(vectors) @ (1.0 / safe)))


def read_traces(
    bag: Path, bags: Sequence[str | Path], validate: str | Path | None
) -> list[TraceSet]:
    """Reconstructions of a result bag: validation first, where there is one."""
    with BagReader(bag, on_error='skip') as reader:
        topics = [
            name
            for name, topic in reader.topics.items()
            if topic.typename == RECONSTRUCTION and topic.count
        ]
        columns = columns_of(reader, dict.fromkeys(topics)) if topics else {}
        units = {name: _units(reader, name) for name in topics}
    main = [name for name in topics if not name.endswith(('_urdf', '_a_priori'))]
    # One series only: the bag holds the validation recording where one was given.
    alone = len(main) == 1 and validate is not None
    own = ', '.join(Path(one).name for one in bags)
    sets = []
    for name in main:
        held_out = alone or 'validation' in name
        title = (
            f'Validation recording {Path(validate).name}'
            if held_out and validate
            else f'Identification data: {own}'
        )
        sets.append(TraceSet(title, held_out, _traces(columns, name, units[name])))
    return sorted(sets, key=lambda one: not one.held_out)


def _units(reader: BagReader, topic: str) -> dict[str, str]:
    message = next(iter(reader.messages([topic]))).message
    return dict(zip(message.equations, message.units, strict=True))


def _traces(columns: Mapping[str, Any], name: str, units: Mapping[str, str]) -> tuple[Trace, ...]:
    main = columns[name]
    prior = columns.get(f'{name}_a_priori')
    paired = prior is not None and np.array_equal(prior.stamps_ns, main.stamps_ns)
    traces = []
    for equation, unit in units.items():
        sides = [main[f'measured[{equation}]'], main[f'predicted[{equation}]']]
        if paired and prior is not None:
            sides.append(prior[f'predicted[{equation}]'])
        time, rows = with_breaks(main.stamps_ns, np.column_stack(sides))
        traces.append(
            Trace(equation, unit, time, rows[:, 0], rows[:, 1], rows[:, 2] if paired else None)
        )
    return tuple(traces)


def _colours(judged: TraceSet | None, cutoff: Any) -> tuple[Colour, ...]:
    if judged is None:
        return ()
    found = []
    for trace in judged.traces:
        limit = cutoff.get(trace.equation) if isinstance(cutoff, Mapping) else cutoff
        found.append(colour_of(trace.equation, trace.unit, trace.time, trace.error, limit))
    return tuple(one for one in found if one is not None)


def _seconds(result: IdentificationResult, judged: TraceSet | None) -> float:
    given = result.input.get('seconds')
    if given is not None:
        return float(given)
    periods, rates = result.input.get('periods'), result.input.get('fundamental_hz')
    if periods and rates:
        return float(sum(n / f for n, f in zip(periods, rates, strict=True)))
    if judged is None or not judged.traces or not len(judged.traces[0].time):
        return float('nan')
    return float(judged.traces[0].time[-1] - judged.traces[0].time[0])


def _recorded(health: Sequence[HealthRow], names: set[str]) -> float:
    """Seconds of the recordings with these names, by their longest topics."""
    longest = dict.fromkeys(names, float('nan'))
    for row in health:
        if row.recording in names and row.rate > 0.0:
            span = (row.count - 1 - row.gaps) / row.rate + row.missing
            longest[row.recording] = float(np.fmax(longest[row.recording], span))
    return float(sum(longest.values()))


def _model(result: IdentificationResult) -> str:
    if result.input.get('model') == '2002':
        return 'Lagrange model of Venture 2002'
    return f'{result.input["dof"]}-dof model' if 'dof' in result.input else ''


def _findings(result: IdentificationResult) -> tuple[Statement, ...]:
    """What the system's own checks say."""
    found = [
        Statement('bad' if one.get('serious') else 'note', sentence(str(one['text'])))
        for one in result.extra.get('findings', [])
    ]
    for key in ('notes', 'warnings'):
        found += [
            Statement('note' if key == 'notes' else 'warn', sentence(str(text)))
            for text in result.input.get(key) or []
        ]
    return (*found, *extras.statements(result.extra))


def simulated_truth(bag: str | Path) -> dict[str, float]:
    """True parameters beside a simulated recording; empty for any other."""
    try:
        data = json.loads((Path(bag) / 'truth.json').read_text(encoding='utf-8'))
        return {str(k): float(v) for k, v in data['parameters'].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}
