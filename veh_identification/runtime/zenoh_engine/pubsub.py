"""Publishers and subscriptions over zenoh."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from veh_identification.errors import MessageError
from veh_identification.runtime import messages
from veh_identification.runtime.interface import NANOSECONDS
from veh_identification.runtime.load import Load
from veh_identification.runtime.logger import NodeLogger
from veh_identification.runtime.zenoh_engine import wire
from veh_identification.runtime.zenoh_engine.executor import Executor
from veh_identification.runtime.zenoh_engine.graph import Graph
from veh_identification.runtime.zenoh_engine.session import zenoh, zenoh_ext

#: Seconds between the heartbeats by which a transient local subscription notices a lost message.
_HEARTBEAT = 0.5
#: Publishers of a topic whose sequence numbers are kept: anybody can send with ever new ones.
MOST_PUBLISHERS = 1000
#: Bytes that wait of a topic: a queue for thousands of small messages could fill the memory with
#: large ones.
MOST_QUEUED = 2**30


def warm_up(type_name: str) -> None:
    """Let rosbags generate the code for a type now and not when the first message is due."""
    messages.deserialize(messages.serialize(messages.new(type_name)), type_name)


class ZenohPublisher:
    """Publishes messages of one type on one topic."""

    def __init__(
        self, session: zenoh.Session, endpoint: wire.Endpoint, graph: Graph, load: Load
    ) -> None:
        self.endpoint = endpoint
        self._load = load
        self._message_class = messages.message_class(endpoint.type_name)
        self._graph = graph
        self._gid = endpoint.gid
        self._sequence = 0
        #: What was published last, for a look from outside.
        self.last = b''
        warm_up(endpoint.type_name)
        self._publisher = self._declare(session)
        self._token = session.liveliness().declare_token(endpoint.token)

    def _declare(self, session: zenoh.Session) -> zenoh.Publisher | zenoh_ext.AdvancedPublisher:
        """As rmw_zenoh: history "keep last" drops on congestion, whatever the reliability."""
        qos = self.endpoint.qos
        reliability = zenoh.Reliability.RELIABLE if qos.reliable else zenoh.Reliability.BEST_EFFORT
        if not qos.transient_local:
            return session.declare_publisher(
                self.endpoint.key,
                congestion_control=zenoh.CongestionControl.DROP,
                reliability=reliability,
            )
        detection = zenoh_ext.MissDetectionConfig(heartbeat=None, sporadic_heartbeat=_HEARTBEAT)
        return zenoh_ext.declare_advanced_publisher(
            session,
            self.endpoint.key,
            congestion_control=zenoh.CongestionControl.DROP,
            reliability=reliability,
            cache=zenoh_ext.CacheConfig(max_samples=qos.depth),
            sample_miss_detection=detection if qos.reliable else None,
            publisher_detection=True,
        )

    @property
    def topic(self) -> str:
        """The absolute topic."""
        return self.endpoint.name

    def publish(self, msg: Any) -> None:
        """Send one message, or, as with rclpy, the bytes of a serialised one."""
        if type(msg) is bytes:
            self.publish_serialized(msg)
            return
        if not isinstance(msg, self._message_class):
            raise MessageError(
                f'node {self.endpoint.node.name}: {self.topic} takes {self.endpoint.type_name}, '
                f'got {type(msg).__name__}'
            )
        self.publish_serialized(messages.serialize(msg))

    def publish_serialized(self, payload: bytes) -> None:
        """Send the CDR bytes of one message."""
        self._sequence += 1
        self.last = payload
        self._load.published()
        attachment = wire.Attachment(self._sequence, time.time_ns(), self._gid)
        self._publisher.put(payload, attachment=attachment.encode())

    @property
    def published(self) -> int:
        """How many messages were sent."""
        return self._sequence

    def get_subscription_count(self) -> int:
        """How many subscriptions are matched, in all processes."""
        return self._graph.count(wire.SUBSCRIPTION, self.endpoint.key)

    def destroy(self) -> None:
        """Leave the graph."""
        self._token.undeclare()
        self._publisher.undeclare()


@dataclass(frozen=True)
class Received:
    """A message as it came: still serialised."""

    payload: bytes
    attachment: wire.Attachment
    received_ns: int


def decoder(type_name: str) -> Callable[[Received], Any]:
    """Turns what was received into message objects."""
    return lambda received: messages.deserialize(received.payload, type_name)


class _Queued(NamedTuple):
    """A message as it came."""

    payload: bytes
    attachment: bytes | None
    received_ns: int


class ZenohSubscription:
    """A queue of the last `depth` messages and the callback that takes them.

    `lost` counts messages that the sequence numbers say were sent and that never reached the
    callback, whoever dropped them; `discarded` counts those that our own full queue dropped;
    `rejected` counts messages that could not be decoded.
    """

    def __init__(
        self,
        session: zenoh.Session,
        endpoint: wire.Endpoint,
        decode: Callable[[Received], Any],
        callback: Callable[[Any], None],
        executor: Executor,
        graph: Graph,
        logger: NodeLogger,
        load: Load,
    ) -> None:
        self.endpoint = endpoint
        self._load, self._queue_load = load, load.add_queue(endpoint.name, endpoint.qos.depth)
        self.received = 0
        self.lost = 0
        self.discarded = 0
        self.rejected = 0
        self._decode = decode
        self._callback = callback
        self._executor = executor
        self._graph = graph
        self._logger = logger
        self._lock = threading.Lock()
        self._queue: deque[_Queued] = deque()
        self._queued_bytes = 0
        self._sequences: dict[bytes, int] = {}
        self._warned_ns = 0
        warm_up(endpoint.type_name)
        self._subscriber: Any = self._declare(session)
        self._token = session.liveliness().declare_token(endpoint.token)

    def _declare(self, session: zenoh.Session) -> Any:
        qos = self.endpoint.qos
        # Straight on the network thread: all it does is to append to a queue.
        handler: Any = zenoh.handlers.Callback(self._on_sample, indirect=False)
        if not qos.transient_local:
            return session.declare_subscriber(self.endpoint.key, handler)
        recovery = zenoh_ext.RecoveryConfig(periodic_queries=None, heartbeat=True)
        return zenoh_ext.declare_advanced_subscriber(
            session,
            self.endpoint.key,
            handler,
            history=zenoh_ext.HistoryConfig(detect_late_publishers=True, max_samples=qos.depth),
            recovery=recovery if qos.reliable else None,
            subscriber_detection=True,
        )

    @property
    def topic(self) -> str:
        """The absolute topic."""
        return self.endpoint.name

    def get_publisher_count(self) -> int:
        """How many publishers are matched, in all processes."""
        return self._graph.count(wire.PUBLISHER, self.endpoint.key)

    def _on_sample(self, sample: zenoh.Sample) -> None:
        """Runs on zenoh's threads."""
        now_ns = time.time_ns()
        # Copies: a sample that waits keeps the whole packet in which it came.
        attachment = None if sample.attachment is None else sample.attachment.to_bytes()
        queued = _Queued(sample.payload.to_bytes(), attachment, now_ns)
        queue, size, discarded = self._queue, len(queued.payload), 0
        with self._lock:
            while queue and (
                len(queue) >= self.endpoint.qos.depth or self._queued_bytes + size > MOST_QUEUED
            ):
                self._queued_bytes -= len(queue.popleft().payload)
                discarded += 1
            self.discarded += discarded
            queue.append(queued)
            self._queued_bytes += size
            self._queue_load.peak = max(self._queue_load.peak, len(queue))
        if not discarded:  # else the work posted for a discarded message takes this one
            self._executor.post(self._take)

    def _take(self) -> None:
        with self._lock:
            if not self._queue:  # destroyed meanwhile
                return
            queued = self._queue.popleft()
            self._queued_bytes -= len(queued.payload)
        received_ns = queued.received_ns
        try:
            received = self._open(queued)
            message = self._decode(received)
        except MessageError as error:
            self.rejected += 1
            self._queue_load.unreadable += 1
            self._warn(f'{self.rejected} messages rejected, the last because: {error}')
            return
        self.received += 1
        self._load.arrival_ns = received_ns
        begin = time.perf_counter()
        try:
            self._callback(message)
        finally:
            self._load.arrival_ns = 0
            self._load.busy_seconds += time.perf_counter() - begin

    def _open(self, queued: _Queued) -> Received:
        if queued.attachment is None:
            raise MessageError('it has no attachment, so no ROS node sent it')
        attachment = wire.Attachment.decode(queued.attachment)
        last = self._sequences.get(attachment.gid)
        if last is None or attachment.sequence > last:
            if last is None and len(self._sequences) >= MOST_PUBLISHERS:
                del self._sequences[next(iter(self._sequences))]  # the one first heard of
            self._sequences[attachment.gid] = attachment.sequence
        if last is not None and attachment.sequence > last + 1:
            self.lost += attachment.sequence - last - 1
            self._queue_load.lost = self.lost
            # A queue of one is there to keep the newest alone, as that of /clock.
            if self.endpoint.qos.depth > 1 or self.lost > self.discarded:
                self._warn(
                    f'{self.lost} messages lost so far, {self.discarded} of them because the '
                    f'queue of {self.endpoint.qos.depth} was full'
                )
        return Received(queued.payload, attachment, queued.received_ns)

    def _warn(self, text: str) -> None:
        """At most once a second; the text holds counts, so the logger cannot throttle by it."""
        now_ns = time.monotonic_ns()
        if now_ns - self._warned_ns > NANOSECONDS:
            self._warned_ns = now_ns
            self._logger.warning(f'{self.topic}: {text}')

    def destroy(self) -> None:
        """Leave the graph; what is queued is forgotten."""
        self._token.undeclare()
        self._subscriber.undeclare()
        with self._lock:
            self._queue.clear()
            self._queued_bytes = 0
