"""Observer, sensor fusion and a plain filter on drives of the independent road car, with faults.

The recordings that the estimators read hold no truth: what they say, they say of themselves.
"""

from __future__ import annotations

import json
import math
import shutil
import sys
import tempfile
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from observe.plain import plain_filter
from observe.score import Score, of_odometry, score
from observe.table import markdown
from veh_identification._version import __version__
from veh_identification.api import observe, replay_graph
from veh_identification.errors import UsageError, VehIdError
from veh_identification.fusion.geodesy import LocalFrame
from veh_identification.runtime.bags import BagReader, BagWriter
from veh_identification.runtime.messages import byte_value
from veh_identification.simulation.road_car.drive import DATUM, RoadDrive, drive
from veh_identification.simulation.sensors import EPOCH_NS

DURATION = 60.0
DRIVES = 10
FUSION_CONFIG = 'sensor_fusion_road_drive.yaml'


@dataclass(frozen=True)
class Case:
    """Faults of the simulation, and what else the description of the car says."""

    name: str
    faults: tuple[str, ...] = ()
    description: str = ''  # lines added to `base: road_drive.yaml`
    tells: bool = True  # something is wrong, so a word is expected
    outage: bool = False  # judged by its drift


NOMINAL = Case('nominal', tells=False)
#: The table of the issue, and more of the kind.
CASES = (
    Case('rear wheels spin 1.3 x 1.5 s', ('spin',)),
    Case('rear wheels lock 1 s', ('lock',)),
    Case('rear wheel sensors 1.3 x 1.5 s', ('false-spin',)),
    Case('rear wheel sensors stand 1 s', ('false-lock',)),
    Case('one wheel sensor stuck', ('stuck-wheel',)),
    Case('wheel speeds for angles', ('wheel-speeds',), tells=False),
    Case('spin, wheel speeds', ('spin', 'wheel-speeds')),
    Case('lock, wheel speeds', ('lock', 'wheel-speeds')),
    Case('stuck, wheel speeds', ('stuck-wheel', 'wheel-speeds')),
    Case('stamps jitter 1 ms', ('jitter',), tells=False),
    Case('stamps jitter 3 ms', ('jitter-3ms',), tells=False),
    Case('encoder of 96 ticks, not told', ('ticks',), tells=False),
    Case('heads north', ('north',), tells=False),
    Case('no datum', (), 'datum: null', tells=False),
    Case('starts 0.9 m from the datum', ('off-the-datum',), tells=False),
    Case('starts 2 km from the datum', ('far-from-datum',), tells=False),
    Case('wheels turned by 100 rad', ('turned-wheels',), tells=False),
    Case('starts at speed', ('start-at-speed',), tells=False),
    Case('GNSS at 50 Hz', ('gnss-50hz',), tells=False),
    Case('GNSS at 2 Hz', ('gnss-2hz',), tells=False),
    Case('GNSS at 1 Hz', ('gnss-1hz',), tells=False),
    Case('no gps/vel', ('no-gnss-velocity',), tells=False),
    Case(
        'gyro bias 5 mrad/s, none configured',
        ('gyro-bias',),
        'sensors: {imu: {gyroscope_bias: 0.0}}',
    ),
    Case('accelerometer bias 0.2 m/s2', ('accelerometer-bias',)),
    Case('IMU turned by 2 deg', ('mounting',)),
    Case('IMU and antenna 5 cm off', ('places',)),
    Case('fix 50 ms late', ('fix-late',)),
    Case('velocity 150 ms late', ('velocity-late',)),
    Case('wheels 50 ms late', ('wheels-late',)),
    Case('IMU 20 ms late', ('imu-late',)),
    Case('10 % of messages lost', ('dropped',)),
    Case('multipath jumps', ('outliers',)),
    Case('10 s without GNSS', ('outage',), outage=True),
    Case('30 s without GNSS', ('outage-30s',), outage=True),
    Case('96 ticks, 1 ms, GNSS at 2 Hz', ('ticks', 'jitter', 'gnss-2hz'), tells=False),
)


