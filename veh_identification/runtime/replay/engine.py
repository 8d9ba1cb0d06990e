"""The replay engine: bag in, bag out, one thread, time is the bag's.

Order of events, so that two runs give the same bytes:
- messages come in the order of the source (log time, then the reader's defined order);
- a timer fires at its exact deadline, between the messages before and after it; at equal times
  the messages go first, so that a timer sees everything of its instant;
- what a callback publishes is delivered right after that callback, at the same node time, first
  in first out, as the bytes that another process would have received.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Protocol, TextIO

from veh_identification.errors import MessageError, UsageError
from veh_identification.runtime import messages
from veh_identification.runtime.bags import BagWriter
from veh_identification.runtime.interface import NANOSECONDS
from veh_identification.runtime.logger import NodeLogger
from veh_identification.runtime.names import Remapper
from veh_identification.runtime.parameter_store import ParameterStore
from veh_identification.runtime.qos import QoS, incompatibility
from veh_identification.runtime.replay.node import (
    ReplayNode,
    ReplayPublisher,
    ReplayTimer,
    Subscription,
)
from veh_identification.runtime.replay.routes import (
    Recorded,
    RecordedChannel,
    Route,
    as_items,
    make_route,
)

#: A silence longer than this is a clock jump: timers start anew instead of firing for years.
LONGEST_GAP_NS = 3600 * NANOSECONDS


class Sink(Protocol):
    """Takes what the nodes publish (a bag writer)."""

    def write(self, topic: str, typename: str, payload: bytes, time_ns: int, *, qos: QoS) -> None:
        """Store one serialised message."""
        ...


class ReplayEngine:
    """Runs nodes over a source of recorded messages."""

    def __init__(
        self,
        start_ns: int = 0,
        *,
        sink: Sink | None = None,
        log_level: str = 'info',
        log_stream: TextIO | None = None,
    ) -> None:
        self.now_ns = start_ns
        #: Topics that somebody publishes, with their types.
        self.offered: dict[str, str] = {}
        self.delivered: dict[str, int] = {}
        self.published: dict[str, int] = {}
        self._sink = sink
        self._log_level = log_level
        self._log_stream = log_stream
        self._subscriptions: dict[str, list[Subscription]] = {}
        self._publishers: dict[str, list[ReplayPublisher]] = {}
        self._services: dict[str, tuple[Any, Callable[[Any, Any], Any]]] = {}
        self._pending: deque[tuple[list[Subscription], str, bytes]] = deque()
        self._agenda: list[tuple[int, int, Any]] = []
        self._sequence = 0
        self._routes: dict[RecordedChannel, Route] = {}
        self._log = NodeLogger('replay', lambda: self.now_ns, level=log_level, stream=log_stream)

    # What nodes ask for -----------------------------------------------------------------------

    def create_node(
        self,
        name: str,
        namespace: str = '/',
        *,
        parameter_files: Iterable[str | Path] = (),
        parameters: Mapping[str, Any] | None = None,
        remappings: Iterable[tuple[str, str]] = (),
    ) -> ReplayNode:
        """A node object for a node class."""
        names = Remapper(name, namespace, remappings)
        store = ParameterStore.from_sources(names.full_name, parameter_files, parameters)
        logger = NodeLogger(
            names.full_name.strip('/').replace('/', '.'),
            lambda: self.now_ns,
            level=self._log_level,
            stream=self._log_stream,
        )
        return ReplayNode(self, names, store, logger)

    def add_subscription(self, subscription: Subscription) -> None:
        """Register a subscription; latched messages reach it at once."""
        self._subscriptions.setdefault(subscription.topic, []).append(subscription)
        self._routes.clear()
        for publisher in self._publishers.get(subscription.topic, ()):
            self._check_match(publisher, subscription)
            if subscription.qos.transient_local:
                for payload in publisher.latched:
                    self._pending.append(([subscription], publisher.typename, payload))

    def add_publisher(self, publisher: ReplayPublisher) -> None:
        """Register a publisher."""
        self._publishers.setdefault(publisher.topic, []).append(publisher)
        self.offered.setdefault(publisher.topic, publisher.typename)
        for subscription in self._subscriptions.get(publisher.topic, ()):
            self._check_match(publisher, subscription)

    def add_service(self, name: str, srv_type: Any, callback: Callable[[Any, Any], Any]) -> None:
        """Register a service."""
        self._services[name] = (srv_type, callback)

    def schedule_timer(self, timer: ReplayTimer, deadline_ns: int) -> None:
        """Let a timer fire at `deadline_ns` and no other time."""
        timer.deadline_ns = deadline_ns
        self._push(deadline_ns, timer)

    def publish(self, publisher: ReplayPublisher, payload: bytes) -> None:
        """Record a message and queue it for the nodes of this graph."""
        topic = publisher.topic
        self.published[topic] = self.published.get(topic, 0) + 1
        if self._sink is not None:
            store = publisher.store
            if store is None:
                store = publisher.store = _open_store(self._sink, publisher)
            store(payload, self.now_ns)
        if publisher.qos.transient_local:
            publisher.latched.append(payload)
            while len(publisher.latched) > publisher.qos.depth:
                publisher.latched.popleft()
        if topic in self._subscriptions:
            receivers = self.matched(publisher)
            if receivers:
                self._pending.append((receivers, publisher.typename, payload))

    def matched(self, publisher: ReplayPublisher) -> list[Subscription]:
        """The subscriptions that a publisher reaches."""
        return [
            subscription
            for subscription in self._subscriptions.get(publisher.topic, ())
            if not incompatibility(publisher.qos, subscription.qos)
        ]

    # What the caller asks for -----------------------------------------------------------------

    def input_topics(self) -> list[str]:
        """Topics that the nodes want from the source: subscribed and published by none of them."""
        return sorted(topic for topic in self._subscriptions if topic not in self._publishers)

    def output_topics(self) -> list[str]:
        """Topics that the nodes publish."""
        return sorted(self._publishers)

    def expected_type(self, topic: str) -> str:
        """The type that the nodes expect on a topic."""
        return self._subscriptions[topic][0].typename

    def services(self) -> list[str]:
        """Names of the services that the nodes offer."""
        return sorted(self._services)

    def call_service(self, name: str, **request_fields: Any) -> Any:
        """Call a service now; returns its response."""
        try:
            srv_type, callback = self._services[name]
        except KeyError:
            raise UsageError(
                f'there is no service {name}; there are {", ".join(self.services()) or "none"}'
            ) from None
        request = srv_type.Request()
        for field_name, value in request_fields.items():
            setattr(request, field_name, value)
        response = callback(request, srv_type.Response())
        self._deliver_pending()
        return response

    def call_service_at(self, time_ns: int, name: str, **request_fields: Any) -> None:
        """Call a service when node time reaches `time_ns`."""
        self._push(time_ns, lambda: self.call_service(name, **request_fields))

    def run(self, source: Iterable[Recorded]) -> None:
        """Play a whole source of message objects."""
        self.play(as_items(source))

    def play(self, items: Iterable[tuple[int, RecordedChannel, Any]]) -> None:
        """Play a whole source of (log time, channel, data)."""
        self._deliver_pending()
        routes, delivered, pending = self._routes, self.delivered, self._pending
        for time_ns, channel, data in items:
            agenda = self._agenda
            if time_ns - self.now_ns > LONGEST_GAP_NS or (agenda and agenda[0][0] < time_ns):
                self._advance(time_ns)
            self.now_ns = time_ns
            route = routes.get(channel)
            if route is None:
                self.offered.setdefault(channel.topic, channel.typename)
                route = routes[channel] = make_route(
                    channel, self._subscriptions.get(channel.topic, ())
                )
            topic, read, receivers = route
            if not receivers:
                continue
            delivered[topic] = count = delivered.get(topic, 0) + 1
            try:
                message = read(data)
            except MessageError as error:
                raise channel.located(error, count - 1, time_ns) from error
            for receive in receivers:
                receive(message)
                if pending:
                    self._deliver_pending()
        self._fire_until(self.now_ns + 1)

    # Inner workings ---------------------------------------------------------------------------

    def _push(self, time_ns: int, event: Any) -> None:
        self._sequence += 1
        heapq.heappush(self._agenda, (time_ns, self._sequence, event))

    def _advance(self, time_ns: int) -> None:
        """Bring the clock to the next message, firing timers on the way."""
        if time_ns - self.now_ns > LONGEST_GAP_NS:
            self._jump(time_ns)
        else:
            self._fire_until(time_ns)

    def _fire_until(self, limit_ns: int) -> None:
        """Fire everything due before `limit_ns`, each at its own time."""
        while self._agenda and self._agenda[0][0] < limit_ns:
            due_ns, _, event = heapq.heappop(self._agenda)
            if isinstance(event, ReplayTimer):
                if event.cancelled or event.deadline_ns != due_ns:
                    continue  # cancelled or reset since it was scheduled
                self.now_ns = due_ns
                self.schedule_timer(event, due_ns + event.period_ns)
                event.callback()
            else:
                self.now_ns = max(self.now_ns, due_ns)
                event()
            self._deliver_pending()

    def _jump(self, time_ns: int) -> None:
        """The source jumped: as under rclpy, timers drop the missed periods."""
        gap = (time_ns - self.now_ns) / NANOSECONDS
        self._log.warning(
            f'the recording jumps forward by {gap:.1f} s; timers start anew behind it'
        )
        events, self._agenda = self._agenda, []
        self.now_ns = time_ns
        for due_ns, _, event in sorted(events, key=lambda entry: entry[:2]):
            if not isinstance(event, ReplayTimer):
                self._push(due_ns, event)
            elif not event.cancelled and event.deadline_ns == due_ns:
                self.schedule_timer(event, time_ns + event.period_ns)

    def _deliver_pending(self) -> None:
        while self._pending:
            receivers, typename, payload = self._pending.popleft()
            message = messages.deserialize(payload, typename)
            for subscription in receivers:
                subscription.callback(message)

    def _check_match(self, publisher: ReplayPublisher, subscription: Subscription) -> None:
        reason = incompatibility(publisher.qos, subscription.qos)
        if publisher.typename != subscription.typename:
            raise MessageError(
                f'topic {publisher.topic}: node {publisher.node_name} publishes '
                f'{publisher.typename}, node {subscription.node_name} expects '
                f'{subscription.typename}'
            )
        if reason:
            self._log.warning(
                f'{publisher.topic} from {publisher.node_name} does not reach '
                f'{subscription.node_name}: {reason}'
            )


def _open_store(sink: Sink, publisher: ReplayPublisher) -> Callable[[bytes, int], None]:
    """Function that records a publisher's messages."""
    topic, typename, qos = publisher.topic, publisher.typename, publisher.qos
    if isinstance(sink, BagWriter):
        return sink.stream(topic, typename, qos=qos)
    return lambda payload, time_ns: sink.write(topic, typename, payload, time_ns, qos=qos)
