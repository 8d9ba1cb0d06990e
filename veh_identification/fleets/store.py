"""Reductions on the disk, by the hash of what they are made of: a second run does what is new."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from veh_identification.atomic import write_text
from veh_identification.errors import VehIdError
from veh_identification.files import read_json
from veh_identification.findings import Finding
from veh_identification.fleets.fingerprints import content_of, state_of
from veh_identification.fleets.reduction import Reduction
from veh_identification.saved_state import StateError, read_state, write_state

INDEX = 'index.json'
_LISTS = ('names', 'units', 'meanings')
_PLAIN = ('system', 'start_ns', 'seconds', 'samples', 'verdict', 'headline', 'error', 'usage')


class Store:
    """A folder of reductions; `folder` None: nothing is kept."""

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder
        #: Address of a recording: state of its files when they were read, hash of the content.
        self._contents: dict[str, list[str]] = {}
        self.damaged: list[str] = []
        if folder is not None and (folder / INDEX).is_file():
            self._contents = _index(folder / INDEX)

    def content(self, address: str, *, verify: bool = False) -> str:
        """Hash of a recording; read only when its files are not those of the last time."""
        state = state_of(address)
        known = self._contents.get(address)
        if known is not None and known[0] == state and not verify:
            return known[1]
        found = content_of(address)
        self._contents[address] = [state, found]
        return found

    def get(self, key: str) -> Reduction | None:
        """What is stored, None where nothing is or where it is damaged."""
        path = self._path(key)
        if path is None or not path.is_file():
            return None
        try:
            return unpacked(read_state(path))
        except (StateError, ValueError, KeyError, TypeError) as error:
            self.damaged.append(f'{path} is damaged and made again: {error}')
            return None

    def put(self, key: str, reduction: Reduction) -> None:
        """Keep it, whole or not at all."""
        path = self._path(key)
        if path is not None and reduction.kept:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_state(path, packed(reduction))

    def save_index(self) -> None:
        """So that the next run need not read the recordings to know them."""
        if self.folder is not None:
            self.folder.mkdir(parents=True, exist_ok=True)
            write_text(self.folder / INDEX, json.dumps(self._contents))

    def _path(self, key: str) -> Path | None:
        return None if self.folder is None else self.folder / key[:2] / f'{key}.npz'


def _index(path: Path) -> dict[str, list[str]]:
    """Only saves time: a damaged one is as good as none."""
    try:
        found = read_json(path, 2**30)
    except VehIdError:
        return {}
    if not isinstance(found, dict):
        return {}
    return {
        str(key): value
        for key, value in found.items()
        if isinstance(value, list) and len(value) == 2 and all(isinstance(v, str) for v in value)
    }


def packed(one: Reduction) -> dict[str, Any]:
    """Arrays of a file: the lower triangle of the covariance, the rest as JSON."""
    about = {
        **{name: getattr(one, name) for name in (*_PLAIN, *_LISTS)},
        'findings': [finding.as_dict() for finding in one.findings],
    }
    known = np.isfinite(np.diag(one.covariance))
    inside = one.covariance[np.ix_(known, known)]
    valued = np.isfinite(one.value)
    return {
        'about': np.frombuffer(json.dumps(about).encode(), np.uint8),
        'valued': valued,
        'value': one.value[valued],
        'known': known,
        'covariance': inside[np.tril_indices(len(inside))],
    }


def unpacked(state: Any) -> Reduction:
    """What `packed` made an archive of; StateError where it is not that."""
    about = json.loads(state.array('about', (None,), low=0, high=255).astype(np.uint8).tobytes())
    names = about['names']
    valued, known = (state.flags(key, (len(names),)) for key in ('valued', 'known'))
    value = np.full(len(names), np.nan)
    value[valued] = state.array('value', (int(valued.sum()),))
    size = int(known.sum())
    inside = np.zeros((size, size))
    lower = np.tril_indices(size)
    inside[lower] = state.array('covariance', (len(lower[0]),))
    covariance = np.full((len(names), len(names)), np.nan)
    covariance[np.ix_(known, known)] = np.tril(inside) + np.tril(inside, -1).T
    entries: dict[str, Any] = {name: about[name] for name in _PLAIN}
    entries |= {name: tuple(about[name]) for name in _LISTS}
    entries['findings'] = tuple(Finding(**one) for one in about['findings'])
    return Reduction(value=value, covariance=covariance, **entries)
