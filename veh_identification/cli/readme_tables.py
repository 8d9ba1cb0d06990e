"""Tables of the README from measured JSON, so that none of their numbers is typed by hand.

`veh-id reproduce PAPER` and `veh-id bench PART --json FILE` measure, their JSON is kept in
bench/measured; `veh-id bench --readme` writes what was measured between the marks of README.md. A
test compares README.md with the files.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from veh_identification.errors import InputError
from veh_identification.files import read_json


@dataclass(frozen=True)
class OfPaper:
    """A row that compares with a paper: where it stands in what `veh-id reproduce` wrote."""

    paper: str
    item: str
    row: str
    words: str
    printed: str  # heading of the paper's column
    ours: str  # heading of our column
    source: str  # for people: which paper and table


@dataclass(frozen=True)
class OfPeer:
    """A row that compares with another library: a case of a benchmark."""

    part: str
    case: str  # regular expression that cases match as a whole; its group stands behind the words
    words: str


def _car(name: str, words: str) -> OfPaper:
    title = 'sigma or error'
    return OfPaper('venture2006', 'table-2', name, words, 'sigma', title, 'Venture 2006, II')


def _place(name: str, words: str) -> OfPaper:
    rms = 'rms, observer'
    return OfPaper('sinigaglia', 'table-6', name, words, rms, rms, 'Sinigaglia 2016, 6')


#: Every row that can be shown; those whose paper or part was not measured are left out.
PAPERS = (
    _car('Mc', 'car, mass: sigma'),
    _car('ZZc', 'car, yaw inertia: sigma'),
    _car('k1', 'car, spring: sigma'),
    _car('h1', 'car, damper: sigma'),
    OfPaper(
        'ayusawa',
        'section-4',
        'error of the identified mass, default',
        'humanoid, total mass: error',
        'printed',
        'found',
        'Ayusawa 2008, 4',
    ),
    _place('x', 'observer on the circle, place x: rms error'),
    _place('vx', 'observer on the circle, speed x: rms error'),
    _place('yaw', 'observer on the circle, heading: rms error'),
    _place('yaw_rate', 'observer on the circle, yaw rate: rms error'),
)
PEERS = (
    OfPeer(
        'identify',
        r'processor time of the same, (.*)',
        'humanoid, 18 dof: arrays to base parameters with sigmas',
    ),
    OfPeer('identify', r'peak memory, (\d+ samples)', 'memory for it'),
    OfPeer('identify', r'(regressor 6 x 130)', 'humanoid'),
)


def _number(value: float, unit: str) -> str:
    text = f'{value:,.0f}' if abs(value) >= 1000 else f'{value:.3g}'
    return f'{text} {unit}'.strip()


def _ratio(theirs: float, ours: float) -> str:
    return f'{theirs / ours:.2g}' if ours else '-'


def _column(columns: list[dict[str, str]], title: str, side: str) -> int:
    return next(k for k, one in enumerate(columns) if (one['title'], one['side']) == (title, side))


def _of_paper(shown: OfPaper, document: dict[str, Any]) -> str:
    item = next(one for one in document['items'] if one['key'] == shown.item)
    cells = next(one['cells'] for one in item['rows'] if one['cells'][0] == shown.row)
    unit = cells[_column(item['columns'], 'unit', '')]
    theirs = cells[_column(item['columns'], shown.printed, 'paper')]
    ours = cells[_column(item['columns'], shown.ours, 'ours')]
    return (
        f'| {shown.words} | {_number(theirs, unit)} | **{_number(ours, unit)}** '
        f'| {_ratio(theirs, ours)} | {shown.source} |'
    )


def paper_table(folder: Path) -> str:
    """Papers beside ours; InputError where a file is there that lacks what it should hold."""
    lines = ['| | paper | ours | ratio | from |', '|---' * 5 + '|']
    created = set()
    for shown in PAPERS:
        file = folder / f'{shown.paper}.json'
        if not file.is_file():
            continue
        document = read_json(file)
        try:
            lines.append(_of_paper(shown, document))
        except (StopIteration, KeyError, TypeError):
            raise InputError(f'{file}: {shown.item} has no figures of {shown.row!r}.') from None
        created.add(
            f'`veh-id reproduce {shown.paper}`, version {document["version"]}, '
            f'{document["created"]}'
        )
    return '\n'.join([*lines, '', f'Measured by {"; ".join(sorted(created))}.'])


def peer_table(folder: Path) -> str:
    """Other libraries beside ours, of the benchmarks that were measured."""
    lines = ['| | peer | ours | ratio | the peer is |', '|---' * 5 + '|']
    measured = set()
    for shown in PEERS:
        file = folder / f'bench_{shown.part}.json'
        if not file.is_file():
            continue
        document = read_json(file)
        cases = [
            (found[1], row)
            for row in document['parts'][shown.part]
            if (found := re.fullmatch(shown.case, row['case']))
        ]
        if not cases:
            raise InputError(f'{file}: no case matches {shown.case!r}.')
        for which, row in cases:
            peer, ours = row['peer'], row['ours']
            lines.append(
                f'| {shown.words}, {which} | {_number(peer, row["unit"])} '
                f'| **{_number(ours, row["unit"])}** | {_ratio(peer, ours)} '
                f'| {row["peer_name"]} |'
            )
        measured.add(
            f'`veh-id bench {shown.part}`, version {document["version"]}, {document["machine"]}'
        )
    if not measured:
        return 'Not measured yet.'
    return '\n'.join([*lines, '', f'Measured by {"; ".join(sorted(measured))}.'])


TABLES = {'paper': paper_table, 'peer': peer_table}


def filled(text: str, folder: Path) -> str:
    """A document whose marked places hold the tables; InputError where a mark is missing."""
    for name, table in TABLES.items():
        begin, end = f'<!-- table {name} -->', f'<!-- end of table {name} -->'
        if text.count(begin) != 1 or text.count(end) != 1:
            raise InputError(f'README.md: the marks {begin} and {end} must stand there once each.')
        before, rest = text.split(begin)
        text = f'{before}{begin}\n{table(folder)}\n{end}{rest.split(end)[1]}'
    return text
