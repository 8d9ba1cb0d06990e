"""`veh-id init SYSTEM [--bag BAG]`: a commented description to put one's numbers into."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from veh_identification.cli import parser as shared
from veh_identification.systems import registry


def add_parser(verbs: Any) -> None:
    """Describe the verb."""
    parser = verbs.add_parser(
        'init',
        help='write a commented description of a machine',
        description='Writes the description that --config takes, with a comment on every entry. '
        'With a recording it also says what that tells: topics, rates, frames, /tf_static.',
    )
    parser.set_defaults(leaf=parser)
    names = [name for one in registry.SYSTEMS for name in (one.name, *one.aliases)]
    parser.add_argument('system', metavar='SYSTEM', choices=names, help=', '.join(names))
    shared.add_bags(parser, 'recording to look into', several=False)
    parser.add_argument('--out', metavar='FILE', help='file to write (default: the terminal)')
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Write it."""
    from veh_identification.atomic import write_text
    from veh_identification.systems.description import description_text

    bags = [Path(one) for one in (*options.bags, *options.bag)]
    text = description_text(options.system, bags[0] if bags else None)
    if options.out is None:
        shared.say(text)
        return 0
    write_text(Path(options.out), text, overwrite=False)
    shared.say(f'{options.out}: put your numbers in, then: veh-id check {options.out} BAG')
    return 0
