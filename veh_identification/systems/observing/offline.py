"""All samples of a recording through an observer, against the clock."""

from __future__ import annotations

import time as clock
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from veh_identification.observation import Innovation
from veh_identification.observation.streaming import (
    Item,
    ObservedSystem,
    OnlineObserver,
    OnlineOptions,
    Session,
)
from veh_identification.observation.streaming.collector import set_aside

Keep = Callable[[Session, int, Sequence[Innovation]], None]
Beside = Callable[[Session, int], None]


@dataclass(frozen=True, eq=False)
class OfflineRun:
    """The observer after its last sample, and what it took."""

    observer: OnlineObserver
    seconds: float  # of wall time
    processor_seconds: float


def run_offline(
    system: ObservedSystem,
    items: Iterable[Item],
    options: OnlineOptions,
    keep: Keep,
    beside: Beside | None = None,
) -> OfflineRun:
    """The observer over samples in the order of arrival; `keep` is called after every step.

    What `beside` does after every step (writing bags, drawing conclusions) is no work of the
    observer and not on its clock. Compiled kernels must be warm: compiling would be.
    """
    lost = lost_processor = 0.0

    def made(session: Session, end_ns: int, innovations: Sequence[Innovation]) -> None:
        nonlocal lost, lost_processor
        keep(session, end_ns, innovations)
        if beside is not None:
            begin, processor = clock.perf_counter(), clock.process_time()
            beside(session, end_ns)
            lost += clock.perf_counter() - begin
            lost_processor += clock.process_time() - processor

    observer = OnlineObserver(system, options, made)
    for item in items:
        observer.push(item.key, item.time_ns, item.payload)
    ordered = list(observer.arrivals.flush())
    begin, processor = clock.perf_counter(), clock.process_time()
    with set_aside():
        observer.take(ordered)
        observer.finish()
    return OfflineRun(
        observer,
        clock.perf_counter() - begin - lost,
        clock.process_time() - processor - lost_processor,
    )
