"""What one part of the demo shows: a table beside the truth, sentences, where its files are."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np


@dataclass(frozen=True)
class Compared:
    """One parameter beside its truth; `live` is what the node said at the end of the replay."""

    name: str
    unit: str
    truth: float
    value: float
    std: float
    live: float = float('nan')

    @property
    def in_sigma(self) -> float:
        """Error in standard deviations."""
        return (self.value - self.truth) / self.std if self.std > 0.0 else float('nan')


@dataclass(frozen=True)
class ErrorRow:
    """Errors of one quantity against the truth; `model` is the model without corrections."""

    name: str
    unit: str
    rms: float
    largest: float
    model: float = float('nan')


@dataclass(frozen=True)
class Part:
    """One system of the demo."""

    name: str
    title: str
    what: str  # one sentence: what happens here
    commands: tuple[str, ...]
    parameters: tuple[Compared, ...] = ()
    errors: tuple[ErrorRow, ...] = ()
    sentences: tuple[str, ...] = ()
    report: Path | None = None
    seconds: float = 0.0
    folders: tuple[Path, ...] = field(default_factory=tuple)


def coverage(rows: tuple[Compared, ...]) -> str:
    """How many truths the deviations cover."""
    known = [row for row in rows if np.isfinite(row.in_sigma)]
    two, three = (sum(abs(row.in_sigma) <= k for row in known) for k in (2, 3))
    return (
        f'{two} of {len(known)} truths within 2 sigma, {three} within 3 sigma '
        '(95 % and 99.7 % expected)'
    )


def parameter_text(rows: tuple[Compared, ...], most: int = 40) -> str:
    """The parameters beside the truth; of long tables the best known ones."""
    live = any(np.isfinite(row.live) for row in rows)
    width = max([len(row.name) for row in rows] + [9])
    lines = [
        f'{"parameter":{width}} {"truth":>12} {"estimate":>12} {"sigma":>10} {"error":>10}'
        + (f' {"live node":>12}' if live else '')
    ]
    shown = rows
    if len(rows) > most:
        shown = tuple(sorted(rows, key=lambda row: row.std / max(abs(row.value), 1e-300))[:12])
    for row in shown:
        error = 100.0 * abs(row.value - row.truth) / max(abs(row.truth), 1e-12)
        lines.append(
            f'{row.name:{width}} {row.truth:12.5g} {row.value:12.5g} {row.std:10.3g} '
            f'{error:8.2f} %' + (f' {row.live:12.5g}' if live else '') + f' [{row.unit}]'
        )
    if len(shown) < len(rows):
        lines.append(f'... and {len(rows) - len(shown)} more in the report')
    lines.append(coverage(rows))
    return '\n'.join(lines)


def error_text(rows: tuple[ErrorRow, ...]) -> str:
    """The errors as a table."""
    model = any(np.isfinite(row.model) for row in rows)
    lines = [
        f'{"quantity":24} {"rms error":>12} {"largest":>12}'
        + (f' {"model alone":>12}' if model else '')
    ]
    lines += [
        f'{row.name:24} {row.rms:12.4g} {row.largest:12.4g}'
        + (f' {row.model:12.4g}' if model else '')
        + f' {row.unit}'
        for row in rows
    ]
    return '\n'.join(lines)


def part_text(part: Part) -> str:
    """All that a terminal shows of a part."""
    lines = [f'$ {command}' for command in part.commands]
    if part.parameters:
        lines.append(parameter_text(part.parameters))
    if part.errors:
        lines.append(error_text(part.errors))
    lines += part.sentences
    if part.report is not None:
        lines.append(f'report: {part.report}')
    return '\n'.join(lines)
