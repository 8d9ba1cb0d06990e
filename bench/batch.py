"""Batches: throughput and memory per worker, equality, killed workers and schedulers.

Recordings of simulated cars and arms are reduced by one process, by two and by more (processes of
Dask's LocalCluster where it is installed, else of the standard library). Throughput is compared by
processor seconds for each recording, which other work on the machine does not change; the seconds
of the clock stand beside it. One spring of one car loses 2 % in the middle of its recordings.
"""

from __future__ import annotations

import argparse
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))  # new processes inherit it

from batch_measured import Measured, killing, mark_of, measured
from batch_recordings import URDF, write_arms, write_cars

from veh_identification import engines
from veh_identification.engines import EngineError
from veh_identification.fleets.combination import combine
from veh_identification.fleets.entries import Entry
from veh_identification.fleets.fleet import Fleet
from veh_identification.fleets.reduction import Job
from veh_identification.fleets.run import Settings, run_batch
from veh_identification.runtime.share import share_directory

PART = 'batch'
#: Agreement with the sequential result.
EQUAL = 1e-9
#: Recordings that compile and load everything before anything is measured.
WARM = 2
#: Length of the recordings.
CAR_SECONDS, ARM_SECONDS = 5.0, 3.0
#: Recordings of the run whose scheduler is killed.
MOST_LOST = 120


def options_parser() -> argparse.ArgumentParser:
    """Options of this part."""
    parser = argparse.ArgumentParser(prog='veh-id bench batch', description=__doc__)
    parser.add_argument('--cars', type=int, help='simulated cars (default: 20)')
    parser.add_argument('--arms', type=int, help='simulated arms (default: 10)')
    parser.add_argument('--weeks', type=int, help='recordings of each (default: 34)')
    parser.add_argument('--workers', type=int, nargs='*', help='counts of workers (default: 2 4)')
    parser.add_argument('--folder', help='where the recordings are kept for the next time')
    return parser


