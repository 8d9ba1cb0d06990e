"""`veh-id compare DIR DIR...`: what changed between results, and is it by chance?"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from veh_identification.cli.parser import say
from veh_identification.errors import UsageError
from veh_identification.findings.numbers import beside
from veh_identification.findings.verdict import STRICT_STATUS

if TYPE_CHECKING:
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
    parser.add_argument('--all', action='store_true', help='show parameters without change, too')
    parser.add_argument(
        '--strict', action='store_true', help='exit status 3 when something changed'
    )
    parser.set_defaults(run=run, leaf=parser)


def run(options: argparse.Namespace) -> int:
    """Compare."""
    from veh_identification.atomic import atomic_file
    from veh_identification.results.comparison import compare_all
    from veh_identification.results.folder import to_json

    if not 0.0 < options.level < 1.0:
        raise UsageError(f'--level {options.level:g}: expected a probability between 0 and 1')
    found = compare_all(options.bags, options.level)
    for one in found:
        say(comparison_text(one, everything=options.all))
    if options.json:
        with atomic_file(Path(options.json)) as partial:
            partial.write_text(to_json([one.as_dict() for one in found]), encoding='utf-8')
    changed = any(one.different for one in found)
    return STRICT_STATUS if options.strict and changed else 0


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
