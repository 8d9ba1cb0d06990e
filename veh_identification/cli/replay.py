"""`veh-id replay BAG --graph NAME`: the nodes of a graph over recordings, without ROS."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

from veh_identification.cli.options import add_parameter_options, parameter_values


def add_parser(verbs: Any) -> None:
    """Describe the verb."""
    parser = verbs.add_parser(
        'replay',
        help='run the nodes of a graph over recordings',
        description='Runs the nodes of a graph (the one that the launch file of that name starts) '
        'over rosbag2 or ROS 1 recordings, as fast as the machine allows. The same recording '
        'gives the same bytes every time.',
    )
    parser.add_argument(
        'bags', metavar='BAG', nargs='+', help='recordings; several are merged by time'
    )
    parser.add_argument('--graph', metavar='NAME', required=True, help='such as sensor_fusion')
    parser.add_argument('--out', metavar='BAG2', required=True, help='recording to write')
    add_parameter_options(parser)
    parser.add_argument('--storage', choices=('mcap', 'sqlite3'), default='mcap')
    parser.add_argument('--overwrite', action='store_true', help='replace an existing output')
    parser.add_argument(
        '--keep-inputs', action='store_true', help='copy the input topics into the output'
    )
    parser.add_argument(
        '--report', metavar='FILE', help='of sensor_fusion: write a page about it (HTML)'
    )
    parser.add_argument(
        '--skip-damage',
        action='store_true',
        help='go on behind damaged parts of a recording instead of stopping; they are counted',
    )
    parser.add_argument(
        '--log-level', choices=('debug', 'info', 'warning', 'error'), default='info'
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Replay."""
    from veh_identification.findings.numbers import number
    from veh_identification.runtime.bags import Progress
    from veh_identification.runtime.replay.bag import replay_graph

    begin = time.perf_counter()
    with Progress(f'replaying {options.graph}') as progress:
        summary = replay_graph(
            options.bags,
            options.graph,
            options.out,
            config=options.config,
            namespace=options.namespace,
            parameters=parameter_values(options.parameter),
            remappings=options.remap,
            storage=options.storage,
            overwrite=options.overwrite,
            keep_inputs=options.keep_inputs,
            on_error='skip' if options.skip_damage else 'stop',
            log_level=options.log_level,
            progress=progress,
        )
    elapsed = time.perf_counter() - begin
    for sentence in summary.problems:
        print(f'damage skipped: {sentence}', file=sys.stderr)
    if summary.shadowed:
        print(
            'left out of the recording, because the nodes publish them themselves: '
            + ', '.join(summary.shadowed)
        )
    print('read:      ' + _counts(summary.delivered))
    if summary.missing:
        print('not there: ' + ', '.join(summary.missing))
    print('published: ' + _counts(summary.published))
    print(
        f'{options.out}: {summary.duration:.1f} s of recording in {elapsed:.1f} s '
        f'({number(summary.duration / elapsed, 2)} times real time)'
    )
    if options.report:
        _report(options)
    return 0


def _report(options: argparse.Namespace) -> None:
    from veh_identification.reporting.pages import write_report
    from veh_identification.results.fused import fused_report

    told = [('graph', options.graph), ('config', options.config), ('out', options.out)]
    content, verdict = fused_report(Path(options.out), [Path(bag) for bag in options.bags], told)
    write_report(Path(options.report), content, verdict)
    print(f'{verdict.line}\nreport: {options.report}')


def _counts(counts: dict[str, int]) -> str:
    return ', '.join(f'{topic} {count}' for topic, count in sorted(counts.items())) or 'nothing'
