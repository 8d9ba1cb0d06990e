"""Who else tells a quantity: relations between channels, and the one mistake that explains them.

A relation compares a measured signal with the same quantity predicted from other channels (the
lateral acceleration with speed times yaw rate). Where all channels are in their units the slope of
one over the other is one. A channel that is recorded f times too large shows in every relation it
enters: slope = product of f^exponent. So one mistake explains several slopes at once, and that is
how the wrong channel is told from the right ones. Entries of a configuration (wheelbase, mass)
are sources like channels.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import NamedTuple

import numpy as np

from veh_identification.findings import CONVINCING, Finding
from veh_identification.runtime.background import give_way
from veh_identification.types import Array

#: Below this correlation a slope says nothing about scales.
TELLING = 0.7
#: Samples that a slope needs.
FEWEST = 20
#: A slope whose logarithm is off by less than this is right: lever arms, slip, tilt and noise.
TOLERANCE = 0.35
#: Mismatches that differ by less explain alike.
ALIKE = 0.1
#: So many slopes must be wrong for two mistakes at once to be looked for.
FOR_TWO = 3
#: Mismatch of a slope of the wrong sign, in tolerances.
WRONG_SIGN = 6.0


@dataclass(frozen=True)
class Suspect:
    """A mistake that is made often: the value recorded is `factor` times the right one."""

    factor: float
    text: str  # 'in km/h: it must be in m/s'
    code: str = 'unit'


@dataclass(frozen=True)
class Source:
    """A channel or an entry of a configuration."""

    where: str
    suspects: tuple[Suspect, ...] = ()
    scale: bool = False  # whether it may be wrong by any other factor (a radius, a calibration)
    #: Whether the relations name the mistake. No: where it explains them as well as any other
    #: one, they only say that something is wrong, and a fit tells what.
    told: bool = True
    #: Whether it is several other sources at once (a unit that is mirrored), none of its own.
    several: bool = False


class Moments(NamedTuple):
    """Of the samples of a relation: means, and means of products about them."""

    samples: int
    measured: float
    predicted: float
    yy: float = 0.0
    xx: float = 0.0
    xy: float = 0.0


@dataclass(frozen=True, eq=False)
class Relation:
    """One quantity told twice; samples at the same times, both filtered alike."""

    text: str  # 'lateral acceleration against speed times yaw rate'
    measured: Array
    predicted: Array
    #: Power of each source in slope = measured / predicted: +1 measured, -1 predicted ...
    exponents: Mapping[str, float]
    least: float = 0.0  # deviation (or mean) that one of the sides needs to say anything
    tolerance: float = TOLERANCE  # of the logarithm of the slope
    constant: bool = False  # the means are compared, not what varies
    sizes: frozenset[str] = frozenset()  # sources whose sign does not show
    backwards: bool = False  # whether it holds backwards, though it is made of sizes
    reach: int = 0  # samples before each of its own that it is made of

    def told(self) -> Told | None:
        """Slope and correlation; None where nothing moves enough."""
        return self.told_by(self._moments())

    def told_by(self, moments: Moments | None) -> Told | None:
        """What these samples of it tell."""
        if moments is None:
            return None
        if self.constant:
            y, x = moments.measured, moments.predicted
            return None if x == 0.0 or max(abs(y), abs(x)) < self.least else Told(self, y / x, 1.0)
        sizes = math.sqrt(max(moments.yy, 0.0)), math.sqrt(max(moments.xx, 0.0))
        if moments.samples < FEWEST or min(sizes) <= 0.0 or max(sizes) < self.least:
            return None
        correlation = moments.xy / (sizes[0] * sizes[1])
        return Told(self, math.copysign(sizes[0] / sizes[1], correlation), correlation)

    def _moments(self) -> Moments | None:
        """Those of all samples."""
        y, x = self.measured, self.predicted
        if len(y) == len(x) > 1 or not self.constant:  # at the same times
            good = np.isfinite(y) & np.isfinite(x)
            y, x = y[good], x[good]
        else:
            y, x = y[np.isfinite(y)], x[np.isfinite(x)]
        if not len(y) or not len(x):
            return None
        means = float(y.mean()), float(x.mean())
        if self.constant:
            return Moments(len(y), *means)
        y, x = y - means[0], x - means[1]
        return Moments(
            len(y), *means, *(float(a @ b) / len(y) for a, b in ((y, y), (x, x), (x, y)))
        )


@dataclass(frozen=True, eq=False)
class Told:
    """What a relation says."""

    relation: Relation
    slope: float
    correlation: float

    @property
    def clear(self) -> bool:
        """Whether the two signals are one quantity, whatever its scale."""
        return abs(self.correlation) > TELLING

    @property
    def off(self) -> float:
        """How far the slope is from one, in tolerances."""
        return _off(self, '', 1.0)


@dataclass(frozen=True)
class _Hypothesis:
    source: str
    suspect: Suspect
    mismatch: float


@dataclass(frozen=True, eq=False)
class Judgement:
    """Findings of a set of relations, the best cause alone."""

    findings: tuple[Finding, ...]
    told: tuple[Told, ...] = field(default_factory=tuple)


def judge(relations: Sequence[Relation], sources: Mapping[str, Source]) -> Judgement:
    """Compare all slopes with one, and name the single mistake that explains those that differ."""
    return judged((relation.told() for relation in relations), sources)


def judged(slopes: Iterable[Told | None], sources: Mapping[str, Source]) -> Judgement:
    """The same for slopes that are known."""
    give_way()
    told = tuple(one for one in slopes if one is not None)
    return Judgement(tuple(_causes([one for one in told if one.clear], sources)), told)


def _causes(clear: Sequence[Told], sources: Mapping[str, Source]) -> list[Finding]:
    """One mistake, two, or those that stand alone in a relation; else that sensors disagree."""
    plain = _mismatch(clear, '', 1.0)
    if not clear or plain < 1.0:
        return []
    best = _best(clear, sources)
    wrong = [one for one in clear if one.off > 1.0]
    shown = '; '.join(
        f'{one.relation.text} has the slope {one.slope:.3g} instead of 1' for one in wrong
    )
    factor = 0.0
    if best is not None:  # what was right before says nothing for or against it
        left = _mismatch(wrong, best.source, best.suspect.factor)
        factor = plain / max(left, 0.1)
    source = None if best is None else sources[best.source]
    if best and source and source.told and best.mismatch < 1.0 and factor >= CONVINCING:
        text = f'{source.where}: {best.suspect.text} ({shown}){_or_else(best, clear, sources)}'
        return [Finding('bad', best.suspect.code, text, source.where, float(factor))]
    two = _two_mistakes(clear, sources) if len(wrong) >= FOR_TWO else ()
    if two and plain / max(two[0].mismatch, 0.1) >= CONVINCING:
        why = f'one of two mistakes that explain it together ({shown})'
        return [_named(one, sources, why, plain) for one in two]
    certain = _standing_alone(clear, sources) if len(wrong) >= FOR_TWO else ()
    if certain:
        named = [_named(one, sources, _own(one.source, clear, sources), plain) for one in certain]
        return [*named, *_causes(_put_right(clear, certain), sources)]
    names = sorted({name for one in wrong for name in _alone(one, sources)})
    places = ', '.join(sources[name].where for name in names if name in sources)
    text = f'{shown}: no single wrong unit or sign explains it; look at {places}'
    return [Finding('warn', 'sensors_disagree', text, places)]


def _named(one: _Hypothesis, sources: Mapping[str, Source], why: str, plain: float) -> Finding:
    where = sources[one.source].where
    evidence = float(plain / max(one.mismatch, 0.1))
    return Finding('bad', one.suspect.code, f'{where}: {one.suspect.text}; {why}', where, evidence)


def _standing_alone(
    told: Sequence[Told], sources: Mapping[str, Source]
) -> tuple[_Hypothesis, ...]:
    """Usual mistakes of sources that have relations of their own, which nothing else can spoil."""
    found = []
    for name, source in sources.items():
        own = [one for one in told if _alone(one, sources) == {name}]
        if not (source.told and own and _mismatch(own, '', 1.0) > 1.0):
            continue
        tried = [*_hypotheses(own, {name: source})]
        best = min(tried, key=lambda one: one.mismatch, default=None)
        if best is not None and best.mismatch < 1.0:
            found.append(best)
    return tuple(found)


def _own(source: str, told: Sequence[Told], sources: Mapping[str, Source]) -> str:
    """Why a mistake is certain, whatever else is wrong."""
    own = '; '.join(
        f'{one.relation.text} has the slope {one.slope:.3g} instead of 1'
        for one in told
        if source in one.relation.exponents and len(_alone(one, sources)) == 1
    )
    return f'nothing else enters this: {own}'


def _alone(one: Told, sources: Mapping[str, Source]) -> set[str]:
    """What enters a relation, without what stands for several of these."""
    return {
        name for name in one.relation.exponents if name not in sources or not sources[name].several
    }


def _put_right(told: Sequence[Told], mistakes: Sequence[_Hypothesis]) -> list[Told]:
    """Slopes as they would be without some mistakes."""
    made = []
    for one in told:
        slope = one.slope
        for mistake in mistakes:
            slope /= _expected(one, mistake.source, mistake.suspect.factor)
        made.append(replace(one, slope=slope))
    return made


def _best(told: Sequence[Told], sources: Mapping[str, Source]) -> _Hypothesis | None:
    """The mistake that explains most; a factor of any size only where no usual one does."""
    for tried in (_hypotheses(told, sources), _scales(told, sources)):
        best = min(tried, key=lambda one: _left(one, sources), default=None)
        if best is not None and best.mismatch < 1.0:
            return best
    return None


def _or_else(best: _Hypothesis, told: Sequence[Told], sources: Mapping[str, Source]) -> str:
    """Scales that explain it as well as the best one does, which no relation tells apart."""
    if best.suspect.code != 'scale':
        return ''
    places = [
        sources[one.source].where
        for one in _scales(told, sources)
        if one.source != best.source and one.mismatch < best.mismatch + ALIKE
    ]
    return f'; {" or ".join(places)} would explain it as well' if places else ''


def _left(one: _Hypothesis, sources: Mapping[str, Source]) -> float:
    """The mismatch; of two that explain alike, the one that the relations cannot name."""
    return one.mismatch - (0.0 if sources[one.source].told else ALIKE)


def _two_mistakes(told: Sequence[Told], sources: Mapping[str, Source]) -> tuple[_Hypothesis, ...]:
    """The two usual mistakes of two sources that explain all slopes; none without such."""
    suspects = [
        (name, suspect)
        for name, source in sources.items()
        if any(one.relation.exponents.get(name) for one in told)
        for suspect in source.suspects
    ]
    best: tuple[_Hypothesis, ...] = ()
    for (a, first), (b, second) in combinations(suspects, 2):
        if a == b:
            continue
        left = max(
            _distance(one, _expected(one, a, first.factor) * _expected(one, b, second.factor))
            for one in told
        )
        if left < (best[0].mismatch if best else 1.0):
            best = (_Hypothesis(a, first, left), _Hypothesis(b, second, left))
    return best


def _off(one: Told, source: str, factor: float) -> float:
    """Mismatch of one slope, in tolerances, if a source is recorded `factor` times too large."""
    return _distance(one, _expected(one, source, factor))


def _expected(one: Told, source: str, factor: float) -> float:
    """The slope that such a source makes of one."""
    power = one.relation.exponents.get(source, 0.0)
    signed = bool(power) and source not in one.relation.sizes
    return float(abs(factor) ** power * (np.sign(factor) if signed else 1.0))


def _distance(one: Told, expected: float) -> float:
    """Of a slope from the expected one, in tolerances."""
    if one.slope * expected <= 0.0:
        return WRONG_SIGN
    return float(abs(np.log(one.slope / expected)) / one.relation.tolerance)


def _mismatch(told: Sequence[Told], source: str, factor: float) -> float:
    """Worst of the slopes: one that stays wrong is not explained."""
    return max((_off(one, source, factor) for one in told), default=0.0)


def _hypotheses(told: Sequence[Told], sources: Mapping[str, Source]) -> Iterator[_Hypothesis]:
    """Every mistake that a source is known for."""
    for name, source in sources.items():
        if not any(one.relation.exponents.get(name) for one in told):
            continue
        for suspect in source.suspects:
            yield _Hypothesis(name, suspect, _mismatch(told, name, suspect.factor))


def _scales(told: Sequence[Told], sources: Mapping[str, Source]) -> Iterator[_Hypothesis]:
    """Any factor of a source that may have one: the one that the slopes tell."""
    for name, source in sources.items():
        powers = [one.relation.exponents.get(name, 0.0) for one in told]
        factors = [
            abs(one.slope) ** (1.0 / power)
            for one, power in zip(told, powers, strict=True)
            if power and one.slope
        ]
        if not (source.scale and factors):
            continue
        left, factor = min((_mismatch(told, name, factor), factor) for factor in factors)
        text = f'its values seem to be {factor:.3g} times what they should be'
        yield _Hypothesis(name, Suspect(factor, text, 'scale'), left)
