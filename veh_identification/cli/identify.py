"""`veh-id identify SYSTEM BAG...`: parameters from recordings, offline, zero phase."""

from __future__ import annotations

import argparse
from typing import Any

from veh_identification.cli import parser as shared
from veh_identification.systems import registry


def add_parser(verbs: Any, wanted: str = '') -> None:
    """Describe the verb and, with its options, the wanted system."""
    add_verb(
        verbs,
        wanted,
        'identify',
        'identify parameters from recordings',
        'Identifies the dynamic parameters of a system from one or several recordings and writes '
        'parameters.json, parameters.csv, a report and a bag of the results into --out. '
        '`veh-id identify SYSTEM --help` explains the options of a system.',
    )


def add_verb(verbs: Any, wanted: str, verb: str, help: str, description: str) -> None:
    """A verb that systems of the registry know."""
    parser = verbs.add_parser(verb, help=help, description=description)
    parser.set_defaults(leaf=parser)
    filled = shared.add_systems(parser, registry.entries(verb), wanted)
    for one in filled.values():
        if one is not None:
            _fill(one, verb, wanted)


def _fill(parser: shared.Parser, verb: str, wanted: str) -> None:
    system = registry.find(verb, wanted)
    several = verb == 'identify'
    shared.add_bags(
        parser,
        'recording; several are concatenated, patterns work' if several else 'recording',
        several=several,
    )
    if verb == 'identify':
        parser.add_argument('--validate', metavar='BAG', help='recording for cross validation')
    parser.add_argument(
        '--config', metavar='YAML', help='description of the machine, or a name in config/'
    )
    parser.add_argument('--out', metavar='DIR', required=True, help='folder for the results')
    parser.add_argument(
        '--strict', action='store_true', help='exit status 3 when the verdict is no'
    )
    shared.add_options(parser, system.verbs[verb])
    parser.set_defaults(run=run, what=verb)


def run(options: argparse.Namespace) -> int:
    """Do it, print the outcome; the verdict is the first and the last line."""
    from veh_identification.findings.verdict import STRICT_STATUS
    from veh_identification.runtime.bags import Progress
    from veh_identification.systems.driver import run as drive

    verb = options.what
    system = registry.find(verb, options.system)
    label = {'identify': 'identifying', 'observe': 'observing'}[verb]
    with Progress(f'{label} {system.name}') as progress:
        outcome = drive(
            verb,
            options.system,
            shared.bags_of(options, f'{verb} {system.name}'),
            out=options.out,
            config=options.config,
            validate=getattr(options, 'validate', None),
            options=shared.options_of(options, system.verbs[verb]),
            progress=progress,
        )
    shared.say(outcome.text)
    return STRICT_STATUS if options.strict and outcome.verdict.level == 'no' else 0
