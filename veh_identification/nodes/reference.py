"""What a node declares - parameters, topics, services - read off the node itself.

A node is constructed on an object that only takes notes, so that documents made from it
(`docs/parameters.md`, `veh-id parameters`) cannot say anything that the node does not do.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from veh_identification.runtime import messages
from veh_identification.runtime.graph import GRAPHS, Graph, NodeDescription, find_config
from veh_identification.runtime.logger import NodeLogger
from veh_identification.runtime.names import Remapper
from veh_identification.runtime.parameter_store import ParameterStore, StoredParameter
from veh_identification.runtime.parameters import ParameterDescriptor
from veh_identification.runtime.qos import QoS, as_qos

#: Settings that show everything a node can do. sensor_fusion declares one group of parameters for
#: each sensor that its lists name; the reference shows each group once, under a name that no real
#: sensor has.
EXAMPLES: dict[str, dict[str, Any]] = {
    'sensor_fusion': {
        'publish_odometry': True,
        'publish_tf': True,
        'gnss.topic': 'gps/fix',
        'gnss_velocity.topic': 'gps/vel',
        'speed.topic': 'correvit/velocity',
        'odometry.topic': 'odom',
        'mocap.topic': 'base/pose',
        'wrench_sensors': ['WRENCH'],
        'WRENCH.topic': 'wrench',
        'range_sensors': ['RANGE'],
        'RANGE.topic': 'range',
        'pressure_sensors': ['PRESSURE'],
        'PRESSURE.topic': 'pressure',
    },
}


@dataclass(frozen=True)
class DeclaredParameter:
    """A parameter as the node declares it; `default` is not what a file may have set."""

    name: str
    default: Any
    descriptor: ParameterDescriptor


@dataclass(frozen=True)
class Topic:
    """A topic with its type and whether late subscribers get the last message."""

    name: str
    typename: str
    latched: bool = False


@dataclass
class NodeInterface:
    """Everything that a node shows to the outside."""

    name: str
    summary: str = ''
    parameters: list[DeclaredParameter] = field(default_factory=list)
    published: list[Topic] = field(default_factory=list)
    subscribed: list[Topic] = field(default_factory=list)
    services: list[Topic] = field(default_factory=list)


class _Nothing:
    """Stands for publishers, timers and clocks that are never used."""

    nanoseconds = 0

    def now(self) -> _Nothing:
        return self

    def publish(self, msg: Any) -> None: ...

    def get_subscription_count(self) -> int:
        return 0

    def cancel(self) -> None: ...

    def reset(self) -> None: ...


class NoteTaker:
    """A node object (`runtime.interface.Node`) that writes down what is asked of it."""

    def __init__(self, name: str, parameters: ParameterStore) -> None:
        self.interface = NodeInterface(name)
        self._names = Remapper(name)
        self._parameters = parameters
        self._logger = NodeLogger(name, lambda: 0, level='error')

    def create_subscription(
        self, msg_type: type, topic: str, callback: Callable[[Any], None], qos_profile: QoS | int
    ) -> Any:
        """Note a subscription."""
        self.interface.subscribed.append(Topic(self._names(topic), messages.type_name(msg_type)))
        return _Nothing()

    def create_publisher(self, msg_type: type, topic: str, qos_profile: QoS | int) -> Any:
        """Note a publisher."""
        latched = as_qos(qos_profile).transient_local
        self.interface.published.append(
            Topic(self._names(topic), messages.type_name(msg_type), latched)
        )
        return _Nothing()

    def create_service(
        self, srv_type: Any, srv_name: str, callback: Callable[[Any, Any], Any]
    ) -> Any:
        """Note a service."""
        self.interface.services.append(
            Topic(self._names(srv_name), str(getattr(srv_type, '__srvtype__', srv_type.__name__)))
        )
        return _Nothing()

    def create_timer(self, timer_period_sec: float, callback: Callable[[], None]) -> Any:
        """Never fires."""
        return _Nothing()

    def declare_parameter(
        self, name: str, value: Any = None, descriptor: ParameterDescriptor | None = None
    ) -> StoredParameter:
        """Note a parameter with its default."""
        self.interface.parameters.append(
            DeclaredParameter(name, value, descriptor or ParameterDescriptor())
        )
        stored = self._parameters.declare(name, value, descriptor)
        if name == 'warm_up':  # no message will come: compiling for them would be in vain
            return replace(stored, value=False)
        return stored

    def get_parameter(self, name: str) -> StoredParameter:
        """A declared parameter."""
        return self._parameters.get(name)

    def when_changed(self, name: str, callback: Callable[[Any], None]) -> None:
        """Nothing changes here."""

    def undeclared_overrides(self) -> list[str]:
        """Names given from outside that the node did not declare."""
        return self._parameters.undeclared()

    def get_load(self) -> None:
        """Nothing is measured."""

    def get_topic_names_and_types(self) -> list[tuple[str, list[str]]]:
        """What a node that looks for topics by their type finds as a rule."""
        return [('/force_plate/wrench', ['geometry_msgs/msg/WrenchStamped'])]

    def get_clock(self) -> Any:
        """A clock that stands at zero."""
        return _Nothing()

    def get_logger(self) -> NodeLogger:
        """A logger that speaks of errors only."""
        return self._logger

    def get_name(self) -> str:
        """The node's name."""
        return self._names.node_name

    def get_namespace(self) -> str:
        """The root namespace."""
        return self._names.namespace

    def destroy_node(self) -> None:
        """Nothing to free."""


def inspect_node(
    description: NodeDescription, config: str, overrides: Mapping[str, Any] | None = None
) -> NodeInterface:
    """The interface of a node that is started with a configuration and single overrides."""
    store = ParameterStore.from_sources(
        f'/{description.name}',
        [find_config(config)] if config else [],
        {**description.parameters, **(overrides or {})},
    )
    node = NoteTaker(description.name, store)
    instance = description.create(node)
    # The module's text says what the node does and when its diagnostics warn.
    node.interface.summary = inspect.getdoc(inspect.getmodule(type(instance))) or ''
    return node.interface


def inspect_graph(graph: Graph, config: str = '') -> list[NodeInterface]:
    """The interfaces of all nodes of a graph as its launch file starts them."""
    return [inspect_node(node, config or graph.default_config) for node in graph.nodes]


def all_nodes() -> Iterator[tuple[NodeDescription, NodeInterface]]:
    """Every node of every graph once, with the examples that show all its parameters."""
    seen: set[str] = set()
    for graph in GRAPHS.values():
        for description in graph.nodes:
            if description.name in seen:
                continue
            seen.add(description.name)
            example = EXAMPLES.get(description.name)
            config = '' if example else graph.default_config
            yield description, inspect_node(description, config, example)
