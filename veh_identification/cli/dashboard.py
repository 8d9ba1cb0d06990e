"""`veh-id dashboard`: a local web page over live nodes, or over a recording."""

from __future__ import annotations

import argparse
import contextlib
import time
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from veh_identification.cli.options import (
    add_parameter_options,
    add_zenoh_options,
    open_zenoh,
    parameter_values,
)
from veh_identification.errors import UsageError

if TYPE_CHECKING:
    from veh_identification.dashboard.intake import Intake, Tap
    from veh_identification.dashboard.sources import SourceState

#: Seconds of a sleep when there is nothing left to do but to wait for a signal.
POLL = 60.0


def add_parser(verbs: Any) -> None:
    """Describe the verb."""
    parser = verbs.add_parser(
        'dashboard',
        help='a local web page over live nodes or a recording',
        description='Shows what nodes say of themselves in a browser until Ctrl-C: parameters '
        'and their deviations, sensors, verdict and findings, what to drive next, the way with '
        'its uncertainty, latency. Without a recording it looks on at live nodes (ROS where one '
        'is sourced, else zenoh). With one it plays what the nodes once published, or with '
        '--graph runs the nodes over it. Only this machine can open the page unless --host says '
        'otherwise.',
    )
    parser.add_argument('bags', metavar='BAG', nargs='*', help='recordings to play')
    parser.add_argument('--graph', metavar='NAME', help='run these nodes over the recording')
    parser.add_argument(
        '--rate',
        type=float,
        metavar='X',
        help='of a recording, times real time (default: 1; 0: as fast as the machine allows)',
    )
    parser.add_argument(
        '--engine',
        choices=('ros', 'zenoh'),
        help='of live nodes (default: ros where a ROS 2 is sourced, else zenoh)',
    )
    parser.add_argument(
        '--host',
        default='127.0.0.1',
        help='address to listen on (default: %(default)s; 0.0.0.0 lets other machines see it, '
        'without any password)',
    )
    parser.add_argument(
        '--port', type=int, default=8787, help='default: %(default)s; 0: one that is free'
    )
    parser.add_argument(
        '--foxglove',
        type=int,
        nargs='?',
        const=8765,
        metavar='PORT',
        help='every topic also to Foxglove or Lichtblick, by a websocket (port 8765 unless told; '
        'needs foxglove-sdk)',
    )
    add_zenoh_options(parser)
    add_parameter_options(parser)
    parser.set_defaults(run=run, leaf=parser)


def run(options: argparse.Namespace) -> int:
    """Serve."""
    from veh_identification.dashboard import Collector, DashboardServer
    from veh_identification.dashboard.intake import Intake
    from veh_identification.dashboard.live import watch_zenoh

    _check(options)
    collector = Collector()
    source = _source(options)
    with contextlib.ExitStack() as stack:
        intake = Intake(collector, _tap(options, stack))
        server = DashboardServer(collector, source.as_dict, options.host, options.port)
        stack.enter_context(server)
        engine = None
        if source.kind == 'zenoh':
            # Before the address is told: a Ctrl-C that comes while zenoh opens may be lost in it.
            engine = stack.enter_context(open_zenoh(options))
            watch_zenoh(engine, intake)
        print(f'{source.text}: {server.url}', flush=True)
        if engine is not None:
            engine.spin()
        elif source.kind == 'recording':
            _play_until_stopped(options, intake, source)
        else:
            return _watch_ros(intake)
    return 0


def _tap(options: argparse.Namespace, stack: contextlib.ExitStack) -> Tap | None:
    """Where every message goes as well."""
    if options.foxglove is None:
        return None
    from veh_identification.dashboard.foxglove import FoxgloveServer

    server = stack.enter_context(FoxgloveServer(options.host, options.foxglove))
    print(f'Foxglove: {server.url}', flush=True)
    return server.send


def _check(options: argparse.Namespace) -> None:
    """An option that would have no effect is a mistake."""
    if options.bags and options.engine is not None:
        raise UsageError('--engine is of live nodes; a recording is played without one')
    if not options.bags and options.rate is not None:
        raise UsageError('--rate is of a recording, and none is given')
    if options.rate is not None and not options.rate >= 0.0:
        raise UsageError('--rate must not be below 0')
    if not options.bags and options.graph:
        raise UsageError('--graph runs nodes over a recording, and none is given')
    if not options.graph:
        for name in ('config', 'parameter', 'remap'):
            if getattr(options, name):
                raise UsageError(f'--{name} is of the nodes of --graph, and none is given')


def _source(options: argparse.Namespace) -> SourceState:
    from veh_identification.dashboard.sources import SourceState

    if options.bags:
        through = f' through {options.graph}' if options.graph else ''
        return SourceState('recording', ', '.join(options.bags) + through, 'playing')
    if options.engine == 'ros' or (options.engine is None and find_spec('rclpy')):
        return SourceState('ros', 'ROS 2')
    return SourceState('zenoh', f'zenoh at {options.endpoint}')


def _play_until_stopped(options: argparse.Namespace, intake: Intake, source: SourceState) -> None:
    from veh_identification.runtime.stopping import StopRequest

    with StopRequest() as stop, contextlib.suppress(KeyboardInterrupt), stop.interrupting():
        _play(options, intake, source)
        print('the recording is over; the page stays until Ctrl-C', flush=True)
        while True:
            time.sleep(POLL)


def _play(options: argparse.Namespace, intake: Intake, source: SourceState) -> None:
    from veh_identification.dashboard.recording import Player

    player = Player(intake, source, 1.0 if options.rate is None else options.rate)
    if options.graph:
        player.play_graph(
            options.bags,
            options.graph,
            config=options.config,
            namespace=options.namespace,
            parameters=parameter_values(options.parameter),
            remappings=options.remap,
        )
    else:
        player.play(options.bags)
    source.state = 'ended'


def _watch_ros(intake: Intake) -> int:
    try:
        from veh_identification.runtime import ros
    except ImportError as error:
        raise UsageError(
            f'--engine ros needs a sourced ROS 2 ({error.name} cannot be imported); '
            'use --engine zenoh on a machine without ROS'
        ) from error
    from veh_identification.dashboard.live import RosDashboard

    description = RosDashboard('dashboard', '', intake=intake)
    return ros.run_node(description, ros.command_line([], {}, [], '/'))
