"""What the campaign tried, summed over its runs: the table of docs/hostile_input.md."""

from __future__ import annotations

import json
import math
from collections import Counter
from pathlib import Path
from typing import Any

from veh_identification.atomic import write_text
from veh_identification.errors import InputError

ROOT = Path(__file__).parents[2]
MEASURED = ROOT / 'bench' / 'measured' / 'fuzz'
DOCUMENT = ROOT / 'docs' / 'hostile_input.md'
BEGIN, END = '<!-- table fuzz -->', '<!-- end of table fuzz -->'
#: What the cases of a part are; those named files count as damaged files.
CASES = {
    'recordings': 'files',
    'payloads': 'readings',
    'states': 'files',
    'descriptions': 'files',
    'yaml': 'files',
    'guided': 'inputs',
    'motions': 'batches',
    'network': 'batches',
    'ros': 'batches',
    'streams': 'runs',
}


def sums(documents: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """All runs together, by part."""
    found: dict[str, dict[str, Any]] = {}
    for document in documents:
        for name, part in document['parts'].items():
            one = found.setdefault(
                name,
                {
                    'cases': 0,
                    'findings': 0,
                    'memory': 0.0,
                    **{key: Counter() for key in ('outcomes', 'made_of', 'messages')},
                },
            )
            one['cases'] += part['cases']
            one['findings'] += len(part['findings'])
            one['memory'] = max(one['memory'], part['peak_mb'] / (part['normal_mb'] or math.inf))
            for key in ('outcomes', 'made_of', 'messages'):
                one[key].update(part[key])
    return found


def _counted(counter: Counter[str]) -> str:
    return ', '.join(f'{name} {count:,}' for name, count in counter.most_common())


def table(documents: list[dict[str, Any]]) -> str:
    """The table and the sums below it."""
    found = sums(documents)
    lines = [
        '| part | cases | of these taken / refused | spoilt messages | findings | memory, most '
        'over normal |',
        '|---' * 6 + '|',
    ]
    for name, one in found.items():
        outcomes = one['outcomes']
        lines.append(
            f'| {name} | {one["cases"]:,} {CASES[name]} '
            f'| {outcomes["taken"]:,} / {outcomes["refused"]:,} '
            f'| {sum(one["messages"].values()):,} | {one["findings"]} | {one["memory"]:.2f} |'
        )
    files = sum(one['cases'] for name, one in found.items() if CASES[name] == 'files')
    by_way: Counter[str] = Counter()
    for one in found.values():
        by_way.update(one['messages'])
    hours = sum(one['processor_seconds'] for one in documents) / 3600.0
    seeds = ', '.join(str(one) for one in sorted({one['seed'] for one in documents}))
    lines += [
        '',
        f'In all {files:,} damaged files and {sum(by_way.values()):,} spoilt messages '
        f'({_counted(by_way)}) in {len(documents)} runs (seeds {seeds}), {hours:.1f} hours of '
        'processor time.',
        *(
            f'\n{title}: {_counted(found[name]["made_of"])}.'
            for name, title in (('recordings', 'Recordings'), ('streams', 'Runs of nodes'))
            if name in found
        ),
    ]
    return '\n'.join(lines)


def read_runs(folder: Path = MEASURED) -> list[dict[str, Any]]:
    """What `bench/fuzz.py --json` wrote."""
    return [json.loads(one.read_text('utf-8')) for one in sorted(folder.glob('*.json'))]


def filled(text: str, documents: list[dict[str, Any]]) -> str:
    """The document with the table between its marks."""
    if text.count(BEGIN) != 1 or text.count(END) != 1:
        raise InputError(f'{DOCUMENT.name}: the marks {BEGIN} and {END} must stand there once.')
    before, rest = text.split(BEGIN)
    return f'{before}{BEGIN}\n{table(documents)}\n{END}{rest.split(END)[1]}'


def write_document() -> None:
    """Write the table into the document."""
    write_text(DOCUMENT, filled(DOCUMENT.read_text('utf-8'), read_runs()))
