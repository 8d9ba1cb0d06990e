"""The node object of the replay engine: rclpy's methods on top of recorded time."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from veh_identification.errors import MessageError
from veh_identification.runtime import messages
from veh_identification.runtime.logger import NodeLogger
from veh_identification.runtime.names import Remapper
from veh_identification.runtime.node_base import NodeBase, period_ns
from veh_identification.runtime.parameter_store import ParameterStore
from veh_identification.runtime.qos import QoS, as_qos


@dataclass
class Subscription:
    """A callback on a topic."""

    node_name: str
    topic: str
    typename: str
    callback: Callable[[Any], None]
    qos: QoS


class Exchange(Protocol):
    """What the objects of this module ask of the engine that runs them."""

    now_ns: int
    offered: dict[str, str]

    def add_subscription(self, subscription: Subscription) -> None:
        """Register a subscription; latched messages reach it at once."""
        ...

    def add_publisher(self, publisher: ReplayPublisher) -> None:
        """Register a publisher."""
        ...

    def add_service(self, name: str, srv_type: Any, callback: Callable[[Any, Any], Any]) -> None:
        """Register a service."""
        ...

    def schedule_timer(self, timer: ReplayTimer, deadline_ns: int) -> None:
        """Let a timer fire at `deadline_ns` and no other time."""
        ...

    def publish(self, publisher: ReplayPublisher, payload: bytes) -> None:
        """Record a message and queue it for the nodes of this graph."""
        ...

    def matched(self, publisher: ReplayPublisher) -> list[Subscription]:
        """The subscriptions that a publisher reaches."""
        ...


@dataclass
class ReplayPublisher:
    """Serialises, records and hands on what a node publishes."""

    engine: Exchange
    node_name: str
    topic: str
    typename: str
    message_class: type
    qos: QoS
    latched: deque[bytes] = field(default_factory=deque)
    #: Where its messages are recorded, found when the first one comes.
    store: Callable[[bytes, int], None] | None = None

    def publish(self, msg: Any) -> None:
        """Send one message, or, as with rclpy, the bytes of a serialised one."""
        if type(msg) is bytes:
            self.engine.publish(self, msg)
            return
        if not isinstance(msg, self.message_class):
            raise MessageError(
                f'node {self.node_name}: {self.topic} takes {self.typename}, '
                f'got {type(msg).__name__}'
            )
        backend = messages.active_backend()
        self.engine.publish(self, backend.serialize(msg, self.typename))

    def get_subscription_count(self) -> int:
        """How many subscriptions are matched."""
        return len(self.engine.matched(self))


@dataclass
class ReplayTimer:
    """A periodic callback on node time."""

    engine: Exchange
    period_ns: int
    callback: Callable[[], None]
    deadline_ns: int = 0
    cancelled: bool = False

    def cancel(self) -> None:
        """Stop firing."""
        self.cancelled = True

    def reset(self) -> None:
        """Start a new period now."""
        self.cancelled = False
        self.engine.schedule_timer(self, self.engine.now_ns + self.period_ns)


@dataclass(frozen=True)
class ReplayTime:
    """A point on the node clock."""

    nanoseconds: int


@dataclass(frozen=True)
class ReplayClock:
    """The node clock: the bag's time."""

    engine: Exchange

    def now(self) -> ReplayTime:
        """The present node time."""
        return ReplayTime(self.engine.now_ns)


class ReplayNode(NodeBase[ReplayClock]):
    """The node object that the replay engine hands to a node class."""

    def __init__(
        self, engine: Exchange, names: Remapper, parameters: ParameterStore, logger: NodeLogger
    ) -> None:
        super().__init__(names, parameters, logger, ReplayClock(engine))
        self._engine = engine

    def create_subscription(
        self, msg_type: type, topic: str, callback: Callable[[Any], None], qos_profile: QoS | int
    ) -> Subscription:
        """Call `callback(message)` for every message on `topic`."""
        subscription = Subscription(
            self.get_name(),
            self._names(topic),
            messages.type_name(msg_type),
            callback,
            as_qos(qos_profile),
        )
        self._engine.add_subscription(subscription)
        return subscription

    def create_publisher(
        self, msg_type: type, topic: str, qos_profile: QoS | int
    ) -> ReplayPublisher:
        """Make a publisher."""
        publisher = ReplayPublisher(
            self._engine,
            self.get_name(),
            self._names(topic),
            messages.type_name(msg_type),
            msg_type,
            as_qos(qos_profile),
        )
        self._engine.add_publisher(publisher)
        return publisher

    def create_timer(self, timer_period_sec: float, callback: Callable[[], None]) -> ReplayTimer:
        """Call `callback()` every `timer_period_sec` of node time."""
        timer = ReplayTimer(self._engine, period_ns(timer_period_sec), callback)
        timer.reset()
        return timer

    def create_service(
        self, srv_type: Any, srv_name: str, callback: Callable[[Any, Any], Any]
    ) -> str:
        """Serve `callback(request, response) -> response`."""
        name = self._names(srv_name)
        self._engine.add_service(name, srv_type, callback)
        return name

    def get_topic_names_and_types(self) -> list[tuple[str, list[str]]]:
        """Topics of the recording, as far as they are known, and of the nodes."""
        return [(topic, [typename]) for topic, typename in sorted(self._engine.offered.items())]

    def destroy_node(self) -> None:
        """Nothing to free: the engine ends with its run."""
