"""From what an identification found to its outcome: figures, verdict, text, files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from veh_identification.files import FileError, read_json
from veh_identification.findings import Finding
from veh_identification.findings.numbers import number
from veh_identification.identification import IdentificationResult
from veh_identification.identification.statistics import correlation
from veh_identification.reporting.content import (
    Card,
    Colour,
    CurveFigure,
    ExtraTable,
    FitRow,
    HealthRow,
    IdentificationContent,
    ParameterRow,
    Provenance,
    TraceSet,
)
from veh_identification.reporting.health import sensor_health
from veh_identification.reporting.judging.identification import judge
from veh_identification.reporting.series import colour_of, jointly_limited
from veh_identification.results.outcome import Outcome, Value
from veh_identification.results.reconstruction import Reconstruction
from veh_identification.results.tables import to_table, validation_table
from veh_identification.types import Array

#: sigma below this share of the largest value with the same unit: a small value, not a weak one.
SMALL_SHARE = 0.01


@dataclass(frozen=True, eq=False)
class Further:
    """What only this system has to say beside parameters and residuals."""

    model: str = ''  # which of its models, for the report
    lines: tuple[str, ...] = ()  # for the terminal, after the tables
    tables: tuple[ExtraTable, ...] = ()  # for the report
    curves: tuple[CurveFigure, ...] = ()  # for the report
    cards: tuple[Card, ...] = ()  # for the report's first screen
    values: Mapping[str, Value] = field(default_factory=dict)  # beside the parameters
    truth: Mapping[str, float] = field(default_factory=dict)  # of a simulated recording
    #: Pass band of the residuals in Hz, of all equations or by equation; None: not filtered.
    band_hz: float | Mapping[str, float] | None = None
    seconds: float = float('nan')  # that were used
    #: By equation: residuals that are not bad whatever their share of the signal.
    negligible: Mapping[str, float] = field(default_factory=dict)


def identification_outcome(
    result: IdentificationResult,
    *,
    title: str,
    bags: Sequence[Path],
    validate: Path | None,
    findings: Sequence[Finding],
    series: Sequence[Reconstruction],
    provenance: Provenance,
    glossary: Mapping[str, str],
    further: Further | None = None,
    files: Mapping[str, bytes | Path] | None = None,
    inputs: Sequence[Path] = (),
) -> Outcome[IdentificationResult]:
    """The outcome of an identification; the verdict is made here and nowhere else."""
    further = further or Further()
    content = _content(result, title, bags, validate, findings, series, provenance, further)
    content = replace(
        content,
        parameters=tuple(
            replace(row, meaning=described(row.name, glossary)) for row in content.parameters
        ),
    )
    verdict = judge(content)
    body = '\n'.join([to_table(result).rstrip('\n'), *validation_table(result), *further.lines])
    document = {
        **result.as_dict(),
        'verdict': verdict.as_dict(),
        'provenance': provenance.as_dict(),
    }
    for row in document['parameters']:
        row['description'] = described(row['name'], glossary)
    return Outcome(
        'identify',
        result.system,
        result,
        verdict,
        provenance,
        {**_values(result, glossary), **further.values},
        body,
        ('parameters.json', document),
        content,
        tuple(series),
        files or {},
        (*bags, *([validate] if validate is not None else []), *inputs),
    )


def _values(result: IdentificationResult, glossary: Mapping[str, str]) -> dict[str, Value]:
    std, well = result.std, result.deviations.well_identified
    prior = result.a_priori if result.a_priori is not None else np.full(len(std), np.nan)
    return {
        name: Value(
            name,
            float(result.value[k]),
            float(std[k]),
            result.units[k],
            described(name, glossary),
            float(prior[k]),
            bool(well[k]) and name not in result.impossible,
            name not in result.impossible,
        )
        for k, name in enumerate(result.names)
    }


def described(name: str, glossary: Mapping[str, str]) -> str:
    """What a parameter is; of `LINK.Jxx` the entry `Jxx` serves every link."""
    return glossary.get(name) or glossary.get(name.rpartition('.')[2], '')


def _content(
    result: IdentificationResult,
    title: str,
    bags: Sequence[Path],
    validate: Path | None,
    findings: Sequence[Finding],
    series: Sequence[Reconstruction],
    provenance: Provenance,
    further: Further,
) -> IdentificationContent:
    sets = sorted((one.traces() for one in series if one.drawn), key=lambda one: not one.held_out)
    units = {trace.equation: trace.unit for one in sets for trace in one.traces}
    kept = np.flatnonzero(np.isfinite(result.value) & (result.std > 0.0))
    covariance = result.covariance[np.ix_(kept, kept)]
    judged = next((one for one in sets if not one.held_out), sets[0] if sets else None)
    recordings = [*bags, *([validate] if validate is not None else [])]
    health = sensor_health(list(dict.fromkeys(recordings)))
    stem = ', '.join(dict.fromkeys(Path(bag).name for bag in bags))
    return IdentificationContent(
        title=f'{title[:1].upper()}{title[1:]}: {stem}' if stem else title,
        system=title,
        estimator=result.estimator,
        samples=result.samples,
        excluded=result.excluded_samples,
        seconds=further.seconds if np.isfinite(further.seconds) else _span(sets),
        condition_number=result.condition_number,
        correlation_condition=result.correlation_condition,
        noise_model=str(result.noise.get('model', 'white')),
        parameters=parameter_rows(result, further.truth),
        fit=fit_rows(result, units, further.negligible),
        trace_sets=tuple(sets),
        colours=_colours(judged, further.band_hz),
        names=tuple(result.names[k] for k in kept),
        correlation=correlation(covariance),
        inflation=inflation(covariance),
        removed=tuple((one.name, one.reason) for one in result.removed),
        unexcited=tuple(result.unexcited),
        findings=tuple(findings),
        health=health,
        provenance=provenance,
        extras=further.tables,
        curves=further.curves,
        cards=further.cards,
        model=further.model,
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
            name not in result.impossible,
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
    possible: bool,
) -> ParameterRow:
    if not possible:
        return ParameterRow(name, unit, prior, value, std, 'impossible', 'cannot exist', truth)
    if not np.isfinite(value):
        return ParameterRow(name, unit, prior, value, std, 'none', '', truth)
    if not np.isfinite(std):
        return ParameterRow(name, unit, prior, value, std, 'given', 'not estimated', truth)
    if std < 0.1 * abs(value):
        return ParameterRow(name, unit, prior, value, std, 'well', '', truth)
    zero = 'not told from zero; ' if abs(value) < 2.0 * std else ''
    if largest[1] != name and std < SMALL_SHARE * largest[0]:
        remark = f'{zero}sigma is {number(100.0 * std / largest[0], 2)} % of {largest[1]}'
        return ParameterRow(name, unit, prior, value, std, 'small', remark, truth)
    return ParameterRow(name, unit, prior, value, std, 'weak', zero.rstrip('; '), truth)


def fit_rows(
    result: IdentificationResult,
    units: Mapping[str, str],
    negligible: Mapping[str, float] | None = None,
) -> tuple[FitRow, ...]:
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
                (negligible or {}).get(name, 0.0),
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


def _colours(judged: TraceSet | None, cutoff: Any) -> tuple[Colour, ...]:
    if judged is None:
        return ()
    found = []
    for trace in judged.traces:
        limit = cutoff.get(trace.equation) if isinstance(cutoff, Mapping) else cutoff
        found.append(colour_of(trace.equation, trace.unit, trace.time, trace.error, limit))
    return jointly_limited(found)


def _span(sets: Sequence[TraceSet]) -> float:
    """Seconds of all recordings that were fitted."""
    fitted = [one for one in sets if not one.held_out] or sets[:1]
    times = [one.traces[0].time for one in fitted if one.traces and len(one.traces[0].time) > 1]
    return float(sum(time[-1] - time[0] for time in times)) if times else float('nan')


def _recorded(health: Sequence[HealthRow], names: set[str]) -> float:
    """Seconds of the recordings with these names, by their longest topics."""
    longest = dict.fromkeys(names, float('nan'))
    for row in health:
        if row.recording in names and row.rate > 0.0:
            span = (row.count - 1 - row.gaps) / row.rate + row.missing
            longest[row.recording] = float(np.fmax(longest[row.recording], span))
    return float(sum(longest.values()))


def simulated_truth(bag: str | Path) -> dict[str, float]:
    """True parameters beside a simulated recording; empty for any other."""
    try:
        data = read_json(Path(bag) / 'truth.json')
        return {str(k): float(v) for k, v in data['parameters'].items()}
    except (FileError, ValueError, KeyError, TypeError, AttributeError):
        return {}
