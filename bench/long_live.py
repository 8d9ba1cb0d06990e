"""Hours through the nodes of a graph, live: memory, counters and estimates.

As `veh-id bench long`, but each node is a process of its own that hears the recordings over zenoh
in real time, with stamps of now. Takes as long as it says: choose graphs by `--node`, and start
one bench for each if there are processors enough.
"""

from __future__ import annotations

import argparse
import itertools
import os
import struct
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from hostile.spoiling import SECOND
from hostile.streams import PLANS, Plan
from kills import missing
from long import EARLY, FOUND, SECONDS, Day, Watch, rows_of
from processes import node, router

from veh_identification.errors import UsageError
from veh_identification.runtime.bags import BagReader
from veh_identification.runtime.graph import find_graph
from veh_identification.runtime.qos import QoS

PART = 'long-live'
HOURS, PERIOD = 2.0, 120.0
#: Seconds after which the last messages are used and told, twice the longest lag of a node in
#: between.
SETTLE = 12.0
#: Seconds of one more recording, in which every topic is sent.
LAST = 1.0
#: Seconds within which the topics of the nodes must be found.
DISCOVERY = 30.0
#: What the nodes publish is kept until it is read.
DEPTH = 100_000
#: Where the stamp of a header is in a message: behind the four bytes that tell the encoding.
STAMP = struct.Struct('<iI')


def options_parser() -> argparse.ArgumentParser:
    """Options of this part."""
    parser = argparse.ArgumentParser(prog='veh-id bench long-live', description=__doc__)
    parser.add_argument('--hours', type=float, help='of each graph (default: 2)')
    parser.add_argument(
        '--period', type=float, help='s from recording to recording (default: 120)'
    )
    parser.add_argument('--seconds', type=float, help='of a recording at most (default: 12)')
    parser.add_argument('--node', action='append', help='only those whose name holds this')
    return parser


@dataclass(frozen=True)
class Due:
    """A message and when it is due."""

    time_ns: int
    topic: str
    typename: str
    payload: bytes


def recording(day: Day, k: int, later_ns: int) -> Iterator[tuple[Due, list[str]]]:
    """The messages of one recording as bytes, as late as it comes, and what each brings."""
    with BagReader(day.folder / f'{k % day.drawn}') as reader:
        wanted = [name for name in reader.topics if '/truth' not in name]
        for raw in reader.raw(wanted):
            payload, message = bytearray(raw.payload), raw.decode()
            if hasattr(message, 'header'):
                sec, nanosec = STAMP.unpack_from(payload, 4)
                STAMP.pack_into(payload, 4, *divmod(sec * SECOND + nanosec + later_ns, SECOND))
            names = getattr(message, 'name', ())
            brought = [raw.topic, *(f'{raw.topic} {name}' for name in names)]
            yield Due(raw.time_ns + later_ns, raw.topic, raw.typename, bytes(payload)), brought


def all_recordings(day: Day, offset_ns: int) -> Iterator[Due]:
    """One recording a period, and the first messages of one more: by these a node knows what it
    lost at the end of the last one.
    """
    for k in range(day.total):
        day.sent.append(Counter())
        for due, brought in recording(day, k, k * day.period_ns + offset_ns):
            day.sent[-1].update(brought)
            yield due
    later = day.total * day.period_ns + offset_ns
    last = recording(day, day.total, later)
    end = day.start_ns + later + round(LAST * SECOND)
    yield from (due for due, _ in itertools.takewhile(lambda one: one[0].time_ns < end, last))


