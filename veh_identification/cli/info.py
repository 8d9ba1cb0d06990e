"""`veh-id info BAG`: what a recording holds, and what is wrong with it."""

from __future__ import annotations

import argparse
from typing import Any


def add_parser(verbs: Any) -> None:
    """Describe the verb."""
    parser = verbs.add_parser(
        'info',
        help='list topics, types, rates and damage of recordings',
        description='Lists what rosbag2 or ROS 1 recordings hold. With --topic also the fields of '
        "that topic's messages, as they are named in configurations and for veh-id convert, "
        'and the joints that they name.',
    )
    parser.add_argument('bags', metavar='BAG', nargs='+')
    parser.add_argument('--topic', metavar='NAME', help='list fields and joints of this topic')
    parser.add_argument(
        '--check', action='store_true', help='read every message and report damage (status 1)'
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """List each recording."""
    from veh_identification.runtime.bags import BagReader, named_joints

    status = 0
    for bag in options.bags:
        with BagReader(bag, on_error='skip') as reader:
            _list(reader)
            if options.topic:
                print(f'fields of {options.topic}:')
                for path, kind in reader.describe_type(options.topic).items():
                    print(f'  {path:40} {kind}')
                joints = named_joints(reader, options.topic)
                if joints:
                    print(f'joints that its messages name: {", ".join(joints)}')
            if options.check:
                status |= _check(reader)
            for sentence in reader.problems.sentences:
                print(f'problem: {sentence}')
    return status


def _list(reader: Any) -> None:
    info = reader.info()[0]
    state = ', truncated' if info.truncated else ''
    print(
        f'{info.path}: {info.storage}, {info.duration:.3f} s, {info.message_count} messages{state}'
    )
    width = max((len(topic) for topic in reader.topics), default=0)
    for topic, entry in reader.topics.items():
        rate = ''
        if info.duration and entry.count > 1:
            rate = f'{(entry.count - 1) / info.duration:.2f} Hz'
        note = entry.problem or ('' if entry.has_header else 'no header: log time is used')
        print(f'  {topic:{width}}  {entry.count:8d} {rate:>11}  {entry.typename}  {note}')


def _check(reader: Any) -> int:
    """Read everything once; 1 when something is damaged."""
    from veh_identification.runtime.bags import Progress

    with Progress('checking') as progress:
        reader.progress = progress
        for _ in reader.messages():
            pass
    for topic, count in reader.problems.undecodable.items():
        print(f'problem: {topic}: {count} messages cannot be decoded')
    damaged = bool(reader.problems.sentences or reader.problems.undecodable)
    print('damaged' if damaged else 'every message was read and decoded')
    return int(damaged)
