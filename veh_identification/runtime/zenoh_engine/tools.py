"""What `ros2 bag` and `ros2 topic` do, over zenoh: record, play, listen.

For the command line, tests and benchmarks.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from veh_identification.errors import InputError, MessageError
from veh_identification.runtime import messages
from veh_identification.runtime.interface import NANOSECONDS
from veh_identification.runtime.qos import STATIC_TF, QoS
from veh_identification.runtime.zenoh_engine.engine import ZenohEngine
from veh_identification.runtime.zenoh_engine.node import ZenohNode
from veh_identification.runtime.zenoh_engine.pubsub import (
    Received,
    ZenohPublisher,
    ZenohSubscription,
)

#: A recorder may fall behind the network while the disk is busy, but must not lose anything.
_RECORDER_DEPTH = 100_000
#: Seconds that a player waits for the subscribers it was told of.
_MATCHING_TIME = 5.0


class Sink(Protocol):
    """Takes serialised messages: a bag writer."""

    def write(self, topic: str, typename: str, payload: bytes, time_ns: int, *, qos: QoS) -> None:
        """Store one message."""
        ...


@dataclass(frozen=True)
class TopicCounts:
    """What a recorder saw of a topic."""

    received: int
    lost: int


@dataclass(frozen=True)
class RawMessage:
    """A serialised message with the time at which it is due."""

    time_ns: int
    topic: str
    typename: str
    payload: bytes


class Playable(Protocol):
    """A serialised message that is due at some time; those of a bag reader are."""

    @property
    def time_ns(self) -> int:
        """When it is due."""
        ...

    @property
    def topic(self) -> str:
        """The topic."""
        ...

    @property
    def typename(self) -> str:
        """Its type."""
        ...

    @property
    def payload(self) -> bytes:
        """The CDR bytes."""
        ...


def record(
    engine: ZenohEngine,
    topics: Mapping[str, str],
    target: Sink | str | Path,
    duration: float | None = None,
    *,
    until: Callable[[], bool] | None = None,
    observer: Callable[[str, Received], None] | None = None,
    name: str = 'recorder',
) -> dict[str, TopicCounts]:
    """Write the messages of `topics` (name to type) with their times of arrival.

    `target` is the folder of a new bag or anything with `write`. Ends after `duration` seconds,
    when `until()` holds, or with Ctrl-C or SIGTERM; whatever has arrived by then is still
    written. Latched topics are asked for what they published before. `observer(topic, received)`
    sees every message.
    """
    if isinstance(target, (str, Path)):
        # Only recorders to a bag need the bag module.
        from veh_identification.runtime.bags.writer import BagWriter

        with engine.executor.stopping_signals(), BagWriter(target, live=True) as writer:
            for place in writer.recovered:
                engine.logger.warning(f'a recorder was killed here: what it had is in {place}')
            for topic, type_name in topics.items():
                writer.add_topic(topic, type_name, qos=_bag_qos(_recording_qos(engine, topic)))
            return record(
                engine, topics, writer, duration, until=until, observer=observer, name=name
            )
    node = engine.create_node(name)
    subscriptions: dict[str, ZenohSubscription] = {}
    for topic, type_name in topics.items():
        qos = _recording_qos(engine, topic)
        write = _writer(target, topic, type_name, qos, observer)
        subscriptions[topic] = node.create_raw_subscription(type_name, topic, write, qos)
    engine.spin(duration, until=until)
    engine.executor.drain()
    counts = {t: TopicCounts(s.received, s.lost) for t, s in subscriptions.items()}
    node.destroy_node()
    return counts


def _recording_qos(engine: ZenohEngine, topic: str) -> QoS:
    offered = engine.graph.offered_qos(topic)
    if offered is None:
        offered = STATIC_TF if topic.endswith('/tf_static') else QoS()
    return QoS(_RECORDER_DEPTH, offered.reliable, offered.transient_local)


def _bag_qos(qos: QoS) -> QoS:
    """What the bag says of the topic: not the recorder's own enormous queue."""
    return QoS(10, qos.reliable, qos.transient_local)


def _writer(
    sink: Sink,
    topic: str,
    type_name: str,
    qos: QoS,
    observer: Callable[[str, Received], None] | None,
) -> Callable[[Received], None]:
    offered = _bag_qos(qos)

    def write(received: Received) -> None:
        sink.write(topic, type_name, received.payload, received.received_ns, qos=offered)
        if observer is not None:
            observer(topic, received)

    return write


