"""`veh-id echo TOPIC`: the messages of a live topic over zenoh, without ROS."""

from __future__ import annotations

import argparse
from itertools import count
from typing import Any

from veh_identification.cli.options import add_zenoh_options, open_zenoh

#: Entries of an array that are shown, as many as `ros2 topic echo` does.
LONGEST = 128


def add_parser(verbs: Any) -> None:
    """Describe the verb."""
    parser = verbs.add_parser(
        'echo',
        help='print the messages of a live topic, without ROS (zenoh)',
        description='Prints every message of a topic as YAML until Ctrl-C.',
    )
    parser.add_argument('topic', metavar='TOPIC', help='such as /diagnostics')
    parser.add_argument('--count', type=int, metavar='N', help='end after so many messages')
    parser.add_argument('--field', metavar='NAME', help='only this part, such as pose.pose')
    parser.add_argument('--whole', action='store_true', help='arrays in full length')
    add_zenoh_options(parser)
    parser.set_defaults(run=run, leaf=parser)


def run(options: argparse.Namespace) -> int:
    """Print."""
    from veh_identification.runtime import messages
    from veh_identification.runtime.bags.catalog import full_topic
    from veh_identification.runtime.messages.text import field_of, text_of
    from veh_identification.runtime.zenoh import await_topic, listen

    topic = full_topic(options.topic)
    seen = count(1)
    done = False
    with open_zenoh(options) as engine:
        type_name = await_topic(engine, topic)

        def show(received: Any) -> None:
            nonlocal done
            if done:
                return
            message = messages.deserialize(received.payload, type_name)
            part = field_of(message, options.field) if options.field else message
            print(text_of(part, None if options.whole else LONGEST) + '---', flush=True)
            done = next(seen) == options.count

        listen(engine, topic, show, until=lambda: done)
    return 0
