"""Plays a recording into a collector, at its own pace: as it is, or through the nodes of a graph.

Replay has no threads: while the nodes compute nothing is shown, and where they cannot keep the
pace the recording waits for them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from veh_identification.dashboard.collector import Collector
from veh_identification.dashboard.intake import Intake
from veh_identification.dashboard.live import has_header
from veh_identification.dashboard.sources import SourceState
from veh_identification.errors import BagError, MessageError
from veh_identification.runtime.bags import BagReader
from veh_identification.runtime.bags.records import Channel, Item, RawMessage
from veh_identification.runtime.cdr.fields import STAMP, parse_path
from veh_identification.runtime.messages import NANOSECONDS
from veh_identification.runtime.qos import QoS
from veh_identification.runtime.replay.bag import replay_graph

#: Seconds between looks at whether to stop, while the next message is not due.
POLL = 0.05
_STAMP = tuple(parse_path(path) for path in STAMP)


class Player:
    """Holds messages back until they are due; ends early when `stopped()` says so."""

    def __init__(
        self,
        collector: Collector,
        source: SourceState,
        rate: float = 1.0,
        stopped: Callable[[], bool] = lambda: False,
    ) -> None:
        """`rate` is times real time, 0 as fast as the machine allows."""
        self._collector, self._source = collector, source
        self._intake = Intake(collector)
        self._rate, self._stopped = rate, stopped
        self._meters: dict[Channel, Callable[[Any], tuple[Any, ...]] | None] = {}

    def play_graph(self, bags: Sequence[str | Path], graph: str, **options: Any) -> None:
        """Run the nodes of a graph over recordings; `options` are those of `replay_graph`."""
        self._measure(bags)
        replay_graph(bags, graph, None, sink=self, through=self._through, **options)

    def play(self, bags: Sequence[str | Path]) -> None:
        """Show what a result or a recording of nodes holds."""
        self._measure(bags)
        with BagReader(bags) as reader:
            types = self._collector.types
            topics = [topic for topic, info in reader.topics.items() if info.typename in types]
            if not topics:
                raise BagError(
                    f'{", ".join(map(str, bags))}: no topic that a dashboard shows is in it '
                    f'(types {", ".join(types)}); --graph NAME runs nodes over the recording'
                )
            for time_ns, channel, data in self._paced(reader.items(topics)):
                self._intake.take(
                    channel.topic,
                    channel.typename,
                    data,
                    time_ns,
                    lambda data, _, c=channel, t=time_ns: RawMessage(t, c, data, 0).decode(),  # type: ignore[misc]
                )

    def write(self, topic: str, typename: str, payload: bytes, time_ns: int, *, qos: QoS) -> None:
        """Take what a node of the replay publishes."""
        if typename in self._collector.types:
            self._intake.take(topic, typename, payload, time_ns)

    def _measure(self, bags: Sequence[str | Path]) -> None:
        with BagReader(bags) as reader:
            filled = [info for info in reader.info() if info.message_count]
        if filled:
            start = min(info.start_ns for info in filled)
            self._source.duration = (max(info.end_ns for info in filled) - start) / NANOSECONDS

    def _through(self, items: Iterable[Item]) -> Iterator[Item]:
        """Recorded messages on their way to the nodes, their lags measured."""
        for item in self._paced(items):
            self._meter(*item)
            yield item

    def _paced(self, items: Iterable[Item]) -> Iterator[Item]:
        begin = first_ns = None
        for item in items:
            if begin is None or first_ns is None:
                begin, first_ns = time.monotonic(), item[0]
            position = (item[0] - first_ns) / NANOSECONDS
            if self._rate > 0.0:
                self._wait(begin + position / self._rate)
            self._source.position = position
            if self._stopped():
                return
            yield item

    def _wait(self, due: float) -> None:
        while not self._stopped() and (left := due - time.monotonic()) > 0.0:
            time.sleep(min(left, POLL))

    def _meter(self, time_ns: int, channel: Channel, data: bytes) -> None:
        if channel not in self._meters:
            known = has_header(channel.typename)
            self._meters[channel] = channel.field_reader(_STAMP) if known else None
        read = self._meters[channel]
        if read is not None:
            try:
                seconds, nanoseconds = read(data)
            except MessageError:
                return  # the node that reads it says so, with its place
            self._collector.meter(
                channel.topic, time_ns, int(seconds) * NANOSECONDS + int(nanoseconds)
            )
