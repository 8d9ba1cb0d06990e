"""`veh-id observe four-bar`: the errorEKF over a recording of the four-bar linkage, offline."""

from __future__ import annotations

import json
import math
import time as clock
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from veh_identification import __version__
from veh_identification.atomic import atomic_folder
from veh_identification.errors import BagError
from veh_identification.observation import ErrorEKF, average_band, cumulative_periodogram
from veh_identification.observation.streaming import Item, OnlineObserver, OnlineOptions, Session
from veh_identification.reporting.hooks import write_four_bar_report
from veh_identification.runtime.bags import BagReader, BagWriter, columns_of
from veh_identification.runtime.messages import header, new
from veh_identification.systems.four_bar.model import COORDINATES, load
from veh_identification.systems.four_bar.online import FourBarSession, FourBarSystem
from veh_identification.systems.vehicle.command import WINDOW, check_out
from veh_identification.types import Array, Progress

TRUTH = tuple(f'{kind}[{name}]' for kind in ('position', 'velocity') for name in COORDINATES)


def _samples(bag: Path) -> tuple[list[Item], int, dict[str, Array]]:
    """Samples in the order of arrival, how many messages were unusable, and the truth."""
    with BagReader(bag, on_error='skip') as reader:
        wanted: dict[str, list[str] | None] = {
            'joint_states': ['position[crank]', 'effort[crank]']
        }
        if '/truth/joint_states' in reader.topics:
            wanted['truth/joint_states'] = list(TRUTH)
        if '/joint_states' not in reader.topics:
            raise BagError(f'{bag}: there is no topic joint_states with the joint crank')
        columns = columns_of(reader, wanted)
    joint = columns['joint_states']
    nothing = np.full(len(joint), np.nan)
    angle = joint.values.get('position[crank]', nothing)
    good = np.isfinite(angle) & (joint.stamps_ns > 0)
    if not good.any():
        raise BagError(f'{bag}, topic joint_states: no message gives the position of crank')
    items = []
    for stamp, value, torque in zip(
        joint.stamps_ns[good].tolist(),
        angle[good].tolist(),
        joint.values.get('effort[crank]', nothing)[good].tolist(),
        strict=True,
    ):
        items.append(Item(stamp, 'crank', (value,)))
        if math.isfinite(torque):
            items.append(Item(stamp, 'torque', (torque,)))
    truth: dict[str, Array] = {}
    if 'truth/joint_states' in columns:
        source = columns['truth/joint_states']
        truth = {
            'stamps': source.stamps_ns,
            **{p: source.values[p] for p in TRUTH if p in source.values},
        }
    return items, int(np.sum(~good)) + joint.undecodable, truth


@dataclass
class _Run:
    """Steps of an observer, or of the model alone."""

    stamps: list[int]
    q: Array
    qd: Array
    covariance: Array  # (N, 2, 2) of the crank's angle and rate
    innovations: list[Any]
    seconds: float
    observer: OnlineObserver

    @property
    def filter(self) -> ErrorEKF:
        assert self.observer.session is not None
        return self.observer.session.filter


def _run(system: FourBarSystem, items: list[Item], progress: Progress | None) -> _Run:
    """All samples through the online observer."""
    stamps: list[int] = []
    q: list[Array] = []
    qd: list[Array] = []
    covariance: list[Array] = []
    innovations: list[Any] = []

    def made(session: Session, end_ns: int, found: list[Any]) -> None:
        assert isinstance(session, FourBarSession)
        stamps.append(end_ns)
        q.append(session.model.q.copy())
        qd.append(session.model.qd.copy())
        covariance.append(session.filter.P[:2, :2].copy())
        innovations.extend(found)
        if progress is not None and len(stamps) % 500 == 0:
            progress(min(len(stamps), len(items)), len(items))

    observer = OnlineObserver(system, OnlineOptions(lag=WINDOW, window=WINDOW), made)
    for item in items:
        observer.push(item.key, item.time_ns, item.payload)
    ordered = list(observer.arrivals.flush())
    begin = clock.perf_counter()
    observer.take(ordered)
    observer.finish()
    return _Run(
        stamps,
        np.array(q),
        np.array(qd),
        np.array(covariance),
        innovations,
        clock.perf_counter() - begin,
        observer,
    )


