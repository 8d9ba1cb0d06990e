"""A day through every node: memory, counters and estimates after 24 h of stamps.

A short recording comes again and again, with stamps that go on: some seconds of data, then minutes
of silence in which the clock and the reports of the nodes run, as on a machine that works now and
then. The data are the same each time, so that counters grow by the same numbers each time and the
estimates have no reason to move. Memory is that of this process, looked at after every recording.
"""

from __future__ import annotations

import argparse
import copy
import gc
import itertools
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

from hostile.nominal import Estimates, away_by, collect
from hostile.spoiling import SECOND, Item, set_stamp
from hostile.streams import KNOWN, PLANS, Plan, load_source

from veh_identification.runtime import messages
from veh_identification.runtime.graph import create_graph, find_graph, finish_graph
from veh_identification.runtime.replay.engine import ReplayEngine

PART = 'long'
HOURS, RECORDINGS = 24.0, 24
#: Length of a recording at most.
SECONDS = 12.0
#: The recording whose estimates those of the last one are compared with.
EARLY = 2
#: Growth of the memory from a fifth of the way to its end.
MOST_GROWTH = 1.02


def options_parser() -> argparse.ArgumentParser:
    """Options of this part."""
    parser = argparse.ArgumentParser(prog='veh-id bench long', description=__doc__)
    parser.add_argument('--hours', type=float, help='of stamps (default: 24)')
    parser.add_argument('--recordings', type=int, help='in that time (default: 24)')
    parser.add_argument('--seconds', type=float, help='of a recording at most (default: 12)')
    parser.add_argument('--node', action='append', help='only those whose name holds this')
    return parser


def repeated(source: Sequence[Item], times: int, period_ns: int) -> Iterator[Item]:
    """The source again and again; the messages are others each time, as from a network."""
    for k in range(times):
        offset = k * period_ns
        for item in source:
            message = copy.copy(item.message)
            if hasattr(message, 'header'):
                message.header = copy.copy(message.header)
                stamp = message.header.stamp
                message.header.stamp = copy.copy(stamp)
                set_stamp(message, stamp.sec * SECOND + stamp.nanosec + offset)
            yield Item(item.time_ns + offset, item.topic, item.typename, message)


@dataclass
class Watch:
    """Takes what the nodes publish and looks at the process after every recording."""

    start_ns: int
    period_ns: int
    total: int  # recordings of the day
    recording: int = 0
    rows: list[tuple[str, str, bytes, int]] = field(default_factory=list)
    counts: list[dict[str, int]] = field(default_factory=list)
    estimates: dict[int, Estimates] = field(default_factory=dict)
    memory: list[float] = field(default_factory=list)
    unbalanced: int = 0

    def write(self, topic: str, typename: str, payload: bytes, time_ns: int, *, qos: Any) -> None:
        """Store one message of the present recording."""
        if (time_ns - self.start_ns) // self.period_ns > self.recording:
            self.close()
        self.rows.append((topic, typename, bytes(payload), time_ns))

    def close(self) -> None:
        """A recording is over: keep its numbers, forget the rest."""
        counts: dict[str, int] = {}
        for topic, typename, payload, _ in self.rows:
            if topic == '/diagnostics':
                counts = self._counted(messages.deserialize(payload, typename)) or counts
        self.counts.append(counts)
        if self.recording in (EARLY, self.total - 1):
            self.estimates[self.recording] = collect(self.rows)
        self.rows.clear()
        gc.collect()
        pages = int(Path('/proc/self/statm').read_text('ascii').split()[1])
        self.memory.append(pages * 4096 / 2**20)
        self.recording += 1

    def _counted(self, array: Any) -> dict[str, int]:
        found = {}
        for status in array.status:
            values = {item.key: item.value for item in status.values}
            if 'received' in values:
                found[status.name] = received = int(values['received'])
                if 'accepted' in values:
                    self.unbalanced += received != sum(int(values.get(k, 0)) for k in KNOWN)
        return found


