"""A day through every node: memory, counters and estimates after 24 h of stamps.

Short recordings come again and again, with stamps that go on: some seconds of data, then minutes
of silence in which the clock and the reports of the nodes run, as on a machine that works now and
then. Machine and motion are the same each time and the noise is another (an estimator that is told
the same noise again must take it for the machine), so that estimates have no reason to move by
more than they say. Every counter must follow one of the topics to the last message. Memory is that
of this process, looked at after every recording.
"""

from __future__ import annotations

import argparse
import gc
import itertools
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

from hostile.nominal import Estimates, away_by, collect
from hostile.spoiling import SECOND, Item, set_stamp
from hostile.streams import KNOWN, PLANS, Plan

from veh_identification.runtime import messages
from veh_identification.runtime.bags import BagReader
from veh_identification.runtime.graph import create_graph, find_graph, finish_graph
from veh_identification.runtime.replay.engine import ReplayEngine
from veh_identification.simulation.scenarios import simulate

PART = 'long'
HOURS, RECORDINGS = 24.0, 24
#: Length of a recording at most.
SECONDS = 12.0
#: The recording with whose parameters those of the last one are compared.
EARLY = 2
#: Growth of the memory from a fifth of the way to its end.
MOST_GROWTH = 1.02
#: Deviations by which the farthest of some fifty parameters may move as the data grow.
MOST_MOVE = 3.0
#: Recordings for nodes that do not learn.
FEW = 4
#: Messages that a node in front may hold back while it waits for the next ones.
HELD_BACK = 20
#: Seconds of the first recording that a live node may miss of a topic: it looks for topics once a
#: second, and there are none before somebody publishes.
FOUND = 2.0


def options_parser() -> argparse.ArgumentParser:
    """Options of this part."""
    parser = argparse.ArgumentParser(prog='veh-id bench long', description=__doc__)
    parser.add_argument('--hours', type=float, help='of stamps (default: 24)')
    parser.add_argument('--recordings', type=int, help='in that time (default: 24)')
    parser.add_argument('--seconds', type=float, help='of a recording at most (default: 12)')
    parser.add_argument('--node', action='append', help='only those whose name holds this')
    return parser


