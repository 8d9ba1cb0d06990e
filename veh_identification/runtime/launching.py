"""Launch descriptions made from graphs. Imported by launch/*.launch.py only, where ROS is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from launch import LaunchContext, LaunchDescription
from launch.actions import (
    DeclareLaunchArgument,
    EmitEvent,
    ExecuteProcess,
    OpaqueFunction,
    RegisterEventHandler,
    TimerAction,
)
from launch.event_handlers import OnProcessExit, OnProcessIO
from launch.events import Shutdown
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node

from veh_identification.configuration.models import load
from veh_identification.errors import UsageError, VehIdError
from veh_identification.runtime.drivers import Driver, Drivers
from veh_identification.runtime.graph import Graph, find_graph, graph_parameters
from veh_identification.runtime.share import share_directory

PACKAGE = 'veh_identification'
#: Seconds in which a node may use and publish what still waits when it is asked to stop; launch's
#: own five are too short for it on a machine that is full of other work.
GRACE = '30'


def read_drivers() -> Drivers:
    """The table of hardware drivers, by kind and name."""
    return load(Drivers, share_directory() / 'config' / 'drivers.yaml')


def launch_description(graph_name: str) -> LaunchDescription:
    """The launch description of a graph: hardware drivers, or a bag with its clock."""
    graph = find_graph(graph_name)
    drivers = read_drivers()
    arguments = [
        DeclareLaunchArgument(
            'bag', default_value='', description='rosbag2 to play; empty: hardware drivers'
        ),
        DeclareLaunchArgument(
            'bag_rate', default_value='1.0', description='playback speed of the bag'
        ),
        DeclareLaunchArgument(
            'bag_delay',
            default_value='2.0',
            description='seconds between the last node being ready and the first message',
        ),
        DeclareLaunchArgument(
            'bag_linger',
            default_value='3.0',
            description='seconds after the last message in which nodes work off what has queued',
        ),
        DeclareLaunchArgument(
            'record', default_value='', description='folder for a bag of everything published'
        ),
        DeclareLaunchArgument(
            'config',
            default_value=graph.default_config,
            description='parameter file, or the name of one in config/'
            + (f'; or the description of the {graph.machine}' if graph.machine else ''),
        ),
        DeclareLaunchArgument(
            'autostart',
            default_value='true',
            description='false: nodes wait for configure and activate of a lifecycle manager',
        ),
        DeclareLaunchArgument('namespace', default_value='', description='namespace of all nodes'),
        DeclareLaunchArgument('log_level', default_value='info', description='of the nodes'),
    ]
    for kind in graph.driver_kinds:
        names = ', '.join(drivers.get(kind, {}))
        arguments += [
            DeclareLaunchArgument(
                f'{kind}_driver',
                default_value='',
                description=f'{kind} driver to start: {names}; empty: none',
            ),
            DeclareLaunchArgument(
                f'{kind}_driver_config',
                default_value='',
                description=f'parameter file of the {kind} driver',
            ),
        ]
    return LaunchDescription(
        [*arguments, OpaqueFunction(function=lambda context: _actions(context, graph, drivers))]
    )


def _actions(context: LaunchContext, graph: Graph, drivers: Drivers) -> list[Any]:
    def value(name: str) -> str:
        return str(LaunchConfiguration(name).perform(context))

    bag, namespace = value('bag'), value('namespace')
    file, machine = graph_parameters(graph, value('config'))
    if value('autostart') not in ('true', 'false'):
        raise UsageError(f'autostart:={value("autostart")}: expected true or false')
    own = {'use_sim_time': bool(bag), 'autostart': value('autostart') == 'true'}
    nodes = [
        Node(
            package=PACKAGE,
            executable=description.name,
            name=description.name,
            namespace=namespace,
            output='screen',
            parameters=[
                str(file),
                {**description.parameters, **machine, **own},
            ],
            remappings=list(description.remappings),
            ros_arguments=['--log-level', value('log_level')],
            sigterm_timeout=GRACE,
        )
        for description in graph.nodes
    ]
    actions: list[Any] = list(nodes)
    if value('record'):
        actions.append(
            ExecuteProcess(
                cmd=['ros2', 'bag', 'record', '--all-topics', '-o', value('record')],
                output='screen',
            )
        )
    actions += [_watch(node) for node in nodes]
    if bag:
        waiting = {d.ready_line: n for d, n in zip(graph.nodes, nodes, strict=True)}
        timing = value('bag_rate'), value('bag_delay'), value('bag_linger')
        return actions + _playback(bag, *timing, waiting)
    wanted = [kind for kind in graph.driver_kinds if value(f'{kind}_driver')]
    return actions + [
        _driver(
            drivers[kind],
            kind,
            value(f'{kind}_driver'),
            value(f'{kind}_driver_config'),
            namespace,
        )
        for kind in wanted
    ]


def _watch(process: Node | ExecuteProcess) -> RegisterEventHandler:
    """Let the launch fail, with an exit status other than 0, when a process of it fails."""

    def on_exit(event: Any, _context: LaunchContext) -> None:
        # An exception in a handler is the one way to an exit status: launch shuts down the rest.
        if event.returncode:
            raise VehIdError(f'{event.process_name} failed with status {event.returncode}')

    return RegisterEventHandler(OnProcessExit(target_action=process, on_exit=on_exit))


def _playback(bag: str, rate: str, delay: str, linger: str, waiting: dict[str, Node]) -> list[Any]:
    """Play a bag with its clock once all nodes are ready; the launch ends shortly after it."""
    if not Path(bag).exists():
        raise UsageError(f'bag:={bag}: there is no such file or folder')
    try:
        seconds = float(linger)
    except ValueError:
        raise UsageError(f'bag_linger:={linger}: expected seconds') from None
    player = ExecuteProcess(
        cmd=[
            'ros2',
            'bag',
            'play',
            bag,
            '--clock',
            '100',
            '--rate',
            rate,
            '--delay',
            delay,
            '--disable-keyboard-controls',
        ],
        output='screen',
    )
    missing = set(waiting)

    def on_output(event: Any) -> list[Any] | None:
        # A node may still be loading its compiled code: what is played before is lost to it.
        heard = {line for line in missing if line in event.text.decode(errors='replace')}
        missing.difference_update(heard)
        return [player] if heard and not missing else None

    def on_exit(event: Any, _context: LaunchContext) -> list[Any] | None:
        if not missing or event.returncode:
            return None
        reason = f'{event.process_name} ended before it was ready; the bag was not played'
        return [EmitEvent(event=Shutdown(reason=reason))]

    handlers = [
        RegisterEventHandler(handler)
        for node in waiting.values()
        for handler in (
            OnProcessIO(target_action=node, on_stdout=on_output),
            OnProcessExit(target_action=node, on_exit=on_exit),
        )
    ]
    ending = RegisterEventHandler(
        OnProcessExit(
            target_action=player,
            on_exit=[
                TimerAction(
                    period=seconds,
                    actions=[EmitEvent(event=Shutdown(reason='the bag has ended'))],
                )
            ],
        )
    )
    return [*handlers, _watch(player), ending]


def _driver(known: dict[str, Driver], kind: str, name: str, config: str, namespace: str) -> Node:
    if name not in known:
        raise UsageError(f'{kind}_driver:={name}: known are {", ".join(known)}')
    driver = known[name]
    return Node(
        package=driver.package,
        executable=driver.executable,
        namespace=namespace,
        output='screen',
        arguments=list(driver.arguments),
        parameters=[config] if config else [],
        remappings=list(driver.remappings.items()),
    )