def run_day(plan: Plan, source: list[Item], hours: float, recordings: int) -> tuple[Watch, float]:
    """The whole day through the nodes of a graph; what was seen and the processor seconds."""
    period = round(hours * 3600 * SECOND / recordings)
    watch = Watch(source[0].time_ns, period, recordings)
    engine = ReplayEngine(source[0].time_ns, sink=watch, log_level='fatal')
    given = dict(plan.parameters)
    nodes = create_graph(engine, find_graph(plan.graph), config=plan.config, parameters=given)
    begin = time.process_time()
    # One message of the next day: the reports up to it tell of the whole of this one.
    every = repeated(source, recordings + 1, period)
    engine.run(itertools.islice(every, recordings * len(source) + 1))
    finish_graph(nodes)
    if watch.recording < recordings:
        watch.close()
    failures = sum(node._guard.failures for node in nodes)
    assert not failures, f'{plan}: {failures} callbacks failed'
    return watch, time.process_time() - begin


def rows_of(plan: Plan, watch: Watch, sent: int, hours: float, spent: float) -> list[Any]:
    """Memory, counters, estimates."""
    name = f'{plan}, {hours:g} h'
    fifth = watch.memory[len(watch.memory) // 5]
    growth = max(watch.memory[len(watch.memory) // 5 :]) / fifth
    last = watch.counts[-1]
    wrong = {one for one in last if not _grows_evenly([c.get(one, 0) for c in watch.counts])}
    shift = (watch.total - 1 - EARLY) * watch.period_ns / SECOND
    moved, what = away_by(watch.estimates[watch.total - 1], watch.estimates[EARLY], shift)
    return [
        _row(f'{name}: memory, most after a fifth of the way', growth, 1.0, 'of it', MOST_GROWTH)
        | {'megabytes': [round(one, 1) for one in watch.memory]},
        _row(
            f'{name}: {sent:,} messages in {spent:.0f} s, counters of {len(last)} sensors that '
            'do not grow evenly, reports whose sum is wrong',
            len(wrong) + watch.unbalanced,
            None,
            'counters',
            0,
        ),
        _row(f'{name}: largest move of an estimate ({what})', moved, None, 'deviations', 1.0),
    ]


def _grows_evenly(counts: Sequence[int]) -> bool:
    """Whether every recording but the first brings the same number, and the first no more: what
    a node in front holds back at the end of a recording comes with the next one.
    """
    first, *grown = (int(one) for one in np.diff([0, *counts]))
    return len(set(grown)) <= 1 and first <= min(grown, default=first)


def _row(case: str, ours: float, peer: float | None, unit: str, most: float) -> dict[str, Any]:
    wanted = {'wanted': f'<= {most:g}', 'met': bool(ours <= most)}
    return {'case': case, 'ours': float(ours), 'peer': peer, 'unit': unit, **wanted}


def measure(
    quick: bool = False,
    hours: float | None = None,
    recordings: int | None = None,
    seconds: float | None = None,
    node: Sequence[str] = (),
) -> list[dict[str, Any]]:
    """All rows of the table."""
    hours = hours or (2.0 if quick else HOURS)
    count = max(recordings or (6 if quick else RECORDINGS), EARLY + 2)
    rows = []
    with tempfile.TemporaryDirectory(prefix='veh-id-bench-') as folder:
        for plan in PLANS:
            if node and not any(one in str(plan) for one in node):
                continue
            plan = plan._replace(seconds=min(plan.seconds, seconds or SECONDS))
            source = load_source(Path(folder), plan)
            with np.errstate(all='ignore'):
                watch, spent = run_day(plan, source, hours, count)
            made = rows_of(plan, watch, count * len(source), hours, spent)
            print(f'long: {plan}: {[one["ours"] for one in made]}', file=sys.stderr, flush=True)
            rows += made
    return rows
