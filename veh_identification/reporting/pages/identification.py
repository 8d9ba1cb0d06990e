"""The report of an identification as a page."""

from __future__ import annotations

import numpy as np

from veh_identification.findings import Level, Verdict
from veh_identification.findings.numbers import beside, number, percent, plain, unit
from veh_identification.reporting.content import IdentificationContent, ParameterRow
from veh_identification.reporting.figures import identification as draw
from veh_identification.reporting.figures.style import DECIMATED, ZOOM
from veh_identification.reporting.first_screen import FirstScreen
from veh_identification.reporting.html import Cell, Column, Figures, Page, Section, Table, Text
from veh_identification.reporting.judging.identification import cards
from veh_identification.reporting.pages.parts import (
    cell,
    extra_section,
    health_section,
    provenance_section,
    settings_section,
)

FLAGS: dict[str, tuple[str, Level]] = {
    'well': ('well', 'good'),
    'small': ('small value', 'note'),
    'weak': ('weak', 'warn'),
    'none': ('not identified', 'bad'),
    'impossible': ('impossible', 'bad'),
    'given': ('given', 'note'),
}


def identification_page(content: IdentificationContent, verdict: Verdict) -> Page:
    """All sections, the verdict first."""
    sections = [
        _parameters(content),
        *_traces(content),
        *_residuals(content),
        _excitation(content),
    ]
    if len(content.names) > 1:
        sections.append(
            Section('correlation', 'Correlation', (Figures((draw.correlation(content),)),))
        )
    sections += [
        *extra_section(content.extras, content.curves),
        health_section(content.health),
        provenance_section(content.provenance),
        *settings_section(content.provenance),
    ]
    model = f' ({content.model})' if content.model else ''
    subtitle = (
        f'Identification of a {content.system}{model}, {content.estimator} estimator, '
        f'{len(content.fit)} equations'
    )
    return Page(
        content.title,
        subtitle,
        FirstScreen(verdict, cards(content)),
        tuple(sections),
        created=content.provenance.created,
    )


def _parameters(content: IdentificationContent) -> Section:
    truth = any(np.isfinite(row.truth) for row in content.parameters)
    known = any(np.isfinite(row.a_priori) for row in content.parameters)
    remarks = any(row.remark for row in content.parameters)
    columns = (
        Column('parameter'),
        Column('unit'),
        Column('estimate', True),
        Column('sigma', True, 'standard deviation'),
        Column('sigma %', True, 'standard deviation in percent of the value'),
        Column('2 sigma %', True, '95 % interval in percent of the value'),
        Column('flag'),
        *((Column('a priori', True),) if known else ()),
        *((Column('truth', True), Column('error / sigma', True)) if truth else ()),
        *((Column('remark'),) if remarks else ()),
    )
    rows = tuple(_parameter_cells(row, known, truth, remarks) for row in content.parameters)
    explained = Text(
        'well: sigma below 10 % of the value. small value: above 10 %, but sigma is below 1 % of '
        'the largest value with the same unit, so that the percentage says little (a product of '
        'inertia near zero can be known very well and still have 100 %). weak: the recording says '
        'little about it. given: chosen, not estimated. Of a robot, values are compared within '
        'their link. Click a heading to sort.'
    )
    return Section(
        'parameters',
        'Parameters',
        (explained, Table(columns, rows), Figures((draw.deviations(content),))),
    )


def _parameter_cells(
    row: ParameterRow, known: bool, truth: bool, remarks: bool
) -> tuple[Cell, ...]:
    text, level = FLAGS[row.flag]
    order = float(list(FLAGS).index(row.flag))
    cells = [
        Cell(row.name, below=row.meaning),
        Cell(unit(row.unit)),
        Cell(beside(row.value, row.std), row.value),
        cell(row.std, 2),
        cell(row.percent, 2),
        cell(2.0 * row.percent, 2),
        Cell(text, order, level),
        *((Cell(plain(row.a_priori), row.a_priori),) if known else ()),
    ]
    if truth:
        with np.errstate(divide='ignore', invalid='ignore'):
            off = (row.value - row.truth) / row.std if row.std > 0.0 else float('nan')
        cells += [Cell(beside(row.truth, row.std), row.truth), Cell(number(off, 2), abs(off))]
    if remarks:
        cells.append(Cell(row.remark))
    return tuple(cells)


