"""`veh-id observe four-bar`: the errorEKF over a recording of the four-bar linkage, offline."""

from __future__ import annotations

import json
import math
import time as clock
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veh_identification import __version__
from veh_identification.errors import BagError
from veh_identification.observation import (
    ErrorEKF,
    Measurement,
    average_band,
    cumulative_periodogram,
)
from veh_identification.runtime.atomic import atomic_folder
from veh_identification.runtime.bags import BagReader, BagWriter, columns_of
from veh_identification.runtime.messages import header, new
from veh_identification.systems.buggy.command import check_out
from veh_identification.systems.four_bar import COORDINATES, Setup, load
from veh_identification.systems.four_bar_run import make_filter

Array = NDArray[np.float64]
Progress = Callable[[int, int], None]
TRUTH = tuple(f'{kind}[{name}]' for kind in ('position', 'velocity') for name in COORDINATES)


def _series(bag: Path) -> tuple[int, Array, Array, dict[str, Array]]:
    """Start stamp, times and crank angles, and the truth."""
    with BagReader(bag, on_error='skip') as reader:
        wanted: dict[str, list[str] | None] = {'joint_states': ['position[crank]']}
        if '/truth/joint_states' in reader.topics:
            wanted['truth/joint_states'] = list(TRUTH)
        if '/joint_states' not in reader.topics:
            raise BagError(f'{bag}: there is no topic joint_states with the joint crank')
        columns = columns_of(reader, wanted)
    joint = columns['joint_states']
    angle = joint.values.get('position[crank]', np.full(len(joint), np.nan))
    good = np.isfinite(angle)
    if not good.any():
        raise BagError(f'{bag}, topic joint_states: no message gives the position of crank')
    stamps, angle = joint.stamps_ns[good], angle[good]
    order = np.argsort(stamps, kind='stable')
    stamps, angle = stamps[order], angle[order]
    keep = np.append(True, np.diff(stamps) > 0)
    start = int(stamps[0])
    truth: dict[str, Array] = {}
    if 'truth/joint_states' in columns:
        source = columns['truth/joint_states']
        truth = {'time': (source.stamps_ns - start) * 1e-9,
                 **{p: source.values[p] for p in TRUTH if p in source.values}}
    return start, (stamps[keep] - start) * 1e-9, angle[keep], truth


def _run(setup: Setup, filter_: ErrorEKF, times: Array, angle: Array, progress: Progress | None
         ) -> tuple[Array, Array, list[Any], Array]:
    """States (N, 5) of the filter's model at the times, rates, innovations, covariances."""
    model: Any = filter_.model
    q, qd = np.empty((times.size, 5)), np.empty((times.size, 5))
    covariance = np.empty((times.size, 2, 2))
    innovations = []
    previous = times[0] - setup.step
    watched = 'encoder' in filter_.sensors
    for k, time in enumerate(times):
        rest = time - previous
        # a gap in the recording is bridged by the model in steps of its own
        parts = max(1, math.ceil(rest / setup.step - 1e-6))
        for _ in range(parts):
            filter_.predict(rest / parts, None)
        if watched:
            innovations += filter_.update([Measurement('encoder', time, angle[k:k + 1])])
        q[k], qd[k], covariance[k] = model.model.q, model.model.qd, filter_.P[:2, :2]
        previous = time
        if progress is not None and k % 500 == 0:
            progress(k, times.size)
    return q, qd, innovations, covariance


def _table(times: Array, truth: dict[str, Array], observer: tuple[Array, Array],
           model: tuple[Array, Array]) -> dict[str, dict[str, dict[str, float]]]:
    """Errors over the whole run and after the first second."""
    tables: dict[str, dict[str, dict[str, float]]] = {'coordinates': {},
                                                      'after_one_second': {}}
    for name, begin in (('coordinates', times[0]), ('after_one_second', times[0] + 1.0)):
        inside = (truth['time'] >= begin) & (truth['time'] <= times[-1])
        if not inside.any():
            continue
        for prefix, kind, level in (('', 'position', 0), ('v', 'velocity', 1)):
            for column, coordinate in enumerate(COORDINATES):
                exact = truth[f'{kind}[{coordinate}]'][inside]
                gaps = [np.abs(np.interp(truth['time'][inside], times, run[level][:, column])
                               - exact) for run in (observer, model)]
                tables[name][prefix + coordinate] = {
                    'max_obs': float(gaps[0].max()), 'max_model': float(gaps[1].max()),
                    'rms_obs': float(np.sqrt(np.mean(gaps[0] ** 2))),
                    'rms_model': float(np.sqrt(np.mean(gaps[1] ** 2)))}
    return tables


