"""Batches: throughput and memory per worker, equality, killed workers and schedulers.

Recordings of simulated arms are reduced by one process, by two and by more (processes of Dask's
LocalCluster where it is installed, else of the standard library). Throughput is compared by
processor seconds for each recording, which other work on the machine does not change; the seconds
of the clock stand beside it.
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
from batch_recordings import URDF, write_arms

from veh_identification.fleets import engines
from veh_identification.fleets.combination import combine
from veh_identification.fleets.engines import EngineError
from veh_identification.fleets.reduction import Job
from veh_identification.fleets.run import Settings, run_batch
from veh_identification.runtime.share import share_directory

PART = 'batch'
#: Agreement with the sequential result.
EQUAL = 1e-9
#: Recordings that compile and load everything before anything is measured.
WARM = 2


def options_parser() -> argparse.ArgumentParser:
    """Options of this part."""
    parser = argparse.ArgumentParser(prog='veh-id bench batch', description=__doc__)
    parser.add_argument('--machines', type=int, help='simulated arms (default: 10)')
    parser.add_argument('--weeks', type=int, help='recordings of each (default: 12)')
    parser.add_argument('--workers', type=int, nargs='*', help='counts of workers (default: 2 4)')
    parser.add_argument('--folder', help='where the recordings are kept for the next time')
    return parser


@dataclass(frozen=True)
class Run:
    """All recordings reduced once."""

    results: list[Measured]
    clock: float  # seconds

    @property
    def seconds(self) -> float:
        """Of a processor for each recording, without the first ones of every process."""
        seen: dict[int, int] = {}
        kept = []
        for one in sorted(self.results, key=lambda one: one.begin):
            seen[one.process] = seen.get(one.process, 0) + 1
            if seen[one.process] > WARM:
                kept.append(one.seconds)
        return float(np.mean(kept)) if kept else float('nan')

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
    machines: int | None = None,
    weeks: int | None = None,
    workers: Sequence[int] | None = None,
    folder: str | None = None,
) -> list[dict[str, Any]]:
    """All rows of the table."""
    machines = machines or (2 if quick else 10)
    weeks = weeks or (3 if quick else 12)
    counts = list(workers or ((2,) if quick else (2, 4)))
    with tempfile.TemporaryDirectory(prefix='veh-id-bench-') as scratch:
        place = Path(folder or scratch) / 'arms'
        _tell(f'{write_arms(place, machines, weeks)} recordings written')
        urdf = share_directory() / 'config' / 'models' / URDF
        paths = sorted(place.glob('*/*'))[: machines * weeks]
        jobs = [Job(str(path), 'robot', options=(('urdf', urdf),)) for path in paths]
        alone = _run(engines.in_this_process, jobs)
        rows = [
            _row('one process', 1.0 / alone.seconds, None, 'recordings/processor s'),
            _row('one process, clock', len(jobs) / alone.clock, None, 'recordings/s'),
        ]
        for count in counts:
            rows += _several(jobs, alone, count)
        rows += _killed_worker(jobs, alone, Path(scratch))
        if engines.has_dask():
            rows += _killed_scheduler(place, urdf, jobs, alone, Path(scratch))
    return rows


def _tell(text: str) -> None:
    print(f'batch: {text}', file=sys.stderr, flush=True)


def _run(engine: Any, jobs: Sequence[Job], function: Any = measured) -> Run:
    begin = time.monotonic()
    found = dict(engine(function, jobs))
    _tell(f'{len(found)} recordings in {time.monotonic() - begin:.0f} s')
    return Run([found[index] for index in range(len(jobs))], time.monotonic() - begin)


def _row(case: str, ours: float | None, peer: float | None, unit: str, **more: Any) -> Any:
    return {'case': case, 'ours': ours, 'peer': peer, 'unit': unit, **more}


def difference(one: Sequence[Measured], other: Sequence[Measured]) -> float:
    """Largest difference of recordings and of machines, in deviations and relative to them."""
    worst = 0.0
    for a, b in zip(one, other, strict=True):
        if a.reduction.error or a.reduction.names != b.reduction.names:
            return float('inf')
        worst = max(worst, _apart(a.reduction, b.reduction))
    whole = [combine('x', [m.reduction for m in side]) for side in (one, other)]
    return max(worst, _apart(*whole))


def _apart(a: Any, b: Any) -> float:
    value = np.abs(a.value - b.value) / np.maximum(np.abs(b.value), b.std)
    return float(max(value.max(), np.abs(a.std / b.std - 1.0).max()))


def _several(jobs: Sequence[Job], alone: Run, count: int) -> list[dict[str, Any]]:
    work = engines.engine(count)
    found = _run(work, jobs)
    ratio = alone.seconds / found.seconds
    third, end = found.memory
    own = alone.memory[1]
    apart = difference(found.results, alone.results)
    name = 'one process'
    return [
        _row(
            f'{count} workers',
            1.0 / found.seconds,
            1.0 / alone.seconds,
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
    some = list(jobs[: max(6, len(jobs) // 5)])
    os.environ['VEH_ID_BENCH_MARK'] = str(scratch / 'killed')
    found = _run(engines.engine(2), some, killing)
    apart = difference(found.results, alone.results[: len(some)])
    assert mark_of().exists(), 'no worker was killed'
    met = apart <= EQUAL
    case = 'a worker killed, largest difference'
    return [_row(case, apart, None, 'relative', wanted='<= 1e-9', met=met)]


def _killed_scheduler(
    place: Path, urdf: Path, jobs: Sequence[Job], alone: Run, scratch: Path
) -> list[dict[str, Any]]:
    """`dask scheduler` is killed in the middle; a second run goes on where the first was."""
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

        arguments: dict[str, Any] = {'options': {'urdf': urdf}, 'out': scratch / 'out'}
        sentence = ''
        try:
            run_batch(
                'robot',
                [place],
                settings=Settings(scheduler=address),
                progress=progress,
                **arguments,
            )
        except EngineError as error:
            sentence = str(error)
        _tell(sentence)
        fleet = run_batch('robot', [place], settings=Settings(), **arguments)
    finally:
        for part in parts[::-1]:
            part.kill()
            part.wait()
    kept = sum(one.stored for one in fleet.entries)
    apart = max(
        _apart(one.reduction, other.reduction)
        for one, other in zip(fleet.entries, alone.results, strict=True)
    )
    told = 'were lost' in sentence
    return [
        _row(
            'scheduler killed: kept of so many',
            kept,
            len(jobs),
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
