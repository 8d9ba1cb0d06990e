"""The observer started at every second of a drive: never much worse than from the beginning.

Each start reads 25 s of the recording of the independent road car and is judged from its tenth
second on, beside the same drive observed from its standstill. Wheels have turned, the car moves or
stands, in a bend or not.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from observe.options import driving_options
from observe.road import DURATION, NOMINAL, Judged, by_observer, finite, write_bag
from veh_identification._version import __version__
from veh_identification.simulation.road_car.drive import RoadDrive, drive
from veh_identification.simulation.road_car.faults import Faults

PART = 'observe_starts'
LENGTH = 25.0
DRIVES = 5
ALLOWED = 3.0
STRIDE = 7  # of quick runs, and of what is driven first [s]


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


class Kept:
    """Starts that were judged already, in memory and in a file (one JSON a line)."""

    def __init__(self, resume: str, duration: float) -> None:
        self._path = Path(resume) if resume else None
        self._duration = duration
        self._found: dict[tuple[Any, ...], float] = {}
        if self._path is not None and self._path.exists():
            for line in self._path.read_text('utf-8').splitlines():
                entry = json.loads(line)
                value = entry['rms']
                self._found[tuple(entry['key'])] = np.inf if value is None else value

    def _key(self, seed: int, t: float) -> tuple[Any, ...]:
        return (__version__, PART, seed, self._duration, t)

    def __contains__(self, place: tuple[int, float]) -> bool:
        return self._key(*place) in self._found

    def rms(self, seed: int, t: float, judge: Callable[[], Judged]) -> float:
        """The error after a start at t of a drive; 0: from its beginning."""
        key = self._key(seed, t)
        if key not in self._found:
            self._found[key] = value = rms(judge())
            if self._path is not None:
                told = value if math.isfinite(value) else None
                with self._path.open('a', encoding='utf-8') as file:
                    file.write(json.dumps({'key': key, 'rms': told}) + '\n')
        return self._found[key]


def scattered(starts: list[float]) -> list[float]:
    """The same in an order whose beginning is spread over all of them, for want of time."""
    wide = [starts[first::STRIDE] for first in sorted(range(STRIDE), key=lambda k: k * 5 % STRIDE)]
    return [t for some in wide for t in some]


def measure(
    quick: bool,
    drives: int | None = None,
    seed: int = 0,
    duration: float = DURATION,
    minutes: float = math.inf,
    resume: str = '',
) -> list[dict[str, Any]]:
    """One row a drive: its worst start of those that the time allows."""
    kept = Kept(resume, duration)
    end = time.monotonic() + 60.0 * minutes
    seeds = range(seed, seed + (drives or (1 if quick else DRIVES)))
    whole: dict[int, RoadDrive] = {}
    found: dict[int, dict[float, float]] = {seed: {} for seed in seeds}

    def driven(seed: int) -> RoadDrive:
        if seed not in whole:
            whole[seed] = drive(seed, duration=duration)
        return whole[seed]

    def judged(seed: int, t: float) -> Judged:
        one = driven(seed)
        return observed(one.sensed_again(Faults(skip=t), t + LENGTH) if t else one)

    starts = np.arange(1.0, duration - LENGTH, STRIDE if quick else 1.0).tolist()
    for t in (0.0, *(starts if quick else scattered(starts))):
        for seed in seeds:
            if (seed, t) in kept or time.monotonic() <= end:
                found[seed][t] = kept.rms(seed, t, partial(judged, seed, t))
    return [finite(_row(seed, one)) for seed, one in found.items() if len(one) > 1]


def _row(seed: int, found: dict[float, float]) -> dict[str, Any]:
    nominal = found.pop(0.0, np.inf)
    worst = max(found, key=lambda t: found[t])
    return {
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
