"""OpenSim's tables (.mot, .sto): a header up to `endheader`, then named columns over time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from veh_identification.errors import InputError
from veh_identification.files import read_lines
from veh_identification.types import Array


@dataclass(frozen=True, eq=False)
class Table:
    """Columns by name over time."""

    path: str
    time: Array
    columns: Mapping[str, Array]
    degrees: bool  # whether the header says that angles are in degrees

    def column(self, name: str) -> Array:
        """One column; the error says which ones there are."""
        try:
            return self.columns[name]
        except KeyError:
            raise InputError(
                f'{self.path}: there is no column {name!r}, found {", ".join(self.columns)}'
            ) from None


def read_table(path: str | Path) -> Table:
    """Read one file."""
    lines = read_lines(path)
    ends = [k for k, line in enumerate(lines) if line.strip().lower() == 'endheader']
    if not ends:
        raise InputError(f'{path}: no line "endheader", expected an OpenSim table (.mot, .sto)')
    header = [line.replace(' ', '').lower() for line in lines[: ends[0]]]
    body = [line for line in lines[ends[0] + 1 :] if line.strip()]
    names = body[0].split() if body else []
    if not names or names[0] != 'time':
        raise InputError(f'{path}: expected the columns after "endheader" to begin with "time"')
    values = np.array([_row(path, names, k, line) for k, line in enumerate(body[1:], start=1)])
    if len(values) < 2:
        raise InputError(f'{path}: {len(values)} rows of numbers, expected at least 2')
    if np.any(np.diff(values[:, 0]) <= 0.0):
        raise InputError(f'{path}: the column "time" does not increase from row to row')
    return Table(
        str(path),
        values[:, 0],
        {name: values[:, k] for k, name in enumerate(names) if k},
        'indegrees=yes' in header,
    )


def _row(path: str | Path, names: list[str], number: int, line: str) -> list[float]:
    parts = line.split()
    if len(parts) != len(names):
        raise InputError(
            f'{path}: row {number} after the names: expected {len(names)} numbers, found '
            f'{len(parts)}: {line.strip()[:60]!r}'
        )
    values = []
    for name, part in zip(names, parts, strict=True):
        try:
            values.append(float(part))
        except ValueError:
            raise InputError(
                f'{path}: row {number} after the names: expected a number in the column '
                f'{name!r}, found {part[:60]!r}'
            ) from None
    return values
