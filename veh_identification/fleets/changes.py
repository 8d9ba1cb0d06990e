"""What changed over time: steps in series of estimates, single recordings that stand apart.

A series holds estimates x_i of one parameter of one machine with deviations s_i, in the order of
time. The test for a step asks every place between two recordings for the difference of the
weighted means on both sides over its deviation, z_k, and takes the largest. Under chance each
z_k / s is Student's t, where s is how many times larger than stated the scatter really is; so the
probability of the largest is at most the number of places times that of one (Bonferroni). The
scale s comes from the differences of neighbours over all machines, by their median, which a step
does not move; it never makes deviations smaller than they are stated. Series long enough judge by
their own scatter on both sides of the step instead, which is exact for normal noise.

All series of a fleet are judged together by Holm's rule: `level` is the probability of any false
alarm on the whole page. Further steps are looked for on both sides of a step that was found. A
single recording that stands apart from both its neighbours, while these agree, is no step.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import special, stats

from veh_identification.results.comparison import holm
from veh_identification.types import Array, IntArray

#: Probability of any false alarm in a fleet.
LEVEL = 0.01
#: Series of so many recordings judge by their own scatter.
OWN_FROM = 20
#: Recordings that a step takes at least.
FEWEST = 4
#: Median of the square of a normal variable.
_MEDIAN = 0.4549364231195724
#: Twice the logarithm of a likelihood may fall so far within 95 %.
_LIKELY = float(stats.chi2.ppf(0.95, 1))
#: Neighbouring differences share a value each, and a median uses a third of what they tell.
_EFFICIENCY = 0.25


@dataclass(frozen=True, eq=False)
class Series:
    """Estimates of one parameter of one machine in the order of time."""

    machine: str
    parameter: str
    unit: str
    places: IntArray  # of the recordings in the fleet
    start_ns: IntArray
    value: Array
    std: Array


@dataclass(frozen=True)
class Change:
    """A step between two recordings."""

    machine: str
    parameter: str
    unit: str
    before: float
    before_std: float
    after: float
    after_std: float
    last_before: int  # place of the recording in the fleet
    first_after: int
    #: Where the step may lie with 95 % probability: last and first recordings around it.
    earliest: int
    latest: int
    probability: float  # of a step as large by chance in this series
    z: float
    lasting: bool  # false: one recording alone stands behind it

    @property
    def share(self) -> float:
        """Of the value before; nan where that is zero."""
        return (self.after - self.before) / abs(self.before) if self.before else float('nan')


@dataclass(frozen=True)
class Apart:
    """One recording whose estimate differs from both neighbours, which agree."""

    machine: str
    parameter: str
    place: int
    value: float
    neighbours: float
    z: float


@dataclass(frozen=True)
class Scatter:
    """How much larger than stated the scatter of a parameter is, and how well that is known."""

    scale: float
    freedom: float


@dataclass(frozen=True)
class Changes:
    """Everything that is found in a fleet."""

    level: float
    series: int  # that were judged
    steps: tuple[Change, ...]
    apart: tuple[Apart, ...]


def find_changes(series: Sequence[Series], level: float = LEVEL) -> Changes:
    """Steps and single recordings in all series together, the clearest first."""
    judged = [one for one in series if len(one.value) >= FEWEST]
    if not judged:
        return Changes(level, 0, (), ())
    scatter = scatters(judged)
    apart: list[Apart] = []
    kept: list[Series] = []
    for one in judged:
        spikes = _spikes(one, scatter[one.parameter], level / len(judged))
        apart += [_apart(one, int(i)) for i in spikes]
        kept.append(_without(one, spikes))
    tests = [_step(one, scatter[one.parameter]) for one in kept]
    found = holm(np.array([test.probability for test in tests]), level)
    steps: list[Change] = []
    for one, test, stands in zip(kept, tests, found, strict=True):
        if stands:
            steps += _segments(one, test, scatter[one.parameter], level / len(judged))
    steps.sort(key=lambda step: (step.probability, -abs(step.z)))
    return Changes(level, len(judged), tuple(steps), tuple(apart))


def _two_sided(t: Any, freedom: float) -> Any:
    """Probability of Student's t beyond +-t; stats.t says the same a hundred times slower."""
    return 2.0 * special.stdtr(freedom, -np.abs(t))


def _neighbours(one: Series) -> Array:
    return np.asarray(np.diff(one.value) / np.hypot(one.std[1:], one.std[:-1]))


def scatters(series: Sequence[Series]) -> dict[str, Scatter]:
    """By parameter, how much more than stated neighbouring recordings of all machines differ."""
    gathered: dict[str, list[Array]] = {}
    for one in series:
        gathered.setdefault(one.parameter, []).append(_neighbours(one))
    found = {}
    for parameter, parts in gathered.items():
        every = np.concatenate(parts)
        scale = max(1.0, float(np.sqrt(np.median(every**2) / _MEDIAN)))
        found[parameter] = Scatter(scale, max(1.0, _EFFICIENCY * len(every)))
    return found


def _spikes(one: Series, scatter: Scatter, level: float) -> IntArray:
    """Recordings between two that agree with each other and not with them."""
    step = _neighbours(one) / scatter.scale
    across = (one.value[2:] - one.value[:-2]) / np.hypot(one.std[2:], one.std[:-2])
    size = np.where(step[:-1] * step[1:] < 0.0, np.minimum(np.abs(step[:-1]), np.abs(step[1:])), 0)
    alone = _two_sided(size, scatter.freedom) * len(size) < level
    agree = np.abs(across) / scatter.scale < 0.5 * size
    return np.flatnonzero(alone & agree) + 1


