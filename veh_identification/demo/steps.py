"""The parts of the demo by name, and how they share two processor cores."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from contextlib import ExitStack
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path

from veh_identification.demo.parts import Part

#: Each lane runs in a process of its own, one part after the other. Parts that share compiled
#: code stay in one lane, so that a first run compiles nothing twice.
LANES = (('four-bar', 'buggy', 'parallel'), ('humanoid', 'fusion', 'car'))


def run_step(name: str, out: Path, seed: int) -> Part:
    """Run one part and say how long it took."""
    from veh_identification.demo import fusion, observers, systems

    steps: dict[str, Callable[[], Part]] = {
        'fusion': lambda: fusion.run(out, seed),
        'humanoid': lambda: systems.run(systems.HUMANOID, out, seed),
        'car': lambda: systems.run(systems.CAR, out, seed),
        'parallel': lambda: systems.run(systems.HEXAPOD, out, seed),
        'four-bar': lambda: observers.linkage(out, seed),
        'buggy': lambda: observers.vehicle(out, seed),
    }
    begin = time.perf_counter()
    return replace(steps[name](), seconds=time.perf_counter() - begin)


def run_steps(names: Sequence[str], out: Path, seed: int, lanes: int = 2) -> Iterator[Part]:
    """Parts as they are finished; in this process where there is nothing to share."""
    if lanes < 2 or len(names) < 2:
        for name in names:
            yield run_step(name, out, seed)
        return
    out.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        futures: list[Future[Part]] = []
        for lane in LANES:
            chosen = [name for name in lane if name in names]
            if chosen:
                # Not fork: the engines and compiled kernels have threads.
                pool = stack.enter_context(ProcessPoolExecutor(1, get_context('spawn')))
                stack.callback(pool.shutdown, wait=False, cancel_futures=True)
                futures += [pool.submit(run_step, name, out, seed) for name in chosen]
        for future in as_completed(futures):
            yield future.result()
