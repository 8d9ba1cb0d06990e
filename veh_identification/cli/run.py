"""`veh-id run NODE`: one node, live, in this process."""

from __future__ import annotations

import argparse
import sys
from importlib.util import find_spec
from typing import Any

from veh_identification.cli.options import (
    add_parameter_options,
    add_zenoh_options,
    open_zenoh,
    parameter_values,
)
from veh_identification.errors import UsageError


def add_parser(verbs: Any) -> None:
    """Describe the verb."""
    parser = verbs.add_parser(
        'run',
        help='run one node live (engine ros or zenoh)',
        description='Runs one node until Ctrl-C. With --engine ros it is an ordinary ROS 2 node; '
        'with --engine zenoh no ROS is needed, and it talks to robots that run rmw_zenoh.',
    )
    parser.add_argument('node', metavar='NODE', help='name of the node, such as sensor_fusion')
    parser.add_argument(
        '--engine',
        choices=('ros', 'zenoh'),
        help='default: ros where a ROS 2 is sourced, else zenoh',
    )
    add_zenoh_options(parser)
    add_parameter_options(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run the node."""
    from veh_identification.runtime.graph import find_config, find_node, finish_graph

    description = find_node(options.node)
    files = [find_config(options.config)] if options.config else []
    values = parameter_values(options.parameter)
    engine_name = options.engine or ('ros' if find_spec('rclpy') else 'zenoh')
    if engine_name == 'ros':
        try:
            from veh_identification.runtime import ros
        except ImportError as error:
            raise UsageError(
                f'--engine ros needs a sourced ROS 2 ({error.name} cannot be imported); '
                'use --engine zenoh on a machine without ROS'
            ) from error
        return ros.run_node(
            description,
            ros.command_line(files, values, options.remap, options.namespace),
        )
    from veh_identification.runtime.zenoh_engine.status_line import Terminal, show_status

    terminal = Terminal(sys.stderr) if sys.stderr.isatty() else None
    with open_zenoh(options, terminal) as engine:
        node = engine.create_node(
            description.name,
            options.namespace,
            parameter_files=files,
            parameters={**description.parameters, **values},
            remappings=(*options.remap, *description.remappings),
        )
        instance = description.create(node)
        print(description.ready_line, flush=True)
        if terminal is not None:
            show_status(engine, node, terminal)
        engine.spin()
        finish_graph([instance])
    return 0
