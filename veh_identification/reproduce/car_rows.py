"""Identified parameters of a car beside printed ones: rows that both papers of Venture share."""

from __future__ import annotations

from typing import Any

from veh_identification.findings import Finding
from veh_identification.reproduce.paper import Column, Row, compared


def values(table: str, columns: int) -> dict[str, tuple[float, ...]]:
    """A printed table by the names of its rows."""
    words = table.split()
    rows = [words[k : k + columns + 1] for k in range(0, len(words), columns + 1)]
    return {name: tuple(float(one) for one in rest) for name, *rest in rows}


def accuracy_row(
    name: str, unit: str, paper: tuple[float, ...], value: float, std: float, true: float
) -> Row:
    """A parameter; ours counts by its sigma or its true error, whichever is larger.

    A small deviation around a wrong value is no merit. The cars are of one size, so that sizes are
    compared as they are: percentages of values near zero say nothing.
    """
    sigma, off = paper[-2], abs(value - true)
    ours = (true, value, std, 100.0 * std / (abs(value) or float('nan')), off / std)
    return Row((name, unit, *paper, *ours, max(std, off)), compared(sigma, max(std, off)))


OURS = tuple(
    Column(title, 'ours')
    for title in ('truth', 'estimated', 'sigma', 'sigma %', 'error/sigma', 'sigma or error')
)


def within(rows: tuple[Row, ...]) -> Finding:
    """How many truths the deviations cover."""
    errors = [float(row.cells[-2]) for row in rows]
    inside = sum(one <= 2.0 for one in errors)
    level: Any = 'good' if inside >= 0.85 * len(errors) else 'warn'
    text = f'Here {inside} of {len(errors)} true values lie within two sigma (95 % expected)'
    return Finding(level, 'truth_coverage', f'{text}; the paper knows no truth.')
