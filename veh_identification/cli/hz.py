"""`veh-id hz TOPIC`: how often and how evenly a live topic comes over zenoh, without ROS."""

from __future__ import annotations

import argparse
from typing import Any

from veh_identification.cli.options import add_zenoh_options, open_zenoh


def add_parser(verbs: Any) -> None:
    """Describe the verb."""
    parser = verbs.add_parser(
        'hz',
        help='measure the rate of a live topic, without ROS (zenoh)',
        description='Prints the rate of a topic once a second: mean, shortest and longest time '
        'between messages, their scatter, and how many were lost, until Ctrl-C.',
    )
    parser.add_argument('topic', metavar='TOPIC', help='such as /imu/data')
    parser.add_argument('--duration', type=float, metavar='S', help='seconds (default: Ctrl-C)')
    add_zenoh_options(parser)
    parser.set_defaults(run=run, leaf=parser)


def run(options: argparse.Namespace) -> int:
    """Measure."""
    from veh_identification.runtime.bags.catalog import full_topic
    from veh_identification.runtime.zenoh import listen

    topic = full_topic(options.topic)
    stamps: list[int] = []
    told = 0

    def take(received: Any) -> None:
        nonlocal told
        stamps.append(received.received_ns)
        if len(stamps) > 1 and stamps[-1] - stamps[told] >= 1_000_000_000:
            print(rate_text(stamps[told:]), flush=True)
            told = len(stamps) - 1

    with open_zenoh(options) as engine:
        counts = listen(engine, topic, take, options.duration)
    print(f'{topic}: {counts.received} messages, {counts.lost} lost')
    if len(stamps) > 1:
        print(f'in all: {rate_text(stamps)}')
    return 0


def rate_text(stamps_ns: list[int]) -> str:
    """Rate and evenness of times of arrival."""
    import numpy as np

    gaps = np.diff(np.array(stamps_ns, dtype=float)) * 1e-9
    return (
        f'{1.0 / max(gaps.mean(), 1e-9):.2f} Hz; between messages {1e3 * gaps.min():.2f} to '
        f'{1e3 * gaps.max():.2f} ms, deviation {1e3 * gaps.std():.2f} ms ({len(gaps)} gaps)'
    )