def _judge(innovations: list[Any]) -> dict[str, Any]:
    """Whiteness and NIS after the start has been forgotten."""
    values = np.array([i.value[0] for i in innovations if i.accepted])
    nis = np.array([i.nis for i in innovations if i.accepted])
    settled = slice(min(values.size // 5, 200), None)
    result: dict[str, Any] = {}
    if values[settled].size >= 32:
        white = cumulative_periodogram(values[settled])
        low, high = average_band(1.0, nis[settled].size)
        result = {'innovation_whiteness': {'encoder': {
            'statistic': white.statistic, 'band': white.band, 'white': bool(white.white)}},
            'consistency': {'nis': {'encoder': {'nis': float(nis[settled].mean()),
                                                'nis_lower': low, 'nis_upper': high}}}}
    return result


def _write_bag(path: Path, start: int, times: Array, q: Array, qd: Array) -> None:
    names = [*COORDINATES, 'crank']
    with BagWriter(path) as writer:
        for k, time in enumerate(times):
            stamp = start + round(time * 1e9)
            writer.write_message('joint_states/observed', new(
                'sensor_msgs/msg/JointState', header=header(stamp, ''), name=names,
                position=q[k], velocity=qd[k]), stamp)


def _text(metrics: dict[str, Any]) -> str:
    lines = []
    for title in ('coordinates', 'after_one_second'):
        if metrics.get(title):
            lines.append(f'{title:<18}{"max_obs":>12}{"max_model":>12}{"rms_obs":>12}'
                         f'{"rms_model":>12}')
            lines += [f'{name:<18}' + ''.join(f'{row[c]:>12.5g}' for c in (
                'max_obs', 'max_model', 'rms_obs', 'rms_model'))
                for name, row in metrics[title].items()]
    white = metrics.get('innovation_whiteness', {}).get('encoder')
    if white:
        lines.append(f'innovation {"white" if white["white"] else "not white"} '
                     f'({white["statistic"]:.4f}, 5 % band {white["band"]:.4f})')
    lines.append(f'{metrics["duration"]:.1f} s in {metrics["real_time_factor"]:.1f} times real '
                 'time')
    return '\n'.join(lines) + '\n'


def observe(*, bag: str | Path, out: str | Path, config: str | Path | None = None,
            progress: Progress | None = None) -> str:
    """Observe a recording; writes OUT/metrics.json and OUT/observed, returns the table."""
    check_out(Path(out))
    setup = load(config)
    start, times, angle, truth = _series(Path(bag))
    filter_ = make_filter(setup, ['encoder'])
    begin = clock.perf_counter()
    q, qd, innovations, _ = _run(setup, filter_, times, angle, progress)
    seconds = clock.perf_counter() - begin
    duration = float(times[-1] - times[0])
    metrics: dict[str, Any] = {'system': 'four-bar'}
    if truth:
        alone = _run(setup, make_filter(setup, []), times, angle, progress)
        metrics |= _table(times, truth, (q, qd), alone[:2])
    metrics |= _judge(innovations)
    metrics |= {'sensors': {name: {k: v for k, v in asdict(c).items() if k != 'last_used'}
                            for name, c in filter_.counts.items()},
                'duration': duration, 'real_time_factor': duration / seconds, 'bag': str(bag),
                'version': __version__}
    with atomic_folder(Path(out), overwrite=True) as folder:
        (folder / 'metrics.json').write_text(json.dumps(metrics, indent=2) + '\n',
                                             encoding='utf-8')
        _write_bag(folder / 'observed', start, times, q, qd)
    return _text(metrics)
