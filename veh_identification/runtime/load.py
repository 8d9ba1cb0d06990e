"""How a live node keeps up: latency, share of the time at work, queues, losses.

An engine that is live measures it for every node; the node puts it into its diagnostics. Under
replay there is nothing to measure: the recording waits for the node.

Latency is the time between the arrival of a message and the publication that its callback makes.
"""

from __future__ import annotations

import time
from array import array
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from veh_identification.findings import Finding

#: Publications that the percentiles look back on.
WINDOW = 4096
#: Share of a queue that may fill up before somebody is told: what comes when it is full is lost.
FULL = 0.5
#: Share of the time at work beyond which a node is about to fall behind; it is looked at over so
#: many reports, for some nodes work hard for a second and then rest.
BUSY, REPORTS = 0.9, 30
MILLISECONDS = 1e-6  # of a nanosecond
#: Seconds from one wake of a live engine to the next at least: messages of one instant then come
#: together, and each wake costs as much as ten messages.
PAUSE = 0.002


@dataclass
class QueueLoad:
    """The queue of one subscription."""

    depth: int
    peak: int = 0  # most messages that waited at once, since the last report
    lost: int = 0  # since the start
    unreadable: int = 0  # since the start
    lost_before: int = 0


class LoadReport(NamedTuple):
    """What the load was since the last report: entries of the diagnostics, and what to say."""

    facts: dict[str, str]
    findings: list[Finding]


@dataclass
class Load:
    """Counts while a node works; `report` once a second."""

    now_ns: Callable[[], int] = time.time_ns
    monotonic: Callable[[], float] = time.monotonic
    processor: Callable[[], float] = time.process_time
    queues: dict[str, QueueLoad] = field(default_factory=dict)
    #: Arrival of the message whose callback runs; 0 between callbacks of messages.
    arrival_ns: int = 0
    #: Whether callbacks run: what is done beside the node gives way then.
    at_work: bool = False
    worst_ns: int = 0
    busy_seconds: float = 0.0
    #: What the engine may wait between wakes; a node that is in no hurry sets it higher.
    pause: float = PAUSE
    _spans: deque[tuple[float, float]] = field(default_factory=lambda: deque(maxlen=REPORTS))
    #: The last `WINDOW` of them, written round and round, and how many there were.
    _latencies: array[int] = field(default_factory=lambda: array('q', bytes(8 * WINDOW)))
    _published: int = 0
    _since: float = field(init=False)
    _processor_since: float = field(init=False)

    def __post_init__(self) -> None:
        self._since, self._processor_since = self.monotonic(), self.processor()

    def add_queue(self, topic: str, depth: int) -> QueueLoad:
        """The queue of a subscription, that of the topic where it has several."""
        return self.queues.setdefault(topic, QueueLoad(depth))

    def published(self) -> None:
        """Something is published; counted inside the callback of a message only."""
        if self.arrival_ns:
            latency = self.now_ns() - self.arrival_ns
            self._latencies[self._published % WINDOW] = latency
            self._published += 1
            if latency > self.worst_ns:
                self.worst_ns = latency

    def report(self) -> LoadReport:
        """Look at everything since the last call."""
        now, processor = self.monotonic(), self.processor()
        wall = max(now - self._since, 1e-9)
        self._spans.append((wall, self.busy_seconds))
        busy = sum(span[1] for span in self._spans) / sum(span[0] for span in self._spans)
        facts = self._latency_facts()
        facts['real-time factor'] = f'{1.0 / max(busy, 1e-3):.1f}'
        facts['processor share'] = f'{(processor - self._processor_since) / wall:.3f}'
        findings = [_overload(busy)] if busy > BUSY and len(self._spans) == REPORTS else []
        for topic, queue in sorted(self.queues.items()):
            facts[f'queue {topic}'] = f'{queue.peak} of {queue.depth}'
            findings += _queue_findings(topic, queue)
            if queue.lost:
                facts[f'lost {topic}'] = str(queue.lost)
            if queue.unreadable:
                facts[f'unreadable {topic}'] = str(queue.unreadable)
            queue.peak, queue.lost_before = 0, queue.lost
        self._since, self._processor_since, self.busy_seconds = now, processor, 0.0
        return LoadReport(facts, findings)

    def _latency_facts(self) -> dict[str, str]:
        count = min(self._published, WINDOW)
        if not count:
            return {}
        # Whole places: `np.percentile` takes as long as all the rest of a report.
        places = count // 2, (count * 99) // 100
        latencies = np.partition(np.frombuffer(self._latencies, np.int64)[:count], places)
        middle, late = (float(latencies[place]) * MILLISECONDS for place in places)
        return {
            'latency p50 [ms]': f'{middle:.2f}',
            'latency p99 [ms]': f'{late:.2f}',
            'latency worst [ms]': f'{self.worst_ns * MILLISECONDS:.2f}',
        }


def _overload(busy: float) -> Finding:
    text = f'at work {100.0 * busy:.0f} % of the time: the node is about to fall behind its input'
    return Finding('warn', 'overload', text)


def _queue_findings(topic: str, queue: QueueLoad) -> list[Finding]:
    found = []
    if queue.lost > queue.lost_before:
        text = (
            f'{topic}: {queue.lost - queue.lost_before} messages were lost before they reached '
            f'the node, {queue.lost} since its start'
        )
        found.append(Finding('warn', 'messages_lost', text, topic))
    elif queue.peak >= queue.depth > 1:  # not every middleware tells that it drops
        text = f'{topic}: the queue of {queue.depth} messages was full, further ones were lost'
        found.append(Finding('warn', 'messages_lost', text, topic))
    elif queue.peak >= FULL * queue.depth and queue.depth > 1:
        text = (
            f'{topic}: {queue.peak} messages waited in a queue of {queue.depth}; beyond that '
            'they are lost'
        )
        found.append(Finding('warn', 'queue_filling', text, topic))
    return found