def _apart(one: Series, i: int) -> Apart:
    neighbours = 0.5 * float(one.value[i - 1] + one.value[i + 1])
    deviation = float(
        np.sqrt(one.std[i] ** 2 + 0.25 * (one.std[i - 1] ** 2 + one.std[i + 1] ** 2))
    )
    value = float(one.value[i])
    z = (value - neighbours) / deviation
    return Apart(one.machine, one.parameter, int(one.places[i]), value, neighbours, z)


def _without(one: Series, places: IntArray) -> Series:
    keep = np.ones(len(one.value), dtype=bool)
    keep[places] = False
    return _chosen(one, keep)


def _chosen(one: Series, which: Any) -> Series:
    return replace(
        one,
        places=one.places[which],
        start_ns=one.start_ns[which],
        value=one.value[which],
        std=one.std[which],
    )


@dataclass(frozen=True, eq=False)
class _Test:
    split: int  # the first recording behind the step
    probability: float
    likelihood: Array  # of each place, twice the logarithm


def _differences(value: Array, std: Array) -> Array:
    """z of the weighted means on both sides of every place."""
    weight = std**-2.0
    below, total = np.cumsum(weight)[:-1], weight.sum()
    # About the mean, or large values would lose the digits that differ.
    centred = value - np.sum(weight * value) / total
    sums = np.cumsum(weight * centred)[:-1]
    return np.asarray(-sums / np.sqrt(below * (total - below) / total))


def _step(one: Series, scatter: Scatter) -> _Test:
    count = len(one.value)
    if count < FEWEST:
        return _Test(0, 1.0, np.zeros(0))
    z = _differences(one.value, one.std)
    if count >= OWN_FROM or count - 2 >= scatter.freedom:
        weight = one.std**-2.0
        centred = one.value - np.sum(weight * one.value) / weight.sum()
        rest = np.maximum(np.sum(weight * centred**2) - z**2, 1e-300)
        t, freedom = np.abs(z) / np.sqrt(rest / (count - 2)), float(count - 2)
    else:
        t, freedom = np.abs(z) / scatter.scale, scatter.freedom
    split = int(np.argmax(t))
    single = float(_two_sided(t[split], freedom))
    return _Test(split + 1, min(1.0, single * (count - 1)), np.asarray((z / scatter.scale) ** 2))


def _segments(one: Series, test: _Test, scatter: Scatter, level: float) -> list[Change]:
    """The step, and further ones on both sides of it; means are those of the final segments."""
    bounds = [0, len(one.value)]
    found: dict[int, _Test] = {}

    def divide(begin: int, end: int, here: _Test) -> None:
        place = begin + here.split
        found[place] = here
        bounds.append(place)
        for low, high in ((begin, place), (place, end)):
            further = _step(_chosen(one, slice(low, high)), scatter)
            if further.probability < level:
                divide(low, high, further)

    divide(0, len(one.value), test)
    bounds.sort()
    steps = []
    for k, place in enumerate(bounds[1:-1], 1):
        steps.append(_change(one, bounds[k - 1], place, bounds[k + 1], found[place], scatter))
    return steps


def _change(
    one: Series, begin: int, place: int, end: int, test: _Test, scatter: Scatter
) -> Change:
    sides = []
    for low, high in ((begin, place), (place, end)):
        weight = one.std[low:high] ** -2.0
        mean = float(np.sum(weight * one.value[low:high]) / weight.sum())
        sides.append((mean, scatter.scale / float(np.sqrt(weight.sum()))))
    (before, before_std), (after, after_std) = sides
    likely = np.flatnonzero(test.likelihood > test.likelihood.max() - _LIKELY)
    # The test looked from where its segment began.
    first = place - test.split
    earliest = first + int(likely.min())
    latest = first + int(likely.max()) + 1
    return Change(
        one.machine,
        one.parameter,
        one.unit,
        before,
        before_std,
        after,
        after_std,
        int(one.places[place - 1]),
        int(one.places[place]),
        int(one.places[min(earliest, place - 1)]),
        int(one.places[max(latest, place)]),
        test.probability,
        (after - before) / float(np.hypot(before_std, after_std)),
        end - place > 1,
    )


@dataclass(frozen=True)
class Outlier:
    """A machine that does not belong to the others."""

    machine: str
    parameter: str
    value: float
    others: float  # mean of the others
    spread: float  # deviation among them
    probability: float


#: Machines that a comparison takes at least.
FEWEST_MACHINES = 5


def find_outliers(
    values: Mapping[str, tuple[Sequence[str], Array, Array]], level: float = LEVEL
) -> list[Outlier]:
    """Machines beyond the distribution of the others; by parameter: names, values, deviations.

    Grubbs' test: each machine against mean and deviation of all others by Student's t, all by
    Holm's rule; a machine that is known worse than the others may lie further off.
    """
    candidates = []
    for parameter, (machines, value, std) in values.items():
        count = len(value)
        if count < FEWEST_MACHINES:
            continue
        for m, machine in enumerate(machines):
            rest = np.delete(value, m)
            variance = float(np.var(rest, ddof=1))
            worse = max(0.0, float(std[m] ** 2 - np.mean(np.delete(std, m) ** 2)))
            deviation = np.sqrt(variance * count / (count - 1.0) + worse)
            t = abs(value[m] - rest.mean()) / deviation if deviation > 0.0 else 0.0
            chance = float(_two_sided(t, count - 2))
            candidates.append(
                Outlier(
                    machine,
                    parameter,
                    float(value[m]),
                    float(rest.mean()),
                    float(np.sqrt(variance)),
                    chance,
                )
            )
    if not candidates:
        return []
    stands = holm(np.array([one.probability for one in candidates]), level)
    found = [one for one, yes in zip(candidates, stands, strict=True) if yes]
    return sorted(found, key=lambda one: one.probability)