def play(
    engine: ZenohEngine,
    source: Iterable[Playable] | str | Path,
    *,
    rate: float = 1.0,
    qos: Mapping[str, QoS] | None = None,
    subscribers: Mapping[str, int] | None = None,
    topics: Collection[str] | None = None,
    clock_rate: float = 0.0,
    name: str = 'player',
) -> int:
    """Publish recorded messages at their own pace times `rate`; returns how many.

    `source` is a recording or any messages in order of time. Waits up to five seconds for the
    `subscribers` that each topic should have, so that the first messages are not lost, and ends
    early with Ctrl-C or SIGTERM. `/clock` tells the time of the recording `clock_rate` times a
    second (0: not at all), for nodes with `use_sim_time`.
    """
    if isinstance(source, (str, Path)):
        from veh_identification.runtime.bags.reader import BagReader

        with engine.executor.stopping_signals(), BagReader(source) as bag:
            recorded = {info.topic: info.qos for info in bag.topics.values()}
            return play(
                engine,
                bag.raw(topics),
                rate=rate,
                qos={**recorded, **(qos or {})},
                subscribers=subscribers,
                clock_rate=clock_rate,
                name=name,
            )
    node = engine.create_node(name)
    profiles = {'/tf_static': STATIC_TF, **(qos or {})}
    publishers: dict[str, ZenohPublisher | None] = {}
    pace = _Pace(rate)
    if clock_rate:
        _tell_time(node, pace, clock_rate)
    count = 0
    with engine.executor.stopping_signals():
        for item in source:
            if item.topic not in publishers:
                publishers[item.topic] = publisher = _publisher(node, item, profiles)
                if publisher is not None:
                    wanted = (subscribers or {}).get(item.topic, 0)
                    _await_subscribers(engine, publisher, wanted)
            publisher = publishers[item.topic]
            if publisher is None:
                continue
            engine.spin(pace.wait(item.time_ns))
            if engine.executor.stopped:
                break
            publisher.publish_serialized(item.payload)
            count += 1
    node.destroy_node()
    return count


def await_topic(engine: ZenohEngine, topic: str, timeout: float = _MATCHING_TIME) -> str:
    """The type of a topic; waits for somebody to publish it."""
    engine.spin(timeout, until=lambda: topic in engine.graph.published_topics())
    there = engine.graph.published_topics()
    if topic not in there:
        known = ', '.join(there) or 'no topic at all'
        raise InputError(f'nobody publishes {topic} (domain {engine.domain}); there is: {known}')
    return there[topic]


def listen(
    engine: ZenohEngine,
    topic: str,
    callback: Callable[[Received], None],
    duration: float | None = None,
    *,
    until: Callable[[], bool] | None = None,
    name: str = 'listener',
) -> TopicCounts:
    """Call `callback` with every message of a topic as it came, still serialised.

    Ends after `duration` seconds, when `until()` holds, or with Ctrl-C or SIGTERM.
    """
    type_name = await_topic(engine, topic)
    node = engine.create_node(name)
    qos = _recording_qos(engine, topic)
    subscription = node.create_raw_subscription(type_name, topic, callback, qos)
    engine.spin(duration, until=until)
    counts = TopicCounts(subscription.received, subscription.lost)
    node.destroy_node()
    return counts


class _Pace:
    """Seconds to wait until a recorded time is due, counted from the first one."""

    def __init__(self, rate: float) -> None:
        self._rate = rate
        self._start: tuple[int, int] | None = None

    def wait(self, time_ns: int) -> float:
        now_ns = time.monotonic_ns()
        if self._start is None:
            self._start = (time_ns, now_ns)
        due_ns = self._start[1] + (time_ns - self._start[0]) / self._rate
        return max(0.0, (due_ns - now_ns) / NANOSECONDS)

    def now_ns(self) -> int:
        """The time of the recording at present, 0 before its first message."""
        if self._start is None:
            return 0
        return self._start[0] + int((time.monotonic_ns() - self._start[1]) * self._rate)


def _tell_time(node: ZenohNode, pace: _Pace, rate: float) -> None:
    clock = node.create_publisher(
        messages.message_class('rosgraph_msgs/msg/Clock'), '/clock', QoS(1, reliable=False)
    )

    def tell() -> None:
        if now_ns := pace.now_ns():
            stamp = messages.time_from_ns(now_ns)
            clock.publish(messages.new('rosgraph_msgs/msg/Clock', clock=stamp))

    node.create_timer(1.0 / rate, tell)


def _await_subscribers(engine: ZenohEngine, publisher: ZenohPublisher, count: int) -> None:
    engine.spin(_MATCHING_TIME, until=lambda: publisher.get_subscription_count() >= count)


def _publisher(
    node: ZenohNode, item: Playable, profiles: Mapping[str, QoS]
) -> ZenohPublisher | None:
    """None, with a word, for a type that is not known here: its hash cannot be told."""
    try:
        qos = profiles.get(item.topic, QoS())
        return node.create_raw_publisher(item.typename, item.topic, qos)
    except MessageError as error:
        node.get_logger().warning(f'{item.topic} is not played: {error}')
        return None
