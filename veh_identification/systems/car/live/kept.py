"""The chunk that is being filled, kept for a restart beside the estimate.

A chunk is fifteen seconds of driving and half a minute of it may be all that a short drive has: a
restart that lost it would lose more than the period of the checkpoints.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from veh_identification.saved_state import SavedState
from veh_identification.systems.car.live.chunks import (
    CHANNELS,
    JOINTS,
    MOST_SAMPLES,
    CarChunks,
    Waiting,
)
from veh_identification.systems.car.parameters import CORNERS

#: Entries of ours among those of the estimate.
PREFIX = 'waiting_'
#: How many values a sample of each sensor has.
WIDTHS = {
    'imu': len(CHANNELS['imu'][0]),
    'speed': len(CHANNELS['speed'][0]),
    **{f'wrench_{corner}': len(CHANNELS['wrench'][0]) for corner in CORNERS},
    **dict.fromkeys(sorted(JOINTS), 1),
}


@dataclass(frozen=True)
class KeptChunk:
    """What `CarChunks` holds: where the chunk begins, and the samples of each sensor."""

    begin_ns: int
    newest_ns: int
    cut: bool
    sensors: Mapping[str, Waiting]


def entries_of(chunks: CarChunks) -> dict[str, Any]:
    """The samples that wait, fit for np.savez; nothing where none do."""
    held = chunks.held()
    if not held:
        return {}
    entries: dict[str, Any] = {
        f'{PREFIX}names': np.array(sorted(held)),
        f'{PREFIX}span': np.array([chunks.begin_ns, chunks.newest_ns], np.int64),
        f'{PREFIX}cut': chunks.cut,
    }
    for name, one in held.items():
        entries[f'{PREFIX}{name}_stamps'] = one.stamps
        entries[f'{PREFIX}{name}_values'] = one.values
        entries[f'{PREFIX}{name}_fresh'] = one.fresh
    return entries


def chunk_of(stored: SavedState) -> KeptChunk | None:
    """What `entries_of` gave, each entry looked at; None where nothing waited."""
    if f'{PREFIX}names' not in stored:
        return None
    span = stored.stamps(f'{PREFIX}span')
    if len(span) != 2 or not 0 < span[0] <= span[1]:
        raise stored.refused(f'{PREFIX}span', 'is no time of a chunk')
    sensors = {}
    for name in stored.texts(f'{PREFIX}names'):
        if name not in WIDTHS:
            raise stored.refused(f'{PREFIX}names', f'holds {name[:40]!r}, which is no sensor')
        stamps = stored.stamps(f'{PREFIX}{name}_stamps')
        if len(stamps) > MOST_SAMPLES:
            raise stored.refused(f'{PREFIX}{name}_stamps', f'are {len(stamps)}, too many')
        # A sample that is no number waits like any other, to be counted with its chunk.
        values = stored.array(f'{PREFIX}{name}_values', (len(stamps), WIDTHS[name]), finite=False)
        fresh = stored.flags(f'{PREFIX}{name}_fresh', (len(stamps),))
        sensors[name] = Waiting(stamps, values, fresh)
    return KeptChunk(int(span[0]), int(span[1]), stored.flag(f'{PREFIX}cut'), sensors)
