"""The first screen of a report: can this be trusted, and why (not)."""

from __future__ import annotations

from dataclasses import dataclass

from veh_identification.findings import Finding, Level, Verdict
from veh_identification.reporting.content import Card

#: Findings that fit on a laptop's first screen (1366 x 768) with room for long ones.
FIRST_SCREEN = 9
#: The colour of an answer.
COLOURS: dict[str, Level] = {'yes': 'good', 'care': 'warn', 'no': 'bad'}


@dataclass(frozen=True)
class FirstScreen:
    """A verdict beside a few figures."""

    verdict: Verdict
    cards: tuple[Card, ...]

    @property
    def level(self) -> Level:
        """How serious it looks."""
        return COLOURS[self.verdict.level]

    @property
    def headline(self) -> str:
        """The answer in one sentence."""
        return self.verdict.headline

    @property
    def first(self) -> tuple[Finding, ...]:
        """What stands on the first screen: all reservations, then as many others as fit."""
        return self.verdict.findings[: max(FIRST_SCREEN, len(self.verdict.reasons))]

    @property
    def further(self) -> tuple[Finding, ...]:
        """The others, behind a line to open."""
        return self.verdict.findings[len(self.first) :]
