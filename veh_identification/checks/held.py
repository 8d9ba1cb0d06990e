"""Short holds: a channel that changes with every sample, and then not at all for a while.

A machine that comes to rest slows down first, an encoder with coarse ticks rests all the time. A
driver that repeats its last message does neither: the value stands from one sample to the next,
and leaps when the sensor is back.
"""

from __future__ import annotations

import numpy as np

from veh_identification.checks.health import ROUNDING
from veh_identification.findings import Finding, Level
from veh_identification.types import Array, BoolArray

#: Samples that it takes to tell, and share of the steps at which such a channel changes.
FEWEST, CHANGES = 200, 0.9
#: A hold lasts so long (seconds, samples).
SHORTEST, SAMPLES = 0.15, 15
#: Of the usual step: what the last steps before a hold are at least, and the leap after it; with
#: a leap alone, of the largest steps.
BEFORE, LEAP, QUANTILE = 0.3, 3.0, 0.99
#: Steps that are looked at on each side.
ABOUT = 4
#: Blank messages one after the other from which on they are no chance.
BLANK_SAMPLES = 3
#: From so many seconds on nothing can be read across it.
LONG = 0.5


def check_held(
    time: Array, value: Array, where: str, *, moving: BoolArray | None = None
) -> list[Finding]:
    """A channel that stands still all at once for some tenths of a second, and leaps afterwards.

    `moving` marks the samples at which the machine is known to move. What stands at zero, or at
    an end of its range, is a matter of other checks.
    """
    good = np.isfinite(value)
    t, v = time[good], value[good]
    if len(v) < FEWEST or not np.ptp(v) > 0.0:
        return []
    step = np.abs(np.diff(v))
    moved = step > ROUNDING * np.abs(v).max()
    edges = np.concatenate([[0], np.flatnonzero(moved) + 1, [len(v)]])
    counts = np.diff(edges)
    long = (counts >= SAMPLES) & (t[edges[1:] - 1] - t[edges[:-1]] >= SHORTEST)
    # Without the holds it changes all the time, else it has ticks or rests.
    others = counts[~long]
    if not long.any() or not len(others) > FEWEST // 2 or len(others) < CHANGES * others.sum():
        return []
    steps = step[moved]
    usual, largest = float(np.median(steps)), float(np.quantile(steps, QUANTILE))
    for k in np.flatnonzero(long):
        first, last = int(edges[k]), int(edges[k + 1]) - 1
        if _rightly(v, first) or (moving is not None and not _moves(moving[good], first, last)):
            continue
        before = step[max(first - ABOUT, 0) : first]
        leap = float(step[last]) if last < len(step) else 0.0
        abrupt = len(before) > 1 and float(before.mean()) > BEFORE * usual
        if leap > LEAP * largest or (abrupt and leap > BEFORE * usual):
            return [_finding(where, float(t[first]), float(t[last]))]
    return []


def check_blank(
    time: Array, values: Array, where: str, *, moving: BoolArray | None = None
) -> list[Finding]:
    """A message with several channels (n, parts) that are all exactly nothing now and then.

    What measures shows noise: such messages were filled in by a driver that had lost its sensor.
    `moving` marks the samples at which the machine is known to move: some must be among them. At
    rest, a simulator without noise that leaves gravity out rightly says nothing.
    """
    blank = np.all(values == 0.0, axis=1)
    share = float(np.mean(blank)) if len(blank) else 0.0
    alive = np.any(values[1:] != values[:-1], axis=1)[~blank[1:]]
    if len(blank) < FEWEST or not 0.0 < share < 0.5 or not np.mean(alive) > CHANGES:
        return []
    edges = np.flatnonzero(np.diff(np.concatenate([[0], blank.astype(int), [0]])))
    first, last = edges[::2], edges[1::2] - 1
    long = last - first + 1 >= BLANK_SAMPLES
    if moving is not None:
        long &= np.array([moving[a : b + 1].all() for a, b in zip(first, last, strict=True)])
    if not long.any():
        return []
    lost = float(np.sum(time[last] - time[first]))
    text = (
        f'{where}: all its values are exactly zero {len(first)} times, {lost:.2g} s in all (first '
        f'at {time[first[0]]:.2f} s), where they change with every sample otherwise: messages of '
        'a sensor that was lost; leave them out where they are made'
    )
    return [Finding('bad', 'stuck', text, where, size=lost)]


def _rightly(value: Array, place: int) -> bool:
    """Whether a value that is held is nothing, or a limit."""
    return bool(value[place] in (0.0, value.max(), value.min()))


def _moves(moving: BoolArray, first: int, last: int) -> bool:
    return bool(np.mean(moving[first : last + 1]) > 0.5)


def _finding(where: str, begin: float, end: float) -> Finding:
    text = (
        f'{where} changes with every sample, but not at all from {begin:.2f} s to {end:.2f} s, '
        'and leaps afterwards: the sensor or its driver repeats its last value: leave that part '
        'out'
    )
    level: Level = 'bad' if end - begin > LONG else 'warn'
    return Finding(level, 'stuck', text, where, size=end - begin)
