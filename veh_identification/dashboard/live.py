"""Looks on at live nodes, over zenoh or ROS: subscribes to what there is to show."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from veh_identification.dashboard.intake import Intake
from veh_identification.errors import MessageError
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

Take = Callable[[bytes, int], None]


class Offer(NamedTuple):
    """A topic that somebody publishes."""

    type_name: str
    qos: QoS


class Onlooker:
    """Listens to every topic that the intake wants, and to the sensors that nodes name."""

    def __init__(
        self,
        intake: Intake,
        offers: Callable[[], Mapping[str, Offer]],
        subscribe: Callable[[str, Offer, Take], Any],
    ) -> None:
        self._intake = intake
        self._offers, self._subscribe = offers, subscribe
        self._heard: set[tuple[str, str]] = set()

    def look(self) -> None:
        """Subscribe to what is new."""
        sensors = self._intake.collector.metered_topics()
        for topic, offer in self._offers().items():
            if topic in sensors or self._intake.wants(offer.type_name):
                self._listen(topic, offer)

    def _listen(self, topic: str, offer: Offer) -> None:
        key = (topic, offer.type_name)
        if key in self._heard or len(self._heard) >= MOST:
            return
        self._heard.add(key)
        wanted = QoS(DEPTH, offer.qos.reliable, offer.qos.transient_local)
        take, type_name = self._intake.take, offer.type_name
        try:
            self._subscribe(
                topic,
                Offer(type_name, wanted),
                lambda payload, time_ns: take(topic, type_name, payload, time_ns),
            )
        except MessageError:
            return  # of a type that is not installed here


# Engines ----------------------------------------------------------------------------------------


def watch_zenoh(engine: ZenohEngine, intake: Intake) -> None:
    """Let an engine feed a collector while it spins."""
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

    node.create_timer(LOOK, Onlooker(intake, offers, subscribe).look)


@dataclass(frozen=True)
class RosDashboard(NodeDescription):
    """The dashboard as a node that the ros engine runs."""

    intake: Intake | None = None

    def create(self, node: Any) -> Onlooker:
        """Look on through the node object of the ros engine."""
        assert self.intake is not None

        def subscribe(topic: str, offer: Offer, take: Take) -> None:
            node.create_raw_subscription(
                offer.type_name, topic, lambda data: take(data, time.time_ns()), offer.qos
            )

        def offers() -> dict[str, Offer]:
            return {topic: Offer(*found) for topic, found in node.offers().items()}

        onlooker = Onlooker(self.intake, offers, subscribe)
        node.create_timer(LOOK, onlooker.look)
        return onlooker
