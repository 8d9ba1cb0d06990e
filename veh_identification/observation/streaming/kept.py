"""What an observer needs to go on after its process has ended.

The samples that it started with, from which the same filter is made again, and the state of that
filter. Kinds, names and sizes all come from the filter made anew; a file brings numbers only, each
checked against its place, so that a damaged one is refused and not followed.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from typing import Any, Protocol

import numpy as np

from veh_identification.errors import EstimationError
from veh_identification.fusion.health import HealthOptions
from veh_identification.observation.error_ekf import ErrorEKF, Snapshot
from veh_identification.observation.protocols import Counts
from veh_identification.observation.streaming.arrivals import Item
from veh_identification.observation.trust import Episode, Trust
from veh_identification.saved_state import SavedState

VERSION = 4
PREFIX = 'observer_'
#: A start of more samples is not kept: every writing would cost too much.
MOST_SAMPLES = 50_000
#: Arrays in which "not yet" is no number.
UNKNOWN_ALLOWED = frozenset({'hot'})
#: Of the process that has ended, or settings of the filter: not taken over.
NOT_KEPT = (Counts, HealthOptions)


class Kept(Protocol):
    """Of a started system, what is kept of it."""

    origin_ns: int
    step_ns: int

    @property
    def filter(self) -> ErrorEKF:
        """What estimates."""

    def held(self) -> dict[str, Any]:
        """What drives the model now: numbers, texts, lists of them."""

    def hold(self, held: Mapping[str, Any]) -> None:
        """Drive the model by what an earlier session held."""


def is_kept(state: SavedState) -> bool:
    """Whether a stored state holds that of an observer."""
    return f'{PREFIX}version' in state


def kept_state(session: Kept, steps: int, start: Mapping[str, Any]) -> dict[str, Any]:
    """Arrays and texts to be stored: `steps` were made since the `start` (see `kept_start`)."""
    arrays: dict[str, Any] = {}
    _name_factors(session.filter)
    plain = _plain(session.filter.snapshot(), '', arrays)
    found = {
        'version': VERSION,
        'steps': steps,
        'origin': np.array([session.origin_ns, session.step_ns]),
        'plain': json.dumps([plain, session.held()]),
        **start,
        **arrays,
    }
    return {f'{PREFIX}{name}': value for name, value in found.items()}


def kept_start(start: Sequence[Item]) -> dict[str, Any]:
    """The samples of a start as arrays."""
    if len(start) > MOST_SAMPLES:
        raise EstimationError(f'{len(start)} samples of a start are too many to be kept')
    keys = sorted({item.key for item in start})
    places = {key: k for k, key in enumerate(keys)}
    return {
        'keys': np.array(keys, dtype=str),
        'which': np.array([places[item.key] for item in start], dtype=np.int64),
        'times': np.array([item.time_ns for item in start], dtype=np.int64),
        'lengths': np.array([len(item.payload) for item in start], dtype=np.int64),
        'samples': np.array([one for item in start for one in item.payload], dtype=float),
    }


def start_of(state: SavedState) -> list[Item]:
    """The samples of the start."""
    state.expect_version(VERSION, f'{PREFIX}version')
    keys, times = state.texts(f'{PREFIX}keys'), state.stamps(f'{PREFIX}times')
    which = state.counts(f'{PREFIX}which', times.shape)
    lengths = state.counts(f'{PREFIX}lengths', times.shape)
    values = state.array(f'{PREFIX}samples', (None,), finite=False)
    if not times.size or which.max() >= len(keys) or lengths.sum() != values.size:
        raise state.refused(f'{PREFIX}samples', 'are not those of a start')
    parts = np.split(values, np.cumsum(lengths)[:-1])
    return [
        Item(int(time), keys[k], tuple(part.tolist()))
        for time, k, part in zip(times, which, parts, strict=True)
    ]


def _grid(state: SavedState) -> tuple[int, int]:
    """Origin and step of its steps [ns]."""
    found = state.stamps(f'{PREFIX}origin')
    if found.size != 2 or not found[1] > 0:
        raise state.refused(f'{PREFIX}origin', 'is no origin and step')
    return int(found[0]), int(found[1])


def end_of(state: SavedState) -> int:
    """When its last step ended [ns]."""
    origin_ns, step_ns = _grid(state)
    return origin_ns + state.count(f'{PREFIX}steps') * step_ns


def take_over(state: SavedState, session: Kept) -> int:
    """Give a session that was started with `start_of` the stored state; returns its steps."""
    if _grid(state) != (session.origin_ns, session.step_ns):
        raise state.refused(f'{PREFIX}origin', 'is not that of its start')
    with state.tried():
        plain, held = json.loads(state.text(f'{PREFIX}plain'))
        _name_factors(session.filter)
        found: Snapshot = _filled(session.filter.snapshot(), plain, '', state)
        if (found.P.diagonal() < 0.0).any():
            raise EstimationError('a variance is negative')
        if not math.isfinite(found.time):
            raise EstimationError('its time is no number')
        session.filter.restore(found)
        session.hold(held)
    return state.count(f'{PREFIX}steps')


def _name_factors(filter_: ErrorEKF) -> None:
    """Factors of adaptive noise appear with the first sample of a sensor: let all be there."""
    if filter_.adaptive is not None:
        for name, sensor in filter_.sensors.items():
            filter_.adaptive.factor(name, sensor.size)


# Snapshots as plain data ------------------------------------------------------------------------


def _plain(value: Any, name: str, arrays: dict[str, Any]) -> Any:
    """Numbers, texts, lists and tables of a value; its arrays go into `arrays`, by their names."""
    if isinstance(value, np.ndarray):
        arrays[name] = value
        return None
    if isinstance(value, NOT_KEPT):
        return None
    if isinstance(value, Trust):
        value = replace(value, episodes=())
    if is_dataclass(value):
        value = {one.name: getattr(value, one.name) for one in fields(value)}
    if isinstance(value, Mapping):
        return {key: _plain(one, _below(name, key), arrays) for key, one in value.items()}
    if isinstance(value, tuple):
        return [_plain(one, _below(name, str(k)), arrays) for k, one in enumerate(value)]
    if isinstance(value, Enum):
        return value.value
    return value.item() if isinstance(value, np.generic) else value


def _below(name: str, key: str) -> str:
    return f'{name}.{key}' if name else key


def _filled(pattern: Any, plain: Any, name: str, state: SavedState) -> Any:
    """A value like `pattern`, with the numbers that were stored."""
    if isinstance(pattern, np.ndarray):
        finite = name not in UNKNOWN_ALLOWED
        return state.array(f'{PREFIX}{name}', pattern.shape, finite=finite)
    if isinstance(pattern, NOT_KEPT):
        return pattern
    if is_dataclass(pattern) and not isinstance(pattern, type):
        named = {
            one.name: _filled(
                getattr(pattern, one.name), plain[one.name], _below(name, one.name), state
            )
            for one in fields(pattern)
        }
        return _with_episode(replace(pattern, **named))
    if isinstance(pattern, Mapping):
        return {k: _filled(one, plain[k], _below(name, k), state) for k, one in pattern.items()}
    if isinstance(pattern, tuple) and isinstance(plain, list) and len(pattern) == len(plain):
        values = [
            _filled(a, b, _below(name, str(k)), state)
            for k, (a, b) in enumerate(zip(pattern, plain, strict=True))
        ]
        return type(pattern)(*values) if hasattr(pattern, '_fields') else tuple(values)
    if isinstance(pattern, Enum):
        return type(pattern)(plain)
    return _simple(pattern, plain, name)


def _with_episode(value: Any) -> Any:
    """A sensor that was set aside still is; what was before belongs to the process that ended."""
    if isinstance(value, Trust) and value.health.aside:
        health = value.health
        return replace(value, episodes=(Episode(health.aside_since, np.nan, health.reason),))
    return value


def _simple(pattern: Any, plain: Any, name: str) -> Any:
    """A number or text of the kind of the pattern, or a list of numbers of any length."""
    if pattern is None and (plain is None or type(plain) is float):
        return plain
    if isinstance(plain, list) and (pattern is None or isinstance(pattern, tuple)):
        if not all(type(one) in (int, float) for one in plain):
            raise EstimationError(f'{name} is no list of numbers')
        return tuple(float(one) for one in plain)
    if isinstance(pattern, tuple) and pattern and plain is None:
        return None
    pattern = pattern.item() if isinstance(pattern, np.generic) else pattern
    kinds = {bool: (bool,), int: (int,), float: (int, float), str: (str,)}
    if type(plain) not in kinds.get(type(pattern), ()):
        raise EstimationError(f'{name} is {str(plain)[:40]!r}, expected {type(pattern).__name__}')
    return type(pattern)(plain)
