"""The search for the change of the data that explains a misfit best: one for every system.

A hypothesis is a change of the data (two sensors exchanged, a sign turned, another delay). Its
misfit is judged by the system; the one that leaves least is named, with how much it explains.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

from veh_identification.errors import VehIdError

D = TypeVar('D')


@dataclass(frozen=True)
class Hypothesis(Generic[D]):
    """What may be wrong, and the data as they would be if it were put right."""

    code: str
    text: str  # names topic, field or entry, and what cures it
    change: Callable[[D], D]
    where: str = ''


@dataclass(frozen=True)
class Explanation(Generic[D]):
    """The best of the hypotheses that were tried."""

    best: Hypothesis[D] | None  # None: none could be judged
    misfit: float  # with the best one put right
    as_it_is: float
    tried: tuple[str, ...]  # codes, each once

    @property
    def factor(self) -> float:
        """How many times smaller the misfit becomes."""
        return self.as_it_is / self.misfit if self.misfit > 0.0 else float('inf')


def best_explanation(
    data: D,
    hypotheses: Iterable[Hypothesis[D]],
    misfit: Callable[[D], float],
    as_it_is: float | None = None,
) -> Explanation[D]:
    """Try every hypothesis; one whose data cannot be judged at all explains nothing.

    `misfit` is in the units of the signals (an rms, not a square), so that the factor says how
    many times better the data fit.
    """
    plain = misfit(data) if as_it_is is None else as_it_is
    best: Hypothesis[D] | None = None
    least = float('inf')
    tried: dict[str, None] = {}
    for one in hypotheses:
        tried[one.code] = None
        try:
            left = misfit(one.change(data))
        except VehIdError:
            continue
        if left < least:
            best, least = one, left
    return Explanation(best, least, plain, tuple(tried))
