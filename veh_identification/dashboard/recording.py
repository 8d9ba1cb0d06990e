"""Plays a recording into a collector, at its own pace: as it is, or through the nodes of a graph.

Replay has no threads: while the nodes compute nothing is shown, and where they cannot keep the
pace the recording waits for them.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from veh_identification.dashboard.intake import Intake
from veh_identification.dashboard.sources import SourceState
from veh_identification.errors import BagError
from veh_identification.runtime.bags import BagReader
from veh_identification.runtime.bags.records import Item, RawMessage
from veh_identification.runtime.messages import NANOSECONDS
from veh_identification.runtime.qos import QoS
from veh_identification.runtime.replay.bag import replay_graph


class Player:
    """Holds messages back until they are due."""

    def __init__(self, intake: Intake, source: SourceState, rate: float = 1.0) -> None:
        """`rate` is times real time, 0 as fast as the machine allows."""
        self._intake, self._source = intake, source
        self._rate = rate

    def play_graph(self, bags: Sequence[str | Path], graph: str, **options: Any) -> None:
        """Run the nodes of a graph over recordings; `options` are those of `replay_graph`."""
        self._measure(bags)
        replay_graph(bags, graph, None, sink=self, through=self._through, **options)

    def play(self, bags: Sequence[str | Path]) -> None:
        """Show what a result or a recording of nodes holds."""
        self._measure(bags)
        with BagReader(bags) as reader:
            types = self._intake.collector.types
            there = reader.topics.items()
            if not any(info.typename in types for _, info in there):
                raise BagError(
                    f'{", ".join(map(str, bags))}: no topic that a dashboard shows is in it '
                    f'(types {", ".join(types)}); --graph NAME runs nodes over the recording'
                )
            topics = [topic for topic, info in there if self._intake.wants(info.typename)]
            for item in self._paced(reader.items(topics)):
                self._take(item)

    def write(self, topic: str, typename: str, payload: bytes, time_ns: int, *, qos: QoS) -> None:
        """Take what a node of the replay publishes."""
        if self._intake.wants(typename):
            self._intake.take(topic, typename, payload, time_ns)

    def _measure(self, bags: Sequence[str | Path]) -> None:
        with BagReader(bags) as reader:
            filled = [info for info in reader.info() if info.message_count]
        if filled:
            start = min(info.start_ns for info in filled)
            self._source.duration = (max(info.end_ns for info in filled) - start) / NANOSECONDS

    def _through(self, items: Iterable[Item]) -> Iterator[Item]:
        """Recorded messages on their way to the nodes, looked at."""
        for item in self._paced(items):
            self._take(item)
            yield item

    def _paced(self, items: Iterable[Item]) -> Iterator[Item]:
        begin = first_ns = None
        for item in items:
            if begin is None or first_ns is None:
                begin, first_ns = time.monotonic(), item[0]
            position = (item[0] - first_ns) / NANOSECONDS
            if self._rate > 0.0:
                time.sleep(max(0.0, begin + position / self._rate - time.monotonic()))
            self._source.position = position
            yield item

    def _take(self, item: Item) -> None:
        """A recorded message, by the definition that its recording brings along."""
        time_ns, channel, data = item
        raw = RawMessage(time_ns, channel, data, 0)
        self._intake.take(
            channel.topic, channel.typename, raw.payload, time_ns, lambda *_: raw.decode()
        )
