"""`veh-id simulate SCENARIO`: a recording with known truth."""

from __future__ import annotations

import argparse
from typing import Any

from veh_identification.errors import UsageError


def add_parser(verbs: Any) -> None:
    """Describe the verb."""
    parser = verbs.add_parser(
        'simulate',
        help='write a simulated recording with its truth',
        description='Writes a rosbag2 with the sensor topics of a scenario, and truth.json inside '
        "the bag's folder.",
    )
    parser.add_argument('scenario', metavar='SCENARIO', nargs='?', help='name, see --list')
    parser.add_argument('--out', metavar='BAG', help='folder to write')
    parser.add_argument('--list', action='store_true', help='list the scenarios and stop')
    parser.add_argument('--seed', type=int, default=0, help='of all random numbers (default: 0)')
    parser.add_argument('--duration', type=float, metavar='S', help='seconds to simulate')
    parser.add_argument(
        '--noise',
        type=float,
        default=1.0,
        metavar='X',
        help='factor on all sensor noise and disturbances; 0 switches them off',
    )
    parser.add_argument(
        '--fault',
        action='append',
        default=[],
        metavar='NAME',
        help='of a sensor, wheel or start (road-drive), of the suspensions (car-*), may be '
        'repeated; a wrong name lists all',
    )
    parser.add_argument(
        '--config', metavar='FILE', help='the machine (mechanism), or a name in config/'
    )
    parser.add_argument('--storage', choices=('mcap', 'sqlite3'), default='mcap')
    parser.add_argument('--overwrite', action='store_true', help='replace an existing recording')
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Simulate."""
    from veh_identification.runtime.bags.progress import Progress
    from veh_identification.simulation.scenarios import SCENARIOS, simulate

    if options.list:
        width = max(len(name) for name in SCENARIOS)
        for scenario in SCENARIOS.values():
            seconds = '    -' if scenario.duration is None else f'{scenario.duration:5g}'
            print(f'{scenario.name:{width}} {seconds} s  {scenario.summary}')
        return 0
    if not options.scenario or not options.out:
        raise UsageError('a scenario and --out BAG are needed (or --list)')
    with Progress(f'simulating {options.scenario}', unit='s') as progress:
        truth = simulate(
            options.scenario,
            options.out,
            duration=options.duration,
            seed=options.seed,
            noise=options.noise,
            storage=options.storage,
            overwrite=options.overwrite,
            faults=options.fault,
            config=options.config,
            progress=progress,
        )
    print(f'{options.out}: {truth["duration"]:g} s of {options.scenario}, seed {options.seed}')
    return 0
