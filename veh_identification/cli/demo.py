"""`veh-id demo`: the main job end to end on a machine without ROS."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import time
from pathlib import Path
from typing import Any


def add_parser(verbs: Any) -> None:
    """Describe the verb."""
    from veh_identification.demo import NAMES

    parser = verbs.add_parser(
        'demo',
        help='the main job end to end: simulate, replay through the nodes, compare with the truth',
        description='Simulates a recording of each system, replays it through the real nodes, '
        'runs the estimators and observers, prints the result next to the truth and writes one '
        'HTML report that links those of the systems.',
    )
    parser.add_argument(
        '--out',
        metavar='DIR',
        default='out/demo',
        help='folder for recordings, results and reports',
    )
    parser.add_argument('--seed', type=int, default=0)
    parser.add_argument(
        '--only',
        metavar='NAME',
        action='append',
        choices=NAMES,
        help=f'only this part ({", ".join(NAMES)}); may be given again',
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run all parts, two at a time where the machine has two cores."""
    from veh_identification.demo import NAMES
    from veh_identification.demo.overview import NEXT, write_overview
    from veh_identification.demo.parts import Part, part_text
    from veh_identification.demo.steps import run_steps

    out = Path(options.out)
    names = [name for name in NAMES if name in (options.only or NAMES)]
    begin = time.perf_counter()
    print(
        f'Simulating, replaying and identifying: {", ".join(names)}. The first run compiles '
        'for a minute or two.',
        flush=True,
    )
    parts: list[Part] = []
    for part in run_steps(names, out, int(options.seed), min(2, os.cpu_count() or 1)):
        parts.append(part)
        title = f'[{len(parts)}/{len(names)}] {part.title} ({part.seconds:.0f} s)'
        print(f'\n{title}\n{"=" * len(title)}\n{part.what}\n{part_text(part)}', flush=True)
    seconds = time.perf_counter() - begin
    parts.sort(key=lambda part: names.index(part.name))
    page = write_overview(out, parts, seconds)
    print(f'\nDone in {seconds:.0f} s. Open in a browser:')
    print(f'  {page}')
    for part in parts:
        if part.report is not None:
            print(f'  {part.report}')
    print('Recordings for Foxglove, PlotJuggler and `veh-id info`:')
    print(f'  {" ".join(str(folder) for part in parts for folder in part.folders[:1])}')
    print('What to try next, on your own recording:')
    for command in NEXT:
        print(f'  {command}')
    if shutil.which('veh-id') is None:
        activate = os.path.relpath(Path(sys.executable).with_name('activate'))
        print(f'`. {activate}` puts veh-id on the path of this terminal.')
    return 0