@dataclass(frozen=True)
class Run:
    """All recordings reduced once."""

    results: list[Measured]
    clock: float  # seconds

    @property
    def warm(self) -> list[int]:
        """Places of all recordings but the first ones of every process."""
        seen: dict[int, int] = {}
        kept = []
        for place in sorted(range(len(self.results)), key=lambda k: self.results[k].begin):
            process = self.results[place].process
            seen[process] = seen.get(process, 0) + 1
            if seen[process] > WARM:
                kept.append(place)
        return kept

    def seconds(self, places: Sequence[int]) -> float:
        """Of a processor for each of these recordings."""
        spent = [self.results[place].seconds for place in places]
        return float(np.mean(spent)) if spent else float('nan')

    @property
    def memory(self) -> tuple[float, float]:
        """Largest memory of a worker in MB, after a third of its work and at the end."""
        third, end = [], []
        for process in {one.process for one in self.results}:
            own = [one for one in self.results if one.process == process]
            own.sort(key=lambda one: one.begin)
            third.append(own[len(own) // 3].memory)
            end.append(own[-1].memory)
        return max(third), max(end)


def measure(
    quick: bool = False,
    cars: int | None = None,
    arms: int | None = None,
    weeks: int | None = None,
    workers: Sequence[int] | None = None,
    folder: str | None = None,
) -> list[dict[str, Any]]:
    """All rows of the table."""
    cars, arms = cars or (2 if quick else 20), arms or (1 if quick else 10)
    weeks = weeks or (4 if quick else 34)
    counts = list(workers or ((2,) if quick else (2, 4)))
    with tempfile.TemporaryDirectory(prefix='veh-id-bench-') as scratch:
        place = Path(folder or scratch)
        spring = {'soft_machine': cars // 2, 'soft_from': weeks // 2}
        written = write_arms(place / 'arms', arms, weeks, seconds=ARM_SECONDS)
        written += write_cars(place / 'cars', cars, weeks, seconds=CAR_SECONDS, **spring)
        _tell(f'{written} recordings written')
        jobs = _jobs(place, cars, arms, weeks)
        alone = _run(engines.in_this_process, jobs)
        rows = [
            _row(
                f'{len(jobs)} recordings, one process',
                1.0 / alone.seconds(alone.warm),
                None,
                'recordings/processor s',
            ),
            _row('one process, clock', len(jobs) / alone.clock, None, 'recordings/s'),
            *_by_system(jobs, alone),
        ]
        for count in counts:
            rows += _several(jobs, alone, count)
        rows += _killed_worker(jobs, alone, Path(scratch))
        rows += _spring(jobs, alone, spring)
        if engines.has_dask():
            rows += _killed_scheduler(place / 'arms', jobs, alone, Path(scratch))
    return rows


def _jobs(place: Path, cars: int, arms: int, weeks: int) -> list[Job]:
    """Recordings of all machines, week by week, as they come in."""
    found = []
    for week in range(weeks):
        for system, count, name in (('car', cars, 'cars/car'), ('robot', arms, 'arms/arm')):
            for machine in range(count):
                path = place / f'{name}_{machine:02d}' / f'week_{week:03d}'
                options = (('urdf', _urdf()),) if system == 'robot' else ()
                found.append(Job(str(path), system, options=options))
    return found


def _urdf() -> Path:
    return share_directory() / 'config' / 'models' / URDF


def _tell(text: str) -> None:
    print(f'batch: {text}', file=sys.stderr, flush=True)


def _run(engine: Any, jobs: Sequence[Job], function: Any = measured) -> Run:
    begin = time.monotonic()
    found = dict(engine(function, jobs))
    _tell(f'{len(found)} recordings in {time.monotonic() - begin:.0f} s')
    return Run([found[index] for index in range(len(jobs))], time.monotonic() - begin)


def _row(case: str, ours: float | None, peer: float | None, unit: str, **more: Any) -> Any:
    return {'case': case, 'ours': ours, 'peer': peer, 'unit': unit, **more}


def _by_system(jobs: Sequence[Job], alone: Run) -> list[dict[str, Any]]:
    """What a recording of each kind takes, how many can be used, and what is kept of one."""
    rows = []
    for system in dict.fromkeys(job.system for job in jobs):
        of = [one for job, one in zip(jobs, alone.results, strict=True) if job.system == system]
        usable = sum(one.reduction.usable for one in of)
        case = f'{system}: {len(of)} recordings, {usable} usable, {of[0].reduction.seconds:.0f} s'
        spent = float(np.median([one.seconds for one in of[WARM:]]))
        rows.append(_row(case, spent, None, 'processor s each'))
    return rows


def _machines(jobs: Sequence[Job], results: Sequence[Measured]) -> dict[str, list[Measured]]:
    found: dict[str, list[Measured]] = {}
    for job, one in zip(jobs, results, strict=True):
        found.setdefault(Path(job.address).parent.name, []).append(one)
    return found


def difference(jobs: Sequence[Job], one: Sequence[Measured], other: Sequence[Measured]) -> float:
    """Largest difference of recordings and of machines, in deviations and relative to them."""
    worst = 0.0
    for a, b in zip(one, other, strict=True):
        if a.reduction.error != b.reduction.error or a.reduction.names != b.reduction.names:
            return float('inf')
        if not a.reduction.error:
            worst = max(worst, _apart(a.reduction, b.reduction))
    sides = [_machines(jobs, side) for side in (one, other)]
    for name in sides[0]:
        whole = [combine(name, [m.reduction for m in side[name]]) for side in sides]
        worst = max(worst, _apart(*whole))
    return worst


def _apart(a: Any, b: Any) -> float:
    known = np.isfinite(b.value) & np.isfinite(b.std) & (b.std > 0.0)
    if not np.array_equal(known, np.isfinite(a.value) & np.isfinite(a.std) & (a.std > 0.0)):
        return float('inf')
    if not known.any():
        return 0.0
    value = np.abs(a.value - b.value)[known] / np.maximum(np.abs(b.value), b.std)[known]
    return float(max(value.max(), np.abs(a.std[known] / b.std[known] - 1.0).max()))


def _spring(jobs: Sequence[Job], alone: Run, spring: dict[str, int]) -> list[dict[str, Any]]:
    """Is the spring that lost 2 % found, dated, and alone?"""
    cars = [
        Entry(job.address, Path(job.address).parent.name, None, one.reduction)
        for job, one in zip(jobs, alone.results, strict=True)
        if job.system == 'car'
    ]
    fleet = Fleet('car', tuple(cars))
    name, steps = f'car_{spring["soft_machine"]:02d}', fleet.changes.steps
    _tell(fleet.text)
    right = [
        one
        for one in steps
        if (one.machine, one.parameter) == (name, 'k1')
        and Path(cars[one.first_after].address).name == f'week_{spring["soft_from"]:03d}'
    ]
    others = len([one for one in steps if (one.machine, one.parameter) != (name, 'k1')])
    share = 100.0 * right[0].share if right else float('nan')
    return [
        _row(
            f'a spring that loses 2 %: found and dated to the week ({len(right)} time), change',
            share,
            -2.0,
            '%',
            wanted='once',
            met=len(right) == 1,
            peer_name='what was put in',
        ),
        _row(
            f'changes found in {fleet.changes.series} series beside that one, of which none is',
            others,
            None,
            'false alarms',
            wanted='0',
            met=others == 0,
        ),
    ]


def _several(jobs: Sequence[Job], alone: Run, count: int) -> list[dict[str, Any]]:
    work = engines.engine(count)
    found = _run(work, jobs)
    both = sorted({*found.warm} & {*alone.warm})  # the same recordings on both sides
    usual, seconds = alone.seconds(both), found.seconds(both)
    ratio = usual / seconds
    third, end = found.memory
    own = alone.memory[1]
    apart = difference(jobs, found.results, alone.results)
    name = 'one process'
    return [
        _row(
            f'{count} workers',
            1.0 / seconds,
            1.0 / usual,
            'recordings/processor s',
            ratio=ratio,
            wanted='>= 0.85',
            met=ratio >= 0.85,
            peer_name=name,
        ),
        _row(
            f'{count} workers, clock',
            len(jobs) / found.clock,
            len(jobs) / alone.clock,
            'recordings/s',
            ratio=alone.clock / found.clock,
            peer_name=name,
        ),
        _row(f'{count} workers, memory of one', end, own, 'MB', ratio=end / own, peer_name=name),
        _row(
            f'{count} workers, memory: end over a third',
            end,
            third,
            'MB',
            ratio=end / third,
            wanted='<= 1.1',
            met=end / third <= 1.1,
            peer_name='the same worker earlier',
        ),
        _row(
            f'{count} workers, largest difference',
            apart,
            None,
            'relative',
            wanted='<= 1e-9',
            met=apart <= EQUAL,
        ),
    ]


def _killed_worker(jobs: Sequence[Job], alone: Run, scratch: Path) -> list[dict[str, Any]]:
    """A worker is killed as it begins its second job; what it had is done again."""
    some = list(jobs[: max(6, len(jobs) // 10)])
    os.environ['VEH_ID_BENCH_MARK'] = str(scratch / 'killed')
    found = _run(engines.engine(2), some, killing)
    apart = difference(some, found.results, alone.results[: len(some)])
    assert mark_of().exists(), 'no worker was killed'
    met = apart <= EQUAL
    case = 'a worker killed, largest difference'
    return [_row(case, apart, None, 'relative', wanted='<= 1e-9', met=met)]


def _killed_scheduler(
    place: Path, jobs: Sequence[Job], alone: Run, scratch: Path
) -> list[dict[str, Any]]:
    """`dask scheduler` is killed in the middle; a second run goes on where the first was."""
    known = {job.address: one for job, one in zip(jobs, alone.results, strict=True)}
    some = sorted(place.glob('*/*'))[:MOST_LOST]
    with socket.socket() as one:
        one.bind(('127.0.0.1', 0))
        port = one.getsockname()[1]
    address, parts = f'tcp://127.0.0.1:{port}', []
    try:
        parts.append(_dask('scheduler', '--host', '127.0.0.1', '--port', str(port)))
        worker = ('--nthreads', '1', '--host', '127.0.0.1', '--no-nanny', '--no-dashboard')
        parts += [_dask('worker', address, *worker) for _ in range(2)]
        done = []

        def progress(count: int, total: int) -> None:
            done.append(count)
            if count >= total // 3 and parts[0].poll() is None:
                parts[0].send_signal(signal.SIGKILL)

        arguments: dict[str, Any] = {'options': {'urdf': _urdf()}, 'out': scratch / 'out'}
        sentence = ''
        try:
            run_batch(
                'robot',
                some,
                settings=Settings(scheduler=address),
                progress=progress,
                **arguments,
            )
        except EngineError as error:
            sentence = str(error)
        _tell(sentence)
        fleet = run_batch('robot', some, settings=Settings(), **arguments)
    finally:
        for part in parts[::-1]:
            part.kill()
            part.wait()
    kept = sum(one.stored for one in fleet.entries)
    apart = max(
        _apart(one.reduction, known[str(one.address)].reduction)
        for one in fleet.entries
        if not one.reduction.error
    )
    told = 'were lost' in sentence
    return [
        _row(
            'scheduler killed: kept of so many',
            kept,
            len(some),
            'recordings',
            wanted='all that were done',
            met=told and kept == done[-1] > 0,
        ),
        _row(
            'scheduler killed, second run, largest difference',
            apart,
            None,
            'relative',
            wanted='<= 1e-9',
            met=apart <= EQUAL,
        ),
    ]


def _dask(*words: str) -> subprocess.Popen[bytes]:
    path = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    return subprocess.Popen(
        [sys.executable, '-m', 'dask', *words],
        env={**os.environ, 'PYTHONPATH': path},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
