"""Results as JSON, CSV and a plain table; files are written whole or not at all."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

from veh_identification.atomic import write_text
from veh_identification.identification.result import IdentificationResult, json_safe

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


def to_json(result: IdentificationResult) -> str:
    """Text of parameters.json."""
    return json.dumps(json_safe(result.as_dict()), indent=2, allow_nan=False) + '\n'


def to_csv(result: IdentificationResult) -> str:
    """One line per parameter, empty cells for what is unknown."""
    text = io.StringIO()
    writer = csv.DictWriter(text, _COLUMNS, extrasaction='ignore', lineterminator='\n')
    writer.writeheader()
    for row in result.as_dict()['parameters']:
        writer.writerow({key: '' if value is None else value for key, value in row.items()})
    return text.getvalue()


def to_table(result: IdentificationResult) -> str:
    """Plain text for terminals: parameters, then residuals per equation."""
    rows = [['parameter', 'unit', 'a priori', 'value', 'sigma', 'sigma %', '2 sigma %', '']]
    for p in result.as_dict()['parameters']:
        flag = 'ok' if p['well_identified'] else '-'
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


def write_whole(path: Path | str, text: str) -> None:
    """Write a text file under a temporary name, then rename: readers see all of it or nothing."""
    write_text(path, text)


def save(result: IdentificationResult, folder: Path | str) -> list[Path]:
    """Write parameters.json and parameters.csv; both texts are made before either is written."""
    texts = {'parameters.json': to_json(result), 'parameters.csv': to_csv(result)}
    paths = []
    for name, text in texts.items():
        paths.append(Path(folder) / name)
        write_whole(paths[-1], text)
    return paths


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