@dataclass(frozen=True)
class Judged:
    """One method on one drive."""

    score: Score | None  # None: it failed
    said: frozenset[str] = frozenset()  # warnings, errors and counts, each by a short name
    failure: str = ''
    rejected: dict[str, float] = field(default_factory=dict)  # share of each sensor


#: How an estimator may end; anything else is a mistake of this bench.
FAILURES = (VehIdError, ArithmeticError, ValueError, np.linalg.LinAlgError)


def failed(error: Exception) -> Judged:
    """An estimator that gave up, in its own words."""
    text = str(error).partition('\n')[0]
    return Judged(None, frozenset({type(error).__name__}), f'{type(error).__name__}: {text}')


def write_bag(found: RoadDrive, folder: Path) -> Path:
    """The recording without its truth."""
    with BagWriter(folder / 'bag') as writer:
        found.write(writer, truth=False)
    return folder / 'bag'


def by_observer(found: RoadDrive, bag: Path, case: Case) -> Judged:
    """The errorEKF through the library's face."""
    description = bag.parent / 'description.yaml'
    description.write_text(f'base: road_drive.yaml\n{case.description}\n', 'utf-8')
    try:
        outcome = observe('vehicle', bag, config=description, compare_model=False)
    except FAILURES as error:
        return failed(error)
    metrics, shift = outcome.result.metrics, np.zeros(3)
    if metrics.get('datum'):
        shift = np.array(LocalFrame(DATUM).from_geodetic(*metrics['datum']))
    estimate = of_odometry(outcome.files['observed'], 'odometry/observed', EPOCH_NS, shift)
    said = frozenset(f.code for f in outcome.findings if f.level in ('warn', 'bad'))
    counts = {
        name: one.get('rejected', 0) / max(1, one.get('used', 0) + one.get('rejected', 0))
        for name, one in metrics.get('sensors', {}).items()
    }
    return Judged(score(estimate, found), said, '', counts)


def by_fusion(found: RoadDrive, bag: Path, case: Case) -> Judged:
    """The node sensor_fusion through replay."""
    out = bag.parent / 'fused'
    try:
        replay_graph(
            [bag], 'sensor_fusion', out, config=FUSION_CONFIG, overwrite=True, log_level='error'
        )
    except FAILURES as error:
        return failed(error)
    estimate = of_odometry(out, 'odometry/fused', EPOCH_NS, np.zeros(3))
    return Judged(score(estimate, found), fusion_said(out))


def fusion_said(out: Path) -> frozenset[str]:
    """Warnings and errors of the node's diagnostics."""
    said = set()
    with BagReader(out) as reader:
        for one in reader.messages(['/diagnostics']):
            for status in one.message.status:
                if byte_value(status.level) > 0:
                    said.add(f'{status.name}: {status.message}')
    return frozenset(said)


def by_plain(found: RoadDrive, bag: Path, case: Case) -> Judged:
    """The plain filter of this bench."""
    with np.errstate(all='ignore'):
        return Judged(score(plain_filter(found), found))


def robot_localization_missing() -> str:
    """Why robot_localization is not measured; '' where it can be.

    It needs ROS: its two nodes play the same bag under `ros2 bag play --clock`.
    """
    if shutil.which('ros2') is None:
        return 'robot_localization: skipped, there is no ROS on this machine'
    return 'robot_localization: skipped, this bench does not start it yet'


METHODS = {'observer': by_observer, 'fusion': by_fusion, 'plain': by_plain}


def judge(case: Case, seed: int, duration: float = DURATION) -> dict[str, Judged]:
    """All methods on one drive with the faults of a case."""
    found = drive(seed, case.faults, duration=duration)
    with tempfile.TemporaryDirectory() as folder:
        bag = write_bag(found, Path(folder))
        return {name: method(found, bag, case) for name, method in METHODS.items()}


