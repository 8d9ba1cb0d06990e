"""Tables of the README from measured JSON, so that none of their numbers is typed by hand.

`veh-id bench PART --json bench/measured/PART.json` measures; `veh-id bench --readme` writes what
was measured between the marks of README.md. A test compares README.md with the files.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from veh_identification.errors import InputError
from veh_identification.files import read_json


@dataclass(frozen=True)
class Shown:
    """A row of a table: which measured case, and the words for it."""

    part: str
    case: str  # regular expression that one case matches as a whole
    words: str
    unit: str


@dataclass(frozen=True)
class ReadmeTable:
    """A table by the name of its mark."""

    peer: str  # heading of the column of the others
    rows: tuple[Shown, ...]


def _thesis(table: int, manoeuvre: str, names: dict[str, tuple[str, str]]) -> tuple[Shown, ...]:
    return tuple(
        Shown('thesis', f'Table {table}, known start: {name}', f'{manoeuvre}: {words}', unit)
        for name, (words, unit) in names.items()
    )


PLACE = {'x': ('place, x', 'm'), 'vx': ('speed, x', 'm/s'), 'yaw': ('heading', 'rad')}
WHEEL = {'theta_fl': ('wheel angle', 'rad'), 'omega_fl': ('wheel speed', 'rad/s')}
TABLES = {
    'paper': ReadmeTable(
        'Sinigaglia 2016',
        (
            *_thesis(5, 'straight', {'x': PLACE['x'], 'vx': PLACE['vx'], **WHEEL}),
            *_thesis(6, 'circle', PLACE),
            *_thesis(7, 'parking', PLACE),
            *_thesis(8, 'parking, noisy GNSS', PLACE),
        ),
    ),
    'peer': ReadmeTable(
        'peer',
        (
            Shown('identify', r'arrays to \d+ base parameters, .*', 'humanoid, 18 dof', ''),
            Shown('identify', r'regressor 6 x 130', 'its regressor', ''),
            Shown('car', r'.* s of car data, .*', 'car, 33 parameters', ''),
            Shown(
                'robot', r'regressor and least squares, a sample of six axes', 'arm, 6 axes', ''
            ),
            Shown('robot', r'median error of friction parameters, .*', 'arm, error', ''),
        ),
    ),
}


def measured(folder: Path) -> dict[str, Any]:
    """All measured files by part: rows, machine and version."""
    found: dict[str, Any] = {}
    for path in sorted(folder.glob('*.json')):
        document = read_json(path)
        for part, rows in document['parts'].items():
            found[part] = {
                'rows': rows,
                'machine': document['machine'],
                'version': document['version'],
            }
    return found


def _cell(value: float | None, unit: str) -> str:
    if value is None:
        return '-'
    text = f'{value:,.0f}' if abs(value) >= 1000 else f'{value:.3g}'
    return f'{text} {unit}'.strip()


def table_text(table: ReadmeTable, found: dict[str, Any]) -> str:
    """The table in Markdown; InputError where a row was not measured or is not one row."""
    with_names = table.peer == 'peer'
    head = ['', table.peer, 'ours', 'ratio', *(['the peer is'] if with_names else [])]
    lines = [f'| {" | ".join(head)} |', '|---' * len(head) + '|']
    machines = set()
    for one in table.rows:
        rows = found.get(one.part, {'rows': []})['rows']
        match = [row for row in rows if re.fullmatch(one.case, row['case'])]
        if len(match) != 1:
            raise InputError(
                f'bench/measured: {len(match)} rows of {one.part} match {one.case!r}.'
            )
        row = match[0]
        unit = one.unit or row['unit']
        peer, ours = row['peer'], row['ours']
        cells = [
            one.words,
            _cell(peer, unit),
            f'**{_cell(ours, unit)}**',
            f'{peer / ours:.1f}' if peer is not None and ours else '-',
            *([row['peer_name']] if with_names else []),
        ]
        lines.append(f'| {" | ".join(cells)} |')
        machines.add(f'version {found[one.part]["version"]}, {found[one.part]["machine"]}')
    return '\n'.join([*lines, '', f'Measured: {"; ".join(sorted(machines))}.'])


def filled(text: str, found: dict[str, Any]) -> str:
    """A document whose marked places hold the tables; InputError where a mark is missing."""
    for name, table in TABLES.items():
        begin, end = f'<!-- table {name} -->', f'<!-- end of table {name} -->'
        if text.count(begin) != 1 or text.count(end) != 1:
            raise InputError(f'README.md: the marks {begin} and {end} must stand there once each.')
        before, rest = text.split(begin)
        text = f'{before}{begin}\n{table_text(table, found)}\n{end}{rest.split(end)[1]}'
    return text
