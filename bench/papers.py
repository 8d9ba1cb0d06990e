"""Fills docs/papers.md from what `veh-id reproduce` wrote: `python bench/papers.py JSON...`.

Between the two comments that name a paper everything is replaced, so that no figure of the
document is typed by hand. `make papers` runs all papers first.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from veh_identification.findings.numbers import sentence
from veh_identification.reproduce import find_paper
from veh_identification.reproduce.paper import MARKS
from veh_identification.reproduce.text import heading, shown

DOCUMENT = Path(__file__).parents[1] / 'docs' / 'papers.md'
#: Longer tables are left to the page; of them only what is worse than printed is shown.
MOST_ROWS = 8


def block(told: dict[str, Any], titles: Sequence[str] = ()) -> str:
    """Markdown of one paper; `titles` are those of all its tables."""
    minutes = told['seconds'] / 60.0
    parts = [
        f'`veh-id reproduce {told["paper"]}`, seed {told["seed"]}, {minutes:.0f} min '
        f'({told["created"]}, version {told["version"]}'
        + (', QUICK: shorter recordings, fewer trials)' if told['quick'] else ')'),
        _counts(told['items'], titles),
    ]
    for item in told['items']:
        few = len(item['rows']) <= MOST_ROWS
        rows = [row for row in item['rows'] if few or row['mark'] == 'worse']
        if rows:
            which = '' if few else ', what is worse than printed'
            parts.append(f'{item["title"]}{which}:')
            parts.append(_table(item['columns'], rows))
    return '\n\n'.join(parts)


def _counts(items: list[dict[str, Any]], titles: Sequence[str]) -> str:
    lines = [
        f'| table or figure | {" | ".join(MARKS)} | what came out |',
        '|---|---|---|---|---|---|',
    ]
    for item in items:
        counts = [sum(row['mark'] == mark for row in item['rows']) or '' for mark in MARKS]
        said = ' '.join(sentence(one['text']) for one in item['statements'])
        said = f'not made: {item["failed"]}' if item['failed'] else said
        lines.append(f'| {item["title"]} | {" | ".join(map(str, counts))} | {said} |')
    made = {item['title'] for item in items}
    lines += [
        f'| {title} |  |  |  |  | not in this run |' for title in titles if title not in made
    ]
    return '\n'.join(lines)


def _table(columns: list[dict[str, str]], rows: list[dict[str, Any]]) -> str:
    heads = [heading(one['title'], one['side']) for one in columns]
    lines = [f'| {" | ".join(heads)} |', '|' + '---|' * len(heads)]
    for row in rows:
        cells = ['-' if cell is None else shown(cell) for cell in row['cells']]
        lines.append(f'| {" | ".join(cells)} |')
    return '\n'.join(lines)


def filled(text: str, told: dict[str, Any], titles: Sequence[str] = ()) -> str:
    """The document with the block of one paper replaced."""
    begin, end = f'<!-- begin {told["paper"]} -->', f'<!-- end {told["paper"]} -->'
    pattern = re.compile(f'{re.escape(begin)}.*?{re.escape(end)}', re.DOTALL)
    if not pattern.search(text):
        raise SystemExit(
            f'{DOCUMENT} has no place for {told["paper"]}: expected {begin} and {end}'
        )
    return pattern.sub(lambda _: f'{begin}\n{block(told, titles)}\n{end}', text)


def main(paths: list[str]) -> None:
    """Replace the blocks of the papers that are given."""
    text = DOCUMENT.read_text('utf-8')
    for path in paths:
        told = json.loads(Path(path).read_text('utf-8'))
        text = filled(text, told, [item.title for item in find_paper(told['paper']).items])
    DOCUMENT.write_text(text, 'utf-8')


if __name__ == '__main__':
    main(sys.argv[1:])
