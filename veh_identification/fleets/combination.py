"""The estimate of one machine from the estimates of its recordings.

Each recording gives x_i with covariance C_i. The models are linear in their parameters, so that
what recordings tell adds up as information matrices:

    L = sum C_i^-1,   x = L^-1 sum C_i^-1 x_i,   C = L^-1

This is weighted least squares over all recordings where each is weighted by its own noise; a
parameter that a recording does not know takes no part there (of a Gaussian, leaving a component
out of x_i and C_i is exact). What a single identification of all recordings would do beyond it:
one calibration, one choice of cut-offs and of removed parameters for all of them.

The sum of squares of x_i - x by C_i^-1 is chi-square when the covariances are true and the machine
did not change. Where it is larger than chance makes it, the recordings disagree: that is a
finding, and the covariance grows by the factor.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from veh_identification.findings import Finding, Verdict, verdict_of
from veh_identification.findings.numbers import counted
from veh_identification.fleets.reduction import Reduction
from veh_identification.types import Array, IntArray

#: Probability that recordings of one machine are said to disagree though they do not.
LEVEL = 0.01
#: Beside the largest eigenvalue of a correlation matrix, what counts as rounding.
_TOLD = 1e-12
Key = tuple[str, str, str]  # name, unit, meaning


@dataclass(frozen=True, eq=False)
class Machine:
    """What all recordings of a machine say together."""

    name: str
    names: tuple[str, ...]
    units: tuple[str, ...]
    meanings: tuple[str, ...]  # of sums: values of machines compare where these are the same
    value: Array
    covariance: Array
    counts: IntArray  # recordings that know each parameter
    recordings: int  # that took part
    left_out: int  # that could not be used
    chi_square: float
    freedom: int
    scale: float  # the covariance was multiplied by it
    verdict: Verdict

    @property
    def std(self) -> Array:
        """Standard deviations."""
        return np.asarray(np.sqrt(np.diag(self.covariance)))

    @property
    def keys(self) -> tuple[Key, ...]:
        """Of every parameter what tells it from others."""
        return tuple(zip(self.names, self.units, self.meanings, strict=True))

    @property
    def probability(self) -> float:
        """That chance makes the recordings disagree as much."""
        return float(stats.chi2.sf(self.chi_square, self.freedom)) if self.freedom else 1.0


def combine(name: str, reductions: Sequence[Reduction], known: Sequence[Finding] = ()) -> Machine:
    """The estimate of a machine from its recordings, in their order; `known`: said of it, too."""
    used = [one for one in reductions if one.usable]
    keys, clashes = _parameters(used)
    place = {key: k for k, key in enumerate(keys)}
    count = len(keys)
    scale = _sizes(used, place)
    information, vector = np.zeros((count, count)), np.zeros(count)
    parts = []
    counts = np.zeros(count, dtype=np.int64)
    for one in used:
        own, here = _places(one, place)
        weight = _information(one.covariance[np.ix_(own, own)], scale[here])
        scaled = one.value[own] / scale[here]
        information[np.ix_(here, here)] += weight
        vector[here] += weight @ scaled
        counts[here] += 1
        parts.append((here, weight, scaled))
    covariance = _inverse(information)
    found = covariance @ vector
    # One step of refinement: what solving rounded away is solved for again.
    found += covariance @ (vector - information @ found)
    chi_square = sum(
        float((scaled - found[here]) @ weight @ (scaled - found[here]))
        for here, weight, scaled in parts
    )
    freedom = int(counts.sum()) - count
    wider, findings = _agreement(chi_square, freedom)
    findings += [*known, *_remarks(reductions, used, clashes)]
    return Machine(
        name,
        tuple(key[0] for key in keys),
        tuple(key[1] for key in keys),
        tuple(key[2] for key in keys),
        found * scale,
        wider * covariance * np.outer(scale, scale),
        counts,
        len(used),
        len(reductions) - len(used),
        chi_square,
        freedom,
        wider,
        verdict_of(
            findings,
            yes='its recordings agree with each other',
            no='no recording of this machine can be used',
        ),
    )


def _parameters(used: Sequence[Reduction]) -> tuple[list[Key], list[str]]:
    """Parameters in the order of their first appearance, and names that mean several things.

    Of a name with several meanings the most frequent one is kept: values of other sums cannot be
    averaged with it.
    """
    seen: Counter[Key] = Counter()
    for one in used:
        columns = zip(one.names, one.units, one.meanings, one.known, strict=True)
        seen.update((name, unit, meaning) for name, unit, meaning, known in columns if known)
    best: dict[str, Key] = {}
    clashes = []
    for key, number in seen.items():
        rival = best.setdefault(key[0], key)
        if rival != key:
            clashes.append(key[0])
            if number > seen[rival]:
                best[key[0]] = key
    return list(best.values()), sorted(set(clashes))


def _places(one: Reduction, place: dict[Key, int]) -> tuple[IntArray, IntArray]:
    """Positions of a recording's parameters in its own arrays and in the machine's."""
    columns = zip(one.names, one.units, one.meanings, one.known, strict=True)
    pairs = [
        (i, place[(name, unit, meaning)])
        for i, (name, unit, meaning, known) in enumerate(columns)
        if known and (name, unit, meaning) in place
    ]
    own = np.array([i for i, _ in pairs], dtype=np.int64)
    return own, np.array([j for _, j in pairs], dtype=np.int64)


def _sizes(used: Sequence[Reduction], place: dict[Key, int]) -> Array:
    """The smallest deviation of each parameter: the unit that the sums are done in."""
    found = np.full(len(place), np.inf)
    for one in used:
        own, here = _places(one, place)
        found[here] = np.minimum(found[here], one.std[own])
    return found


def _information(covariance: Array, scale: Array) -> Array:
    """Inverse of a covariance, in units of `scale`; rounding cannot make it negative."""
    std = np.sqrt(np.diag(covariance))
    values, vectors = np.linalg.eigh(covariance / np.outer(std, std))
    inverse = (vectors / np.maximum(values, _TOLD * values[-1])) @ vectors.T
    by = scale / std
    return np.asarray(by[:, None] * inverse * by[None, :])


def _inverse(information: Array) -> Array:
    if not len(information):
        return information
    size = np.sqrt(np.diag(information))
    values, vectors = np.linalg.eigh(information / np.outer(size, size))
    inverse = (vectors / np.maximum(values, _TOLD * values[-1])) @ vectors.T
    return np.asarray(inverse / np.outer(size, size))


def _agreement(chi_square: float, freedom: int) -> tuple[float, list[Finding]]:
    if not freedom:
        return 1.0, []
    ratio = chi_square / freedom
    if stats.chi2.sf(chi_square, freedom) >= LEVEL:
        return 1.0, []
    text = (
        f'the recordings disagree: their differences are {np.sqrt(ratio):.2g} times what their '
        f'deviations allow (chi-square {chi_square:.0f} with {freedom} degrees of freedom); the '
        'deviations of the machine are enlarged by that. See what changed over time'
    )
    return ratio, [Finding('warn', 'recordings_disagree', text)]


def _remarks(
    every: Sequence[Reduction], used: Sequence[Reduction], clashes: Sequence[str]
) -> list[Finding]:
    found = []
    if not used:
        found.append(Finding('bad', 'no_recording', 'none of its recordings can be used'))
    elif len(used) == 1:
        found.append(
            Finding('warn', 'one_recording', 'one recording alone: nothing confirms its values')
        )
    if len(every) > len(used):
        left = counted(len(every) - len(used), 'recording')
        text = f'{left} of {len(every)} left out: they cannot be used, or their verdict is no'
        found.append(Finding('note', 'recordings_left_out', text))
    if clashes:
        text = (
            f'{", ".join(clashes[:6])} stand for other sums in other recordings (a joint that '
            'rests changes the base parameters): the most frequent meaning is used'
        )
        found.append(Finding('note', 'other_meaning', text))
    return found
