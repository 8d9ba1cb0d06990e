"""`veh-id design SYSTEM`: motions that excite what is to be identified, within limits."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any


def add_parser(verbs: Any) -> None:
    """Describe the verb."""
    parser = verbs.add_parser(
        'design',
        help='design an exciting motion under limits',
        description='Searches a periodic motion within the limits of the configuration that '
        'brings the condition number down or the information up, and writes it.',
    )
    parser.add_argument('system', choices=('car', 'humanoid', 'parallel'))
    parser.add_argument(
        '--criterion',
        choices=('condition', 'd_optimal'),
        default='d_optimal',
        help='condition number, or determinant of the information (default: %(default)s)',
    )
    parser.add_argument('--config', metavar='YAML', help='geometry and limits')
    parser.add_argument('--urdf', metavar='FILE', help='robot description (humanoid)')
    parser.add_argument('--seed', type=int, default=0)
    parser.add_argument('--starts', type=int, default=4, help='independent starts of the search')
    parser.add_argument(
        '--time-limit', type=float, default=120.0, metavar='S', help='seconds for the whole search'
    )
    parser.add_argument('--out', metavar='FILE', required=True, help='trajectory, YAML or JSON')
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Design and print what was reached."""
    from veh_identification.runtime.graph import find_config
    from veh_identification.systems.registry import DESIGN, load

    design = load(DESIGN, 'design', options.system)
    print(
        design(
            criterion=options.criterion,
            config=find_config(options.config) if options.config else None,
            urdf=Path(options.urdf) if options.urdf else None,
            seed=options.seed,
            starts=options.starts,
            time_limit=options.time_limit,
            out=Path(options.out),
        )
    )
    return 0
