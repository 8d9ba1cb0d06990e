"""`veh-id check CONFIG [BAG...]`: is a description right, alone and beside recordings?"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from veh_identification.cli import parser as shared


def add_parser(verbs: Any) -> None:
    """Describe the verb."""
    parser = verbs.add_parser(
        'check',
        help='judge a description alone or against recordings',
        description='Reads the description of a machine (the file that --config takes), lists '
        'every error in it with its line, and with recordings runs the checks that come before '
        'any fit: units, signs, axes, swapped, stuck and late sensors, geometry.',
    )
    parser.set_defaults(leaf=parser)
    parser.add_argument('config', metavar='CONFIG', help='description, or a name in config/')
    shared.add_bags(parser, 'recording; patterns work')
    parser.add_argument(
        '--system', metavar='NAME', help='what it describes (default: found out from the file)'
    )
    parser.add_argument('--urdf', metavar='FILE', help='robot description (humanoid)')
    parser.add_argument(
        '--strict', action='store_true', help='exit status 3 when the verdict is no'
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Check, and print the verdict first and last."""
    from veh_identification.findings.verdict import STRICT_STATUS, verdict_of
    from veh_identification.runtime.graph import find_config
    from veh_identification.systems.checking import (
        check_descriptions,
        check_recordings,
        describing,
    )

    path = find_config(options.config)
    given = {'urdf': Path(options.urdf)} if options.urdf else {}
    systems = describing(path, options.system, given)
    bags = [one for word in (*options.bags, *options.bag) for one in shared.expand(word)]
    verdict = verdict_of(
        [*check_descriptions(systems), *check_recordings(systems, bags)],
        yes='nothing speaks against this description'
        + (' and these recordings' if bags else '; a recording would say more'),
        no='put the findings right before identifying or observing',
    )
    names = ', '.join(f'{system.verb} {system.name}' for system in systems)
    shared.say(
        '\n'.join(
            [
                verdict.line,
                f'{path}: a description for {names}',
                *(one.line for one in verdict.findings),
                verdict.line,
            ]
        )
    )
    return STRICT_STATUS if options.strict and verdict.level == 'no' else 0
