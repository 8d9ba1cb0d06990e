"""`veh-id topics`: what is published and listened to over zenoh, without ROS."""

from __future__ import annotations

import argparse
from typing import Any

from veh_identification.cli.options import add_zenoh_options, open_zenoh


def add_parser(verbs: Any) -> None:
    """Describe the verb."""
    parser = verbs.add_parser(
        'topics',
        help='list live topics and nodes, without ROS (zenoh)',
        description='Lists the nodes and the topics of a domain with their types and how many '
        'publish and listen to each.',
    )
    parser.add_argument(
        '--wait',
        type=float,
        default=1.0,
        metavar='S',
        help='seconds to look for processes (default: 1)',
    )
    add_zenoh_options(parser)
    parser.set_defaults(run=run, leaf=parser)


def run(options: argparse.Namespace) -> int:
    """List."""
    with open_zenoh(options) as engine:
        engine.spin(options.wait)
        rows = engine.graph.topics()
        nodes = engine.graph.nodes()
        domain = engine.domain
    print('nodes:  ' + (', '.join(nodes) or f'none in domain {domain}'))
    width = max((len(row.topic) for row in rows), default=0)
    for row in rows:
        print(
            f'{row.topic:<{width}}  {row.type_name}  '
            f'({row.publishers} publish, {row.subscriptions} listen)'
        )
    return 0
