"""`veh-id design SYSTEM`: motions that excite what is to be identified, within limits."""

from __future__ import annotations

import argparse
from typing import Any

from veh_identification.cli import parser as shared
from veh_identification.design import registry


def add_parser(verbs: Any, wanted: str = '') -> None:
    """Describe the verb and, with its options, the wanted system."""
    parser = verbs.add_parser(
        'design',
        help='design an exciting motion under limits',
        description='Searches a motion within the limits of the configuration that brings the '
        'condition number down or the information up, and writes it. '
        '`veh-id design SYSTEM --help` explains the options of a system.',
    )
    parser.set_defaults(leaf=parser)
    for one in shared.add_systems(parser, registry.DESIGNS, wanted).values():
        if one is None:
            continue
        one.add_argument(
            '--config', metavar='YAML', help='description of the machine, or a name in config/'
        )
        one.add_argument('--out', metavar='PATH', required=True, help='file or folder to write')
        one.add_argument(
            '--strict', action='store_true', help='exit status 3 when the verdict is no'
        )
        shared.add_options(one, registry.find(wanted).options)
        one.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Design and print what was reached."""
    from veh_identification.design.driver import run as drive
    from veh_identification.findings.verdict import STRICT_STATUS
    from veh_identification.runtime.bags import Progress

    design = registry.find(options.system)
    with Progress(f'designing {design.name}', unit='candidates') as progress:
        outcome = drive(
            options.system,
            out=options.out,
            config=options.config,
            options=shared.options_of(options, design.options),
            progress=progress,
        )
    shared.say(outcome.text)
    return STRICT_STATUS if options.strict and outcome.verdict.level == 'no' else 0
