"""The page of a reproduced paper: its tables beside ours, figures, and why they differ."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import plotly.graph_objects as go

from veh_identification.findings import Finding, Level, Verdict
from veh_identification.findings.finding import worst_first
from veh_identification.findings.numbers import counted, number, sentence, unit
from veh_identification.reporting.content import Card, Trace
from veh_identification.reporting.figures.identification import cross_validation
from veh_identification.reporting.figures.style import Figure, axis, small, style
from veh_identification.reporting.first_screen import FirstScreen
from veh_identification.reporting.html import (
    Cell,
    Code,
    Column,
    Figures,
    Page,
    Section,
    Table,
    Text,
    write_page,
)
from veh_identification.reporting.palette import line_style
from veh_identification.reproduce.paper import Column as Heading
from veh_identification.reproduce.paper import Drawing, Paper, mark_place
from veh_identification.reproduce.text import OURS_IS, heading, shown

#: Points of several curves lie on each other: one shows through the other.
POINTS = ('circle-open', 'x-thin-open', 'diamond')
LEVELS: dict[str, Level | None] = {
    'better': 'good',
    'alike': 'good',
    'worse': 'warn',
    'other': 'note',
    '': None,
}
HELP = {'paper': 'as printed', 'ours': 'from this run'}
QUICK = (
    'Quick run: shorter recordings and fewer trials than a full one, so that deviations are '
    'larger. Leave out --quick for the figures of the documentation.'
)


def write(
    path: Path,
    paper: Paper,
    document: dict[str, Any],
    figures: Sequence[Sequence[Trace | Drawing]],
) -> Path:
    """One self-contained file from what reproduce.json holds, and the drawings."""
    sections = [
        _section(entry, drawn) for entry, drawn in zip(document['items'], figures, strict=True)
    ]
    if document['recordings']:
        listing = Code('\n'.join(document['recordings']))
        note = Text('Every recording of this page is simulated. The same ones by hand:')
        sections.append(Section('recordings', 'Recordings', (note, listing), folded=True))
    page = Page(
        f'{paper.reference.partition(":")[0]}, reproduced',
        paper.reference,
        _summary(paper, document),
        tuple(sections),
        question='Do we get what the paper got?',
        created=document['created'],
    )
    return write_page(path, page)


def _summary(paper: Paper, document: dict[str, Any]) -> FirstScreen:
    marks, failed = document['marks'], [one for one in document['items'] if one['failed']]
    good, bad = marks['better'] + marks['alike'], marks['worse']
    headline = (
        f'{good} of {good + bad} figures that can be compared are as printed or better, {bad} are '
        'worse.'
        if good + bad
        else 'Nothing here can be compared figure by figure.'
    )
    findings = [Finding('note', 'data', paper.data)]
    if document['quick']:
        findings.append(Finding('warn', 'quick', QUICK))
    findings += [Finding('bad', 'failed', f'{one["title"]}: {one["failed"]}') for one in failed]
    for one in document['items']:
        worse = sum(row['mark'] == 'worse' for row in one['rows'])
        if worse:
            text = f'{one["title"]}: {counted(worse, "figure")} of ours worse than printed.'
            findings.append(Finding('warn', 'worse', text))
    level: Literal['yes', 'care', 'no'] = (
        'no' if failed else 'care' if marks['worse'] or document['quick'] else 'yes'
    )
    cards = (
        Card('better than printed', str(marks['better']), 'smaller error or deviation', 'good'),
        Card('as printed', str(marks['alike']), 'equal, or within 1 %', 'good'),
        Card(
            'worse than printed',
            str(marks['worse']),
            'marked in the tables',
            'warn' if marks['worse'] else 'good',
        ),
        Card('took', f'{number(document["seconds"], 2)} s', f'seed {document["seed"]}'),
    )
    return FirstScreen(Verdict(level, headline, worst_first(findings)), cards)


def _section(entry: dict[str, Any], drawn: Sequence[Trace | Drawing]) -> Section:
    blocks: list[Table | Text | Code | Figures] = [
        Text(f'In the paper: {entry["where"]}. Ours: {entry["data"]}.')
    ]
    if entry['failed']:
        blocks.append(Text(f'This could not be made: {entry["failed"]}'))
    if entry['rows']:
        blocks.append(_table(entry))
    blocks += [Text(sentence(one['text'])) for one in entry['statements']]
    if drawn:
        blocks.append(Figures(tuple(_figure(one) for one in drawn)))
    blocks.append(Text(f'Why they differ: {entry["remark"]}'))
    return Section(entry['key'], entry['title'], tuple(blocks), short=_short(entry['title']))


def _short(title: str) -> str:
    return title.partition(':')[0]


def _table(entry: dict[str, Any]) -> Table:
    numeric = [
        any(isinstance(row['cells'][k], float) for row in entry['rows'])
        for k in range(len(entry['columns']))
    ]
    columns = [
        Column(unit(heading(one['title'], one['side'])), right, HELP.get(one['side'], ''))
        for one, right in zip(entry['columns'], numeric, strict=True)
    ]
    rows = [[_cell(cell) for cell in row['cells']] for row in entry['rows']]
    if any(row['mark'] for row in entry['rows']):
        place = mark_place(tuple(Heading(**one) for one in entry['columns']))
        columns.insert(place, Column(OURS_IS))
        for cells, row in zip(rows, entry['rows'], strict=True):
            cells.insert(place, Cell(row['mark'], level=LEVELS[row['mark']]))
    return Table(tuple(columns), tuple(tuple(cells) for cells in rows))


def _cell(cell: str | float) -> Cell:
    return Cell(unit(shown(cell)), cell if isinstance(cell, float) else None)


def _figure(one: Trace | Drawing) -> Figure:
    if isinstance(one, Trace):
        return cross_validation(one)
    figure = go.Figure()
    for k, curve in enumerate(one.curves):
        look = line_style(k)
        x = list(curve.x) if isinstance(curve.x[0], str) else small(np.array(curve.x))
        y = small(np.array(curve.y))
        if curve.kind == 'bars':
            figure.add_bar(x=x, y=y, name=curve.name, marker={'color': look['color']})
            continue
        look = {**look, 'dash': 'dash'} if curve.kind == 'dash' else look
        figure.add_scatter(
            x=x,
            y=y,
            name=curve.name,
            mode='markers' if curve.kind == 'points' else 'lines',
            line=look,
            marker={'color': look['color'], 'symbol': POINTS[k % len(POINTS)], 'size': 8},
        )
    style(figure, 320, barmode='group')
    kind = {'type': 'log', 'tickformat': '~g'} if one.logarithmic else {}
    figure.update_layout(
        hovermode='closest', xaxis=axis(unit(one.x)), yaxis=axis(unit(one.y), **kind)
    )
    return Figure(one.title, figure, one.caption, height=320)
