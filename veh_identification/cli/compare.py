"""`veh-id compare DIR DIR...`: what changed between results, and is it by chance?"""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from veh_identification.cli.parser import say
from veh_identification.findings.numbers import beside
from veh_identification.findings.verdict import STRICT_STATUS

if TYPE_CHECKING:
    from veh_identification.fleets.compared import Compared
    from veh_identification.results.comparison import Comparison, Difference


def add_parser(verbs: Any) -> None:
    """Describe the verb."""
    parser = verbs.add_parser(
        'compare',
        help='what changed between results, in deviations',
        description='Compares folders that `veh-id identify` wrote, each with the one before it '
        'and the last with the first: differences in standard deviations with the correlations '
        'taken into account, and whether chance explains them.',
    )
    # Under the name that lets positional words stand behind options, too.
    parser.add_argument('bags', metavar='DIR', nargs='+', help='folders of results, in order')
    parser.add_argument(
        '--level',
        type=float,
        default=0.01,
        metavar='P',
        help='probability of a false alarm of one comparison (default: 0.01)',
    )
    parser.add_argument('--json', metavar='FILE', help='write the comparison to a file')
    parser.add_argument(
        '--report', metavar='FILE', help="write a page (HTML) with residuals on each other's data"
    )
    parser.add_argument(
        '--residuals',
        action=argparse.BooleanOptionalAction,
        default=None,
        help='make each result again from its recordings and try it on those of the other '
        '(default: with --report)',
    )
    parser.add_argument('--all', action='store_true', help='show parameters without change, too')
    parser.add_argument(
        '--strict', action='store_true', help='exit status 3 when something changed'
    )
    parser.set_defaults(run=run, leaf=parser)


def run(options: argparse.Namespace) -> int:
    """Compare."""
    from veh_identification.atomic import write_text
    from veh_identification.fleets.compared import compared
    from veh_identification.results.folder import to_json
    from veh_identification.runtime.bags import Progress

    residuals = bool(options.report) if options.residuals is None else options.residuals
    with Progress('comparing') as progress:
        found = compared(options.bags, options.level, residuals=residuals, progress=progress)
    for k, one in enumerate(found.pairs):
        say(comparison_text(one, everything=options.all))
        crossing = found.crossing(k)
        told = [*(way.text for way in crossing.ways), *(one.line for one in crossing.findings)]
        for line in told:
            say(f'  {line}')
    if options.json:
        write_text(Path(options.json), to_json(found.as_list()))
    if options.report:
        say(_page(found, Path(options.report)))
    return STRICT_STATUS if options.strict and found.different else 0


def _page(found: Compared, path: Path) -> str:
    """The page comes last: what it lacks is told and takes nothing else along."""
    from veh_identification.fleets.compared import write_page

    try:
        write_page(found, path, shlex.join(['veh-id', *sys.argv[1:]]))
    except ImportError as error:
        if (error.name or '').split('.')[0] not in ('plotly', 'jinja2', 'markupsafe'):
            raise
        return f'no page: {error.name} is not installed (pip install plotly jinja2)'
    return f'page: {path}'


def comparison_text(one: Comparison, *, everything: bool = False) -> str:
    """The headline, the parameters that changed, what to mind."""
    lines = [f'{one.before.path} -> {one.after.path}: {one.headline}']
    shown = one.differences if everything else one.changed
    width = max((len(row.name) for row in shown), default=0)
    lines += [f'  {row.name:<{width}}  {_row_text(row)}' for row in shown]
    count = len(one.differences)
    lines.append(
        f'  {count} parameters compared: chi-square {one.chi_square:.1f} with {one.freedom} '
        f'degrees of freedom, probability {one.probability:.2g}'
    )
    lines += [f'  {finding.line}' for finding in one.findings]
    return '\n'.join(lines)


def _row_text(row: Difference) -> str:
    values = f'{beside(row.before, row.before_std)} -> {beside(row.after, row.after_std)}'
    changed = ', changed' if row.significant else ''
    return f'{values} {row.unit}'.rstrip() + f'  ({row.z:+.1f} sigma{changed})'
