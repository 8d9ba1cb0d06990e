"""The search for the change of the data that explains a misfit best: one for every system.

A hypothesis is a change of the data (two sensors exchanged, a sign turned, another delay). Its
misfit is judged by the system; the one that leaves least is named, with how much it explains.
A family is a change by a number (a sensor's scale, its zero) whose best size is looked for.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from veh_identification.errors import VehIdError
from veh_identification.findings import CONVINCING, Finding
from veh_identification.runtime.background import give_way

D = TypeVar('D')
M = TypeVar('M')
#: A cause must also leave a good fit, unless it makes the misfit this many times smaller.
OVERWHELMING = 4.0
#: A maybe that is worth a word.
MAYBE = 1.3
#: Hypotheses come the simplest first: a later one must leave clearly less.
CLEARLY_LESS = 0.9
#: Share of the logarithm of what the best cause explains that makes another one its rival.
ALIKE = 0.5
#: Other causes that leave as little as the one that is named, which are told beside it.
MOST_RIVALS = 2


@dataclass(frozen=True)
class Hypothesis(Generic[D]):
    """What may be wrong, and the data as they would be if it were put right."""

    code: str
    text: str  # names topic, field or entry, and what cures it
    change: Callable[[D], D]
    where: str = ''


@dataclass(frozen=True)
class Family(Generic[D]):
    """What may be wrong by some amount: sizes to try, away from nothing in each direction."""

    code: str
    text: Callable[[float], str]  # of the size
    change: Callable[[float], Callable[[D], D]]
    directions: tuple[tuple[float, ...], ...]
    where: str = ''

    def of(self, size: float) -> Hypothesis[D]:
        """The hypothesis of one size."""
        return Hypothesis(self.code, self.text(size), self.change(size), self.where)


@dataclass(frozen=True)
class Explanation(Generic[D]):
    """The best of the hypotheses that were tried."""

    best: Hypothesis[D] | None  # None: none could be judged
    misfit: float  # with the best one put right
    as_it_is: float
    tried: tuple[str, ...]  # codes, each once
    rivals: tuple[str, ...] = ()  # texts of other causes that explain as much, the best first

    @property
    def factor(self) -> float:
        """How many times smaller the misfit becomes."""
        return self.as_it_is / self.misfit if self.misfit > 0.0 else float('inf')


Judged = Iterable[tuple[Hypothesis[D], float]]  # what is left of the misfit with each


def best_explanation(
    data: D,
    hypotheses: Iterable[Hypothesis[D]],
    misfit: Callable[[D], float],
    as_it_is: float | None = None,
) -> Explanation[D]:
    """Try every hypothesis, the simplest first; one that cannot be judged explains nothing.

    `misfit` is in the units of the signals (an rms, not a square), so that the factor says how
    many times better the data fit.
    """
    plain = misfit(data) if as_it_is is None else as_it_is
    return best_of([(one, judged(data, one, misfit, float('inf'))) for one in hypotheses], plain)


def judged(data: D, one: Hypothesis[D], misfit: Callable[[D], M], unknown: M) -> M:
    """The misfit with a hypothesis put right; `unknown` if it cannot be judged."""
    give_way()
    try:
        return misfit(one.change(data))
    except VehIdError:
        return unknown


def partly(
    hypotheses: Iterable[Hypothesis[D]], mixed: Callable[[D, D], D], when: str
) -> Iterator[Hypothesis[D]]:
    """The same mistakes in a part of the recording alone: a plug exchanged, a driver restarted.

    `mixed` takes the data as they are and as changed throughout, `when` says where the mistake is.
    """
    for one in hypotheses:

        def change(data: D, whole: Callable[[D], D] = one.change) -> D:
            return mixed(data, whole(data))

        yield replace(one, text=f'{when}, {one.text}', change=change)


def sized(
    data: D, families: Iterable[Family[D]], misfit: Callable[[D], float], as_it_is: float
) -> list[tuple[Hypothesis[D], float]]:
    """The best size of every family that explains something, the family that leaves least first.

    From nothing away the misfit falls to one size and rises beyond it, so that two steps show
    that a family explains nothing.
    """
    found = []
    for family in families:
        best: tuple[Hypothesis[D], float] | None = None
        for sizes in family.directions:
            last = as_it_is
            for size in sizes:
                one = family.of(size)
                left = judged(data, one, misfit, float('inf'))
                if not left < last:
                    break
                last = left
                if best is None or left < best[1]:
                    best = one, left
        found += [] if best is None else [best]
    return sorted(found, key=lambda pair: pair[1])


def alike(found: Sequence[tuple[Hypothesis[D], float]], as_it_is: float) -> tuple[str, ...]:
    """Texts of the causes that explain about as much as the first: nobody can say which it is."""
    if not found:
        return ()
    least = found[0][1]
    gain = math.log(as_it_is / least) if 0.0 < least < as_it_is else 0.0
    return tuple(
        one.text
        for one, left in found[1:]
        if left < least / CLEARLY_LESS and left > 0.0 and math.log(as_it_is / left) > ALIKE * gain
    )[:MOST_RIVALS]


def best_of(found: Judged[D], as_it_is: float) -> Explanation[D]:
    """The hypothesis that leaves least, the simplest first."""
    best: Hypothesis[D] | None = None
    least = float('inf')
    judged_ones = list(found)
    for one, left in judged_ones:
        if left < (least if best is None else CLEARLY_LESS * least):
            best, least = one, left
    tried = dict.fromkeys(one.code for one, _ in judged_ones)
    return Explanation(best, least, as_it_is, tuple(tried), _rivals(judged_ones, best, least))


def _rivals(
    found: list[tuple[Hypothesis[D], float]], best: Hypothesis[D] | None, least: float
) -> tuple[str, ...]:
    """Causes of other kinds that leave no more than the one that is named, one of each kind.

    Of a robot that hardly moves several things put right the same numbers.
    """
    if best is None or not math.isfinite(least):
        return ()
    alike: dict[str, str] = {}
    for one, left in sorted(found, key=lambda pair: pair[1]):
        if left <= least and one.code != best.code:
            alike.setdefault(one.code, one.text)
    return tuple(alike.values())[:MOST_RIVALS]


def explanation_findings(
    found: Explanation[D],
    *,
    label: str,
    better: str,
    misfit_text: str,
    good: float,
    hint: str = '',
) -> list[Finding]:
    """The best cause alone; a maybe where it explains little; what was tried where none does.

    `better`: what fits better with it ('the forces fit the motion'); `misfit_text`: what is told
    where the misfit is above `good` and nothing explains it.
    """
    convincing = found.factor >= (CONVINCING if found.misfit <= good else OVERWHELMING)
    if found.best is not None and convincing:
        times = f'{found.factor:.3g} times better'
        gain = times if found.factor < math.inf else 'and not without it'
        text = f'{label}: {found.best.text}; with that {better} {gain}'
        if found.rivals:
            text += f' (as well explained if {"; or ".join(found.rivals)})'
        where = f'{label}, {found.best.where}' if found.best.where else label
        return [Finding('bad', found.best.code, text + hint, where, found.factor)]
    findings = []
    if found.as_it_is > good:
        tried = ', '.join(code.replace('_', ' ') for code in found.tried)
        text = f'{label}: {misfit_text}; none of these explains it: {tried}'
        findings.append(Finding('warn', 'misfit_unexplained', text, label))
    if found.best is not None and found.factor >= MAYBE:
        text = (
            f'{label}: maybe {found.best.text}: with that {better} only {found.factor:.3g} times '
            'better, which proves nothing'
        )
        where = f'{label}, {found.best.where}' if found.best.where else label
        findings.append(Finding('note', f'maybe_{found.best.code}', text, where, found.factor))
    return findings
