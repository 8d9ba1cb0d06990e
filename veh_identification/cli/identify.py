"""`veh-id identify SYSTEM`: parameters from recordings, offline, zero phase."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

SYSTEMS = ('car', 'humanoid', 'parallel')


def add_parser(verbs: Any) -> None:
    """Describe the verb."""
    parser = verbs.add_parser(
        'identify',
        help='identify parameters from recordings',
        description='Identifies the dynamic parameters of a system from one or several recordings '
        'and writes parameters.json, parameters.csv and a bag of the results into --out.',
    )
    parser.add_argument('system', choices=SYSTEMS)
    parser.add_argument(
        '--bag',
        metavar='BAG',
        action='append',
        required=True,
        help='recording; several are concatenated',
    )
    parser.add_argument('--validate', metavar='BAG', help='recording for cross validation')
    parser.add_argument('--config', metavar='YAML', help='geometry, sensor poses, a-priori values')
    parser.add_argument('--urdf', metavar='FILE', help='robot description (humanoid)')
    parser.add_argument('--out', metavar='DIR', required=True, help='folder for the results')
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Identify and print the table."""
    from veh_identification.runtime.bags import Progress
    from veh_identification.runtime.graph import find_config
    from veh_identification.systems.registry import IDENTIFY, load

    identify = load(IDENTIFY, 'identify', options.system)
    with Progress(f'identifying {options.system}') as progress:
        text = identify(
            bags=[Path(bag) for bag in options.bag],
            out=Path(options.out),
            validate=Path(options.validate) if options.validate else None,
            config=find_config(options.config) if options.config else None,
            urdf=Path(options.urdf) if options.urdf else None,
            progress=progress,
        )
    print(text)
    return 0
