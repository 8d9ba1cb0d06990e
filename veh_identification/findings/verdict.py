"""Can this be used? Yes, with care, or no, and why: made from findings, the same everywhere."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from veh_identification.findings.finding import Finding, worst_first
from veh_identification.findings.numbers import counted

Answer = Literal['yes', 'care', 'no']
#: Exit status of a command with --strict.
STRICT_STATUS = 3
WORDS: Mapping[Answer, str] = {'yes': 'Yes', 'care': 'With care', 'no': 'No'}


@dataclass(frozen=True)
class Verdict:
    """The answer, one sentence, and all findings, the most serious first."""

    level: Answer
    headline: str
    findings: tuple[Finding, ...] = ()

    @property
    def reasons(self) -> tuple[Finding, ...]:
        """The findings that speak against a plain yes."""
        return tuple(one for one in self.findings if one.level in ('bad', 'warn'))

    @property
    def line(self) -> str:
        """The first and the last line on a terminal."""
        return f'verdict: {self.headline}'

    def as_dict(self) -> dict[str, Any]:
        """For parameters.json and metrics.json."""
        return {
            'level': self.level,
            'headline': self.headline,
            'findings': [one.as_dict() for one in self.findings],
        }


def verdict_of(
    findings: Iterable[Finding],
    yes: str = 'nothing in the figures speaks against using these values',
    no: str = 'put the findings right before using these values',
) -> Verdict:
    """One finding that is bad makes a no, one warning makes it with care."""
    ordered = worst_first(findings)
    levels = [one.level for one in ordered]
    if 'bad' in levels:
        return Verdict('no', f'No: {no}.', ordered)
    if 'warn' in levels:
        many = counted(levels.count('warn'), 'reservation')
        return Verdict('care', f'With care: {many}.', ordered)
    return Verdict('yes', f'Yes: {yes}.', ordered)
