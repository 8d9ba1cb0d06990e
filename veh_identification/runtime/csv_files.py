"""CSV files as columns of numbers: a line of names, then numbers; an empty cell is missing."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import numpy as np

from veh_identification.errors import InputError, one_line
from veh_identification.files import read_lines
from veh_identification.types import Array

DELIMITERS = ',;\t'
_DECIMAL_COMMA = re.compile(r'^\s*[-+]?\d*,\d+([eE][-+]?\d+)?\s*$')


def read_csv_columns(path: str | Path) -> dict[str, Array]:
    """Columns by name. A comma is the decimal point where cells end at other signs."""
    lines = read_lines(path)
    if len(lines) < 3:
        raise InputError(f'{path}: {len(lines)} lines, expected names and at least two rows')
    delimiter = max(DELIMITERS, key=lines[0].count)
    try:
        rows = list(csv.reader(lines, delimiter=delimiter))
    except csv.Error as error:
        raise InputError(f'{path}: {one_line(error)}') from None
    names = [name.strip() for name in rows[0]]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(f'{path}: two columns are called {twice!r}')
    # 1.234,5 or 1,234.5: one of both signs parts thousands, and nobody says which.
    commas = delimiter != ',' and '.' not in ''.join(lines[1:])
    values = np.array(
        [_numbers(path, names, k, row, commas) for k, row in enumerate(rows[1:], 2) if row]
    )
    if len(values) < 2:
        raise InputError(f'{path}: {len(values)} rows of numbers, expected at least two')
    return dict(zip(names, values.T, strict=True))


def _numbers(
    path: str | Path, names: list[str], number: int, row: list[str], commas: bool
) -> list[float]:
    if len(row) != len(names):
        raise InputError(f'{path}: line {number} has {len(row)} cells, expected {len(names)}')
    try:
        return [_number(cell, commas) for cell in row]
    except ValueError:
        wrong = next(k for k, cell in enumerate(row) if not _is_number(cell, commas))
        raise InputError(
            f'{path}: line {number}, column {names[wrong]!r}: expected a number, found '
            f'{row[wrong][:40]!r}'
        ) from None


def _number(cell: str, commas: bool) -> float:
    if not cell.strip():
        return np.nan
    return float(cell.replace(',', '.') if commas and _DECIMAL_COMMA.match(cell) else cell)


def _is_number(cell: str, commas: bool) -> bool:
    try:
        _number(cell, commas)
    except ValueError:
        return False
    return True
