"""`veh-id batch SYSTEM RECORDING...`: many recordings of many machines, only what is new."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from veh_identification.cli import parser as shared
from veh_identification.systems import registry


def add_parser(verbs: Any, wanted: str = '') -> None:
    """Describe the verb and, with its options, the wanted system."""
    parser = verbs.add_parser(
        'batch',
        help='many recordings of many machines: tables, what changed, a page of the fleet',
        description='Identifies from each of many recordings, on one or several cores or a Dask '
        'cluster, puts the recordings of each machine together and looks for what changed over '
        'time. A second run reduces only what is new. `veh-id batch SYSTEM --help` explains the '
        'options of a system.',
    )
    parser.set_defaults(leaf=parser)
    filled = shared.add_systems(parser, registry.entries('identify'), wanted)
    for one in filled.values():
        if one is not None:
            _fill(one, wanted)


def _fill(parser: shared.Parser, wanted: str) -> None:
    system = registry.find('identify', wanted)
    shared.add_bags(
        parser,
        'recording, pattern, folder that is searched, list (.txt: a line each; .csv: columns '
        'recording, machine, config) or address that fsspec opens (s3://...)',
    )
    parser.add_argument(
        '--config',
        metavar='YAML',
        help='description of the machines, or a name in config/; {machine}, {folder} and {name} '
        '(of the recording) stand for what they say, so that each machine has its own',
    )
    parser.add_argument('--out', metavar='DIR', required=True, help='folder for the results')
    parser.add_argument(
        '--machine-from',
        metavar='RULE',
        default='folder',
        help='which machine a recording is of: folder (the one around it), same:NAME, path:REGEX '
        '(its first group), description:FIELD or metadata:KEY (custom_data of metadata.yaml) '
        '(default: folder)',
    )
    parser.add_argument(
        '--workers', type=int, default=1, metavar='N', help='processes; 0: all cores (default: 1)'
    )
    parser.add_argument(
        '--scheduler', metavar='ADDRESS', default='', help='Dask scheduler whose workers do it'
    )
    parser.add_argument(
        '--store',
        metavar='DIR',
        help='where the reduced recordings are kept (default: reduced/ below --out)',
    )
    parser.add_argument(
        '--reports',
        choices=('none', 'no', 'all'),
        default='none',
        help='full results of single recordings: of none, of those with the verdict no, of all '
        '(5 MB each; default: none)',
    )
    parser.add_argument(
        '--verify',
        action='store_true',
        help='read all recordings to see whether they are still the same, not only their times '
        'and sizes',
    )
    parser.add_argument(
        '--level',
        type=float,
        default=0.01,
        metavar='P',
        help='probability of any false alarm among all changes (default: 0.01)',
    )
    parser.add_argument(
        '--fleet-prior',
        action='store_true',
        help='also give the values of each machine with the others as prior, which helps machines '
        'of which little is known',
    )
    parser.add_argument(
        '--part',
        type=float,
        default=900.0,
        metavar='SECONDS',
        help='reduce longer recordings in parts of at most this length, so that memory does not '
        'grow with them; 0: never (default: 900)',
    )
    parser.add_argument(
        '--strict', action='store_true', help='exit status 3 when something changed'
    )
    shared.add_options(parser, system.verbs['identify'])
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Do it and print what was found."""
    from veh_identification.findings.verdict import STRICT_STATUS
    from veh_identification.fleets.output import check_out, save
    from veh_identification.fleets.run import Settings, run_batch
    from veh_identification.runtime.bags import Progress

    system = registry.find('identify', options.system)
    out = Path(options.out)
    check_out(out)
    settings = Settings(
        options.machine_from,
        options.workers,
        options.scheduler,
        Path(options.store) if options.store else None,
        options.reports,
        options.verify,
        options.level,
        options.fleet_prior,
        options.part,
    )
    with Progress(f'batch {system.name}', unit='recordings') as progress:
        fleet = run_batch(
            options.system,
            [*options.bags, *options.bag],
            config=options.config,
            out=out,
            settings=settings,
            options=shared.options_of(options, system.verbs['identify']),
            progress=progress,
        )
    lines = save(fleet, out)
    shared.say(fleet.text + '\n'.join(lines))
    return STRICT_STATUS if options.strict and fleet.changes.steps else 0
