"""Figures of an observer run as they stand in metrics.json, and the lines a terminal shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from veh_identification.observation import (
    ErrorEKF,
    Innovation,
    average_band,
    cumulative_periodogram,
    is_pseudo,
)
from veh_identification.observation.streaming import OnlineObserver
from veh_identification.observation.streaming.arrivals import StreamRecord
from veh_identification.systems.observing.offline import OfflineRun
from veh_identification.types import Array

#: A test of whiteness says nothing about fewer innovations.
FEWEST = 32
#: The columns of the thesis' tables.
COLUMNS = ('max_obs', 'max_model', 'rms_obs', 'rms_model')


def error_columns(seen: Array, alone: Array | None) -> dict[str, float]:
    """Largest and rms error with the observer and, where it was run, of the model alone."""
    found = {'max_obs': _largest(seen), 'rms_obs': _rms(seen)}
    if alone is None:
        return found
    found |= {'max_model': _largest(alone), 'rms_model': _rms(alone)}
    return {name: found[name] for name in COLUMNS}


def _largest(gap: Array) -> float:
    return float(np.abs(gap).max())


def _rms(gap: Array) -> float:
    return float(np.sqrt(np.mean(gap**2)))


def judge_innovations(innovations: Sequence[Innovation]) -> dict[str, Any]:
    """NIS per degree of freedom with its 95 % band, and whiteness of each component."""
    used = [i for i in innovations if i.accepted]
    if not used:
        return {'samples': 0}
    degrees = float(np.mean([i.degrees for i in used]))
    low, high = average_band(degrees, len(used))
    values = np.array([i.value for i in used])
    white = []
    for k in range(values.shape[1]):
        column = values[np.isfinite(values[:, k]), k]
        if column.size >= FEWEST and np.ptp(column) > 0.0:
            test = cumulative_periodogram(column)
            white.append(
                {'statistic': test.statistic, 'band': test.band, 'white': bool(test.white)}
            )
    return {
        'samples': len(used),
        'nis': float(np.mean([i.nis for i in used])) / degrees,
        'nis_lower': low / degrees,
        'nis_upper': high / degrees,
        'whiteness': white,
    }


def sensor_counts(filter_: ErrorEKF) -> dict[str, dict[str, int]]:
    """What came of the measurements of every sensor."""
    return {
        name: {k: v for k, v in asdict(counts).items() if k != 'last_used'}
        for name, counts in filter_.counts.items()
    }


def stream_counts(
    observer: OnlineObserver, refused: Mapping[str, StreamRecord] | None = None
) -> dict[str, dict[str, Any]]:
    """What happened to the samples of every stream before the filter saw them.

    `refused`: samples that the system itself could not use, by stream.
    """
    found = {}
    for name in observer.arrivals.records:
        record = observer.arrivals.summary(name)
        more = (refused or {}).get(name, StreamRecord())
        found[name] = {
            'received': record.received,
            'late': record.late,
            'duplicate': record.duplicate,
            'invalid': record.invalid + more.invalid,
            'clock_jumps': record.clock_jumps,
            'reasons': {**record.reasons, **more.reasons},
        }
    return found


def adaptive_figures(filter_: ErrorEKF, coordinates: Sequence[str]) -> dict[str, Any]:
    """How far adaptive noise has moved at the end, as factors of what is configured."""
    adaptive = filter_.adaptive
    if adaptive is None:
        return {}
    known = adaptive.nominal > 0.0
    plant = adaptive.density[known] / adaptive.nominal[known]
    names = [name for name, there in zip(coordinates, known, strict=True) if there]
    return {
        'adaptive': {
            'plant_density': dict(zip(names, plant.tolist(), strict=True)),
            'sensor_variance': {
                name: adaptive.factors[name].tolist()
                for name, sensor in filter_.sensors.items()
                if name in adaptive.factors and not is_pseudo(sensor)
            },
        }
    }


def speed_figures(duration: float, run: OfflineRun) -> dict[str, float]:
    """How many seconds of a recording a second of processor and of wall time works off."""
    return {
        'duration': duration,
        'real_time_factor': duration / max(run.processor_seconds, 1e-9),
        'real_time_factor_wall': duration / max(run.seconds, 1e-9),
    }


def error_lines(
    title: str, table: Mapping[str, Mapping[str, float]], units: Mapping[str, str]
) -> list[str]:
    """The thesis' table, each row in its unit."""
    columns = [name for name in COLUMNS if any(name in row for row in table.values())]
    named = {name: f'{name} [{units[name]}]' if name in units else name for name in table}
    width = max(18, *(len(text) + 2 for text in named.values()))
    return [
        f'{title:<{width}}' + ''.join(f'{name:>12}' for name in columns),
        *(
            f'{named[name]:<{width}}' + ''.join(f'{row[c]:>12.5g}' for c in columns)
            for name, row in table.items()
        ),
    ]


def sensor_lines(metrics: Mapping[str, Any]) -> list[str]:
    """Counts and consistency of every sensor, and what was lost before it reached the filter."""
    consistency = metrics['consistency']['nis']
    lines = [f'{"sensor":<18}{"used":>8}{"rejected":>10}{"NIS/dof":>10}']
    for name, counts in metrics['sensors'].items():
        nis = consistency.get(name, {}).get('nis', float('nan'))
        lines.append(f'{name:<18}{counts["used"]:>8}{counts["rejected"]:>10}{nis:>10.3f}')
    for name, stream in metrics['streams'].items():
        lost = [
            f'{stream[word]} {word}' for word in ('late', 'duplicate', 'invalid') if stream[word]
        ]
        if lost:
            lines.append(f'{name}: {", ".join(lost)} of {stream["received"]} samples')
    return lines


def adaptive_lines(metrics: Mapping[str, Any]) -> list[str]:
    """What adaptive noise came to."""
    found = metrics.get('adaptive')
    if found is None:
        return []
    factors = [
        f'{name} {factor:.3g}'
        for kind in ('plant_density', 'sensor_variance')
        for name, values in found[kind].items()
        for factor in (values if isinstance(values, list) else [values])
    ]
    return [f'adaptive noise, times the configured: {", ".join(factors)}']


def speed_line(metrics: Mapping[str, Any]) -> str:
    """How fast it was."""
    return (
        f'{metrics["duration"]:.1f} s at {metrics["real_time_factor"]:.2f} times real time '
        f'({metrics["real_time_factor_wall"]:.2f} by the clock on the wall)'
    )
