"""Two or more results side by side: what changed, by how many deviations, and is that by chance?

Each estimate comes with its covariance; of independent recordings the difference has the sum of
both. A parameter has changed when its difference is larger than chance makes the largest of all
of them at the stated level (Holm's rule: a table of a hundred parameters raises no alarm of its
own); the differences together are judged by their chi-square, which also sees changes that no
single parameter shows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from veh_identification.errors import InputError
from veh_identification.files import read_json
from veh_identification.findings import Finding
from veh_identification.findings.numbers import beside
from veh_identification.saved_state import read_state
from veh_identification.types import Array, BoolArray

#: Probability of any false alarm in one comparison.
LEVEL = 0.01
#: Beside the largest eigenvalue, what a correlation matrix does not tell.
_TOLD = 1e-9


@dataclass(frozen=True, eq=False)
class Stored:
    """A result as it stands in its folder."""

    path: Path
    system: str
    names: tuple[str, ...]
    units: tuple[str, ...]
    value: Array
    covariance: Array
    correlated: bool  # whether the folder holds correlations, too
    verdict: str
    created: str
    bags: tuple[str, ...]
    arguments: Mapping[str, Any] = field(default_factory=dict)  # that it was made with


@dataclass(frozen=True, eq=False)
class Difference:
    """Of one parameter between two results."""

    name: str
    unit: str
    before: float
    before_std: float
    after: float
    after_std: float
    z: float  # difference over its deviation
    significant: bool

    @property
    def sentence(self) -> str:
        """What happened, in words."""
        word = 'rose' if self.after > self.before else 'fell'
        share = ''
        if self.before:
            share = f', {100.0 * (self.after - self.before) / abs(self.before):+.2g} %'
        return (
            f'{self.name} {word} by {abs(self.z):.1f} sigma, from '
            f'{beside(self.before, self.before_std)} to {beside(self.after, self.after_std)} '
            f'{self.unit}'.rstrip()
            + share
        )


@dataclass(frozen=True, eq=False)
class Comparison:
    """Two results beside each other."""

    before: Stored
    after: Stored
    level: float
    differences: tuple[Difference, ...]
    chi_square: float
    freedom: int
    findings: tuple[Finding, ...]

    @property
    def probability(self) -> float:
        """That chance alone makes differences as large as these, all together."""
        return float(stats.chi2.sf(self.chi_square, self.freedom)) if self.freedom else 1.0

    @property
    def changed(self) -> list[Difference]:
        """What chance does not explain, the clearest first."""
        found = [one for one in self.differences if one.significant]
        return sorted(found, key=lambda one: -abs(one.z))

    @property
    def different(self) -> bool:
        """Single parameters, or all of them together, have changed."""
        return bool(self.changed) or self.probability < self.level

    @property
    def headline(self) -> str:
        """One sentence."""
        if self.changed:
            more = len(self.changed) - 1
            also = f', and {more} more changed' if more else ''
            return f'{self.changed[0].sentence}{also}'
        if self.different:
            return (
                'no single parameter changed for sure, but all together differ by more than '
                f'chance (probability {self.probability:.1g})'
            )
        return f'no change: chance explains the differences (probability {self.probability:.2g})'

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            'before': str(self.before.path),
            'after': str(self.after.path),
            'pass': not self.different,
            'headline': self.headline,
            'level': self.level,
            'chi_square': self.chi_square,
            'degrees_of_freedom': self.freedom,
            'probability': self.probability,
            'changed': [one.name for one in self.changed],
            'parameters': [
                {
                    'name': one.name,
                    'unit': one.unit,
                    'before': one.before,
                    'before_std': one.before_std,
                    'after': one.after,
                    'after_std': one.after_std,
                    'sigmas': one.z,
                    'significant': one.significant,
                }
                for one in self.differences
            ],
            'findings': [one.as_dict() for one in self.findings],
        }


def load(folder: Path | str) -> Stored:
    """The result in a folder that `veh-id identify` wrote."""
    path = Path(folder)
    source = path / 'parameters.json' if path.is_dir() else path
    data = read_json(source)
    try:
        rows = data['parameters']
        origin = data.get('provenance', {})
        arguments = dict(origin.get('arguments', {}))
        names = tuple(str(row['name']) for row in rows)
        value = np.array([_number(row['value']) for row in rows])
        std = np.array([_number(row['std']) for row in rows])
        found = Stored(
            path,
            str(data['system']),
            names,
            tuple(str(row['unit']) for row in rows),
            value,
            np.diag(std**2),
            False,
            str(data['verdict']['level']),
            str(origin.get('created', '')),
            tuple(str(bag) for bag in data['input'].get('bags', ()) or arguments.get('bag', ())),
            arguments,
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        why = f'{type(error).__name__}: {error}'
        raise InputError(f'{source}: not a result of veh-id identify ({why})') from None
    return _with_correlations(found, source.parent / 'covariance.npz')


def _number(value: Any) -> float:
    return float('nan') if value is None else float(value)


def _with_correlations(found: Stored, path: Path) -> Stored:
    if not path.exists():
        return found
    state = read_state(path)
    state.expect_texts('names', found.names, 'result')
    known = state.flags('known', (len(found.names),))
    count = int(known.sum())
    covariance = found.covariance.copy()
    covariance[np.ix_(known, known)] = state.array('covariance', (count, count))
    return Stored(**{**vars(found), 'covariance': covariance, 'correlated': True})


def covariance_entries(names: Sequence[str], covariance: Array) -> dict[str, Any]:
    """What `covariance.npz` of a result holds: nothing that is not finite."""
    known: BoolArray = np.isfinite(np.diag(covariance))
    return {
        'names': np.array(list(names), dtype=str),
        'known': known,
        'covariance': covariance[np.ix_(known, known)],
    }


def compare(before: Stored, after: Stored, level: float = LEVEL) -> Comparison:
    """What changed from one result to another of the same kind."""
    if before.system != after.system:
        raise InputError(
            f'{before.path} is a {before.system}, {after.path} a {after.system}: '
            'they have nothing to compare'
        )
    a, b = _common(before, after)
    if not len(a):
        raise InputError(f'{before.path} and {after.path} know no parameter in common')
    step = after.value[b] - before.value[a]
    covariance = before.covariance[np.ix_(a, a)] + after.covariance[np.ix_(b, b)]
    std = np.sqrt(np.diag(covariance))
    z = step / std
    significant = holm(2.0 * stats.norm.sf(np.abs(z)), level)
    chi_square, freedom = _together(z, covariance / np.outer(std, std))
    differences = tuple(
        Difference(
            before.names[i],
            before.units[i],
            float(before.value[i]),
            float(np.sqrt(before.covariance[i, i])),
            float(after.value[j]),
            float(np.sqrt(after.covariance[j, j])),
            float(z[k]),
            bool(significant[k]),
        )
        for k, (i, j) in enumerate(zip(a, b, strict=True))
    )
    found = tuple(_reservations(before, after, len(a)))
    return Comparison(before, after, level, differences, chi_square, freedom, found)


def _common(before: Stored, after: Stored) -> tuple[list[int], list[int]]:
    place = {name: j for j, name in enumerate(after.names)}
    pairs = [
        (i, place[name])
        for i, name in enumerate(before.names)
        if name in place
        and before.units[i] == after.units[place[name]]
        and _is_known(before, i)
        and _is_known(after, place[name])
    ]
    return [i for i, _ in pairs], [j for _, j in pairs]


def _is_known(one: Stored, k: int) -> bool:
    return bool(np.isfinite(one.value[k]) and 0.0 < one.covariance[k, k] < np.inf)


def holm(probabilities: Array, level: float) -> BoolArray:
    """Which of many tests stand at a level that holds for all of them together (Holm 1979)."""
    order = np.argsort(probabilities)
    limits = level / (len(order) - np.arange(len(order)))
    stands = np.cumprod(probabilities[order] <= limits).astype(bool)
    found: BoolArray = np.zeros(len(order), dtype=bool)
    found[order] = stands
    return found


def _together(z: Array, correlation: Array) -> tuple[float, int]:
    """Chi-square of correlated differences; directions that nothing tells do not count."""
    values, vectors = np.linalg.eigh(correlation)
    told = values > _TOLD * values[-1]
    along = vectors[:, told].T @ z
    return float(np.sum(along**2 / values[told])), int(told.sum())


def _reservations(before: Stored, after: Stored, common: int) -> list[Finding]:
    found = []
    shared = sorted({*before.bags} & {*after.bags})
    if shared:
        text = (
            f'both use {shared[0]}: the estimates are not independent, so changes look too small'
        )
        found.append(Finding('warn', 'shared_recordings', text))
    for one in (before, after):
        if one.verdict == 'no':
            text = f'the verdict on {one.path} is "no": what differs may be its fault'
            found.append(Finding('warn', 'bad_result', text, str(one.path)))
        if not one.correlated:
            text = f'{one.path} holds no correlations (covariance.npz): parameters count as apart'
            found.append(Finding('note', 'correlations_unknown', text, str(one.path)))
    left = len({*before.names} ^ {*after.names})
    if left:
        text = f'{left} parameters stand in one of the results only; {common} are compared'
        found.append(Finding('note', 'other_parameters', text))
    return found


def compare_all(folders: Sequence[Path | str], level: float = LEVEL) -> list[Comparison]:
    """Each result with the one before it and, of more than two, the last with the first."""
    if len(folders) < 2:
        raise InputError('to compare takes two results or more')
    results = [load(folder) for folder in folders]
    pairs = [*pairwise(results)]
    if len(results) > 2:
        pairs.append((results[0], results[-1]))
    return [compare(*pair, level) for pair in pairs]
