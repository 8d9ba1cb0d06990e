"""`veh-id reproduce PAPER`: the tables and figures of a paper beside ours."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from veh_identification.errors import UsageError

if TYPE_CHECKING:
    from veh_identification.reproduce.driver import Done


def add_parser(verbs: Any) -> None:
    """Describe the verb."""
    parser = verbs.add_parser(
        'reproduce',
        help='the tables and figures of a paper beside ours',
        description='Simulates what a paper recorded, runs the estimators and prints every table '
        'of the paper beside ours, with the reason where they differ. Writes reproduce.json and '
        'a page with the figures.',
    )
    parser.add_argument('paper', metavar='PAPER', nargs='?', help='name, see --list')
    parser.add_argument('--list', action='store_true', help='list papers and tables, and stop')
    parser.add_argument(
        '--only',
        metavar='TABLE',
        action='append',
        default=[],
        help='only this table or figure (table-2, figure-8); may be given again',
    )
    parser.add_argument('--quick', action='store_true', help='shorter recordings and fewer trials')
    parser.add_argument('--seed', type=int, default=0, help='of all recordings (default: 0)')
    parser.add_argument('--out', metavar='DIR', help='folder (default: out/reproduce/PAPER)')
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run one paper; status 1 where a table could not be made."""
    from veh_identification.reproduce import find_paper, papers
    from veh_identification.reproduce.driver import reproduce
    from veh_identification.runtime.bags.progress import Progress

    if options.list:
        for paper in papers() if options.paper is None else [find_paper(options.paper)]:
            print(f'{paper.name}: {paper.reference}')
            for item in paper.items:
                print(f'  {item.key:16} {item.title}')
        return 0
    if options.paper is None:
        raise UsageError('a paper is needed; --list shows them')
    paper = find_paper(options.paper)
    out = options.out or f'out/reproduce/{paper.name}'

    def tell(what: str) -> Progress:
        print(f'{paper.name}: {what} ...', file=sys.stderr, flush=True)
        return Progress(what, unit='steps')

    print(f'{paper.reference}\n{paper.data}', flush=True)
    whole = reproduce(
        paper,
        out,
        only=options.only,
        quick=options.quick,
        seed=options.seed,
        tell=tell,
        show=_show,
    )
    print(
        f'\n{whole.counted("better")} figures better than printed, {whole.counted("alike")} as '
        f'printed, {whole.counted("worse")} worse, in {whole.seconds:.0f} s'
        + (' (quick: shorter recordings, fewer trials)' if whole.quick else '')
    )
    print(f'report: {out}/report.html')
    return 1 if any(one.failed for one in whole.done) else 0


def _show(one: Done, number: int, total: int) -> None:
    from veh_identification.reproduce.text import table_text

    title = f'[{number}/{total}] {one.item.title} ({one.seconds:.0f} s)'
    print(f'\n{title}\n{"=" * len(title)}')
    print(f'ours: {one.item.data}')
    if one.failed:
        print(f'not made: {one.failed}', flush=True)
    if one.made.rows:
        print(table_text(one.made))
    for statement in one.made.statements:
        print(statement.line)
    print(f'why they differ: {one.item.remark}', flush=True)