def word(judged: Judged, nominal: Judged) -> str:
    """What a method says that it does not say of the nominal drive; '' for a silent one."""
    new = sorted(judged.said - nominal.said)
    if new:
        return f'says {new[0]}' + (f' and {len(new) - 1} more' if len(new) > 1 else '')
    more = {
        name: share - nominal.rejected.get(name, 0.0) for name, share in judged.rejected.items()
    }
    worst = max(more, key=lambda name: more[name], default='')
    if worst and more[worst] > 0.005:
        return f'counts {worst}, {100 * judged.rejected[worst]:.1f} % rejected'
    return ''


def _of(judged: list[Judged], figure: str) -> float:
    """Root mean square of a figure over drives; infinite when one failed."""
    values = [np.inf if one.score is None else getattr(one.score, figure) for one in judged]
    return float(np.sqrt(np.mean(np.square(values))))


def _nees(judged: list[Judged]) -> dict[str, float]:
    scores = [one.score.nees for one in judged if one.score is not None]
    names = scores[0] if scores else {}
    return {name: float(np.mean([one[name] for one in scores])) for name in names}


def summary(
    case: Case, judged: list[dict[str, Judged]], nominal: list[dict[str, Judged]]
) -> dict[str, Any]:
    """A row of the bench: the observer beside its own nominal run and the plain filter."""
    ours, before = ([one['observer'] for one in rows] for rows in (judged, nominal))
    peers = [one['plain'] for one in judged]
    rms, base, peer = _of(ours, 'rms'), _of(before, 'rms'), _of(peers, 'rms')
    words = [word(one, old) for one, old in zip(ours, before, strict=True)]
    nees = _nees(ours)
    row: dict[str, Any] = {
        'case': case.name,
        'unit': 'm rms',
        'ours': rms,
        'peer': peer,
        'peer_name': 'plain filter',
        'ratio': peer / max(rms, 1e-12),
        'wanted': '<= 1.2 x nominal',
        'met': rms <= 1.2 * base,
        'to_nominal': rms / base,
        'largest': max((o.score.largest if o.score else np.inf) for o in ours),
        'fusion': _of([one['fusion'] for one in judged], 'rms'),
        'nees': nees,
        'dishonest': [n for n, v in nees.items() if np.isfinite(v) and not 0.5 <= v <= 2.0],
        'words': words,
        'silent': sum(not said for said in words) if case.tells else 0,
        'failures': sorted({one.failure for one in ours if one.failure}),
        'drives': len(judged),
    }
    if case.outage:
        drift = _of(ours, 'drift')
        row |= {
            'drift': drift,
            'drift_plain': _of(peers, 'drift'),
            'drift_fusion': _of([one['fusion'] for one in judged], 'drift'),
            'wanted': 'drift <= 0.5 % of the way',
            'met': drift <= 0.005,
        }
    row['fusion_figures'] = [
        None if one['fusion'].score is None else asdict(one['fusion'].score) for one in judged
    ]
    row['observer_figures'] = [None if o.score is None else asdict(o.score) for o in ours]
    return row


def details(rows: list[dict[str, Any]]) -> str:
    """The table that a row of the bench has no room for."""
    names = ('x', 'y', 'z', 'vx', 'vy', 'vz', 'roll', 'pitch', 'yaw')
    lines = [
        f'{"case":38}{"observer":>10}{"fusion":>10}{"plain":>10}{"/nominal":>10}  '
        + ''.join(f'{n:>8}' for n in names)
        + '  a word (first drive)'
    ]
    for row in rows:
        figures = [row['ours'], row['fusion'], row['peer'], row['to_nominal']]
        nees = [row['nees'].get(name, float('nan')) for name in names]
        drift = f' [drift {100 * row["drift"]:.2f} %]' if 'drift' in row else ''
        lines.append(
            f'{row["case"]:38}'
            + ''.join(f'{v:10.3g}' for v in figures)
            + '  '
            + ''.join(f'{v:8.2g}' for v in nees)
            + f'  {(row["failures"] or row["words"] or [""])[0] or "-"}{drift}'
        )
    return '\n'.join(lines)


