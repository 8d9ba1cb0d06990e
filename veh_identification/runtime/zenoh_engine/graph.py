"""The graph of all processes, from the liveliness tokens that they hold."""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import dataclass

from veh_identification.runtime.qos import QoS
from veh_identification.runtime.zenoh_engine import wire
from veh_identification.runtime.zenoh_engine.session import zenoh

#: Nodes, publishers, subscriptions and services that are kept: anybody can announce ever new ones.
MOST_ENTITIES = 20_000


@dataclass(frozen=True)
class LiveTopic:
    """A topic with a type, and how many publish and listen to it."""

    topic: str
    type_name: str
    publishers: int
    subscriptions: int


class Graph:
    """Who is there: updated by zenoh's threads, read by ours."""

    def __init__(self, session: zenoh.Session, domain: int) -> None:
        self._lock = threading.Lock()
        self._entities: dict[str, wire.NodeEntity | wire.Endpoint] = {}
        self._counts: Counter[tuple[str, str]] = Counter()
        self._subscriber = session.liveliness().declare_subscriber(
            wire.graph_key(domain), self._on_token, history=True
        )

    def _on_token(self, sample: zenoh.Sample) -> None:
        token = str(sample.key_expr)
        entity = wire.parse_token(token)
        if entity is None:
            return
        with self._lock:
            if sample.kind == zenoh.SampleKind.PUT:
                if token not in self._entities and len(self._entities) < MOST_ENTITIES:
                    self._entities[token] = entity
                    self._count(entity, 1)
            elif self._entities.pop(token, None) is not None:
                self._count(entity, -1)

    def _count(self, entity: wire.NodeEntity | wire.Endpoint, change: int) -> None:
        if isinstance(entity, wire.Endpoint):
            key = entity.kind, entity.key
            self._counts[key] += change
            if not self._counts[key]:
                del self._counts[key]

    def count(self, kind: str, key: str) -> int:
        """How many endpoints of a kind use a data key (topic, type and type hash agree)."""
        with self._lock:
            return self._counts[kind, key]

    def nodes(self) -> list[str]:
        """Full names of the nodes."""
        with self._lock:
            entities = list(self._entities.values())
        return sorted(
            f'{entity.namespace.rstrip("/")}/{entity.name}'
            for entity in entities
            if isinstance(entity, wire.NodeEntity)
        )

    def endpoints(self, kind: str) -> list[wire.Endpoint]:
        """All endpoints of a kind."""
        with self._lock:
            entities = list(self._entities.values())
        return [e for e in entities if isinstance(e, wire.Endpoint) and e.kind == kind]

    def published_topics(self) -> dict[str, str]:
        """Topics that somebody publishes, with their types."""
        found = {e.name: e.type_name for e in self.endpoints(wire.PUBLISHER)}
        return dict(sorted(found.items()))

    def topics(self) -> list[LiveTopic]:
        """Every topic that somebody publishes or listens to; one with two types stands twice."""
        publishers = Counter((e.name, e.type_name) for e in self.endpoints(wire.PUBLISHER))
        listeners = Counter((e.name, e.type_name) for e in self.endpoints(wire.SUBSCRIPTION))
        keys = sorted({*publishers, *listeners})
        return [LiveTopic(*key, publishers[key], listeners[key]) for key in keys]

    def offered_qos(self, topic: str) -> QoS | None:
        """The quality of service of a topic's publishers: transient local if one of them is."""
        offers = [e.qos for e in self.endpoints(wire.PUBLISHER) if e.name == topic]
        if not offers:
            return None
        return QoS(
            depth=max(qos.depth for qos in offers),
            reliable=all(qos.reliable for qos in offers),
            transient_local=any(qos.transient_local for qos in offers),
        )

    def close(self) -> None:
        """Stop listening."""
        self._subscriber.undeclare()
