"""The page that the demo ends with: every system beside its truth, links to its report."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path

import numpy as np
import plotly.graph_objects as go

from veh_identification.demo.parts import Part, coverage
from veh_identification.findings import Finding, Level, Verdict
from veh_identification.findings.numbers import beside, counted, number, unit
from veh_identification.reporting.content import Card
from veh_identification.reporting.figures.style import Figure, axis, style
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
from veh_identification.reporting.judging.identification import fewest_inside
from veh_identification.reporting.pages.parts import cell
from veh_identification.reporting.palette import ERROR, INK, PREDICTED, TRUTH

#: Rows of a table in the overview; the report of the system has all.
MOST_ROWS = 40
NEXT = (
    'veh-id identify car BAG --config config/car_template.yaml --out DIR',
    'veh-id identify humanoid BAG --urdf robot.urdf --out DIR',
    'veh-id observe vehicle BAG --config config/road_car.yaml --out DIR',
    'veh-id replay BAG --graph sensor_fusion --config FILE --out BAG2',
)


def write_overview(out: Path, parts: Sequence[Part], seconds: float) -> Path:
    """OUT/report.html."""
    sections = [
        _reports(out, parts),
        *(_section(out, part) for part in parts),
        Section(
            'next', 'What to try next', (Text('On your own recording:'), Code('\n'.join(NEXT)))
        ),
    ]
    page = Page(
        'veh_identification: demo',
        f'{counted(len(parts), "system")} simulated, run through the '
        f'nodes and estimators and compared with their truth in {seconds:.0f} s',
        _summary(parts),
        tuple(sections),
        question='Does it find the truth?',
        created=datetime.now(timezone.utc).strftime('%Y-%m-%d %H:%M UTC'),
    )
    return write_page(out / 'report.html', page)


def _summary(parts: Sequence[Part]) -> FirstScreen:
    rows = [row for part in parts for row in part.parameters if np.isfinite(row.in_sigma)]
    inside = sum(abs(row.in_sigma) <= 2.0 for row in rows)
    share = inside / max(len(rows), 1)
    statements = []
    for part in parts:
        if part.parameters:
            statements.append(
                Finding(
                    _level(part), 'truth_coverage', f'{part.title}: {coverage(part.parameters)}.'
                )
            )
        for row in part.errors[:1]:
            beside_model = (
                f'; {number(row.model, 2)} {row.unit} with the model alone'
                if np.isfinite(row.model)
                else ''
            )
            statements.append(
                Finding(
                    _level(part),
                    'observer_error',
                    f'{part.title}: {row.name} {number(row.rms, 2)} {row.unit} rms{beside_model}.',
                )
            )
    fine = all(one.level == 'good' for one in statements)
    verdict = Verdict(
        'yes' if fine else 'care',
        'Yes, within what it says about its own accuracy.'
        if fine
        else 'Mostly; see the marked lines.',
        tuple(statements),
    )
    cards: tuple[Card, ...] = (
        Card('systems', str(len(parts)), ', '.join(part.title for part in parts)),
    )
    if not rows:  # observers alone: their errors stand in the statements
        return FirstScreen(verdict, cards)
    cards += (
        Card('parameters compared', str(len(rows)), 'with the truth of the simulation'),
        Card(
            'truths within 2 sigma',
            f'{100 * share:.0f} %',
            '95 % expected',
            'good' if inside >= fewest_inside(len(rows)) else 'warn',
        ),
    )
    return FirstScreen(verdict, cards)


def _level(part: Part) -> Level:
    rows = [row for row in part.parameters if np.isfinite(row.in_sigma)]
    if rows and sum(abs(row.in_sigma) <= 2.0 for row in rows) < fewest_inside(len(rows)):
        return 'warn'
    if any(row.rms > row.model for row in part.errors):
        return 'warn'
    return 'good'


def _reports(out: Path, parts: Sequence[Part]) -> Section:
    rows = []
    for part in parts:
        place = '' if part.report is None else part.report.relative_to(out).as_posix()
        rows.append(
            (
                Cell(part.title),
                Cell(f'{number(part.seconds, 2)} s', part.seconds),
                Cell(place or 'in this page only', link=place),
                Cell(', '.join(folder.name for folder in part.folders)),
            )
        )
    return Section(
        'reports',
        'Reports',
        (
            Table(
                (
                    Column('system'),
                    Column('took', True),
                    Column('report'),
                    Column('folders beside it'),
                ),
                tuple(rows),
            ),
        ),
    )


def _section(out: Path, part: Part) -> Section:
    blocks: list[Text | Table | Figures | Code] = [Text(part.what)]
    if part.report is not None:
        blocks.append(
            Table(
                (Column('full report'),),
                ((Cell(part.report.name, link=part.report.relative_to(out).as_posix()),),),
            )
        )
    if part.parameters:
        blocks += [Figures((_figure(part),)), _parameters(part)]
    if part.errors:
        blocks.append(_errors(part))
    blocks += [
        Text(f'{sentence[:1].upper()}{sentence[1:].rstrip(".")}.') for sentence in part.sentences
    ]
    blocks.append(Code('\n'.join(part.commands)))
    return Section(part.name, part.title, tuple(blocks))


def _parameters(part: Part) -> Table:
    live = any(np.isfinite(row.live) for row in part.parameters)
    shown = part.parameters
    if part.report is not None and len(shown) > MOST_ROWS:
        shown = tuple(sorted(shown, key=lambda row: row.std / max(abs(row.value), 1e-300)))[
            :MOST_ROWS
        ]
    caption = (
        ''
        if len(shown) == len(part.parameters)
        else f'The {MOST_ROWS} best known of {len(part.parameters)}; all are in the full report.'
    )
    return Table(
        (
            Column('parameter'),
            Column('unit'),
            Column('truth', True),
            Column('estimate', True),
            Column('sigma', True),
            Column('error / sigma', True),
            *((Column('live node', True),) if live else ()),
        ),
        tuple(
            (
                Cell(row.name),
                Cell(unit(row.unit)),
                Cell(beside(row.truth, row.std), row.truth),
                Cell(beside(row.value, row.std), row.value),
                cell(row.std, 2),
                Cell(number(row.in_sigma, 2), abs(row.in_sigma)),
                *((Cell(beside(row.live, row.std), row.live),) if live else ()),
            )
            for row in shown
        ),
        caption,
    )


def _errors(part: Part) -> Table:
    model = any(np.isfinite(row.model) for row in part.errors)
    return Table(
        (
            Column('quantity'),
            Column('unit'),
            Column('rms error', True),
            Column('largest', True),
            *((Column('rms, model alone', True),) if model else ()),
        ),
        tuple(
            (
                Cell(row.name),
                Cell(unit(row.unit)),
                cell(row.rms, 3),
                cell(row.largest, 3),
                *((cell(row.model, 3),) if model else ()),
            )
            for row in part.errors
        ),
    )


def _figure(part: Part) -> Figure:
    """Errors in standard deviations."""
    figure = go.Figure()
    off = np.array([row.in_sigma for row in part.parameters])
    colours = [
        TRUTH if abs(one) <= 2.0 else PREDICTED if abs(one) <= 3.0 else ERROR for one in off
    ]
    figure.add_bar(
        x=[row.name for row in part.parameters],
        y=[float(one) for one in off],
        marker={'color': colours},
        showlegend=False,
    )
    for level in (-2.0, 2.0):
        figure.add_hline(y=level, line={'color': INK, 'dash': 'dash', 'width': 1})
    style(figure, 280, bargap=0.35)
    many = len(off) > 60
    figure.update_layout(
        hovermode='closest',
        xaxis=axis(
            'parameter',
            tickangle=-60,
            tickfont={'size': 8 if many else 11},
            **({} if many else {'tickmode': 'linear', 'dtick': 1}),
        ),
        yaxis=axis('error / sigma [-]'),
    )
    return Figure(
        'Errors in standard deviations',
        figure,
        'Dashed: two standard deviations, within which 95 % of the truths should lie.',
        True,
        280,
    )
