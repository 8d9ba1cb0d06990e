"""The report of an observer run as a page."""

from __future__ import annotations

import numpy as np

from veh_identification.findings import Level, Verdict
from veh_identification.findings.numbers import number, percent, unit
from veh_identification.reporting.content import ObservationContent, SensorRow
from veh_identification.reporting.figures import observation as draw
from veh_identification.reporting.figures.identification import whiteness
from veh_identification.reporting.figures.style import DECIMATED, ZOOM
from veh_identification.reporting.first_screen import FirstScreen
from veh_identification.reporting.html import Cell, Column, Figures, Page, Section, Table, Text
from veh_identification.reporting.judging.observation import cards
from veh_identification.reporting.pages.parts import (
    cell,
    extra_section,
    health_section,
    provenance_section,
    settings_section,
)


def observation_page(content: ObservationContent, verdict: Verdict) -> Page:
    """All sections, the verdict first."""
    sections = [
        _states(content),
        *_others(content),
        *_errors(content),
        _sensors(content),
        *([_innovations(content)] if content.innovations else []),
        *_whiteness(content),
        *extra_section(content.extras),
        health_section(content.health),
        provenance_section(content.provenance),
        *settings_section(content.provenance),
    ]
    subtitle = f'Observer run of a {content.system}, {number(content.duration, 3)} s'
    return Page(
        content.title[:1].upper() + content.title[1:],
        subtitle,
        FirstScreen(verdict, cards(content)),
        tuple(sections),
        created=content.provenance.created,
    )


def _states(content: ObservationContent) -> Section:
    figures = [draw.path(content), *draw.states(content, folded=False)]
    band = (
        'Blue band: two standard deviations, around the estimate above and around zero below. '
        if any(one.std is not None for one in content.states)
        else ''
    )
    away = 'Shaded times: no accepted measurement of the sensor named. ' if content.outages else ''
    shown = Figures(
        tuple(one for one in figures if one is not None), f'{band}{away}{ZOOM} {DECIMATED}'
    )
    return Section('states', 'States', (shown,))


def _others(content: ObservationContent) -> list[Section]:
    figures = tuple(draw.states(content, folded=True))
    return (
        [Section('further', 'Further states', (Figures(figures),), folded=True)] if figures else []
    )


def _errors(content: ObservationContent) -> list[Section]:
    if not content.errors:
        return []
    rows = []
    compared = any(np.isfinite(row.rms_model) for row in content.errors)
    stated = any(np.isfinite(row.inside) for row in content.errors)
    for row in content.errors:
        gain = row.rms_model / row.rms_observer if row.rms_observer else float('nan')
        level: Level | None = None
        if np.isfinite(row.inside):
            level = 'good' if row.inside > 0.85 else 'warn'
        rows.append(
            (
                Cell(row.name),
                Cell(unit(row.unit)),
                cell(row.rms_observer, 3),
                cell(row.max_observer, 3),
                *(
                    (cell(row.rms_model, 3), cell(row.max_model, 3), cell(gain, 2))
                    if compared
                    else ()
                ),
                *((Cell(percent(row.inside), row.inside, level),) if stated else ()),
            )
        )
    table = Table(
        (
            Column('quantity'),
            Column('unit'),
            Column('rms, observer', True),
            Column('largest, observer', True),
            *(
                (
                    Column('rms, model alone', True),
                    Column('largest, model alone', True),
                    Column('gain', True, 'ratio of the rms errors'),
                )
                if compared
                else ()
            ),
            *(
                (Column('within 2 sigma', True, 'share of samples; 95 % expected'),)
                if stated
                else ()
            ),
        ),
        tuple(rows),
    )
    later = f', after the first {content.settling:g} s' if content.settling else ''
    intro = f'Errors against the truth that the recording holds{later}.'
    if np.isfinite(content.nees):
        intro += (
            f' NEES {number(content.nees, 3)} (mean over the run), '
            f'{number(content.nees_expected, 2)} expected.'
        )
    return [Section('errors', 'Errors', (Text(intro), table))]


def _sensors(content: ObservationContent) -> Section:
    table = Table(
        (
            Column('sensor'),
            Column('rate [Hz]', True),
            Column('used', True),
            Column('rejected', True, 'by the chi-square gate'),
            Column('otherwise unused', True, 'unavailable, invalid or late'),
            Column('longest pause [s]', True, 'between accepted measurements'),
            Column('NIS / dof', True, 'mean normalised innovation squared; 1 expected'),
            Column('95 % band'),
            Column('judgement'),
            Column('whiteness'),
        ),
        tuple(_sensor_cells(row) for row in content.sensors),
    )
    return Section(
        'gates',
        'Sensors and gates',
        (
            Text(f'{_gates(content)} Bands are those of independent innovations.'),
            table,
        ),
    )


def _gates(content: ObservationContent) -> str:
    if content.gates:
        return content.gates
    if content.gate_probability is None:
        return 'There is no gate: every valid measurement is used.'
    return (
        'Every measurement meets a chi-square gate that lets '
        f'{100.0 * content.gate_probability:.6g} % of good measurements pass.'
    )


def _sensor_cells(row: SensorRow) -> tuple[Cell, ...]:
    inside = row.nis_lower <= row.nis <= row.nis_upper
    if not np.isfinite(row.nis) and row.used:
        judged = Cell('used without innovations', 0.6, note='it drives the filter')
    elif not np.isfinite(row.nis):
        judged = Cell('not used', 9.0, 'warn')
    elif row.pseudo:
        judged = Cell('constraint of the model', 0.5, 'note')
    elif inside or 0.8 <= row.nis <= 1.25:
        judged = Cell('as expected', 0.0, 'good')
    elif row.nis < 1.0:
        judged = Cell('noise set too high', 1.0, 'note')
    else:
        judged = Cell('noise set too low', 2.0, 'warn')
    count = sum(row.white)
    white = (
        '-'
        if not row.white
        else 'white'
        if count == len(row.white)
        else f'{count} of {len(row.white)} white'
    )
    return (
        Cell(row.sensor),
        cell(row.rate, 4),
        Cell(str(row.used), row.used),
        Cell(str(row.rejected), row.rejected, 'warn' if row.rejected else None),
        Cell(str(row.other), row.other),
        cell(row.longest_gap, 3),
        cell(row.nis, 3),
        Cell(
            f'{number(row.nis_lower, 3)} to {number(row.nis_upper, 3)}'
            if np.isfinite(row.nis_lower)
            else '-'
        ),
        judged,
        Cell(white, float(count)),
    )


def _innovations(content: ObservationContent) -> Section:
    figures = tuple(
        draw.innovation(one, content.gate_probability, content.outages)
        for one in content.innovations
    )
    return Section(
        'innovations',
        'Innovations',
        (
            Figures(
                figures,
                'Innovations ν over their expected standard deviation σ (dashed: two of them), '
                'and their squares per degree of freedom with the gate (dashed) and what it '
                'rejected.',
            ),
        ),
    )


def _whiteness(content: ObservationContent) -> list[Section]:
    if not content.whiteness:
        return []
    return [
        Section(
            'whiteness', 'Whiteness', (Figures((whiteness(content.whiteness, 'innovation'),)),)
        )
    ]
