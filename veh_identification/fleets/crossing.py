"""Residuals on each other's data: how well does the model of one result foretell the other's?

A difference of many deviations may matter little, and many small ones may matter together; what
the model misses of data that it has not seen says which. Each result is made again from its own
recordings, as its provenance says, with those of the other for validation: the way of every
system, the same that `veh-id identify --validate` takes. What cannot be made again is a sentence.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from veh_identification.errors import InputError, VehIdError
from veh_identification.findings import Finding
from veh_identification.findings.numbers import percent
from veh_identification.fleets.entries import date_of
from veh_identification.results.comparison import Comparison, Stored
from veh_identification.results.outcome import Outcome
from veh_identification.systems.driver import run
from veh_identification.types import Progress

#: Recordings of the other result that a model is tried on.
MOST = 3
#: Deviations that a value may lie off the stored one before it counts as another result.
SAME = 0.05
#: What is no option of a system among the arguments of a result.
_OTHERS = ('folder', 'bag', 'config', 'validate')


@dataclass(frozen=True)
class Fit:
    """What a model misses of data, one equation."""

    rms: float
    relative: float  # to the rms of what was measured


@dataclass(frozen=True, eq=False)
class Crossed:
    """One model on the data of the other result."""

    model: str
    data: str
    fits: Mapping[str, Fit]  # by equation
    own: Mapping[str, Fit]  # of the model that these data gave

    @property
    def worst(self) -> tuple[str, float]:
        """The equation whose residuals grow most beside those of the data's own model."""
        grown = {
            name: self.fits[name].rms / self.own[name].rms
            for name in self.fits
            if name in self.own and self.own[name].rms > 0.0
        }
        known = {name: ratio for name, ratio in grown.items() if np.isfinite(ratio)}
        return max(known.items(), key=lambda one: one[1]) if known else ('', float('nan'))

    @property
    def text(self) -> str:
        """In words."""
        name, ratio = self.worst
        if not name:
            return f'the model of {self.model} on the data of {self.data}: no equation in common'
        return (
            f'the model of {self.model} misses the data of {self.data} by at most {ratio:.2g} '
            f'times what the own model of these data does ({name}: '
            f'{percent(self.fits[name].relative)} of the measured against '
            f'{percent(self.own[name].relative)})'
        )


@dataclass(frozen=True, eq=False)
class Crossing:
    """Both ways, and why one is missing."""

    ways: tuple[Crossed, ...]
    findings: tuple[Finding, ...]

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            'ways': [
                {
                    'model': one.model,
                    'data': one.data,
                    'text': one.text,
                    'equations': {
                        name: {
                            'rms': fit.rms,
                            'rms_relative': fit.relative,
                            'own_rms': one.own[name].rms if name in one.own else None,
                            'own_rms_relative': one.own[name].relative
                            if name in one.own
                            else None,
                        }
                        for name, fit in one.fits.items()
                    },
                }
                for one in self.ways
            ],
            'findings': [one.as_dict() for one in self.findings],
        }


def recordings_of(stored: Stored) -> list[Path]:
    """The recordings of a result, where they can still be found."""
    then = Path(str(stored.arguments.get('folder', '')))
    found = []
    for word in stored.arguments.get('bag') or stored.bags:
        if word is not None:
            here = next((p for p in (then / word, Path(word)) if p.exists()), None)
            found += [here] if here is not None else []
    return found


def recorded(stored: Stored) -> str:
    """When the first recording of a result begins, UTC; empty where that is not known."""
    from veh_identification.runtime.bags import BagReader

    begins = []
    for path in recordings_of(stored):
        try:
            with BagReader(path, on_error='skip') as reader:
                begins.append(reader.info()[0].start_ns)
        except VehIdError:
            continue
    return date_of(min(begins)) if begins else ''


