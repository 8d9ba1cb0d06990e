"""`veh-id observe SYSTEM`: the errorEKF observer over a recording, offline."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any


def add_parser(verbs: Any) -> None:
    """Describe the verb."""
    parser = verbs.add_parser(
        'observe',
        help='run the observer over a recording',
        description='Runs the errorEKF observer over a recording and writes metrics.json and the '
        'observed topics (a bag) into --out.',
    )
    parser.add_argument('system', choices=('four-bar', 'buggy'))
    parser.add_argument('--bag', metavar='BAG', required=True)
    parser.add_argument('--config', metavar='YAML', help='geometry and sensors of the vehicle')
    parser.add_argument('--out', metavar='DIR', required=True, help='folder for the results')
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Observe and print the table."""
    from veh_identification.runtime.bags import Progress
    from veh_identification.runtime.graph import find_config
    from veh_identification.systems.registry import OBSERVE, load

    observe = load(OBSERVE, 'observe', options.system)
    with Progress(f'observing {options.system}') as progress:
        text = observe(
            bag=Path(options.bag),
            out=Path(options.out),
            config=find_config(options.config) if options.config else None,
            progress=progress,
        )
    print(text)
    return 0
