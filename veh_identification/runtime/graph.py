"""Graphs: which nodes run together, described once for `launch/` and for `veh-id replay`."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from veh_identification.configuration.reading import read
from veh_identification.errors import UsageError
from veh_identification.runtime.interface import Node
from veh_identification.runtime.parameters import refuse_unknown
from veh_identification.runtime.share import share_directory


@dataclass(frozen=True)
class NodeDescription:
    """One node of a graph; its name is also the name of its executable."""

    name: str
    factory: str  # 'module:class', imported only when the node is made
    parameters: Mapping[str, Any] = field(default_factory=dict)
    remappings: tuple[tuple[str, str], ...] = ()

    @property
    def ready_line(self) -> str:
        """What its process prints when it has subscribed."""
        return f'{self.name}: ready'

    def create(self, node: Node) -> Any:
        """Construct the node class on the node object of an engine."""
        module, _, name = self.factory.partition(':')
        instance = getattr(importlib.import_module(module), name)(node)
        refuse_unknown(node)
        return instance


@dataclass(frozen=True)
class Graph:
    """Nodes that run together, and the kinds of hardware drivers that feed them."""

    name: str
    summary: str
    nodes: tuple[NodeDescription, ...]
    default_config: str
    driver_kinds: tuple[str, ...] = ()
    machine: str = ''  # parameter that names the description of the machine


class Engine(Protocol):
    """What an engine must offer to run a graph."""

    def create_node(
        self,
        name: str,
        namespace: str = '/',
        *,
        parameter_files: Iterable[str | Path] = (),
        parameters: Mapping[str, Any] | None = None,
        remappings: Iterable[tuple[str, str]] = (),
    ) -> Any:
        """A node object."""
        ...


SENSOR_FUSION = NodeDescription(
    'sensor_fusion', 'veh_identification.nodes.sensor_fusion.node:SensorFusion'
)
PARALLEL_IDENTIFICATION = NodeDescription(
    'parallel_identification',
    'veh_identification.nodes.parallel_identification.node:ParallelIdentification',
)
CONTACT_IDENTIFICATION = NodeDescription(
    'contact_identification',
    'veh_identification.nodes.contact_identification.node:ContactIdentification',
)
CAR_IDENTIFICATION = NodeDescription(
    'car_identification', 'veh_identification.nodes.car_identification.node:CarIdentification'
)
ROBOT_IDENTIFICATION = NodeDescription(
    'robot_identification',
    'veh_identification.nodes.robot_identification.node:RobotIdentification',
)
FEEDFORWARD = NodeDescription(
    'feedforward', 'veh_identification.nodes.feedforward.node:Feedforward'
)
ERROR_EKF = NodeDescription('error_ekf', 'veh_identification.nodes.error_ekf.node:ErrorEkf')

GRAPHS = {
    graph.name: graph
    for graph in (
        Graph(
            'sensor_fusion',
            'joins all sensors into fused/state',
            (SENSOR_FUSION,),
            'sensor_fusion_car.yaml',
            ('imu', 'gnss', 'mocap', 'force', 'can'),
        ),
        Graph(
            'parallel_identification',
            'parameters of a parallel robot from periodic excitation, live (offline: identify '
            'parallel)',
            (PARALLEL_IDENTIFICATION,),
            'parallel_identification.yaml',
        ),
        Graph(
            'contact_identification',
            'parameters of a humanoid from contact wrenches, live (offline: identify humanoid)',
            (
                replace(SENSOR_FUSION, parameters={'find_wrenches': True}),
                CONTACT_IDENTIFICATION,
            ),
            'contact_identification.yaml',
            ('mocap', 'force'),
        ),
        Graph(
            'car_identification',
            'the 33 parameters of a car while it drives (offline: identify car)',
            (CAR_IDENTIFICATION,),
            'car_identification.yaml',
            ('imu', 'can'),
            machine='car',
        ),
        Graph(
            'robot_identification',
            'parameters of an arm and its payload while it moves (offline: identify robot)',
            (ROBOT_IDENTIFICATION,),
            'robot_identification.yaml',
            machine='robot',
        ),
        Graph(
            'feedforward',
            'actuator efforts for a wanted motion, from an identified arm or parallel robot',
            (FEEDFORWARD,),
            'feedforward.yaml',
        ),
        Graph(
            'error_ekf',
            'observes a car with its multibody model: motion, tyre forces, sideslip (offline: '
            'observe vehicle)',
            (ERROR_EKF,),
            'error_ekf_buggy.yaml',
            ('imu', 'gnss', 'can'),
        ),
    )
}


def find_graph(name: str) -> Graph:
    """The graph of a name."""
    try:
        return GRAPHS[name]
    except KeyError:
        raise UsageError(
            f'there is no graph {name!r}; there are: {", ".join(sorted(GRAPHS))}'
        ) from None


def find_node(name: str) -> NodeDescription:
    """The description of a node of any graph."""
    nodes: dict[str, NodeDescription] = {}
    for node in (node for graph in GRAPHS.values() for node in graph.nodes):
        nodes.setdefault(node.name, node)  # by itself it has no parameters of a graph
    try:
        return nodes[name]
    except KeyError:
        raise UsageError(
            f'there is no node {name!r}; there are: {", ".join(sorted(nodes))}'
        ) from None


def find_config(name: str | Path) -> Path:
    """A configuration file: a path, or the name of one that is shipped in config/."""
    path = Path(name)
    if path.is_file():
        return path
    shipped = share_directory() / 'config'
    for candidate in (shipped / path, shipped / f'{name}.yaml'):
        if candidate.is_file():
            return candidate
    known = ', '.join(sorted(entry.name for entry in shipped.glob('*.yaml')))
    raise UsageError(
        f'configuration {name}: no such file, and no such name in config/ (there are: {known})'
    )


def graph_parameters(graph: Graph, config: str | Path | None) -> tuple[Path, dict[str, str]]:
    """The parameter file of a graph, and the description of its machine where `config` is one.

    `--config` is the machine's description in `identify` and `observe`: a graph whose nodes read
    one takes it as well, beside its default parameter file.
    """
    path = find_config(config or graph.default_config)
    entries = read(path).mapping
    if not entries or any(
        isinstance(one, Mapping) and 'ros__parameters' in one for one in entries.values()
    ):
        return path, {}
    if graph.machine:
        return find_config(graph.default_config), {graph.machine: str(path.resolve())}
    raise UsageError(
        f'configuration {path}: the graph {graph.name} needs a ROS 2 parameter file, with '
        f'ros__parameters in it, such as {graph.default_config}; this looks like the description '
        'of a machine, as `veh-id identify` and `observe` take it. `veh-id parameters '
        f'{graph.nodes[-1].name}` lists the parameters of the node'
    )


def finish_graph(instances: Iterable[Any]) -> None:
    """Tell nodes that their input is over, so that they use what still waits."""
    for one in instances:
        finish = getattr(one, 'finish', None)
        if finish is not None:
            finish()


def create_graph(
    engine: Engine,
    graph: Graph,
    *,
    config: str | Path | None = None,
    namespace: str = '/',
    parameters: Mapping[str, Any] | None = None,
    remappings: Iterable[tuple[str, str]] = (),
) -> list[Any]:
    """Make all nodes of a graph on an engine; single `parameters` go to every node."""
    extra = tuple(remappings)
    file, machine = graph_parameters(graph, config)
    instances = []
    for description in graph.nodes:
        node = engine.create_node(
            description.name,
            namespace,
            parameter_files=[file],
            parameters={**description.parameters, **machine, **(parameters or {})},
            remappings=extra + description.remappings,
        )
        instances.append(description.create(node))
    return instances
