"""One thing that a check or a figure says of a recording, a result or a run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from veh_identification.findings.numbers import listed

#: good: speaks for it; note: worth knowing; warn: use with care; bad: must be put right first.
Level = Literal['good', 'note', 'warn', 'bad']
#: The most serious first.
ORDER: Mapping[Level, int] = {'bad': 0, 'warn': 1, 'good': 2, 'note': 3}
#: A cause that makes the fit less than this many times better is no more than a maybe.
CONVINCING = 2.0
#: How a line of a terminal begins.
MARKS: Mapping[Level, str] = {'bad': 'FOUND', 'warn': 'warning', 'good': 'good', 'note': 'note'}


def doubt(factor: float) -> str:
    """What is added to a cause that makes the fit so many times better."""
    return '' if factor >= CONVINCING else ', less than twice, so that it may be something else'


@dataclass(frozen=True)
class Finding:
    """A sentence for the reader, and a short name for programs, which never match the text."""

    level: Level
    code: str
    text: str
    where: str = ''  # file, topic, field or entry of the configuration that it is about
    #: How many times better the recording is explained with it put right; nan: no such test.
    evidence: float = float('nan')
    #: How large what was found is, in the unit that the text names or in deviations; nan: no size.
    size: float = float('nan')

    @property
    def unproven(self) -> bool:
        """Something is surely wrong, but it may be something else."""
        return self.level == 'bad' and self.evidence < CONVINCING

    @property
    def mark(self) -> str:
        """How its line begins."""
        return 'MAYBE' if self.unproven else MARKS[self.level]

    @property
    def told(self) -> str:
        """The sentence where the level is shown by other means."""
        return f'maybe: {self.text}' if self.unproven else self.text

    @property
    def line(self) -> str:
        """For a terminal or a log."""
        return f'{self.mark}: {self.text}'

    def as_dict(self) -> dict[str, Any]:
        """For parameters.json and metrics.json."""
        told = {'level': self.level, 'code': self.code, 'text': self.text, 'where': self.where}
        numbers = {'evidence': self.evidence, 'size': self.size}
        return told | {name: value for name, value in numbers.items() if value == value}


def worst_first(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """By level; within a level the order stays, and what is said twice is said once.

    What several recordings have in common is one sentence that names them all.
    """
    groups: dict[tuple[Level, str, str], list[Finding]] = {}
    for one in dict.fromkeys(findings):
        groups.setdefault((one.level, one.code, _unplaced(one)), []).append(one)
    return tuple(
        sorted((_said_once(same) for same in groups.values()), key=lambda one: ORDER[one.level])
    )


def _unplaced(finding: Finding) -> str:
    """The sentence without the place that it begins with, or the end of that place."""
    head, colon, rest = finding.text.partition(': ')
    if colon and finding.where != head and finding.where.endswith(f' {head}'):
        return rest
    return finding.text.removeprefix(f'{finding.where}: ')


def _said_once(same: Sequence[Finding]) -> Finding:
    first = same[0]
    if len(same) == 1:
        return first
    places = list(dict.fromkeys(one.where for one in same if one.where))
    placed = _unplaced(first) != first.text
    text = f'{listed(places, most=3)}: {_unplaced(first)}' if placed else first.text
    evidence, size = (
        _largest(side) for side in zip(*((x.evidence, x.size) for x in same), strict=True)
    )
    return replace(first, text=text, where=', '.join(places), evidence=evidence, size=size)


def _largest(values: Iterable[float]) -> float:
    """Nan only where all are."""
    return max(values, key=lambda value: (value == value, value))
