"""What has arrived on all subscriptions of a node, in the order of publishing.

A middleware keeps one queue a topic. Emptied in turn, message by message, a topic of 100 Hz would
run seconds ahead of one of 500 Hz after the node was kept waiting, and what is late cannot be
used. So all queues are emptied at once, and what they held is put in order.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from veh_identification.errors import MessageError
from veh_identification.runtime.load import Load, QueueLoad

#: Takes the next message of a queue: its data and when it was published [ns]; None: empty.
Take = Callable[[], tuple[Any, int] | None]

#: Rounds over all queues before a batch is handed on, and messages of a round that took no time
#: worth another one.
PASSES, FEW = 4, 16


@dataclass(eq=False)
class Inlet:
    """One subscription: how its messages are taken, read and received."""

    topic: str
    take: Take
    read: Callable[[Any], Any]
    receive: Callable[[Any], None]
    load: QueueLoad
    complain: Callable[[str], None]
    count: int = 0

    def hand_on(self, data: Any) -> None:
        """Read one message and call the callback; one that cannot be read is counted."""
        self.count += 1
        try:
            message = self.read(data)
        except MessageError as error:
            self.load.unreadable += 1
            self.complain(f'{self.topic}: a message is ignored: {error}')
            return
        self.receive(message)


class Inbox:
    """All subscriptions of one node."""

    def __init__(self, load: Load, now_ns: Callable[[], int] = time.time_ns) -> None:
        self.inlets: list[Inlet] = []
        self.load = load
        self.open = True  # else what arrives is dropped: a managed node that is not active
        self._now_ns = now_ns
        self._emptied_ns = now_ns()

    def deliver(self, heard: Sequence[Inlet] | None = None) -> int:
        """Hand on everything that waits; returns how many messages that were.

        `heard`: where something waits, for an engine that knows: to look into an empty queue
        costs as much as to take a message. Where many wait all queues are looked into.
        """
        batch, emptied_ns = self._collect(self.inlets if heard is None else heard)
        before_ns, self._emptied_ns = self._emptied_ns, emptied_ns
        if not self.open:
            return 0
        load = self.load
        for published_ns, inlet, data in batch:
            # Not every middleware tells when a message arrived. It was after the queues were
            # empty and before now; between these the time of publishing is as good, whatever
            # the sender's clock says.
            load.arrival_ns = min(max(published_ns, before_ns), emptied_ns)
            inlet.hand_on(data)
        load.arrival_ns = 0
        return len(batch)

    def handed_on(self) -> int:
        """Messages since the start."""
        return sum(inlet.count for inlet in self.inlets)

    def _collect(self, heard: Sequence[Inlet]) -> tuple[list[tuple[int, Inlet, Any]], int]:
        batch: list[tuple[int, Inlet, Any]] = []
        # While the last queue is emptied the first fills again: a short last pass keeps the
        # topics in step. Bounded, for a node that falls behind must not only collect.
        for _ in range(PASSES):
            before = len(batch)
            for inlet in heard:
                start, take = len(batch), inlet.take
                while (taken := take()) is not None:
                    batch.append((taken[1], inlet, taken[0]))
                waited = len(batch) - start
                if waited > inlet.load.peak:
                    inlet.load.peak = waited
            if len(batch) - before <= FEW:
                break
            heard = self.inlets
        batch.sort(key=_published)  # stable: one topic stays in its own order
        return batch, self._now_ns()


def _published(entry: tuple[int, Inlet, Any]) -> int:
    return entry[0]