def _traces(content: IdentificationContent) -> list[Section]:
    checked = content.validated
    rows = tuple(
        (
            Cell(row.equation),
            Cell(unit(row.unit)),
            cell(row.rms),
            Cell(percent(row.relative), row.relative),
            *(
                (
                    cell(row.validation_rms),
                    Cell(percent(row.validation_relative), row.validation_relative),
                    cell(row.a_priori_rms),
                )
                if checked
                else ()
            ),
        )
        for row in content.fit
    )
    table = Table(
        (
            Column('equation'),
            Column('unit'),
            Column('rms, own data', True),
            Column('share of signal', True),
            *(
                (
                    Column('rms, validation', True),
                    Column('share of signal', True),
                    Column('a-priori rms, validation', True),
                )
                if checked
                else ()
            ),
        ),
        rows,
        'Residuals per equation: rms of measured minus reconstructed, and its share of '
        'the measured rms.',
    )
    title = 'Cross validation' if content.validated else 'Reconstruction'
    sections = []
    ordered = sorted(content.trace_sets, key=lambda one: not one.held_out)
    for k, one in enumerate(ordered):
        shown = Figures(
            tuple(draw.cross_validation(trace) for trace in one.traces),
            f'{one.title}. {ZOOM} {DECIMATED}',
        )
        if k == 0:
            sections.append(Section('validation', title, (table, shown)))
        else:
            sections.append(
                Section(f'reconstruction-{k}', 'Identification data', (shown,), folded=True)
            )
    return sections or [Section('validation', title, (table,))]


def _residuals(content: IdentificationContent) -> list[Section]:
    if not content.colours:
        return []
    rows = tuple(
        (
            Cell(one.equation),
            Cell(percent(one.statistic), one.statistic),
            Cell(percent(one.limit), one.limit),
            cell(one.band_hz, 3),
            Cell(
                'white' if one.white else 'coloured',
                float(one.statistic / one.limit),
                'good' if one.white else 'note',
            ),
        )
        for one in content.colours
    )
    table = Table(
        (
            Column('equation'),
            Column('largest distance', True, 'of the cumulative power from the straight line'),
            Column('limit (5 % test of all together)', True),
            Column('tested up to [Hz]', True),
            Column('whiteness'),
        ),
        rows,
    )
    intro = Text(
        'Residuals of the recording shown above. They are tested below the cut-off of '
        'the equations only: above it the filter has removed everything.'
    )
    return [
        Section(
            'residuals',
            'Residual spectrum and whiteness',
            (
                intro,
                Figures((*draw.spectra(content.colours), draw.whiteness(content.colours))),
                table,
            ),
            short='Residuals',
        )
    ]


def _excitation(content: IdentificationContent) -> Section:
    lines = [
        Text(
            f'Condition number of the observation matrix with columns of unit length: '
            f'{number(content.condition_number, 4)}; of the correlation matrix: '
            f'{number(content.correlation_condition, 4)}. The smaller, the more evenly the '
            'motion excites the parameters.'
        )
    ]
    rows = tuple((Cell(name), Cell(reason)) for name, reason in content.removed)
    rows += tuple(
        (Cell(name), Cell('not excited'))
        for name in content.unexcited
        if name not in dict(content.removed)
    )
    blocks: list[Table | Text | Figures] = list(lines)
    if rows:
        blocks.append(Table((Column('parameter left out'), Column('reason')), rows))
    if len(content.names) > 1:
        blocks.append(Figures((draw.inflation(content),)))
    return Section('excitation', 'Excitation', tuple(blocks))
