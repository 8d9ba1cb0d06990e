"""Sections that the reports of identifications and of observer runs share."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np

from veh_identification.findings.numbers import number, unit
from veh_identification.identification.result import json_safe
from veh_identification.reporting.beside import FILES
from veh_identification.reporting.content import CurveFigure, ExtraTable, HealthRow, Provenance
from veh_identification.reporting.figures import curves as draw
from veh_identification.reporting.html import Cell, Code, Column, Figures, Section, Table, Text

#: Characters of a line of the settings.
LINE = 150


def cell(value: float, digits: int = 4, **more: Any) -> Cell:
    """A number."""
    return Cell(number(value, digits), value, **more)


def files_section(folder: Path) -> list[Section]:
    """Links to what lies beside the report."""
    found = sorted(path.name for path in folder.iterdir() if path.name != 'report.html')
    if not found:
        return []
    table = Table(
        (Column('file'), Column('what')),
        tuple((Cell(name, link=name), Cell(FILES.get(name, ''))) for name in found),
    )
    return [Section('files', 'Files beside this page', (table,), short='Files')]


def health_section(rows: tuple[HealthRow, ...]) -> Section:
    """Rates, gaps and disorder of every topic."""
    several = len({row.recording for row in rows}) > 1
    columns = (
        Column('topic'),
        *((Column('recording'),) if several else ()),
        Column('type'),
        Column('messages', True),
        Column('rate [Hz]', True, 'mean outside gaps'),
        Column('longest gap [s]', True),
        Column('gaps', True, 'distances above five times the usual one'),
        Column('in gaps [s]', True),
        Column('out of order', True, 'stamps not later than the one before'),
        Column('remark'),
    )
    table = Table(
        columns,
        tuple(
            (
                Cell(row.topic),
                *((Cell(row.recording),) if several else ()),
                Cell(row.typename.rpartition('/')[2], note=row.typename),
                Cell(str(row.count), row.count),
                cell(row.rate),
                cell(row.longest_gap, 3),
                Cell(str(row.gaps), row.gaps, 'warn' if row.gaps else None),
                cell(row.missing, 3),
                Cell(str(row.disorder), row.disorder),
                _health_remark(row),
            )
            for row in rows
        ),
    )
    intro = Text(
        "From the header stamps of the recordings. Topics of the simulation's truth are left out."
    )
    return Section('sensors', 'Sensor health', (intro, table))


def _health_remark(row: HealthRow) -> Cell:
    found = [f'begins {number(row.starts_late, 2)} s late'] if row.starts_late else []
    found += [f'ends {number(row.ends_early, 2)} s early'] if row.ends_early else []
    found += [f'{row.undecodable} cannot be decoded'] if row.undecodable else []
    text = '; '.join([*found, *([row.note] if row.note else [])])
    return Cell(text, level='warn' if found else None)


def extra_section(
    extras: tuple[ExtraTable, ...], curves: tuple[CurveFigure, ...] = ()
) -> list[Section]:
    """Curves and tables that only some systems have."""
    tables = []
    for one in extras:
        numeric = [
            any(isinstance(row[k], float) for row in one.rows) for k in range(len(one.columns))
        ]
        tables.append(
            Table(
                tuple(
                    Column(title, right) for title, right in zip(one.columns, numeric, strict=True)
                ),
                tuple(tuple(_extra_cell(value) for value in row) for row in one.rows),
                f'{one.title}. {one.caption}',
            )
        )
    drawn = (Figures(tuple(draw.curves(one) for one in curves)),) if curves else ()
    parts = (*drawn, *tables)
    return [Section('further-results', 'Further results', parts)] if parts else []


def _extra_cell(value: str | float) -> Cell:
    if isinstance(value, str):
        return Cell(unit(value))
    whole = abs(value) < 1e9 and value == int(value)  # false for nan, which int() would refuse
    return Cell(str(int(value)), value) if whole else cell(value)


def provenance_section(origin: Provenance) -> Section:
    """Command, inputs, versions and settings."""
    inputs = Table(
        (Column('argument'), Column('value')),
        tuple((Cell(role), Cell(path)) for role, path in origin.files),
    )
    versions = Table(
        (Column('software'), Column('version')),
        tuple((Cell(name), Cell(version)) for name, version in origin.versions),
    )
    return Section(
        'origin',
        'Command, inputs and versions',
        (Code(origin.command), inputs, versions),
        short='Command and versions',
    )


def settings_section(origin: Provenance) -> list[Section]:
    """The settings in full, folded; none where there are none."""
    if not origin.settings:
        return []
    text = listing(json_safe(_short(origin.settings)))
    title = 'Settings and intermediate results'
    return [Section('settings', title, (Code(text),), folded=True, short='Settings')]


def listing(value: Any) -> str:
    """JSON with one line for every innermost list or table that is short enough."""
    text = json.dumps(value, indent=2, ensure_ascii=False)
    return re.sub(r'^(.*?[\[{])\n([^\[\]{}]*?)\n *([\]}])', _one_line, text, flags=re.M)


def _one_line(found: re.Match[str]) -> str:
    begin, inside, end = found.groups()
    joined = f'{begin}{" ".join(line.strip() for line in inside.splitlines())}{end}'
    return joined if len(joined) <= LINE else found[0]


def _short(value: Any) -> Any:
    """Numbers rounded for reading; long lists keep their beginning."""
    if hasattr(value, 'items'):
        return {key: _short(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, np.ndarray)):
        items = [_short(item) for item in value[:12]]
        return [*items, f'... {len(value) - 12} more'] if len(value) > 12 else items
    return float(f'{value:.6g}') if isinstance(value, (float, np.floating)) else value