def finite(value: Any) -> Any:
    """The same with null for what is no number: JSON knows neither NaN nor infinity."""
    if isinstance(value, dict):
        return {key: finite(one) for key, one in value.items()}
    if isinstance(value, list):
        return [finite(one) for one in value]
    return None if isinstance(value, float) and not np.isfinite(value) else value


@dataclass(frozen=True)
class Limits:
    """How much is driven, from a first `seed` on.

    `resume` names a file that keeps every drive (one JSON a line), `markdown` one for the table
    of all cases.
    """

    drives: int = DRIVES
    duration: float = DURATION
    cases: str = ''
    seed: int = 0
    minutes: float = math.inf
    resume: str = ''
    markdown: str = ''

    def chosen(self) -> list[Case]:
        """Cases whose names hold one of the texts; all without any."""
        texts = [text.strip() for text in self.cases.split(',') if text.strip()]
        found = [c for c in CASES if not texts or any(text in c.name for text in texts)]
        if texts and not found and not any(text in NOMINAL.name for text in texts):
            names = ', '.join(case.name for case in CASES)
            raise UsageError(f'no case holds {self.cases!r}; there are: {names}')
        return found


class Kept:
    """Drives that were judged already, in memory and in a file."""

    def __init__(self, limits: Limits) -> None:
        self._limits, self._found = limits, {}
        self._end = time.monotonic() + 60.0 * limits.minutes
        self._path = Path(limits.resume) if limits.resume else None
        if self._path is not None and self._path.exists():
            for line in self._path.read_text('utf-8').splitlines():
                entry = json.loads(line)
                self._found[tuple(entry['key'])] = {
                    name: _judged(one) for name, one in entry['judged'].items()
                }

    def judge(self, case: Case, seed: int) -> dict[str, Judged] | None:
        """All methods on one drive; None when the time is over."""
        key = (__version__, case.name, seed, self._limits.duration)
        if key not in self._found:
            if time.monotonic() > self._end:
                return None
            print(f'{case.name}, seed {seed} ...', file=sys.stderr, flush=True)
            self._found[key] = found = judge(case, seed, self._limits.duration)
            if self._path is not None:
                judged = {name: _plain(one) for name, one in found.items()}
                with self._path.open('a', encoding='utf-8') as file:
                    file.write(json.dumps({'key': key, 'judged': judged}) + '\n')
        return self._found[key]


def _plain(judged: Judged) -> dict[str, Any]:
    """As JSON keeps it."""
    return asdict(judged) | {'said': sorted(judged.said)}


def _judged(kept: dict[str, Any]) -> Judged:
    """Back from JSON."""
    figures = kept['score']
    return Judged(
        None if figures is None else Score(**figures),
        frozenset(kept['said']),
        kept['failure'],
        kept['rejected'],
    )


def road_rows(limits: Limits) -> list[dict[str, Any]]:
    """A row a case over the drives that the time allows."""
    kept, rows = Kept(limits), []
    nominal: dict[int, dict[str, Judged]] = {}
    for case in (NOMINAL, *limits.chosen()):
        found = {}
        for seed in range(limits.seed, limits.seed + limits.drives):
            judged = kept.judge(case, seed)
            if judged is not None:
                found[seed] = judged
        if case is NOMINAL:
            nominal = found
        seeds = [seed for seed in found if seed in nominal]
        if not seeds:
            print(f'{case.name}: not driven, the time is over', flush=True)
            continue
        row = summary(case, [found[s] for s in seeds], [nominal[s] for s in seeds])
        text = details([row])
        print(text.partition('\n')[2] if rows else text, flush=True)
        rows.append(row)
    print(robot_localization_missing(), flush=True)
    found_rows = [finite(row) for row in rows]
    if limits.markdown:
        Path(limits.markdown).write_text(markdown(found_rows, limits.duration), 'utf-8')
    return found_rows
