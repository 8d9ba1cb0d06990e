"""What a run was worth: the thesis' columns, whiteness, consistency and counts."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from veh_identification.observation import (
    ErrorEKF,
    Innovation,
    average_band,
    cumulative_periodogram,
)
from veh_identification.observation.streaming import OnlineObserver
from veh_identification.systems.vehicle.configuration import CORNERS
from veh_identification.systems.vehicle.observer.online import BuggySystem
from veh_identification.systems.vehicle.observer.run import Run
from veh_identification.systems.vehicle.recording.reader import Recording
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


def errors(run: Run, truth: dict[str, Array]) -> dict[str, Array]:
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


def table(observer: Run, model: Run, truth: dict[str, Array]) -> dict[str, dict[str, float]]:
    """Largest and rms errors with and without the observer (Tables 5 to 8)."""
    seen, alone = errors(observer, truth), errors(model, truth)
    return {
        name: {
            'max_obs': float(np.abs(seen[name]).max()),
            'max_model': float(np.abs(alone[name]).max()),
            'rms_obs': float(np.sqrt(np.mean(seen[name] ** 2))),
            'rms_model': float(np.sqrt(np.mean(alone[name] ** 2))),
        }
        for name in COORDINATES
        if name in seen
    }


def nees(run: Run, truth: dict[str, Array]) -> dict[str, float]:
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


def judge_sensor(innovations: list[Innovation]) -> dict[str, Any]:
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
        if column.size >= 32 and np.ptp(column) > 0.0:
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


def counts_of(observer: OnlineObserver, system: BuggySystem) -> dict[str, dict[str, Any]]:
    """What happened to the samples of every stream before the filter saw them."""
    found = {}
    for name in observer.arrivals.records:
        record = observer.arrivals.summary(name)
        if name == 'gps':
            record.invalid += system.refused.invalid
            record.reasons = {**record.reasons, **system.refused.reasons}
        found[name] = {
            'received': record.received,
            'late': record.late,
            'duplicate': record.duplicate,
            'invalid': record.invalid,
            'clock_jumps': record.clock_jumps,
            'reasons': record.reasons,
        }
    return found


def summary(
    recording: Recording, run: Run, model: Run | None, filter_: ErrorEKF, repeated_steps: int
) -> dict[str, Any]:
    """Everything of metrics.json but the version."""
    judged = {name: judge_sensor(items) for name, items in run.innovations.items()}
    counts = {
        name: {k: v for k, v in asdict(c).items() if k != 'last_used'}
        for name, c in filter_.counts.items()
    }
    result: dict[str, Any] = {'system': 'buggy'}
    if model is not None:
        result['coordinates'] = table(run, model, recording.truth)
    result |= {
        'innovation_whiteness': {n: j['whiteness'] for n, j in judged.items() if j['samples']},
        'consistency': {
            'nis': {
                n: {k: j[k] for k in ('nis', 'nis_lower', 'nis_upper', 'samples')}
                for n, j in judged.items()
                if j['samples']
            },
            'nees': nees(run, recording.truth) if model is not None else None,
        },
        'sensors': counts,
        'unusable_messages': recording.invalid,
        'force_error': [float(v) for v in run.force_error[-1]],
        'parameters': dict(zip(filter_.parameter_names, filter_.parameters.tolist(), strict=True)),
        'failed_corrections': filter_.failed_corrections,
        'repeated_steps': repeated_steps,
        'duration': recording.duration,
        'real_time_factor': recording.duration / run.seconds,
        'real_time_factor_processor': recording.duration / run.processor_seconds,
        'datum': None
        if recording.datum is None
        else [recording.datum.latitude, recording.datum.longitude, recording.datum.altitude],
        'notes': recording.notes,
    }
    return result


def text(metrics: dict[str, Any]) -> str:
    """The table to print."""
    lines = []
    if 'coordinates' in metrics:
        lines.append(
            f'{"coordinate":<12}{"max_obs":>12}{"max_model":>12}{"rms_obs":>12}{"rms_model":>12}'
        )
        lines += [
            f'{name:<12}'
            + ''.join(f'{row[c]:>12.5g}' for c in ('max_obs', 'max_model', 'rms_obs', 'rms_model'))
            for name, row in metrics['coordinates'].items()
        ]
    lines.append(f'{"sensor":<16}{"used":>8}{"rejected":>10}{"NIS/dof":>10}')
    for name, counts in metrics['sensors'].items():
        nis = metrics['consistency']['nis'].get(name, {}).get('nis', float('nan'))
        lines.append(f'{name:<16}{counts["used"]:>8}{counts["rejected"]:>10}{nis:>10.3f}')
    for name, stream in metrics.get('streams', {}).items():
        lost = [
            f'{stream[word]} {word}' for word in ('late', 'duplicate', 'invalid') if stream[word]
        ]
        if lost:
            lines.append(f'{name}: {", ".join(lost)} of {stream["received"]} samples')
    lines += [
        f'{topic}: {count} messages unusable'
        for topic, count in metrics['unusable_messages'].items()
    ]
    lines += [f'note: {note}' for note in metrics['notes']]
    lines.append(
        f'{metrics["duration"]:.1f} s in {metrics["real_time_factor"]:.2f} times real '
        f'time ({metrics["real_time_factor_processor"]:.2f} by processor time)'
    )
    return '\n'.join(lines) + '\n'
