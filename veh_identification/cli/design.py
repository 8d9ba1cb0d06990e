"""`veh-id design SYSTEM`: motions that excite what is to be identified, within limits."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from veh_identification.errors import UsageError


def add_parser(verbs: Any) -> None:
    """Describe the verb."""
    parser = verbs.add_parser(
        'design',
        help='design an exciting motion under limits',
        description='Searches a periodic motion within the limits of the configuration that '
        'brings the condition number down or the information up, and writes it. For the car: '
        'which steering sine, speed and duration bring standard deviations below wanted ones. For '
        'the humanoid: motions on both feet and on each one.',
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
    parser.add_argument(
        '--out',
        metavar='PATH',
        required=True,
        help='trajectory, YAML or JSON; for car and humanoid a folder',
    )
    _add_car(parser)
    parser.set_defaults(run=run)


#: Options of the manoeuvre advisor: name, metavar, help. Those of LISTS may be given again.
LISTS = (
    (
        'want',
        'NAME=SIGMA',
        'standard deviation to reach, in percent (ZZc=3%%) or in its unit; also for the humanoid '
        '(base_link.MSz=2%%)',
    ),
    ('speed', 'KMH', 'speed of the candidates'),
    ('frequency', 'HZ', 'frequency of the steering sine'),
    ('lateral', 'M/S2', 'lateral acceleration that the candidates aim at'),
)
NUMBERS = (
    ('max-lateral', 'M/S2', 'largest lateral acceleration (default: 5)'),
    ('max-steering-rate', 'RAD/S', 'largest rate of the front wheels (default: 0.5)'),
    ('track-length', 'M', 'length of one pass (default: no limit)'),
    ('max-duration', 'S', 'longest drive in all (default: 600)'),
    ('noise', 'X', 'factor on all sensor noise and disturbances (default: 1)'),
    ('roughness', 'M3', 'road roughness G(n0) of ISO 8608 (default: 24e-6)'),
)


def _add_car(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group('car', 'the manoeuvre advisor: steering sine and duration')
    for name, metavar, text in LISTS:
        kind = str if name == 'want' else float
        group.add_argument(
            f'--{name}', metavar=metavar, type=kind, action='append', help=f'{text}; repeatable'
        )
    for name, metavar, text in NUMBERS:
        group.add_argument(f'--{name}', metavar=metavar, type=float, help=text)
    group.add_argument('--dof', type=int, choices=(20, 38), help='model (default: 38)')
    group.add_argument(
        '--check', action='store_true', default=None, help='identify a simulated drive of it'
    )


def _car_options(options: argparse.Namespace) -> dict[str, Any]:
    names = [name.replace('-', '_') for name, *_ in (*LISTS, *NUMBERS)]
    return {
        name: getattr(options, name)
        for name in (*names, 'dof', 'check')
        if getattr(options, name) is not None
    }


def run(options: argparse.Namespace) -> int:
    """Design and print what was reached."""
    from veh_identification.runtime.graph import find_config
    from veh_identification.systems.registry import DESIGN, load

    design = load(DESIGN, 'design', options.system)
    if options.system == 'car':
        return _run_car(options, design)
    given = _car_options(options)
    wanted = {'want': given.pop('want')} if options.system == 'humanoid' and options.want else {}
    if strange := sorted(given):
        raise UsageError(f'design {options.system} has no option --{strange[0].replace("_", "-")}')
    print(
        design(
            criterion=options.criterion,
            config=find_config(options.config) if options.config else None,
            urdf=Path(options.urdf) if options.urdf else None,
            seed=options.seed,
            starts=options.starts,
            time_limit=options.time_limit,
            out=Path(options.out),
            **wanted,
        )
    )
    return 0


def _run_car(options: argparse.Namespace, design: Any) -> int:
    from veh_identification.runtime.bags import Progress
    from veh_identification.runtime.graph import find_config

    if options.urdf:
        raise UsageError('design car takes no URDF: the geometry stands in --config')
    with Progress('driving candidates', unit='candidates') as progress:
        text = design(
            config=find_config(options.config) if options.config else None,
            seed=options.seed,
            time_limit=options.time_limit,
            out=Path(options.out),
            progress=progress,
            **_car_options(options),
        )
    print(text, end='')
    return 0