def _table(
    times: Array,
    truth: dict[str, Array],
    observer: tuple[Array, Array],
    model: tuple[Array, Array],
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
                    np.abs(np.interp(truth['time'][inside], times, run[level][:, column]) - exact)
                    for run in (observer, model)
                ]
                tables[name][prefix + coordinate] = {
                    'max_obs': float(gaps[0].max()),
                    'max_model': float(gaps[1].max()),
                    'rms_obs': float(np.sqrt(np.mean(gaps[0] ** 2))),
                    'rms_model': float(np.sqrt(np.mean(gaps[1] ** 2))),
                }
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
        result = {
            'innovation_whiteness': {
                'encoder': {
                    'statistic': white.statistic,
                    'band': white.band,
                    'white': bool(white.white),
                }
            },
            'consistency': {
                'nis': {
                    'encoder': {
                        'nis': float(nis[settled].mean()),
                        'nis_lower': low,
                        'nis_upper': high,
                    }
                }
            },
        }
    return result


def joints_message(stamp_ns: int, q: Array, qd: Array) -> Any:
    """sensor_msgs/msg/JointState: points 1 and 2 and the crank angle."""
    return new(
        'sensor_msgs/msg/JointState',
        header=header(stamp_ns, ''),
        name=[*COORDINATES, 'crank'],
        position=q,
        velocity=qd,
    )


def _write_bag(path: Path, run: _Run) -> None:
    with BagWriter(path) as writer:
        for k, stamp in enumerate(run.stamps):
            writer.write_message(
                'joint_states/observed', joints_message(stamp, run.q[k], run.qd[k]), stamp
            )


def _text(metrics: dict[str, Any]) -> str:
    lines = []
    for title in ('coordinates', 'after_one_second'):
        if metrics.get(title):
            lines.append(
                f'{title:<18}{"max_obs":>12}{"max_model":>12}{"rms_obs":>12}{"rms_model":>12}'
            )
            lines += [
                f'{name:<18}'
                + ''.join(
                    f'{row[c]:>12.5g}' for c in ('max_obs', 'max_model', 'rms_obs', 'rms_model')
                )
                for name, row in metrics[title].items()
            ]
    white = metrics.get('innovation_whiteness', {}).get('encoder')
    if white:
        lines.append(
            f'innovation {"white" if white["white"] else "not white"} '
            f'({white["statistic"]:.4f}, 5 % band {white["band"]:.4f})'
        )
    lines += [f'note: {note}' for note in metrics['notes']]
    lines.append(
        f'{metrics["duration"]:.1f} s in {metrics["real_time_factor"]:.1f} times real time'
    )
    return '\n'.join(lines) + '\n'


def _stream_counts(observer: OnlineObserver) -> dict[str, dict[str, int]]:
    found = {}
    for name in observer.arrivals.records:
        record = observer.arrivals.summary(name)
        found[name] = {
            'received': record.received,
            'late': record.late,
            'duplicate': record.duplicate,
            'invalid': record.invalid,
        }
    return found


def observe(
    *,
    bag: str | Path,
    out: str | Path,
    config: str | Path | None = None,
    progress: Progress | None = None,
) -> str:
    """Observe a recording; writes OUT/metrics.json, report.html, observed; returns the table."""
    check_out(Path(out))
    setup = load(config)
    items, unusable, truth = _samples(Path(bag))
    notes: list[str] = []
    run = _run(FourBarSystem(setup, say=notes.append), items, progress)
    if not run.stamps:
        raise BagError(f'{bag}: no step of the observer could be made of its messages')
    start = run.stamps[0]
    times = (np.array(run.stamps) - start) * 1e-9
    duration = float(times[-1])
    metrics: dict[str, Any] = {'system': 'four-bar'}
    alone: _Run | None = None
    if truth and run.observer.starts == 1:
        alone = _run(FourBarSystem(setup, (), say=lambda text: None), items, progress)
        truth['time'] = (truth.pop('stamps') - start) * 1e-9
        metrics |= _table(times, truth, (run.q, run.qd), (alone.q, alone.qd))
    metrics |= _judge(run.innovations)
    metrics |= {
        'sensors': {
            name: {k: v for k, v in asdict(c).items() if k != 'last_used'}
            for name, c in run.filter.counts.items()
        },
        'streams': _stream_counts(run.observer),
        'unusable_messages': {'joint_states': unusable} if unusable else {},
        'notes': notes + run.observer.events,
        'duration': duration,
        'real_time_factor': duration / run.seconds,
        'bag': str(bag),
        'version': __version__,
    }
    with atomic_folder(Path(out), overwrite=True) as folder:
        (folder / 'metrics.json').write_text(
            json.dumps(metrics, indent=2) + '\n', encoding='utf-8'
        )
        _write_bag(folder / 'observed', run)
        report = write_four_bar_report(
            folder,
            times,
            run.q,
            run.qd,
            run.covariance,
            run.innovations,
            truth if alone is not None else {},
            None if alone is None else (alone.q, alone.qd),
            metrics,
            bag=bag,
            out=out,
            config=config,
            gate_probability=setup.observer.get('gate_probability'),
        )
    return f'{_text(metrics)}{report}\n'
