"""`veh-id router`: the router that zenoh nodes meet at."""

from __future__ import annotations

import argparse
from typing import Any


def add_parser(verbs: Any) -> None:
    """Describe the verb."""
    parser = verbs.add_parser(
        'router',
        help='run a zenoh router for nodes without ROS',
        description='Runs a zenoh router until Ctrl-C; it listens on the loopback only unless '
        'another endpoint is given.',
    )
    parser.add_argument(
        '--endpoint', default='tcp/127.0.0.1:7447', help='where to listen (default: %(default)s)'
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run the router."""
    from veh_identification.runtime import zenoh

    zenoh.run_router(options.endpoint)
    return 0
