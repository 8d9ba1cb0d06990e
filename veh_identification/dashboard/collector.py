"""Keeps what nodes say of themselves, in bounded memory; the same for every engine.

collector = Collector()
collector.take(topic, type_name, message, time_ns)      # from one thread
head(collector), past(collector, cursors)               # of view, from any other
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from veh_identification.dashboard.history import History
from veh_identification.dashboard.meters import NewestStamp, StreamMeter
from veh_identification.dashboard.readings import (
    SENSORS,
    cut,
    diagnosis_of,
    estimate_of,
    number,
    pose_of,
    sides_of,
    status_of,
)
from veh_identification.runtime.messages import stamp_ns

ESTIMATES = 'veh_identification/msg/ParameterEstimates'
STATUS = 'veh_identification/msg/ObserverStatus'
SIDES = 'veh_identification/msg/Reconstruction'
DIAGNOSTICS = 'diagnostic_msgs/msg/DiagnosticArray'
ODOMETRY = 'nav_msgs/msg/Odometry'
#: Topics and nodes of each kind that are kept; further ones are counted.
MOST = 64
#: Seconds between the points of a way, and between rows of both sides of the equations.
TRACK_SPACING, SIDES_SPACING = 0.1, 0.02
LATENCIES = {
    'latency p50 [ms]': 'p50',
    'latency p99 [ms]': 'p99',
    'latency worst [ms]': 'worst',
}
Kept = TypeVar('Kept')


@dataclass
class Told:
    """What came last on a topic, and the numbers of all that came before."""

    history: History
    heard: float = 0.0  # on the machine's own clock [s]
    last: dict[str, Any] = field(default_factory=dict)


@dataclass
class Diagnosis:
    """What a node says on /diagnostics."""

    history: History = field(default_factory=History)  # of its latency
    heard: float = 0.0
    last: dict[str, Any] = field(default_factory=dict)
    sensors: dict[str, dict[str, Any]] = field(default_factory=dict)


class Collector:
    """One method to take messages; everything else is plain data for a view."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self.now = now
        self.lock = threading.Lock()
        self.version = 0  # grows with every message
        self.left_out = 0  # messages for which there was no room
        self.estimates: dict[str, Told] = {}  # by the full name of the node
        self.statuses: dict[str, Told] = {}
        self.sides: dict[str, Told] = {}
        self.tracks: dict[str, Told] = {}  # by topic
        self.diagnoses: dict[str, Diagnosis] = {}  # by the bare name of the node
        self.others: dict[str, dict[str, Any]] = {}  # what is no node of ours
        self.meters: dict[str, StreamMeter] = {}
        self._newest = NewestStamp()
        self._takers = {
            ESTIMATES: self._estimate,
            STATUS: self._status,
            SIDES: self._sides,
            ODOMETRY: self._odometry,
            DIAGNOSTICS: self._diagnostics,
        }

    @property
    def types(self) -> tuple[str, ...]:
        """Types of the messages that `take` understands."""
        return tuple(self._takers)

    def take(self, topic: str, type_name: str, message: Any, time_ns: int) -> None:
        """One message; those of other types are left alone."""
        taker = self._takers.get(type_name)
        if taker is None:
            return
        with self.lock:
            self.version += 1
            taker(topic, message, time_ns)

    def meter(self, topic: str, arrival_ns: int, header_stamp_ns: int) -> None:
        """A message of a sensor came; nothing else of it is looked at."""
        with self.lock:
            self._meter(topic, arrival_ns, header_stamp_ns, sensor=True)

    def metered_topics(self) -> set[str]:
        """Topics of sensors that some node names."""
        with self.lock:
            found = set()
            for name, diagnosis in self.diagnoses.items():
                for sensor in diagnosis.sensors.values():
                    found.add(full_topic(sensor['facts'].get('topic', ''), self.owner(name)))
            for node, told in self.statuses.items():
                for sensor in told.last['sensors'].values():
                    found.add(full_topic(sensor['topic'], node))
            return found - {''}

    def owner(self, bare_name: str) -> str:
        """Full name of the node that diagnostics call by its bare name; '' when two share it."""
        known = {*self.estimates, *self.statuses, *self.sides}
        found = [name for name in known if name.rpartition('/')[2] == bare_name]
        if len(found) > 1:
            return ''
        return found[0] if found else f'/{bare_name}'

    # One kind of message each -------------------------------------------------------------------

    def _kept(self, group: dict[str, Kept], key: str, make: Callable[[], Kept]) -> Kept | None:
        found = group.get(key)
        if found is None:
            if len(group) >= MOST:
                self.left_out += 1
                return None
            found = group[key] = make()
        return found

    def _told(
        self, group: dict[str, Told], key: str, last: dict[str, Any], spacing: float = 0.0
    ) -> Told | None:
        told = self._kept(group, key, lambda: Told(History(spacing=spacing)))
        if told is not None:
            told.heard, told.last = self.now(), last
        return told

    def _meter(self, topic: str, arrival_ns: int, header_stamp_ns: int, *, sensor: bool) -> None:
        meter = self._kept(self.meters, topic, lambda: StreamMeter(self._newest))
        if meter is not None:
            meter.add(arrival_ns, header_stamp_ns, sensor)

    def _estimate(self, topic: str, message: Any, time_ns: int) -> None:
        last = estimate_of(message)
        told = self._told(self.estimates, node_of(topic), last)
        if told is not None:
            values = {}
            for one in last['parameters']:
                values[one['name']] = one['value']
                values[f'{one["name"]} std'] = one['std']
            last['time'] = told.history.add(when(message, time_ns), values)

    def _status(self, topic: str, message: Any, time_ns: int) -> None:
        self._told(self.statuses, node_of(topic), status_of(message))

    def _sides(self, topic: str, message: Any, time_ns: int) -> None:
        last = sides_of(message)
        told = self._told(self.sides, node_of(topic), last, SIDES_SPACING)
        if told is not None:
            values = {}
            rows = zip(last['equations'], last['measured'], last['predicted'], strict=False)
            for name, measured, predicted in rows:
                values[name] = measured
                values[f'{name} predicted'] = predicted
            told.history.add(when(message, time_ns), values)

    def _odometry(self, topic: str, message: Any, time_ns: int) -> None:
        last = pose_of(message)
        told = self._told(self.tracks, topic, last, TRACK_SPACING)
        if told is not None:
            place = {'x': last['x'], 'y': last['y']}
            last['time'] = told.history.add(when(message, time_ns), place)
            self._meter(topic, time_ns, stamp_ns(message), sensor=False)

    def _diagnostics(self, topic: str, message: Any, time_ns: int) -> None:
        at_ns = when(message, time_ns)
        parts = [(cut(one.name), diagnosis_of(one)) for one in message.status[: 2 * SENSORS]]
        owners = {name for name, one in parts if 'verdict' in one['facts']}
        before: dict[str, dict[str, dict[str, Any]]] = {}
        for name, one in parts:
            if name in owners:
                diagnosis = self._kept(self.diagnoses, name, Diagnosis)
                if diagnosis is not None:
                    before[name] = diagnosis.sensors
                    self._whole(diagnosis, one, at_ns)
        for name, one in parts:
            owner, _, sensor = name.partition(': ')
            if owner in before:
                if sensor:
                    self._sensor(
                        self.diagnoses[owner], sensor, one, before[owner].get(sensor), at_ns
                    )
            elif name not in owners:
                place = self._kept(self.others, name, dict)
                if place is not None:
                    place.update(level=one['level'], text=one['text'], heard=self.now())

    def _whole(self, diagnosis: Diagnosis, one: dict[str, Any], at_ns: int) -> None:
        diagnosis.heard = self.now()
        diagnosis.last, diagnosis.sensors = one, {}
        found = {
            short: number(one['facts'].get(long))
            for long, short in LATENCIES.items()
            if long in one['facts']
        }
        if found:
            diagnosis.history.add(at_ns, found)

    def _sensor(
        self,
        diagnosis: Diagnosis,
        name: str,
        one: dict[str, Any],
        before: dict[str, Any] | None,
        at_ns: int,
    ) -> None:
        if len(diagnosis.sensors) >= SENSORS:
            self.left_out += 1
            return
        one['time'] = at_ns
        one['counted'] = float('nan')  # its rate where the node does not say one
        if before is not None and at_ns > before['time']:
            gained = _count(one, 'received') - _count(before, 'received')
            if gained >= 0:
                one['counted'] = gained / ((at_ns - before['time']) * 1e-9)
        diagnosis.sensors[name] = one


def when(message: Any, time_ns: int) -> int:
    """The stamp of a message; its arrival where it has none."""
    return stamp_ns(message) or time_ns


def node_of(topic: str) -> str:
    """Full name of the node that publishes a private topic: `/ns/node/parameters`."""
    return topic.rpartition('/')[0] or topic


def full_topic(topic: str, node: str) -> str:
    """A topic as the node of a full name sees it; '' where either is not known."""
    if not topic or topic.startswith('/') or not node:
        return topic if topic.startswith('/') else ''
    return f'{node.rpartition("/")[0]}/{topic}'


def _count(one: dict[str, Any], key: str) -> int:
    text = one['facts'].get(key, '')
    return int(text) if text.isdigit() else 0