class Crossings:
    """Residuals of several pairs; what was made again once serves all of them."""

    def __init__(self, progress: Progress | None = None) -> None:
        self._progress = progress
        self._made: dict[tuple[Path, Path], Outcome[Any]] = {}

    def of(self, pair: Comparison) -> Crossing:
        """Both ways of one pair."""
        ways, findings = [], []
        for model, data in ((pair.before, pair.after), (pair.after, pair.before)):
            try:
                crossed, told = self._way(model, data)
            except VehIdError as error:
                text = (
                    f'no residuals of the model of {model.path} on the data of {data.path}: '
                    f'{error}'
                )
                findings.append(Finding('note', 'no_residuals', text, str(model.path)))
                continue
            ways.append(crossed)
            findings += told
        return Crossing(tuple(ways), tuple(findings))

    def _way(self, model: Stored, data: Stored) -> tuple[Crossed, list[Finding]]:
        others = _all_there(data)
        # The same rows by the same way for both: residuals of a fit may leave rows out.
        fits, own = (
            _pooled([_validation(self._outcome(who, one)) for one in others[:MOST]])
            for who in (model, data)
        )
        crossed = Crossed(str(model.path), str(data.path), fits, own)
        findings = [*self._other_values(model), *self._other_values(data)]
        if len(others) > MOST:
            text = f'{data.path} has {len(others)} recordings; residuals are those of {MOST}'
            findings.append(Finding('note', 'some_recordings', text))
        return crossed, findings

    def _other_values(self, stored: Stored) -> list[Finding]:
        """A result that was made again must be the stored one."""
        result = self._outcome(stored, _all_there(stored)[0]).result
        again = dict(zip(result.names, result.value, strict=True))
        std = np.sqrt(np.diag(stored.covariance))
        off = [
            abs(again.get(name, np.inf) - value) / deviation
            for name, value, deviation in zip(stored.names, stored.value, std, strict=True)
            if np.isfinite(value) and 0.0 < deviation < np.inf
        ]
        if max(off, default=0.0) < SAME:
            return []
        text = (
            f'{stored.path} made again gives other values (up to {max(off):.2g} sigma): its '
            'recordings, description, options or this program changed since. The residuals are '
            'those of the new values'
        )
        return [Finding('warn', 'made_again_differs', text, str(stored.path))]

    def _outcome(self, stored: Stored, validate: Path) -> Outcome[Any]:
        key = (stored.path, validate)
        if key not in self._made:
            self._made[key] = _made_again(stored, validate, self._progress)
        return self._made[key]


def _all_there(stored: Stored) -> list[Path]:
    given = stored.arguments.get('bag') or ()
    if not given:
        raise InputError(
            f'{stored.path} does not say how it was made (a machine of a batch, or made by an '
            'earlier version).'
        )
    found = recordings_of(stored)
    if len(found) < len(given):
        lost = [
            str(word) for word in given if word is None or Path(word).name not in _names(found)
        ]
        raise InputError(f'{(lost or ["a recording"])[0]} of {stored.path} is not there any more.')
    return found


def _names(paths: list[Path]) -> set[str]:
    return {path.name for path in paths}


def _made_again(stored: Stored, validate: Path, progress: Progress | None) -> Outcome[Any]:
    recordings = _all_there(stored)
    then = Path(str(stored.arguments['folder']))

    def found(value: Any) -> Any:
        """A relative path of then, where it is one."""
        if isinstance(value, list):
            return [found(one) for one in value]
        there = then / value if isinstance(value, str) and value else None
        return there if there is not None and there.is_file() else value

    options = {
        name: found(value) for name, value in stored.arguments.items() if name not in _OTHERS
    }
    return run(
        'identify',
        stored.system,
        recordings,
        config=found(stored.arguments.get('config')),
        validate=validate,
        options={name: value for name, value in options.items() if value is not None},
        progress=progress,
    )


def _validation(outcome: Outcome[Any]) -> dict[str, Fit]:
    rows = outcome.document[1].get('validation') or {}
    if not rows:
        raise InputError('the recording cannot be used for validation.')
    return {
        str(name): Fit(_number(row['rms']), _number(row['rms_relative']))
        for name, row in rows.items()
    }


def _number(value: Any) -> float:
    return float('nan') if value is None else float(value)


def _pooled(parts: list[dict[str, Fit]]) -> dict[str, Fit]:
    """Over several recordings, each as much as the others."""
    if len(parts) == 1:
        return parts[0]
    found = {}
    for name in parts[0]:
        fits = [part[name] for part in parts if name in part]
        square = float(np.mean([fit.rms**2 for fit in fits]))
        with np.errstate(divide='ignore', invalid='ignore'):
            measured = float(np.mean([np.square(fit.rms / fit.relative) for fit in fits]))
        relative = float(np.sqrt(square / measured)) if measured > 0.0 else float('nan')
        found[name] = Fit(float(np.sqrt(square)), relative)
    return found
