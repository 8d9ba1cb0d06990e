"""A page per paper from what `veh-id reproduce` measured: docs/paper_NAME.md.

What it says, what we do, where we differ and why, with numbers; all of it from bench/measured, so
that no number of these pages is typed by hand. `make docs` writes them.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
MEASURED, DOCS = ROOT / 'bench' / 'measured', ROOT / 'docs'
#: Rows of a table that a page shows; the rest is in the JSON and on the page of the command.
MOST_ROWS = 12
#: What a paper says and what we take from it, in a few words; the order of the pages.
ABOUT = {
    'venture2002': 'A car as a tree of bodies, its base parameters, identified from a ramp of '
    'steering and checked on braking. We take the model, its parameters and its manoeuvres: '
    '[car.md](car.md).',
    'venture2006': 'The car with 38 and 20 degrees of freedom by the formalism of robotics: six '
    'equations of the chassis and four of the suspensions give 33 parameters by weighted least '
    'squares. It is the default model of [car.md](car.md).',
    'ayusawa': 'All base parameters of a humanoid from contact forces alone: the base link is not '
    'driven, so that its six equations need no joint torques. [humanoid.md](humanoid.md) does it.',
    'abdellatif': 'A hexapod moves periodically; forces and poses are averaged over periods and '
    'cut in the frequency domain, and parameters and cut-off come by maximum likelihood. '
    '[parallel_robot.md](parallel_robot.md) does it.',
    'sinigaglia': 'A multibody model in natural coordinates runs beside the vehicle and is '
    'corrected by an errorEKF: [vehicle_observer.md](vehicle_observer.md).',
}


def cell(value: Any) -> str:
    """A cell of a table."""
    if value is None:
        return ''
    if isinstance(value, float):
        return f'{value:,.0f}' if abs(value) >= 10_000 else f'{value:.4g}'
    return str(value).replace('|', '/')


def table(item: dict[str, Any]) -> list[str]:
    """A table of the paper beside ours."""
    heads = [
        f'{one["title"]} ({one["side"]})' if one['side'] else one['title']
        for one in item['columns']
    ]
    marked = any(row['mark'] for row in item['rows'])
    heads += ['ours is'] if marked else []
    lines = [f'| {" | ".join(heads)} |', '|---' * len(heads) + '|']
    for row in item['rows'][:MOST_ROWS]:
        cells = [cell(one) for one in row['cells']] + ([row['mark']] if marked else [])
        lines.append(f'| {" | ".join(cells)} |')
    left = len(item['rows']) - MOST_ROWS
    return [*lines, '', *([f'{left} more rows in the JSON.', ''] if left > 0 else [])]


def page(name: str, document: dict[str, Any]) -> str:
    """The page of a paper."""
    reference, _, title = document['reference'].partition(': ')
    marks = ', '.join(
        f'{count} {mark}' for mark, count in document['marks'].items() if count and mark != 'other'
    )
    lines = [
        f'# {reference}',
        '',
        f'{title}.',
        '',
        ABOUT[name],
        '',
        f'**Data.** {document["data"]}',
        '',
        f'**In short.** Of the rows that can be compared, ours beside the paper: {marks}.',
        '',
        f'Made by `tools/papers.py` from `bench/measured/{name}.json`, which `veh-id reproduce '
        f'{name}` wrote (version {document["version"]}, {document["created"]}, seed '
        f'{document["seed"]}). Equations, and where they are in the code: [maths.md](maths.md).',
        '',
    ]
    for item in document['items']:
        lines += [f'## {item["title"]}', '']
        if item['where']:
            lines += [f'In the document: {item["where"]}.', '']
        lines += table(item)
        lines += [f'- {one["text"]}' for one in item['statements']]
        lines += [''] if item['statements'] else []
        if item['remark']:
            lines += [f'**Where and why they differ.** {item["remark"]}', '']
    return '\n'.join(lines).rstrip() + '\n'


def pages() -> dict[Path, str]:
    """All pages by their files; papers that were not measured have none."""
    found = {}
    for name in ABOUT:
        file = MEASURED / f'{name}.json'
        if file.is_file():
            found[DOCS / f'paper_{name}.md'] = page(name, json.loads(file.read_text('utf-8')))
    return found


if __name__ == '__main__':
    for path, text in pages().items():
        if sys.argv[1:] == ['--check'] and path.read_text('utf-8') != text:
            sys.exit(f'{path.name} is old: make docs')
        path.write_text(text, 'utf-8')
