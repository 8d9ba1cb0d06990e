"""The first screen of a report: can this be trusted, and why (not)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Level = Literal['good', 'note', 'warn', 'bad']
#: Statements that fit on a laptop's first screen (1366 x 768) with room for long ones.
FIRST_SCREEN = 9


@dataclass(frozen=True)
class Statement:
    """One sentence for the reader and how serious it is."""

    level: Level
    text: str


@dataclass(frozen=True)
class Card:
    """One figure of the first screen."""

    label: str
    value: str
    note: str
    level: Level = 'note'


@dataclass(frozen=True)
class Summary:
    """The first screen: can this be trusted, and why (not)."""

    level: Level
    headline: str
    cards: tuple[Card, ...]
    statements: tuple[Statement, ...]  # the most serious first

    @property
    def first(self) -> tuple[Statement, ...]:
        """What stands on the first screen: all reservations, then as many others as fit."""
        return self.statements[
            : max(FIRST_SCREEN, sum(one.level in ('bad', 'warn') for one in self.statements))
        ]

    @property
    def further(self) -> tuple[Statement, ...]:
        """The others, behind a line to open."""
        return self.statements[len(self.first) :]
