"""Results as CSV and as plain tables for terminals."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping

from veh_identification.identification.result import IdentificationResult

_COLUMNS = (
    'name',
    'unit',
    'value',
    'std',
    'rel_std_percent',
    'rel_two_sigma_percent',
    'well_identified',
    'a_priori',
)


def to_csv(result: IdentificationResult, descriptions: Mapping[str, str] | None = None) -> str:
    """One line per parameter, empty cells for what is unknown; last what each one is."""
    text = io.StringIO()
    columns = [*_COLUMNS, *([] if descriptions is None else ['description'])]
    writer = csv.DictWriter(text, columns, extrasaction='ignore', lineterminator='\n')
    writer.writeheader()
    for row in result.as_dict()['parameters']:
        row = {**row, 'description': (descriptions or {}).get(row['name'], '')}
        writer.writerow({key: '' if value is None else value for key, value in row.items()})
    return text.getvalue()


def to_table(result: IdentificationResult) -> str:
    """Plain text for terminals: parameters, then residuals per equation."""
    rows = [['parameter', 'unit', 'a priori', 'value', 'sigma', 'sigma %', '2 sigma %', '']]
    for p in result.as_dict()['parameters']:
        flag = 'ok' if p['well_identified'] else '-' if p['possible'] else 'impossible'
        rows.append(
            [p['name'], p['unit'], _number(p['a_priori']), _number(p['value'])]
            + [_number(p['std'], 3), _number(p['rel_std_percent'], 3)]
            + [_number(p['rel_two_sigma_percent'], 3), flag]
        )
    residuals = [['equation', 'rms', 'rms / rms(measured)']]
    for name, rms, relative in zip(
        result.equations, result.residual_rms, result.residual_rms_relative, strict=True
    ):
        residuals.append([name, _number(float(rms)), _number(float(relative), 3)])
    heading = (
        f'{result.estimator}: {result.samples} samples x {len(result.equations)} equations'
        f' ({result.excluded_samples} samples excluded), '
        f'condition number {result.condition_number:.4g}'
    )
    notes = 'ok: sigma % < 10 (says little for values near zero)'
    parts = [heading, _aligned(rows, text_columns=2), notes, _aligned(residuals, text_columns=1)]
    parts += [f'removed {removal.name}: {removal.reason}' for removal in result.removed]
    if result.unexcited:
        parts.append(f'not excited: {", ".join(result.unexcited)}')
    return '\n'.join(parts) + '\n'


def validation_table(result: IdentificationResult) -> list[str]:
    """Residuals on the recording that was not used; no lines where there was none."""
    if result.validation is None:
        return []
    rows = [['equation', 'rms', 'rms / rms(measured)', 'a priori rms']]
    for name, row in result.validation.as_dict().items():
        rows.append(
            [name] + [_number(row.get(key), 4) for key in ('rms', 'rms_relative', 'a_priori_rms')]
        )
    return ['validation on another recording:', _aligned(rows, text_columns=1)]


def _number(value: float | None, digits: int = 6) -> str:
    return '' if value is None else f'{value:.{digits}g}'


def _aligned(rows: list[list[str]], text_columns: int) -> str:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [
            cell.ljust(width) if i < text_columns else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append('  '.join(cells).rstrip())
    return '\n'.join(lines)
