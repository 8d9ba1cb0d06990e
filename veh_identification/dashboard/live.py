"""Looks on at live nodes, over zenoh or ROS: subscribes to what there is to show."""

from __future__ import annotations

import struct
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from veh_identification.dashboard.collector import Collector
from veh_identification.dashboard.intake import Intake
from veh_identification.errors import MessageError
from veh_identification.runtime import messages
from veh_identification.runtime.graph import NodeDescription
from veh_identification.runtime.qos import QoS

if TYPE_CHECKING:
    from veh_identification.runtime.zenoh import ZenohEngine

#: Seconds between looks at the topics.
LOOK = 0.5
#: Messages that may wait: an onlooker rather loses some than fills the memory.
DEPTH = 200
#: Topics that one dashboard listens to.
MOST = 256
_STAMP = struct.Struct('<iI')
_LITTLE_ENDIAN = 1

Take = Callable[[bytes, int], None]


class Offer(NamedTuple):
    """A topic that somebody publishes."""

    type_name: str
    qos: QoS


class Onlooker:
    """Listens to every topic of a kind that the collector understands, and to named sensors."""

    def __init__(
        self,
        collector: Collector,
        offers: Callable[[], Mapping[str, Offer]],
        subscribe: Callable[[str, Offer, Take], Any],
    ) -> None:
        self._collector = collector
        self._intake = Intake(collector)
        self._offers, self._subscribe = offers, subscribe
        self._heard: set[tuple[str, str]] = set()

    def look(self) -> None:
        """Subscribe to what is new."""
        offers = self._offers()
        for topic, offer in offers.items():
            if offer.type_name in self._collector.types:
                self._listen(topic, offer, self._teller(topic, offer.type_name))
        for topic in self._collector.metered_topics() & offers.keys():
            offer = offers[topic]
            if offer.type_name not in self._collector.types and has_header(offer.type_name):
                self._listen(topic, offer, self._meter(topic))

    def _listen(self, topic: str, offer: Offer, take: Take) -> None:
        key = (topic, offer.type_name)
        if key in self._heard or len(self._heard) >= MOST:
            return
        self._heard.add(key)
        wanted = QoS(DEPTH, offer.qos.reliable, offer.qos.transient_local)
        try:
            self._subscribe(topic, Offer(offer.type_name, wanted), take)
        except MessageError:
            return  # of a type that is not installed here

    def _teller(self, topic: str, type_name: str) -> Take:
        take = self._intake.take
        return lambda payload, time_ns: take(topic, type_name, payload, time_ns)

    def _meter(self, topic: str) -> Take:
        meter = self._collector.meter
        return lambda payload, time_ns: meter(topic, time_ns, header_stamp(payload))


def has_header(type_name: str) -> bool:
    """Whether messages of a type begin with a stamp; False for types that are not known here."""
    try:
        return next(iter(messages.field_types(type_name).values()), '') == 'std_msgs/msg/Header'
    except MessageError:
        return False


def header_stamp(payload: bytes) -> int:
    """Nanoseconds of the header that a serialised message begins with; 0 where it cannot be."""
    if len(payload) < 12 or payload[1] != _LITTLE_ENDIAN:
        return 0
    seconds, nanoseconds = _STAMP.unpack_from(payload, 4)
    return int(seconds * messages.NANOSECONDS + nanoseconds)


# Engines ----------------------------------------------------------------------------------------


def watch_zenoh(engine: ZenohEngine, collector: Collector) -> None:
    """Let an engine feed the collector while it spins."""
    node = engine.create_node('dashboard')

    def offers() -> dict[str, Offer]:
        return {
            topic: Offer(type_name, engine.graph.offered_qos(topic) or QoS())
            for topic, type_name in engine.graph.published_topics().items()
        }

    def subscribe(topic: str, offer: Offer, take: Take) -> None:
        node.create_raw_subscription(
            offer.type_name,
            topic,
            lambda received: take(received.payload, received.received_ns),
            offer.qos,
        )

    node.create_timer(LOOK, Onlooker(collector, offers, subscribe).look)


@dataclass(frozen=True)
class RosDashboard(NodeDescription):
    """The dashboard as a node that the ros engine runs."""

    collector: Collector | None = None

    def create(self, node: Any) -> Onlooker:
        """Look on through the node object of the ros engine."""
        assert self.collector is not None

        def subscribe(topic: str, offer: Offer, take: Take) -> None:
            node.create_raw_subscription(
                offer.type_name, topic, lambda data: take(data, time.time_ns()), offer.qos
            )

        def offers() -> dict[str, Offer]:
            return {topic: Offer(*found) for topic, found in node.offers().items()}

        onlooker = Onlooker(self.collector, offers, subscribe)
        node.create_timer(LOOK, onlooker.look)
        return onlooker
