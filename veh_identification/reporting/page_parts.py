"""Sections that the reports of identifications and of observer runs share."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from veh_identification.identification.result import json_safe
from veh_identification.reporting.content import ExtraTable, HealthRow, Provenance
from veh_identification.reporting.html import Cell, Code, Column, Section, Table, Text
from veh_identification.reporting.numbers import number, unit


def cell(value: float, digits: int = 4, **more: Any) -> Cell:
    """A number."""
    return Cell(number(value, digits), value, **more)


def health_section(rows: tuple[HealthRow, ...]) -> Section:
    """Rates, gaps and disorder of every topic."""
    several = len({row.recording for row in rows}) > 1
    columns = (Column('topic'), *((Column('recording'),) if several else ()), Column('type'),
               Column('messages', True),
               Column('rate [Hz]', True, 'mean outside gaps'),
               Column('longest gap [s]', True),
               Column('gaps', True, 'distances above five times the usual one'),
               Column('in gaps [s]', True),
               Column('out of order', True, 'stamps not later than the one before'),
               Column('undecodable', True), Column('remark'))
    table = Table(columns, tuple(
        (Cell(row.topic), *((Cell(row.recording),) if several else ()),
         Cell(row.typename.replace('/msg/', '/')), Cell(str(row.count), row.count), cell(row.rate),
         cell(row.longest_gap, 3),
         Cell(str(row.gaps), row.gaps, 'warn' if row.gaps else None), cell(row.missing, 3),
         Cell(str(row.disorder), row.disorder), Cell(str(row.undecodable), row.undecodable),
         Cell(row.note)) for row in rows))
    intro = Text('From the header stamps of the recordings. Topics of the simulation\'s truth are '
                 'left out.')
    return Section('sensors', 'Sensor health', (intro, table))


def extra_section(extras: tuple[ExtraTable, ...]) -> list[Section]:
    """Tables that only some systems have."""
    tables = []
    for one in extras:
        numeric = [any(isinstance(row[k], float) for row in one.rows)
                   for k in range(len(one.columns))]
        tables.append(Table(
            tuple(Column(title, right) for title, right in zip(one.columns, numeric, strict=True)),
            tuple(tuple(_extra_cell(value) for value in row) for row in one.rows),
            f'{one.title}. {one.caption}'))
    return [Section('further-results', 'Further results', tuple(tables))] if tables else []


def _extra_cell(value: str | float) -> Cell:
    if isinstance(value, str):
        return Cell(unit(value))
    return Cell(str(int(value)), value) if value == int(value) and abs(value) < 1e9 \
        else cell(value)


def provenance_section(origin: Provenance) -> Section:
    """Command, inputs, versions and settings."""
    inputs = Table((Column('argument'), Column('value')),
                   tuple((Cell(role), Cell(path)) for role, path in origin.files))
    versions = Table((Column('software'), Column('version')),
                     tuple((Cell(name), Cell(version)) for name, version in origin.versions))
    return Section('origin', 'Command, inputs and versions', (
        Code(origin.command), inputs, versions), short='Command and versions')


def settings_section(origin: Provenance) -> Section:
    """The settings in full, folded."""
    text = json.dumps(json_safe(_short(origin.settings)), indent=2, ensure_ascii=False)
    return Section('settings', 'Settings and intermediate results', (Code(text),), folded=True,
                   short='Settings')


def _short(value: Any) -> Any:
    """Numbers rounded for reading; long lists keep their beginning."""
    if hasattr(value, 'items'):
        return {key: _short(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, np.ndarray)):
        items = [_short(item) for item in value[:12]]
        return [*items, f'... {len(value) - 12} more'] if len(value) > 12 else items
    return float(f'{value:.6g}') if isinstance(value, (float, np.floating)) else value
