"""Where the work is done: in this process, in several, or on a Dask cluster.

Every engine takes a function and its jobs and gives (index, result) in whatever order they are
done; the jobs do not know of each other. A process that dies takes nothing along but its job,
which is tried again; a job that ends three processes is given up with a sentence.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent import futures
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

from veh_identification.errors import InputError, UsageError, one_line

#: Jobs and results are what the function takes and gives; recordings are one kind of them.
Function = Callable[[Any], Any]
Done = Iterator[tuple[int, Any]]
GivenUp = Callable[[Any], Any]
#: Processes that one job may end before it is given up.
TRIES = 3
#: Jobs that wait at a worker, so that none is idle while results travel.
AHEAD = 3
#: Seconds until a scheduler must have answered.
PATIENCE = 30.0
#: Seconds that a cluster may be without any worker: they may be restarted.
GONE = 600.0
#: Seconds that a small result may travel; it is asked for again afterwards.
FETCH = 3.0
#: What is said of jobs whose results nobody keeps.
LOST = 'after {done} of {all} jobs'
#: Our matrices are small: threads of the linear algebra that wait for each other cost more.
THREADS = ('OMP_NUM_THREADS', 'OPENBLAS_NUM_THREADS', 'MKL_NUM_THREADS', 'NUMBA_NUM_THREADS')

#: Dask's processes hand every array above 128 kB back to the system and ask for it again: the
#: pages that must be cleared cost a third of the time. What a recording needs, the next one needs
#: again. (For the C library of Linux; others do not know these words.)
MEMORY = {'MALLOC_TRIM_THRESHOLD_': 256 * 2**20, 'MALLOC_MMAP_THRESHOLD_': 32 * 2**20}

#: What Dask's processes do every 20 to 500 ms for a dashboard that nobody looks at: 3 % of a
#: processor each, which a busy machine charges to every recording.
QUIET = {
    'distributed.worker.profile.enabled': False,
    'distributed.admin.tick.interval': '1s',
    'distributed.admin.system-monitor.interval': '5s',
    'distributed.worker.memory.monitor-interval': '1s',
}


class EngineError(InputError):
    """The cluster is lost or cannot be reached."""


def engine(workers: int | None, scheduler: str = '') -> Callable[..., Done]:
    """The engine that the options ask for; None or 0 workers: one for each core."""
    if scheduler:
        return partial(on_cluster, address=scheduler)
    count = workers or cores()
    if count == 1:
        return in_this_process
    return (
        partial(on_cluster, workers=count) if has_dask() else partial(in_processes, workers=count)
    )


def cores() -> int:
    """That this process may use."""
    with suppress(AttributeError):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def has_dask() -> bool:
    """Whether dask.distributed is installed."""
    try:
        import distributed  # noqa: F401
    except ImportError:
        return False
    return True


def in_this_process(
    function: Function, jobs: Sequence[Any], *, given_up: GivenUp | None = None, lost: str = ''
) -> Done:
    """One after the other; nothing can be given up or lost here."""
    for index, job in enumerate(jobs):
        yield index, function(job)


def study(
    function: Function, jobs: Sequence[Any], workers: int | None = 1, scheduler: str = ''
) -> list[Any]:
    """Results of a study (simulated machines, seeds, settings) in the order of its jobs.

    Unlike recordings, none of them may be missing: one that ends its processes ends the study.
    """
    if workers is not None and workers < 0:
        raise UsageError(f'--workers {workers}: expected 0 (all cores) or more')
    found = dict(engine(workers, scheduler)(function, jobs, given_up=study_given_up))
    return [found[index] for index in range(len(jobs))]


def study_given_up(job: Any) -> Any:
    """A study lacks nothing, or it is none."""
    raise EngineError(f'{TRIES} worker processes ended at {job!r} (not enough memory?).')


# Processes of this machine ----------------------------------------------------------------------


def _single_thread() -> None:
    os.environ.update(dict.fromkeys(THREADS, '1'))


def in_processes(
    function: Function,
    jobs: Sequence[Any],
    workers: int,
    *,
    given_up: GivenUp = study_given_up,
    lost: str = '',
) -> Done:
    """Processes of the standard library; a broken pool is replaced, so that nothing is lost.

    `given_up`: what stands for a job that ends every process.
    """
    waiting = list(range(len(jobs)))[::-1]
    ended: Counter[int] = Counter()
    while waiting:
        running: dict[futures.Future[Any], int] = {}
        try:
            with _pool(workers) as pool:
                while waiting or running:
                    # No more than there are workers: whoever ends a process is among these.
                    while waiting and len(running) < workers:
                        index = waiting.pop()
                        running[pool.submit(function, jobs[index])] = index
                    done, _ = futures.wait(running, return_when=futures.FIRST_COMPLETED)
                    for one in done:
                        result = one.result()
                        yield running.pop(one), result
        except BrokenProcessPool:
            suspects = list(running.values())
            ended.update(suspects)
            for index in suspects:
                if ended[index] >= TRIES:
                    yield index, given_up(jobs[index])
                else:
                    waiting.append(index)
            # With one worker a job that ends its process takes no innocent one along.
            workers = 1 if any(ended[index] >= TRIES - 1 for index in waiting) else workers


@contextmanager
def _pool(workers: int) -> Iterator[futures.ProcessPoolExecutor]:
    # Not forked: threads of this process may hold locks.
    context = multiprocessing.get_context('spawn')
    with _environment_kept(THREADS):
        _single_thread()  # what a new process begins with
        pool = futures.ProcessPoolExecutor(workers, context, initializer=_single_thread)
        try:
            yield pool
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


@contextmanager
def _environment_kept(names: Iterable[str]) -> Iterator[None]:
    """What new processes are told is none of this one's business afterwards."""
    before = {name: os.environ.get(name) for name in names}
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


