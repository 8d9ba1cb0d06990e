"""`veh-id record`: write topics that are live over zenoh to a recording, without ROS."""

from __future__ import annotations

import argparse
from typing import Any

from veh_identification.cli.options import add_zenoh_options, open_zenoh
from veh_identification.errors import InputError, UsageError


def add_parser(verbs: Any) -> None:
    """Describe the verb."""
    parser = verbs.add_parser(
        'record',
        help='record live topics, without ROS (zenoh)',
        description='Writes topics that somebody publishes to a rosbag2 recording (mcap) until '
        'Ctrl-C or the end of --duration. The recording appears under its name when it is whole.',
    )
    parser.add_argument('topics', nargs='*', metavar='TOPIC', help='such as /imu/data')
    parser.add_argument('--all', action='store_true', help='every topic that is published now')
    parser.add_argument('--out', metavar='BAG', required=True, help='recording to write')
    parser.add_argument('--duration', type=float, metavar='S', help='seconds (default: Ctrl-C)')
    parser.add_argument(
        '--wait',
        type=float,
        default=5.0,
        metavar='S',
        help='seconds to wait for the topics to appear (default: 5)',
    )
    add_zenoh_options(parser)
    parser.set_defaults(run=run, leaf=parser)


def run(options: argparse.Namespace) -> int:
    """Record."""
    from veh_identification.runtime.bags.catalog import full_topic
    from veh_identification.runtime.zenoh import await_topic, record

    if options.all == bool(options.topics):
        raise UsageError('record needs topics, or --all, and not both')
    with open_zenoh(options) as engine:
        if options.all:
            engine.spin(options.wait, until=lambda: bool(engine.graph.published_topics()))
            engine.spin(min(1.0, options.wait))  # the first one is seldom the only one
            topics = engine.graph.published_topics()
        else:
            names = [full_topic(topic) for topic in options.topics]
            topics = {name: await_topic(engine, name, options.wait) for name in names}
        if not topics:
            raise InputError(f'nobody publishes anything (domain {engine.domain})')
        print('recording ' + ', '.join(topics), flush=True)
        counts = record(engine, topics, options.out, options.duration)
    for topic, seen in counts.items():
        print(f'{topic}: {seen.received} messages' + (f', {seen.lost} lost' if seen.lost else ''))
    return 0
