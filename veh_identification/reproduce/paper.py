"""A paper as a list of what it prints, each beside a function that gets ours."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from veh_identification.findings import Finding
from veh_identification.reporting.content import Trace

if TYPE_CHECKING:
    from veh_identification.reproduce.workspace import Workspace

Side = Literal['', 'paper', 'ours']
Mark = Literal['', 'better', 'alike', 'worse', 'other']
MARKS: tuple[Mark, ...] = ('better', 'alike', 'worse', 'other')
#: Share by which two figures may differ and still count as alike.
ALIKE = 0.01
#: What stands behind our side of a table.
SIMULATED = 'simulated recordings, because those of the authors are not public'
COMPUTED = 'computed from the model, no recording'
_ROMAN = {'i': 1, 'ii': 2, 'iii': 3, 'iv': 4, 'v': 5, 'vi': 6, 'vii': 7, 'viii': 8}


@dataclass(frozen=True)
class Column:
    """A heading, and whose figures stand below it."""

    title: str
    side: Side = ''


@dataclass(frozen=True)
class Row:
    """One line; `mark` says how ours compares with what is printed, '' where it cannot."""

    cells: tuple[str | float, ...]
    mark: Mark = ''


@dataclass(frozen=True)
class Curve:
    """A line, points or bars of a drawing."""

    name: str
    x: tuple[float, ...] | tuple[str, ...]
    y: tuple[float, ...]
    kind: Literal['line', 'dash', 'points', 'bars'] = 'line'


@dataclass(frozen=True)
class Drawing:
    """Curves over one axis; the titles of the axes hold the units."""

    title: str
    x: str
    y: str
    curves: tuple[Curve, ...]
    logarithmic: bool = False
    caption: str = ''


@dataclass(frozen=True)
class Made:
    """What a run gives for one table or figure."""

    columns: tuple[Column, ...] = ()
    rows: tuple[Row, ...] = ()
    statements: tuple[Finding, ...] = ()
    figures: tuple[Trace | Drawing, ...] = ()


@dataclass(frozen=True)
class Item:
    """A table, a figure or a claim of a paper."""

    key: str  # table-2, figures-6-12, section-6b
    title: str
    where: str  # in the paper
    remark: str  # why ours differ
    make: Callable[[Workspace], Made]
    data: str = SIMULATED  # what ours stand on

    def answers_to(self, name: str) -> bool:
        """Whether `--only name` means this: `Table II`, `figure-8` of `figures-6-12`."""
        kind, numbers = _parts(self.key)
        asked, wanted = _parts(name)
        if kind != asked:
            return False
        if not numbers or not wanted:
            return self.key == name.lower()
        return numbers[0] <= wanted[0] and wanted[-1] <= numbers[-1]


@dataclass(frozen=True)
class Paper:
    """What is known of a paper, and all that is reproduced of it."""

    name: str
    aliases: tuple[str, ...]
    reference: str
    says: str  # what the paper does, in a sentence or two
    data: str  # what the paper measured, and what stands here in its place
    items: tuple[Item, ...]


def _parts(name: str) -> tuple[str, tuple[int, ...]]:
    """`Table II` and `table-2` are one and the same, and so are `figures-6-12` and `fig 6-12`."""
    words = re.split(r'[\s_\-.]+', name.strip().lower())
    kind = words[0].rstrip('s')
    kind = 'figure' if kind == 'fig' else kind
    numbers = [_ROMAN.get(word, int(word) if word.isdigit() else None) for word in words[1:]]
    if not numbers or any(one is None for one in numbers):
        return ' '.join([kind, *words[1:]]), ()
    return kind, tuple(one for one in numbers if one is not None)


def compared(printed: float, ours: float) -> Mark:
    """How an error of ours compares with the printed one: the smaller is the better."""
    if not (math.isfinite(printed) and math.isfinite(ours)):
        return ''
    if abs(ours - printed) <= ALIKE * abs(printed):
        return 'alike'
    return 'better' if ours < printed else 'worse'


def same(printed: float, ours: float, tolerance: float = 1e-4) -> Mark:
    """Settings and definitions, which are as printed or other ones, but no better."""
    return 'alike' if abs(ours - printed) <= tolerance * abs(printed) else 'other'


def mark_place(columns: tuple[Column, ...]) -> int:
    """Where the comparison stands in a line: after the names, before the figures."""
    return next((k for k, one in enumerate(columns) if one.side), len(columns))
