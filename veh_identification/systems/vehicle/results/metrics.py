"""What a run was worth: the thesis' columns, whiteness, consistency and counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from veh_identification.observation import ObserverAnalysis
from veh_identification.observation.trust import trust_figures
from veh_identification.systems.observing.figures import (
    adaptive_figures,
    adaptive_lines,
    error_columns,
    error_lines,
    judge_innovations,
    sensor_counts,
    sensor_lines,
    speed_figures,
    speed_line,
    stream_counts,
)
from veh_identification.systems.vehicle.configuration import CORNERS
from veh_identification.systems.vehicle.observer.observed import OBSERVED
from veh_identification.systems.vehicle.observer.online import VehicleSystem
from veh_identification.systems.vehicle.observer.run import Observed, Run
from veh_identification.systems.vehicle.recording.recording import Recording
from veh_identification.types import Array

COORDINATES = (
    'x',
    'y',
    'z',
    'vx',
    'vy',
    'yaw',
    'yaw_rate',
    *(f'theta_{c}' for c in CORNERS),
    *(f'omega_{c}' for c in CORNERS),
)
#: In the order of `Run.covariance`.
JUDGED = ('x', 'y', 'yaw', 'vx', 'vy', 'yaw_rate')


def columns(run: Run) -> dict[str, Array]:
    """Estimates under the names of metrics.json."""
    position, velocity = run.frame[:, 0, 0:3], run.frame[:, 1, 0:3]
    yaw_rate = np.sum(run.frame[:, 0, 6:9] * run.frame[:, 1, 3:6], axis=1)
    result = {
        'x': position[:, 0],
        'y': position[:, 1],
        'z': position[:, 2],
        'vx': velocity[:, 0],
        'vy': velocity[:, 1],
        'yaw': np.unwrap(run.yaw),
        'yaw_rate': yaw_rate,
    }
    for k, corner in enumerate(CORNERS):
        result[f'theta_{corner}'] = run.wheel[:, k]
        result[f'omega_{corner}'] = run.wheel_rate[:, k]
    return result


def errors(run: Run, truth: Mapping[str, Array]) -> dict[str, Array]:
    """Estimate minus truth at the truth's times within the run."""
    inside = (truth['time'] >= run.time[0]) & (truth['time'] <= run.time[-1])
    time = truth['time'][inside]
    result = {}
    for name, values in columns(run).items():
        if name in truth:
            gap = np.interp(time, run.time, values) - truth[name][inside]
            if name == 'yaw':  # whole turns are no error of the heading
                gap = gap - 2 * np.pi * np.round(gap[0] / (2 * np.pi))
            result[name] = gap
    return result


def error_table(
    run: Run, model: Run | None, truth: Mapping[str, Array]
) -> dict[str, dict[str, float]]:
    """Largest and rms errors with and without the observer (Tables 5 to 8)."""
    seen = errors(run, truth)
    alone = {} if model is None else errors(model, truth)
    return {
        name: error_columns(seen[name], alone.get(name)) for name in COORDINATES if name in seen
    }


def nees(run: Run, truth: Mapping[str, Array]) -> dict[str, float]:
    """Average NEES of x, y, yaw and their rates; of one run, so correlated in time."""
    gaps = errors(run, truth)
    inside = (truth['time'] >= run.time[0]) & (truth['time'] <= run.time[-1])
    index = np.searchsorted(run.time, truth['time'][inside] - 1e-6)
    stacked = np.stack([gaps[name] for name in JUDGED], axis=1)
    solved = np.linalg.solve(run.covariance[index], stacked[:, :, None])[:, :, 0]
    return {
        'average': float(np.mean(np.sum(stacked * solved, axis=1))),
        'expected': 6.0,
        'samples': int(index.size),
    }


def metrics_of(
    recording: Recording,
    system: VehicleSystem,
    found: Observed,
    model: Run | None,
    analysis: ObserverAnalysis,
    notes: Sequence[str],
) -> dict[str, Any]:
    """Everything of metrics.json but what all systems have."""
    run, filter_, datum = found.run, found.session.filter, system.places.datum
    judged = {name: judge_innovations(items) for name, items in run.innovations.items()}
    # after a restart the steps are no longer one run beside the truth
    known = bool(recording.truth) and found.observer.starts == 1
    result: dict[str, Any] = {'system': 'vehicle'}
    if known:
        result['coordinates'] = error_table(run, model, recording.truth)
    return result | {
        'innovation_whiteness': {n: j['whiteness'] for n, j in judged.items() if j['samples']},
        'consistency': {
            'nis': {
                n: {k: j[k] for k in ('nis', 'nis_lower', 'nis_upper', 'samples')}
                for n, j in judged.items()
                if j['samples']
            },
            'nees': nees(run, recording.truth) if known else None,
        },
        'sensors': sensor_counts(filter_),
        'set_aside': trust_figures(filter_.channels),
        'streams': stream_counts(found.observer, {'gps': system.refused}),
        'unusable_messages': {topic: lost for topic, (lost, _) in recording.unusable.items()},
        'force_error': [float(v) for v in run.force_error[-1]],
        'parameters': dict(zip(filter_.parameter_names, filter_.parameters.tolist(), strict=True)),
        'failed_corrections': filter_.failed_corrections,
        'repeated_steps': found.session.observed.repeated_steps,
        **adaptive_figures(filter_, OBSERVED),
        **analysis.figures(),
        **speed_figures(recording.duration, found.offline),
        'datum': None if datum is None else [datum.latitude, datum.longitude, datum.altitude],
        'notes': list(notes),
    }


def text_of(
    metrics: Mapping[str, Any], analysis: ObserverAnalysis, units: Mapping[str, str]
) -> str:
    """What a terminal shows between the lines of the verdict; `units` of the coordinates."""
    lines = []
    if 'coordinates' in metrics:
        lines += error_lines('coordinate', metrics['coordinates'], units)
    lines += [
        *sensor_lines(metrics),
        *adaptive_lines(metrics),
        *analysis.lines(),
        speed_line(metrics),
    ]
    return '\n'.join(lines)