def run_live(plan: Plan, day: Day) -> tuple[Watch, float]:
    """All recordings through the nodes; what was seen and the processor seconds of the nodes."""
    from veh_identification.runtime.zenoh import ZenohEngine, play

    graph = find_graph(plan.graph)
    with BagReader(day.folder / '0') as reader:
        profiles = {info.topic: info.qos for info in reader.topics.values()}
    with ExitStack() as stack:
        endpoint = stack.enter_context(router())
        nodes = []
        for one in graph.nodes:
            values = {'checkpoint.file': str(day.folder / f'{one.name}.npz')}
            values |= dict(plan.parameters)
            nodes.append(stack.enter_context(node(graph, one.name, endpoint, plan.config, values)))
        engine = stack.enter_context(ZenohEngine(endpoint=endpoint))
        pids = [one.pid for one in nodes]
        watch = Watch(time.time_ns(), day.period_ns, day.total, day.early, pids)
        numbers = _listen(engine, watch)
        watch.numbers = numbers.total
        watch.start_ns = time.time_ns()
        offset = watch.start_ns - day.start_ns
        play(engine, all_recordings(day, offset), qos=profiles)
        engine.spin(SETTLE)
        spent = sum(_processor_seconds(pid) for pid in pids)
        if watch.recording < day.total:
            raise RuntimeError(
                f'{day.total - watch.recording} of {day.total} recordings were not heard of'
            )
        watch.finish()
    return watch, spent


@dataclass
class Numbers:
    """How many messages each publisher has sent, by the numbers that they bear: those that never
    reached the bench count as well.
    """

    newest: dict[tuple[str, bytes], int] = field(default_factory=dict)
    missed: int = 0

    def take(self, topic: str, attachment: Any) -> None:
        """A message came."""
        key = (topic, attachment.gid)
        before = self.newest.get(key, attachment.sequence - 1)
        self.missed += max(0, attachment.sequence - before - 1)
        self.newest[key] = max(before, attachment.sequence)

    def total(self) -> Counter[str]:
        """Messages of each topic so far."""
        found: Counter[str] = Counter()
        for (topic, _), number in self.newest.items():
            found[topic] += number
        return found


def _listen(engine: Any, watch: Watch) -> Numbers:
    """Hand on whatever the nodes publish; the numbers of their messages."""
    numbers = Numbers()
    listener = engine.create_node('bench_long_live')
    end = time.monotonic() + DISCOVERY
    while '/diagnostics' not in engine.graph.published_topics() and time.monotonic() < end:
        engine.spin(0.1)
    engine.spin(0.5)  # the others of its topics
    topics = engine.graph.published_topics()
    if '/diagnostics' not in topics:
        raise RuntimeError(f'no topic of a node was found within {DISCOVERY:g} s')
    for topic, typename in topics.items():

        def take(received: Any, topic: str = topic, typename: str = typename) -> None:
            watch.write(topic, typename, received.payload, received.received_ns, qos=None)
            numbers.take(topic, received.attachment)

        offered = engine.graph.offered_qos(topic) or QoS()
        qos = QoS(DEPTH, offered.reliable, offered.transient_local)
        listener.create_raw_subscription(typename, topic, take, qos)
    return numbers


def _processor_seconds(pid: int) -> float:
    fields = Path(f'/proc/{pid}/stat').read_text('ascii').rpartition(')')[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')


def measure(
    quick: bool = False,
    hours: float | None = None,
    period: float | None = None,
    seconds: float | None = None,
    node: Sequence[str] = (),
) -> list[dict[str, Any]]:
    """All rows of the table."""
    if reason := missing():
        if hours is None and not node:  # among all parts
            return [{'case': f'skipped: {reason}'}]
        raise UsageError(f'long-live: {reason}')
    every = period or (20.0 if quick else PERIOD)
    count = max(round((hours or (0.03 if quick else HOURS)) * 3600 / every), EARLY + 2)
    rows: list[dict[str, Any]] = []
    for plan in PLANS:
        if node and not any(one in str(plan) for one in node):
            continue
        plan = plan._replace(seconds=min(plan.seconds, seconds or SECONDS))
        with tempfile.TemporaryDirectory(prefix='veh-id-bench-') as folder:
            day = Day(Path(folder), plan, count, round(every * SECOND))
            watch, spent = run_live(plan, day)
        made = rows_of(plan, day, watch, spent, FOUND)
        print(f'long-live: {plan}: {[one["ours"] for one in made]}', file=sys.stderr, flush=True)
        rows += made
    return rows
