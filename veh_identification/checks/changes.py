"""Mistakes that begin or end during a recording: relations that hold on one side of a time only.

Over the whole such channels are alike in no scale at all, and whatever explains the rest best (a
delay, a turned unit) would be blamed. On either side of the right time they are alike again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from veh_identification.checks.relations import (
    Judgement,
    Moments,
    Relation,
    Source,
    Told,
    judged,
)
from veh_identification.findings import Finding
from veh_identification.types import Array

#: Each side of a change needs so long to say anything (seconds).
SIDE = 8.0
#: Times that are tried at most: a recording of an hour is not judged a thousand times.
TRIED = 40
#: Usual mistakes alone: the scale of a stretch changes with the motion, too.
USUAL = ('unit', 'sign')
#: Samples are means over this long (seconds): beside a change they are of both sides.
MIXED = 0.5
#: Correlation that a mistake needs where the other side says nothing of it (a straight road).
SURE = 0.9
#: Share of all squares below which a variance is what sums lose by rounding.
ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class _Change:
    finding: Finding
    text: str  # 'from 20.0 s on'
    #: Correlations on both sides of the relations that change, less what their slopes leave.
    quality: float
    sides: bool  # whether both sides tell it


def check_changes(
    relations: Sequence[Relation],
    sources: Mapping[str, Source],
    grid: Array,
    *,
    only_both: bool = False,
) -> list[Finding]:
    """The one usual mistake that explains the relations on one side of a time, none on the other.

    `grid`: times of the samples of the relations; those that have others say nothing here.
    `only_both`: not what one side alone tells.
    """
    own = [one for one in relations if _tells(one, len(grid))]
    step = float(np.median(np.diff(grid))) if len(grid) > 1 else np.inf
    side = int(np.ceil(SIDE / step))
    if not own or len(grid) < 2 * side:
        return []
    splits = np.unique(np.linspace(side, len(grid) - side, TRIED).astype(int))
    # One of the times that are tried has the change within this distance.
    apart = float(np.diff(splits).max()) if len(splits) > 1 else 0.0
    beside = int(np.ceil(0.5 * (MIXED / step + apart)))
    running = [_Running(one) for one in own]
    found = [
        one
        for k in splits
        for one in _changes(
            judged((sums.before(int(k) - beside) for sums in running), sources),
            judged((sums.behind(int(k) + beside) for sums in running), sources),
            float(grid[k]),
        )
    ]
    found = [one for one in found if one.sides or not only_both]
    if not found:
        return []
    best = max(found, key=lambda one: (one.sides, one.quality))
    cause = best.finding
    return [replace(cause, code='changes', text=f'{best.text} {cause.text}')]


def _tells(relation: Relation, samples: int) -> bool:
    """Whether it holds at the times of the grid, forwards as well as backwards.

    What is made of the size of a speed changes its sign where the vehicle goes backwards.
    """
    signed = relation.constant or relation.backwards or not relation.sizes
    return signed and len(relation.measured) == len(relation.predicted) == samples


class _Running:
    """What the first or last samples of a relation tell, by sums up to each of them."""

    def __init__(self, relation: Relation) -> None:
        self._relation = relation
        good = np.isfinite(relation.measured) & np.isfinite(relation.predicted)
        self._means = np.zeros(2)
        sides = np.array([relation.measured, relation.predicted])
        if good.any():  # sums of what varies lose no digits
            self._means = sides[:, good].mean(axis=1)
        y, x = np.where(good, sides - self._means[:, None], 0.0)
        self._sums = np.zeros((len(good) + 1, 6))
        np.cumsum(np.array([good, y, x, y * y, x * x, x * y]).T, axis=0, out=self._sums[1:])

    def before(self, end: int) -> Told | None:
        """Of the samples before a place."""
        return self._told(self._sums[max(end, 0)])

    def behind(self, begin: int) -> Told | None:
        """Of those from a place on, and what they are made of, too."""
        first = min(begin + self._relation.reach, len(self._sums) - 1)
        return self._told(self._sums[-1] - self._sums[first])

    def _told(self, sums: Array) -> Told | None:
        count = round(float(sums[0]))
        if not count:
            return None
        y, x, yy, xx, xy = (sums[1:] / count).tolist()
        products = [yy - y * y, xx - x * x, xy - x * y]
        for k in range(2):  # what rests is what all the sums lose by rounding
            products[k] *= products[k] > ROUNDING * float(self._sums[-1, 3 + k]) / count
        measured, predicted = self._means.tolist()
        moments = Moments(count, measured + y, predicted + x, *products)
        return self._relation.told_by(moments)


def _changes(before: Judgement, after: Judgement, time: float) -> list[_Change]:
    """A mistake on one side of a time, where the same relations hold on the other.

    Where they say nothing there, it is told of the one side, if that is sure.
    """
    found = []
    for wrong, right, text in (
        (after, before, f'from about {time:.0f} s on'),
        (before, after, f'up to about {time:.0f} s'),
    ):
        causes = [one for one in wrong.findings if one.level == 'bad' and one.code in USUAL]
        if len(causes) != 1 or right.findings:
            continue
        off = {one.relation.text: one for one in wrong.told if one.clear and one.off > 1.0}
        held = {one.relation.text: one for one in right.told if one.clear}
        if not off:
            continue
        left = max(one.off for one in off.values()) / causes[0].evidence
        quality = sum(abs(one.correlation) for one in off.values()) - left
        if off.keys() <= held.keys():
            same = [held[name] for name in off]
            quality += sum(abs(one.correlation) for one in same) - max(one.off for one in same)
            found.append(_Change(causes[0], text, quality, True))
        elif not off.keys() & held.keys() and _sure(off.values()):
            # It may have been wrong there as well.
            found.append(_Change(causes[0], f'at least {text}', quality, False))
    return found


def _sure(told: Iterable[Told]) -> bool:
    return all(abs(one.correlation) > SURE for one in told)
