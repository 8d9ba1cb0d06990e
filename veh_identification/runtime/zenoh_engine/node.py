"""The node object that the zenoh engine hands to a node class."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from veh_identification.runtime import messages
from veh_identification.runtime.load import Load
from veh_identification.runtime.logger import NodeLogger
from veh_identification.runtime.names import Remapper
from veh_identification.runtime.node_base import NodeBase, period_ns
from veh_identification.runtime.parameter_store import ParameterStore
from veh_identification.runtime.qos import QoS, as_qos
from veh_identification.runtime.zenoh_engine import wire
from veh_identification.runtime.zenoh_engine.clock import NodeClock, ZenohTimer
from veh_identification.runtime.zenoh_engine.executor import Executor
from veh_identification.runtime.zenoh_engine.graph import Graph
from veh_identification.runtime.zenoh_engine.pubsub import (
    Received,
    ZenohPublisher,
    ZenohSubscription,
    decoder,
)
from veh_identification.runtime.zenoh_engine.services import (
    ZenohClient,
    ZenohService,
    service_type_name,
)
from veh_identification.runtime.zenoh_engine.session import zenoh


class Host(Protocol):
    """What a node needs of its engine."""

    session: zenoh.Session
    executor: Executor
    graph: Graph

    def next_entity_id(self) -> int:
        """A number for a new entity of the graph."""
        ...

    def forget(self, node: ZenohNode) -> None:
        """The node is destroyed."""
        ...


class ZenohNode(NodeBase[NodeClock]):
    """rclpy's node methods over zenoh."""

    def __init__(
        self,
        host: Host,
        entity: wire.NodeEntity,
        names: Remapper,
        parameters: ParameterStore,
        logger: NodeLogger,
        clock: NodeClock,
    ) -> None:
        super().__init__(names, parameters, logger, clock)
        self._host = host
        self._entity = entity
        self.load = Load()
        self._timers: list[ZenohTimer] = []
        self._endpoints: list[ZenohPublisher | ZenohSubscription | ZenohService | ZenohClient] = []
        self._token = host.session.liveliness().declare_token(entity.token)
        self._destroyed = False

    def create_subscription(
        self, msg_type: type, topic: str, callback: Callable[[Any], None], qos_profile: QoS | int
    ) -> ZenohSubscription:
        """Call `callback(message)` for every message on `topic`."""
        type_name = messages.type_name(msg_type)
        endpoint = self._endpoint(wire.SUBSCRIPTION, topic, type_name, as_qos(qos_profile))
        return self._subscribe(endpoint, decoder(type_name), callback)

    def get_load(self) -> Load:
        """How the node keeps up."""
        return self.load

    def get_topic_names_and_types(self) -> list[tuple[str, list[str]]]:
        """Topics that somebody publishes by now."""
        found = self._host.graph.published_topics()
        return [(topic, [type_name]) for topic, type_name in found.items()]

    def subscriptions(self) -> list[ZenohSubscription]:
        """The node's subscriptions, each with its counts of received and lost messages."""
        return [e for e in self._endpoints if isinstance(e, ZenohSubscription)]

    def publishers(self) -> list[ZenohPublisher]:
        """The node's publishers, each with the count of what it sent."""
        return [e for e in self._endpoints if isinstance(e, ZenohPublisher)]

    def create_raw_subscription(
        self,
        type_name: str,
        topic: str,
        callback: Callable[[Received], None],
        qos_profile: QoS | int,
    ) -> ZenohSubscription:
        """Call `callback(received)` with the serialised message (recorders)."""
        endpoint = self._endpoint(wire.SUBSCRIPTION, topic, type_name, as_qos(qos_profile))
        return self._subscribe(endpoint, lambda received: received, callback)

    def _subscribe(
        self,
        endpoint: wire.Endpoint,
        decode: Callable[[Received], Any],
        callback: Callable[[Any], None],
    ) -> ZenohSubscription:
        host = self._host
        subscription = ZenohSubscription(
            host.session,
            endpoint,
            decode,
            callback,
            host.executor,
            host.graph,
            self._logger,
            self.load,
        )
        self._endpoints.append(subscription)
        return subscription

    def create_publisher(
        self, msg_type: type, topic: str, qos_profile: QoS | int
    ) -> ZenohPublisher:
        """Make a publisher."""
        return self.create_raw_publisher(messages.type_name(msg_type), topic, qos_profile)

    def create_raw_publisher(
        self, type_name: str, topic: str, qos_profile: QoS | int
    ) -> ZenohPublisher:
        """Make a publisher by the name of its type (players)."""
        endpoint = self._endpoint(wire.PUBLISHER, topic, type_name, as_qos(qos_profile))
        publisher = ZenohPublisher(self._host.session, endpoint, self._host.graph, self.load)
        self._endpoints.append(publisher)
        return publisher

    def create_timer(self, timer_period_sec: float, callback: Callable[[], None]) -> ZenohTimer:
        """Call `callback()` every `timer_period_sec` of node time."""
        timer = ZenohTimer(self._clock, period_ns(timer_period_sec), callback)
        self._timers.append(timer)
        self._host.executor.add_timer(timer)
        return timer

    def create_service(
        self, srv_type: Any, srv_name: str, callback: Callable[[Any, Any], Any]
    ) -> ZenohService:
        """Serve `callback(request, response) -> response`."""
        endpoint = self._endpoint(
            wire.SERVICE, srv_name, service_type_name(srv_type), wire.SERVICE_QOS
        )
        host = self._host
        service = ZenohService(
            host.session, endpoint, srv_type, callback, host.executor, self._logger
        )
        self._endpoints.append(service)
        return service

    def create_client(self, srv_type: Any, srv_name: str) -> ZenohClient:
        """Make a client of a service."""
        endpoint = self._endpoint(
            wire.CLIENT, srv_name, service_type_name(srv_type), wire.SERVICE_QOS
        )
        client = ZenohClient(self._host.session, endpoint, self._host.executor, self._host.graph)
        self._endpoints.append(client)
        return client

    def _endpoint(self, kind: str, name: str, type_name: str, qos: QoS) -> wire.Endpoint:
        return wire.Endpoint(
            self._entity,
            self._host.next_entity_id(),
            kind,
            self._names(name),
            type_name,
            messages.type_hash(type_name),
            qos,
        )

    def destroy_node(self) -> None:
        """Free everything the node created and leave the graph."""
        if self._destroyed:
            return
        self._destroyed = True
        self._host.executor.remove_timers(self._timers)
        for endpoint in self._endpoints:
            endpoint.destroy()
        self._token.undeclare()
        self._host.forget(self)
