"""One thing that a check or a figure says of a recording, a result or a run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

#: good: speaks for it; note: worth knowing; warn: use with care; bad: must be put right first.
Level = Literal['good', 'note', 'warn', 'bad']
#: The most serious first.
ORDER: Mapping[Level, int] = {'bad': 0, 'warn': 1, 'good': 2, 'note': 3}
#: How a line of a terminal begins.
MARKS: Mapping[Level, str] = {'bad': 'FOUND', 'warn': 'warning', 'good': 'good', 'note': 'note'}


@dataclass(frozen=True)
class Finding:
    """A sentence for the reader, and a short name for programs, which never match the text."""

    level: Level
    code: str
    text: str
    where: str = ''  # file, topic, field or entry of the configuration that it is about
    #: How many times better the recording is explained with it put right; nan: no such test.
    evidence: float = float('nan')

    @property
    def line(self) -> str:
        """For a terminal or a log."""
        return f'{MARKS[self.level]}: {self.text}'

    def as_dict(self) -> dict[str, Any]:
        """For parameters.json and metrics.json."""
        told = {'level': self.level, 'code': self.code, 'text': self.text, 'where': self.where}
        return told if self.evidence != self.evidence else {**told, 'evidence': self.evidence}


def worst_first(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """By level; within a level the order stays, and what is said twice is said once."""
    return tuple(sorted(dict.fromkeys(findings), key=lambda one: ORDER[one.level]))