@dataclass
class Day:
    """The recordings of a day on the disk; how many messages of each topic and joint they held."""

    folder: Path
    plan: Plan
    total: int
    period_ns: int
    start_ns: int = 0
    sent: list[Counter[str]] = field(default_factory=list)
    drawn: int = 0
    early: int = 0  # the recording with whose estimates those of the last one are compared

    def __post_init__(self) -> None:
        """Simulate them, and one for the first message of the next day.

        What only observes forgets: there a few do, again and again, and motions are compared with
        those of the same recording, hours before.
        """
        if self.plan.graph.endswith('identification'):
            self.drawn, self.early = self.total + 1, EARLY
        else:
            self.drawn = max(1, min(FEW, self.total // 2))
            self.early = (self.total - 1) % self.drawn or self.drawn
        for k in range(self.drawn):
            path, scenario = self.folder / f'{k}', self.plan.scenario
            simulate(
                scenario, path, duration=self.plan.seconds, seed=1 + k, config=self.plan.model
            )
        self.start_ns = next(iter(self.recording(0))).time_ns

    def recording(self, k: int) -> Iterator[Item]:
        """The messages of one recording, as late as it comes."""
        later = k * self.period_ns
        with BagReader(self.folder / f'{k % self.drawn}') as reader:
            wanted = [name for name in reader.topics if '/truth' not in name]
            for one in reader.messages(wanted):
                if hasattr(one.message, 'header'):
                    stamp = one.message.header.stamp
                    set_stamp(one.message, stamp.sec * SECOND + stamp.nanosec + later)
                yield Item(one.time_ns + later, one.topic, one.typename, one.message)

    def messages(self) -> Iterator[Item]:
        """All of them, and one of the next day: reports up to it tell of the whole of this one."""
        for k in range(self.total):
            self.sent.append(Counter())
            for item in self.recording(k):
                self.sent[-1].update(_named(item))
                yield item
        yield from itertools.islice(self.recording(self.total), 1)


@dataclass
class Watch:
    """Takes what the nodes publish and looks at the process after every recording."""

    start_ns: int
    period_ns: int
    total: int  # recordings of the day
    early: int  # the one to compare the last one with
    processes: Sequence[int | str] = ('self',)  # whose memory it is
    recording: int = 0
    rows: list[tuple[str, str, bytes, int]] = field(default_factory=list)
    counts: list[dict[str, int]] = field(default_factory=list)
    published: list[Counter[str]] = field(default_factory=list)
    estimates: dict[int, Estimates] = field(default_factory=dict)
    memory: list[float] = field(default_factory=list)
    unbalanced: int = 0
    #: Messages that each node says were lost on the way to it, by topic, after each recording.
    lost: list[dict[str, dict[str, int]]] = field(default_factory=list)
    #: The same behind the last recording, when first messages of one more have come.
    at_last: dict[str, dict[str, int]] = field(default_factory=dict)
    #: Messages of each topic that the nodes have published so far, by their own numbers; those
    #: that the bench hears are counted where there are none.
    numbers: Callable[[], Counter[str]] | None = None
    _numbered: Counter[str] = field(default_factory=Counter)

    def write(self, topic: str, typename: str, payload: bytes, time_ns: int, *, qos: Any) -> None:
        """Store one message of the present recording."""
        if (time_ns - self.start_ns) // self.period_ns > self.recording:
            self.close()
        self.rows.append((topic, typename, bytes(payload), time_ns))

    def close(self) -> None:
        """A recording is over: keep its numbers, forget the rest."""
        counts, lost = self._told()
        self.counts.append(counts)
        self.lost.append(lost)
        if self.numbers is None:
            self.published.append(Counter(topic for topic, *_ in self.rows))
        else:
            total = self.numbers()
            self.published.append(total - self._numbered)
            self._numbered = total
        if self.recording in (self.early, self.total - 1):
            self.estimates[self.recording] = collect(self.rows)
        self.rows.clear()
        gc.collect()
        pages = [Path(f'/proc/{one}/statm').read_text('ascii') for one in self.processes]
        self.memory.append(sum(int(one.split()[1]) for one in pages) * 4096 / 2**20)
        self.recording += 1

    def finish(self) -> None:
        """What was told since the last recording, of losses at its end too."""
        _, self.at_last = self._told()

    def _told(self) -> tuple[dict[str, int], dict[str, dict[str, int]]]:
        """The last counters of every node, and what each says was lost on the way to it."""
        counts: dict[str, int] = {}
        lost: dict[str, dict[str, int]] = {}
        for topic, typename, payload, _ in self.rows:
            if topic == '/diagnostics':
                said = messages.deserialize(payload, typename)
                counts |= self._counted(said)
                lost |= _lost(said)
        return counts, lost

    def _counted(self, array: Any) -> dict[str, int]:
        found = {}
        for status in array.status:
            values = {item.key: item.value for item in status.values}
            if 'received' in values:
                found[status.name] = received = int(values['received'])
                if 'accepted' in values:
                    self.unbalanced += received != sum(int(values.get(k, 0)) for k in KNOWN)
        return found


def _lost(array: Any) -> dict[str, dict[str, int]]:
    """What nodes say was lost before it reached them, by node and topic."""
    found = {
        status.name: {
            item.key.removeprefix('lost '): int(item.value)
            for item in status.values
            if item.key.startswith('lost /')
        }
        for status in array.status
    }
    return {name: lost for name, lost in found.items() if lost}


def run_day(plan: Plan, day: Day) -> tuple[Watch, float]:
    """The whole day through the nodes of a graph; what was seen and the processor seconds."""
    watch = Watch(day.start_ns, day.period_ns, day.total, day.early)
    engine = ReplayEngine(day.start_ns, sink=watch, log_level='fatal')
    given = dict(plan.parameters)
    nodes = create_graph(engine, find_graph(plan.graph), config=plan.config, parameters=given)
    begin = time.process_time()
    engine.run(day.messages())
    finish_graph(nodes)
    if watch.recording < day.total:
        watch.close()
    failures = sum(node._guard.failures for node in nodes)
    assert not failures, f'{plan}: {failures} callbacks failed'
    return watch, time.process_time() - begin


def rows_of(plan: Plan, day: Day, watch: Watch, spent: float, found: float = 0.0) -> list[Any]:
    """Memory, counters, estimates; `found`: seconds within which live topics are found."""
    name = f'{plan}, {day.total * day.period_ns / SECOND / 3600:g} h'
    fifth = watch.memory[len(watch.memory) // 5]
    growth = max(watch.memory[len(watch.memory) // 5 :]) / fifth
    last = watch.counts[-1]
    counted = {one: [c.get(one, 0) for c in watch.counts] for one in sorted(last)}
    ways = {**_ways(watch.published), **_ways(day.sent)}
    lost = _losses(watch)
    unheard = found / day.plan.seconds
    wrong = {
        one
        for one, counts in counted.items()
        if not any(
            _follows(counts, way, unheard, by.get(topic.split(' ')[0], ()))
            for by in lost
            for topic, way in ways.items()
        )
    }
    shift = (watch.total - 1 - watch.early) * watch.period_ns / SECOND
    first, last_one = (watch.estimates[k] for k in (watch.early, watch.total - 1))
    if first.parameters:
        first = replace(first, motions={})  # of other recordings
    moved, what = away_by(last_one, first, shift)
    sent = sum(count for one in day.sent for what, count in one.items() if ' ' not in what)
    return [
        _row(f'{name}: memory, most after a fifth of the way', growth, 1.0, 'of it', MOST_GROWTH)
        | {'megabytes': [round(one, 1) for one in watch.memory]},
        _row(
            f'{name}: {sent:,} messages in {spent:.0f} s, counters of {len(last)} sensors that '
            'follow no topic, reports whose sum is wrong',
            len(wrong) + watch.unbalanced,
            None,
            'counters',
            0,
        )
        | {
            'wrong': {one: _nearest(counted[one], ways) for one in sorted(wrong)},
            'lost': watch.at_last or watch.lost[-1],
        },
        _row(
            f'{name}: largest move of an estimate ({what})', moved, None, 'deviations', MOST_MOVE
        ),
    ]


def _named(item: Item) -> list[str]:
    """What a message brings: its topic, and the joints in it, which may be some of all."""
    return [item.topic, *(f'{item.topic} {name}' for name in getattr(item.message, 'name', ()))]


def _ways(counts: Sequence[Counter[str]]) -> dict[str, list[int]]:
    """Messages of each topic up to the end of every recording."""
    topics = sorted(set().union(*counts))
    return {one: np.cumsum([c[one] for c in counts]).tolist() for one in topics}


def _losses(watch: Watch) -> list[dict[str, list[int]]]:
    """What each node says was lost of each topic, so far after every recording and behind the
    last one; the first entry is a node that lost nothing.
    """
    told = [*watch.lost, watch.at_last or watch.lost[-1]]
    found: list[dict[str, list[int]]] = [{}]
    for node in sorted(set().union(*told)):
        topics = set().union(*(one.get(node, {}) for one in told))
        found.append(
            {topic: [one.get(node, {}).get(topic, 0) for one in told] for topic in sorted(topics)}
        )
    return found


def _follows(
    counts: Sequence[int], way: Sequence[int], unheard: float = 0.0, lost: Sequence[int] = ()
) -> bool:
    """Whether a counter is that of a topic, less what a node in front still holds back at the end
    of a recording, which is the same number each time, as are the messages of the first recording
    before the topic was found (at most the share `unheard`).

    `lost`: messages of the topic that the node says never reached it, so far after each recording
    and behind the last one. It knows of those at the end of a recording by the next message.
    """
    lost = lost or [0] * (len(way) + 1)
    lacking = [sent - count for sent, count in zip(way, counts, strict=True)]
    least = max(lack - later for lack, later in zip(lacking, lost[1:], strict=True))
    most = min(lack - so_far for lack, so_far in zip(lacking, lost[:-1], strict=True))
    return max(least, 0) <= min(most, HELD_BACK + unheard * way[0])


def _nearest(counts: Sequence[int], ways: Mapping[str, Sequence[int]]) -> dict[str, list[int]]:
    """The topic that a counter comes nearest to, and what it lacks after each recording."""
    lacking = {
        name: [sent - count for sent, count in zip(way, counts, strict=True)]
        for name, way in ways.items()
    }
    name = min(lacking, key=lambda one: sum(map(abs, lacking[one])))
    return {name: lacking[name]}


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
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix='veh-id-bench-') as folder:
        for plan in PLANS:
            if node and not any(one in str(plan) for one in node):
                continue
            plan = plan._replace(seconds=min(plan.seconds, seconds or SECONDS))
            place = Path(folder) / f'{len(rows)}'
            place.mkdir()
            day = Day(place, plan, count, round(hours * 3600 * SECOND / count))
            with np.errstate(all='ignore'):
                watch, spent = run_day(plan, day)
            made = rows_of(plan, day, watch, spent)
            shutil.rmtree(place)
            print(f'long: {plan}: {[one["ours"] for one in made]}', file=sys.stderr, flush=True)
            rows += made
    return rows
