"""What every kind of recording file offers to the reader."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeVar

from veh_identification.errors import BagError
from veh_identification.runtime.qos import QoS

#: Log time in nanoseconds, connection id in the file, payload.
Item = tuple[int, int, bytes]
T = TypeVar('T')


@dataclass(frozen=True)
class Definition:
    """Message definition that a recording holds: `msg` or `idl` text, or `none`."""

    format: str = 'none'
    text: str = ''


@dataclass(frozen=True)
class Connection:
    """One topic of one file, with one type."""

    id: int
    topic: str
    typename: str
    count: int
    definition: Definition = Definition()
    qos: QoS = QoS()
    serialization: str = 'cdr'


@dataclass
class Problems:
    """What could not be read; `stop` raises at the first problem, `skip` counts and goes on."""

    on_error: str = 'stop'
    lost_chunks: int = 0
    lost_bytes: int = 0
    undecodable: dict[str, int] = field(default_factory=dict)
    sentences: list[str] = field(default_factory=list)

    def meet(self, sentence: str, cause: BaseException | None = None) -> None:
        """Raise or note one problem, each sentence once."""
        if self.on_error == 'stop':
            raise BagError(sentence) from cause
        if sentence not in self.sentences:
            self.sentences.append(sentence)


@dataclass(frozen=True)
class Selection:
    """Which messages are wanted: topics (None for all) and a window of log time."""

    topics: frozenset[str] | None
    start_ns: int | None
    stop_ns: int | None

    def takes(self, topic: str) -> bool:
        """Whether messages of a topic are wanted."""
        return self.topics is None or topic in self.topics


class Source(Protocol):
    """One opened recording file."""

    path: Path
    connections: list[Connection]
    start_ns: int
    end_ns: int
    message_count: int
    truncated: bool

    def items(
        self, ids: Collection[int], start_ns: int | None, stop_ns: int | None, problems: Problems
    ) -> Iterator[Item]:
        """Messages of the connections `ids` in the order of log time, ties as recorded."""

    def close(self) -> None:
        """Release the file."""


def merge_in_time(
    streams: Iterable[tuple[int, Callable[[], Iterator[tuple[int, T, bytes]]]]],
) -> Iterator[tuple[int, T, bytes]]:
    """Merge time-ordered streams, ties in the order of the streams.

    Each stream comes with the time before which it holds nothing, and is opened only when that
    time is reached: memory stays flat over any number of files or chunks.
    """
    heap: list[
        tuple[int, int, tuple[int, T, bytes] | None, Iterator[tuple[int, T, bytes]] | None]
    ] = []
    openers = []
    for order, (start, opener) in enumerate(streams):
        openers.append(opener)
        heap.append((start, order, None, None))
    heapq.heapify(heap)
    while heap:
        _, order, item, stream = heap[0]
        if stream is None:
            stream = openers[order]()
        else:
            assert item is not None
            yield item
        limit = _next_due(heap)
        for item in stream:
            if limit is not None and (item[0], order) > limit:
                heapq.heapreplace(heap, (item[0], order, item, stream))
                break
            yield item  # no other stream is due: pass straight through
        else:
            heapq.heappop(heap)


def _next_due(heap: list[tuple[int, int, Any, Any]]) -> tuple[int, int] | None:
    """Time and order of the second entry of a heap."""
    if len(heap) < 2:
        return None
    second = heap[1] if len(heap) == 2 or heap[1][:2] < heap[2][:2] else heap[2]
    return second[:2]
