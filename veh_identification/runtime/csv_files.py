"""CSV files as columns of numbers: a line of names, then numbers; an empty cell is missing."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from veh_identification.errors import InputError, one_line
from veh_identification.files import read_lines
from veh_identification.types import Array

DELIMITERS = ',;\t'
_DECIMAL_COMMA = re.compile(r'^\s*[-+]?\d*,\d+([eE][-+]?\d+)?\s*$')
_SEPARATOR = re.compile(r'^sep=(.)$', re.IGNORECASE)
#: `1,234` and `12.500`: the sign may part thousands, and no decimals.
_THOUSANDS = re.compile(r'^\s*[-+]?[1-9]\d{0,2}([.,]\d{3})+\s*$')


class CsvColumns(Mapping[str, Array]):
    """Columns of a file by name; each becomes numbers when it is asked for, text may stay text.

    What is no finite number is not a number (NaN), and `told` counts it.
    """

    def __init__(self, path: str, names: list[str], rows: list[tuple[int, list[str]]]) -> None:
        self.path, self.lines = path, [line for line, _ in rows]
        self._cells = dict(
            zip(names, zip(*(cells for _, cells in rows), strict=True), strict=True)
        )
        self._values: dict[str, Array] = {}
        self._infinite: dict[str, tuple[int, int]] = {}  # how many, line of the first
        self.commas = False  # whether a comma may be the decimal point

    def __len__(self) -> int:
        """How many columns."""
        return len(self._cells)

    def __iter__(self) -> Iterator[str]:
        """Their names."""
        return iter(self._cells)

    def __contains__(self, name: object) -> bool:
        """Whether there is such a column, of numbers or of text."""
        return name in self._cells

    def __getitem__(self, name: str) -> Array:
        """The numbers of a column; text is refused."""
        if name not in self._values:
            values = self._numbers(name)
            wrong = np.flatnonzero(np.isinf(values))
            if len(wrong):
                self._infinite[name] = len(wrong), self.lines[wrong[0]]
                values[wrong] = np.nan
            self._values[name] = values
        return self._values[name]

    @property
    def rows(self) -> int:
        """How many rows of cells."""
        return len(self.lines)

    def told(self) -> list[str]:
        """What of the columns that were asked for is no number: bad samples are counted."""
        sentences = [
            f'{self.path}: column {name!r}: {count} of {self.rows} cells are infinite, the first '
            f'in line {line}: left out'
            for name, (count, line) in self._infinite.items()
        ]
        missing = {name: int(np.isnan(one).sum()) for name, one in self._values.items()}
        missing = {
            name: count - self._infinite.get(name, (0, 0))[0] for name, count in missing.items()
        }
        sentences += [
            f'{self.path}: column {name!r}: all {self.rows} cells are empty, nothing is written '
            'of it'
            for name, count in missing.items()
            if count == self.rows
        ]
        some = [f'{one} {n}' for one, n in missing.items() if 0 < n < self.rows]
        if some:
            sentences.append(f'{self.path}: empty cells of {self.rows} rows: {", ".join(some)}')
        return sentences

    def _numbers(self, name: str) -> Array:
        cells = self._cells[name]
        commas = self.commas and self._decimal_commas(name)
        values = np.empty(len(cells))
        for k, cell in enumerate(cells):
            try:
                values[k] = _number(cell, commas)
            except ValueError:
                units = k == 0 and len(cells) > 1 and _is_number(cells[1], commas)
                hint = ' (a line of units? leave it out, the mapping says them)' * units
                raise InputError(
                    f'{self.path}: line {self.lines[k]}, column {name!r}: expected a number, '
                    f'found {cell[:40]!r}{hint}'
                ) from None
        return values

    def _decimal_commas(self, name: str) -> bool:
        """Whether commas are decimal points in a column, of which both may not be."""
        cells = self._cells[name]
        with_comma = next((k for k, one in enumerate(cells) if ',' in one), None)
        with_point = next((k for k, one in enumerate(cells) if '.' in one), None)
        if with_comma is not None and with_comma == with_point:
            raise InputError(
                f'{self.path}: line {self.lines[with_comma]}, column {name!r}: expected one sign '
                f'for decimals and none for thousands, found {cells[with_comma][:40]!r}'
            )
        if with_comma is not None and with_point is not None:
            raise InputError(
                f'{self.path}: column {name!r} has {cells[with_comma][:40]!r} in line '
                f'{self.lines[with_comma]} and {cells[with_point][:40]!r} in line '
                f'{self.lines[with_point]}: expected one sign for decimals and none for thousands'
            )
        if with_comma is None and with_point is None:
            return False
        sign, other = (',', '.') if with_comma is not None else ('.', ',')
        # 1,234 beside 0.5 of another column, or 1.234 beside 0,5: decimals or thousands?
        if all(sign not in one or _THOUSANDS.match(one) for one in cells):
            proof = self._proof(other)
            if proof is not None:
                example = next(k for k, one in enumerate(cells) if sign in one)
                raise InputError(
                    f'{self.path}: line {self.lines[example]}, column {name!r}: '
                    f'{cells[example][:40]!r} may be thousands, as the decimals of column '
                    f'{proof!r} have a {"comma" if other == "," else "point"}: expected one sign '
                    'for decimals and none for thousands'
                )
        return with_comma is not None

    def _proof(self, sign: str) -> str | None:
        """A column of numbers in which this sign parts decimals for sure."""
        for name, cells in self._cells.items():
            marked = [one for one in cells if sign in one]
            surely = any(not _THOUSANDS.match(one) for one in marked)
            if surely and all(_is_number(one, sign == ',') for one in marked):
                return name
        return None


def read_csv_columns(path: str | Path) -> CsvColumns:
    """Columns by name. A comma is the decimal point where cells end at other signs."""
    lines = read_lines(path)
    first, delimiter = 0, ''
    if lines and (told := _SEPARATOR.match(lines[0])):  # what spreadsheets write before the names
        first, delimiter = 1, told[1]
    if len(lines) < first + 3:
        raise InputError(f'{path}: {len(lines)} lines, expected names and at least two rows')
    delimiter = delimiter or max(DELIMITERS, key=lines[first].count)
    try:
        rows = list(csv.reader(lines[first:], delimiter=delimiter))
    except csv.Error as error:
        raise InputError(f'{path}: {one_line(error)}') from None
    names = [name.strip() or f'column {k}' for k, name in enumerate(rows[0], 1)]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(f'{path}: two columns are called {twice!r}')
    numbered = [(number, row) for number, row in enumerate(rows[1:], first + 2) if row]
    if len(numbered) < 2:
        raise InputError(f'{path}: {len(numbered)} rows of numbers, expected at least two')
    for number, row in numbered:
        if len(row) != len(names):
            raise InputError(f'{path}: line {number} has {len(row)} cells, expected {len(names)}')
    columns = CsvColumns(str(path), names, numbered)
    columns.commas = delimiter != ','
    return columns


def _number(cell: str, commas: bool) -> float:
    if not cell.strip():
        return np.nan
    if '_' in cell:  # Python takes 1_0 for ten
        raise ValueError(cell)
    return float(cell.replace(',', '.') if commas and _DECIMAL_COMMA.match(cell) else cell)


def _is_number(cell: str, commas: bool) -> bool:
    try:
        _number(cell, commas)
    except ValueError:
        return False
    return True
