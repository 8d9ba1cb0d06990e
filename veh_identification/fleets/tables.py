"""All parameters of all recordings as data: CSV, Parquet and pandas."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from veh_identification._version import __version__
from veh_identification.atomic import atomic_file
from veh_identification.errors import UsageError
from veh_identification.fleets.entries import Entry
from veh_identification.fleets.prior import WithFleet

if TYPE_CHECKING:
    import pandas

#: Columns with the kind of their values in a Parquet file.
COLUMNS: dict[str, str] = {
    'machine': 'string',
    'recording': 'string',
    'date': 'string',
    'start_ns': 'int64',
    'seconds': 'double',
    'samples': 'int64',
    'system': 'string',
    'verdict': 'string',
    'used': 'bool',
    'parameter': 'string',
    'unit': 'string',
    'meaning': 'string',
    'value': 'double',
    'std': 'double',
    'findings': 'string',
    'error': 'string',
}
#: Rows that are in memory at a time.
_CHUNK = 100_000


def rows(entries: Sequence[Entry]) -> Iterator[dict[str, Any]]:
    """One row a parameter of a recording; of an unusable recording one with its sentence."""
    for entry in entries:
        one = entry.reduction
        findings = '; '.join(f'{f.level} {f.code}' for f in one.findings if f.level != 'good')
        about = {
            'machine': entry.machine,
            'recording': entry.address,
            'date': entry.date,
            'start_ns': one.start_ns,
            'seconds': one.seconds,
            'samples': one.samples,
            'system': one.system,
            'verdict': one.verdict,
            'used': one.usable,
            'findings': findings,
            'error': one.error,
        }
        empty = {'parameter': '', 'unit': '', 'meaning': '', 'value': np.nan, 'std': np.nan}
        if not one.names:
            yield {**about, **empty}
        std = one.std
        for i, name in enumerate(one.names):
            yield {
                **about,
                'parameter': name,
                'unit': one.units[i],
                'meaning': one.meanings[i],
                'value': float(one.value[i]),
                'std': float(std[i]),
            }


def write_csv(entries: Sequence[Entry], path: Path) -> None:
    """The table as text; what is unknown is empty."""
    with atomic_file(path) as partial, partial.open('w', encoding='utf-8', newline='') as file:
        table = csv.DictWriter(file, list(COLUMNS))
        table.writeheader()
        for row in rows(entries):
            table.writerow({name: _text(row[name]) for name in COLUMNS})


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return 'yes' if value else 'no'
    if isinstance(value, float):
        return repr(value) if np.isfinite(value) else ''
    return str(value)


def write_parquet(entries: Sequence[Entry], path: Path) -> str:
    """The table for pandas, Polars, DuckDB ...; why there is none, empty where it was written."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ModuleNotFoundError:
        return "pyarrow is not installed (pip install 'veh_identification[batch]')"
    except ImportError as error:  # it is there and refuses, as new ones do beside NumPy 1
        return f"{error} (pip install 'pyarrow<20' for NumPy 1)"
    schema = pyarrow.schema([(name, pyarrow.type_for_alias(k)) for name, k in COLUMNS.items()])
    schema = schema.with_metadata({'veh_identification': __version__})
    with atomic_file(path) as partial, parquet.ParquetWriter(partial, schema) as writer:
        chunk: list[dict[str, Any]] = []
        for row in rows(entries):
            chunk.append(row)
            if len(chunk) == _CHUNK:
                writer.write_table(pyarrow.Table.from_pylist(chunk, schema))
                chunk = []
        writer.write_table(pyarrow.Table.from_pylist(chunk, schema))
    return ''


def to_dataframe(entries: Sequence[Entry]) -> pandas.DataFrame:
    """The table; UsageError where pandas is not installed."""
    try:
        import pandas
    except ImportError:
        raise UsageError(
            'to_dataframe needs pandas, which is not installed: '
            "pip install 'veh_identification[dataframe]'"
        ) from None
    return pandas.DataFrame(list(rows(entries)), columns=list(COLUMNS))


def write_with_fleet(machines: Sequence[WithFleet], path: Path) -> None:
    """Every parameter of every machine, its own and with the others as prior."""
    heads = ('machine', 'parameter', 'unit', 'value', 'std', 'own_value', 'own_std', 'weight')
    with atomic_file(path) as partial, partial.open('w', newline='', encoding='utf-8') as file:
        writer = csv.writer(file)
        writer.writerow(heads)
        for one in machines:
            columns = (one.value, one.std, one.own_value, one.own_std, one.weight)
            numbers = zip(*(column.tolist() for column in columns), strict=True)
            for name, of, row in zip(one.names, one.units, numbers, strict=True):
                writer.writerow([one.machine, name, of, *(repr(value) for value in row)])
