"""Demo parts: the errorEKF over simulated recordings, beside the truth (Sinigaglia 2016)."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np

from veh_identification.demo.parts import ErrorRow, Part
from veh_identification.results.observation import ObserverRun
from veh_identification.results.outcome import Outcome
from veh_identification.runtime.bags.columns import read_columns
from veh_identification.runtime.replay.bag import replay_graph
from veh_identification.simulation.scenarios import simulate
from veh_identification.systems.driver import run as run_verb

#: Quantities of the table: name in metrics.json and unit.
VEHICLE = {'x': 'm', 'y': 'm', 'yaw': 'rad', 'vx': 'm/s', 'vy': 'm/s', 'yaw_rate': 'rad/s'}
LINKAGE = {'x1': 'm', 'y1': 'm', 'x2': 'm', 'y2': 'm'}
WORDS = {'yaw_rate': 'yaw rate'}


def vehicle(out: Path, seed: int, seconds: float = 10.0) -> Part:
    """A buggy on a circle: offline observer and the node error_ekf."""
    bag, folder, live = out / f'buggy-circle_{seed}', out / 'buggy', out / 'buggy_live'
    simulate('buggy-circle', bag, seed=seed, duration=seconds, overwrite=True)
    shutil.rmtree(folder, ignore_errors=True)
    outcome = run_verb('observe', 'vehicle', [bag], out=folder)
    replay_graph([bag], 'error_ekf', live, overwrite=True, log_level='error')
    commands = (
        f'veh-id simulate buggy-circle --duration {seconds:g} --out {bag}',
        f'veh-id observe vehicle {bag} --out {folder}',
        f'veh-id replay {bag} --graph error_ekf --out {live}',
    )
    off = live_error(live, bag)
    return Part(
        'buggy',
        'Vehicle observer',
        'A multibody model of a car, wrong in its mass and '
        'start, kept true by GNSS, an inertial unit and wheel encoders (Sinigaglia 2016).',
        commands,
        errors=_errors(outcome, VEHICLE),
        sentences=(
            f'the node error_ekf on the same recording: {off:.3g} m rms in the plane after 2 s',
            outcome.verdict.line,
        ),
        report=_report(folder),
        folders=(bag, folder, live),
    )


def linkage(out: Path, seed: int) -> Part:
    """The four-bar linkage of chapter 3."""
    bag, folder = out / f'four-bar_{seed}', out / 'four-bar'
    simulate('four-bar', bag, seed=seed, overwrite=True)
    shutil.rmtree(folder, ignore_errors=True)
    outcome = run_verb('observe', 'four-bar', [bag], out=folder)
    commands = (
        f'veh-id simulate four-bar --out {bag}',
        f'veh-id observe four-bar {bag} --out {folder}',
    )
    return Part(
        'four-bar',
        'Four-bar observer',
        'A linkage whose model has the wrong gravity and start, observed with one encoder.',
        commands,
        errors=_errors(outcome, LINKAGE),
        sentences=(outcome.verdict.line,),
        report=_report(folder),
        folders=(bag, folder),
    )


def live_error(live: Path, bag: Path, settling: float = 2.0) -> float:
    """Distance in the plane of odometry/observed from truth/odom, rms after the start."""
    paths = ['pose.pose.position.x', 'pose.pose.position.y']
    seen = read_columns(live, {'/odometry/observed': paths})['/odometry/observed']
    real = read_columns(bag, {'/truth/odom': paths})['/truth/odom']
    start = real.stamps_ns[0]
    known, at = (real.stamps_ns - start) * 1e-9, (seen.stamps_ns - start) * 1e-9
    used = (at > settling) & (at < known[-1])
    gaps = np.stack([seen[path][used] - np.interp(at[used], known, real[path]) for path in paths])
    return float(np.sqrt(np.mean(np.square(gaps).sum(axis=0))))


def _errors(outcome: Outcome[ObserverRun], wanted: dict[str, str]) -> tuple[ErrorRow, ...]:
    table = outcome.result.metrics['coordinates']
    return tuple(
        ErrorRow(
            WORDS.get(name, name),
            unit,
            table[name]['rms_obs'],
            table[name]['max_obs'],
            table[name]['rms_model'],
        )
        for name, unit in wanted.items()
        if name in table
    )


def _report(folder: Path) -> Path | None:
    path = folder / 'report.html'
    return path if path.is_file() else None