# Dask -------------------------------------------------------------------------------------------


def _distributed() -> Any:
    try:
        import distributed
    except ImportError:
        raise UsageError(
            '--scheduler needs dask.distributed, which is not installed: '
            "pip install 'veh_identification[batch]'"
        ) from None
    return distributed


@contextmanager
def _quiet() -> Iterator[None]:
    """What is wrong with a cluster is one sentence of ours, not what every part of it logs."""
    # Dask gives some of its loggers levels of their own, so that those above them do not count.
    noisy = ('distributed', 'asyncio', 'tornado')
    known = [name for name in logging.root.manager.loggerDict if name.split('.')[0] in noisy]
    loggers = [logging.getLogger(name) for name in {*noisy, *known}]
    before = [one.level for one in loggers]
    for one in loggers:
        one.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for one, level in zip(loggers, before, strict=True):
            one.setLevel(level)


@contextmanager
def _client(address: str, workers: int) -> Iterator[Any]:
    distributed = _distributed()
    if address:
        try:
            client = distributed.Client(address, timeout=PATIENCE, name='veh-id-batch')
        except (OSError, ValueError, TypeError) as error:
            raise EngineError(
                f'no Dask scheduler answers at {address}: {one_line(error)}.'
            ) from None
        try:
            yield client
        finally:
            with suppress(Exception):  # a lost scheduler cannot be told good-bye
                client.close(timeout=5)
        return
    import dask

    environment = {**dict.fromkeys(THREADS, 1), **MEMORY}
    with (
        _environment_kept(environment),  # Dask's nannies change it
        dask.config.set({'distributed.nanny.pre-spawn-environ': environment, **QUIET}),
        distributed.LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            dashboard_address='127.0.0.1:0',
            host='127.0.0.1',
            silence_logs=50,
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def on_cluster(
    function: Function,
    jobs: Sequence[Any],
    *,
    address: str = '',
    workers: int = 0,
    given_up: GivenUp = study_given_up,
    lost: str = LOST,
) -> Done:
    """A Dask cluster at an address, or one of processes on this machine.

    Dask does again what a lost worker had; only so much is handed over that all workers are busy,
    so that the scheduler's memory does not grow with the number of jobs. `lost`: what is said
    when the cluster is gone; {done} and {all} stand for jobs.
    """
    with _quiet(), _client(address, workers) as client:
        done = 0
        try:
            client.wait_for_workers(1, timeout=PATIENCE)
        except _lost():
            raise EngineError(f'the Dask scheduler at {address} has no worker.') from None
        try:
            for index, result in _rounds(client, function, jobs, given_up):
                done += 1
                yield index, result
        except _lost():
            where = f' at {address}' if address else ''
            said = lost.format(done=done, all=len(jobs))
            raise EngineError(
                f'the Dask scheduler{where} or its workers were lost {said}.'
            ) from None


def _lost() -> tuple[type[Exception], ...]:
    """What a cluster raises that is not there any more; Python 3.10 has a timeout of its own."""
    return (OSError, _distributed().TimeoutError, futures.CancelledError)


def _rounds(client: Any, function: Function, jobs: Sequence[Any], given_up: GivenUp) -> Done:
    """Keep the workers busy and hand on what is done; OSError when the scheduler is lost.

    Dask blames a dead worker's end on all that waited there: whoever is blamed is tried once more,
    alone.
    """
    distributed = _distributed()
    waiting = list(range(len(jobs)))[::-1]
    blamed: list[int] = []
    alone: set[int] = set()
    running: dict[Any, int] = {}
    heard = time.monotonic()
    while waiting or running or blamed:
        threads = sum(client.nthreads().values()) if client.status == 'running' else 0
        heard = time.monotonic() if threads else heard
        if client.status != 'running' or time.monotonic() - heard > GONE:
            raise ConnectionError
        if blamed and not waiting and not running:
            alone.add(blamed[-1])
            waiting.append(blamed.pop())
        for _ in range(min(AHEAD * max(1, threads) - len(running), len(waiting))):
            index = waiting.pop()
            future = client.submit(function, jobs[index], pure=False)
            running[future] = index
        with suppress(distributed.TimeoutError):
            distributed.wait(list(running), timeout=1.0, return_when='FIRST_COMPLETED')
        for future in [one for one in running if one.done()]:
            index = running[future]
            try:
                result = _result(future)
            except distributed.TimeoutError:
                continue  # its worker died with it, and another one does it again
            running.pop(future)
            future.release()
            if result is not None:
                yield index, result
            elif index in alone:
                yield index, given_up(jobs[index])
            else:
                blamed.append(index)


def _result(future: Any) -> Any:
    """None: the workers that had it died."""
    from distributed.scheduler import KilledWorker

    try:
        return future.result(timeout=FETCH)
    except KilledWorker:
        return None
    except _lost():
        raise
    except Exception as error:  # the function itself raises nothing: it could not be loaded there
        raise EngineError(
            f'a worker cannot run veh_identification: {type(error).__name__}: {one_line(error)}.'
        ) from None
