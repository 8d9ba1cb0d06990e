"""The observer started at every second of a drive: never much worse than from the beginning.

Each start reads 25 s of the recording of the independent road car and is judged from its tenth
second on, beside the same drive observed from its standstill. Wheels have turned, the car moves or
stands, in a bend or not.
"""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from observe.options import driving_options
from observe.road import DURATION, NOMINAL, Judged, by_observer, finite, write_bag
from veh_identification.simulation.road_car.drive import RoadDrive, drive
from veh_identification.simulation.road_car.faults import Faults

PART = 'observe_starts'
LENGTH = 25.0
DRIVES = 5
ALLOWED = 3.0


def observed(found: RoadDrive) -> Judged:
    """The observer on a drive."""
    with tempfile.TemporaryDirectory() as folder:
        return by_observer(found, write_bag(found, Path(folder)), NOMINAL)


def rms(judged: Judged) -> float:
    """Of the position; infinite for a failure or for less than half of the time."""
    one = judged.score
    return np.inf if one is None or not one.share > 0.5 else one.rms


def options_parser() -> argparse.ArgumentParser:
    """What `veh-id bench` takes for this part."""
    return driving_options(PART, cases=False)


def measure(
    quick: bool,
    drives: int | None = None,
    duration: float = DURATION,
    minutes: float = math.inf,
) -> list[dict[str, Any]]:
    """One row a drive: its worst start of those that the time allows."""
    rows: list[dict[str, Any]] = []
    end = time.monotonic() + 60.0 * minutes
    for seed in range(drives or (1 if quick else DRIVES)):
        if rows and time.monotonic() > end:
            break
        whole = drive(seed, duration=duration)
        nominal = rms(observed(whole))
        starts = np.arange(1.0, duration - LENGTH, 7.0 if quick else 1.0)
        found: dict[float, float] = {}
        for t in starts.tolist():
            if not found or time.monotonic() <= end:
                found[t] = rms(observed(whole.sensed_again(Faults(skip=t), t + LENGTH)))
        worst = max(found, key=lambda t: found[t])
        rows.append(
            {
                'case': f'drive {seed}: worst of {len(found)} starts, at {worst:g} s',
                'unit': 'm rms',
                'ours': found[worst],
                'peer': nominal,
                'peer_name': 'from the beginning',
                'ratio': nominal / found[worst],
                'wanted': f'<= {ALLOWED:g} x nominal',
                'met': found[worst] <= ALLOWED * nominal,
                'starts': found,
                'too_far': sum(value > ALLOWED * nominal for value in found.values()),
            }
        )
    return [finite(row) for row in rows]
