"""`veh-id identify SYSTEM`: parameters from recordings, offline, zero phase."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from veh_identification.errors import UsageError

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
    _add_car(parser)
    parser.set_defaults(run=run)


#: Options of the car: names as `identify` of systems/car/command.py takes them.
CAR_SWITCHES = {
    'compare_models': 'identify with the 38-dof and the 20-dof model and compare',
    'filter_study': 'show how the estimates depend on the cut-off frequencies',
    'paper_rule': '3.125 Hz on everything but suspension travel, as Venture 2006 has it',
    'gauss_markov': 'weigh with the noise that equations share',
}
CAR_NUMBERS = ('rate', 'chassis_cutoff', 'suspension_cutoff')


def _add_car(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group('car')
    group.add_argument(
        '--model',
        choices=('2006', '2002'),
        help='mixed Newton-Lagrange (default) or the Lagrange car of Venture 2002',
    )
    group.add_argument('--dof', type=int, choices=(20, 38), help='default: 38 where known')
    for name in CAR_NUMBERS:
        group.add_argument(f'--{name.replace("_", "-")}', type=float, metavar='HZ')
    for name, text in CAR_SWITCHES.items():
        group.add_argument(
            f'--{name.replace("_", "-")}', action='store_true', default=None, help=text
        )


def _car_options(options: argparse.Namespace) -> dict[str, Any]:
    names = ('model', 'dof', *CAR_NUMBERS, *CAR_SWITCHES)
    return {name: getattr(options, name) for name in names if getattr(options, name) is not None}


def run(options: argparse.Namespace) -> int:
    """Identify and print the table."""
    from veh_identification.runtime.bags import Progress
    from veh_identification.runtime.graph import find_config
    from veh_identification.systems.registry import IDENTIFY, load

    identify = load(IDENTIFY, 'identify', options.system)
    special = _car_options(options)
    if special and options.system != 'car':
        name = sorted(special)[0].replace('_', '-')
        raise UsageError(f'identify {options.system} has no option --{name}')
    with Progress(f'identifying {options.system}') as progress:
        text = identify(
            bags=[Path(bag) for bag in options.bag],
            out=Path(options.out),
            validate=Path(options.validate) if options.validate else None,
            config=find_config(options.config) if options.config else None,
            urdf=Path(options.urdf) if options.urdf else None,
            progress=progress,
            **special,
        )
    print(text)
    return 0
