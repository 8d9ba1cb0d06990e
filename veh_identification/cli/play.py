"""`veh-id play BAG`: publish a recording over zenoh, without ROS."""

from __future__ import annotations

import argparse
from typing import Any

from veh_identification.cli.options import add_zenoh_options, open_zenoh
from veh_identification.cli.parser import add_bags, bags_of
from veh_identification.errors import UsageError


def add_parser(verbs: Any) -> None:
    """Describe the verb."""
    parser = verbs.add_parser(
        'play',
        help='publish a recording live, without ROS (zenoh)',
        description='Publishes the messages of a recording at their own pace until it ends or '
        'Ctrl-C, for nodes started with `veh-id run --engine zenoh` and for robots with '
        'rmw_zenoh. Header stamps stay those of the recording.',
    )
    add_bags(parser, 'the recording', several=False)
    parser.add_argument(
        '--rate', type=float, default=1.0, metavar='X', help='times real time (default: 1)'
    )
    parser.add_argument('--loop', action='store_true', help='begin again at the end, until Ctrl-C')
    parser.add_argument(
        '--topics', nargs='+', metavar='TOPIC', help='only these (default: all of the recording)'
    )
    parser.add_argument(
        '--clock',
        type=float,
        nargs='?',
        const=40.0,
        default=0.0,
        metavar='HZ',
        help='tell the time of the recording on /clock (40 times a second unless told), for nodes '
        'with use_sim_time',
    )
    add_zenoh_options(parser)
    parser.set_defaults(run=run, leaf=parser)


def run(options: argparse.Namespace) -> int:
    """Play."""
    from veh_identification.runtime.zenoh import play

    if not options.rate > 0.0 or options.clock < 0.0:
        raise UsageError('--rate must be above 0, --clock not below it')
    (bag,) = bags_of(options, 'play')
    with open_zenoh(options) as engine:
        while True:
            count = play(
                engine, bag, rate=options.rate, topics=options.topics, clock_rate=options.clock
            )
            print(f'{bag}: {count} messages published', flush=True)
            if not options.loop or not count or engine.executor.stopped:
                return 0
