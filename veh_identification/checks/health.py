"""Channels that stand still, repeat values, run into limits or are not there at times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from veh_identification.findings import Finding, Level
from veh_identification.types import Array, BoolArray

#: A channel that does not change for this long while it changes otherwise is stuck.
STUCK_SECONDS = 2.0
#: So many times its usual longest rest: coarse encoders and slow signals rest too.
STUCK_TIMES = 20.0
#: Values that are repeated: so many of them, as a share of all, each for so long (seconds).
REPEATED_RUNS, REPEATED_SHARE, REPEATED_SECONDS = 20, 0.8, 0.015
#: A jump is so many times larger than nearly all sudden steps of the channel, and lasts for as
#: many samples; so many of the largest steps are looked at.
JUMP_TIMES, AROUND, CANDIDATES = 10.0, 10, 5
QUANTILE = 0.99
#: Steps of this many ticks are no ticks.
TICKS = 5.0
#: Share of the samples at one extreme value that is no chance.
SATURATED_SHARE = 0.005
#: Steps of a channel over its deviation from which on it is coarse, and too coarse for anything.
COARSE, TOO_COARSE = 0.5, 1.5
#: Steps of a vehicle's channels below which they are no matter, by unit: a channel that hardly
#: varies (a car that goes straight on) may have steps as large as it varies.
LEAST_STEPS = {'rad/s': 0.02, 'm/s^2': 0.3, 'm': 1e-3, 'N': 100.0, 'm/s': 0.5}
#: Share of the samples that are no numbers.
MISSING_SHARE = 0.01
#: Changes below this share of the largest value are rounding.
ROUNDING = 1e-12


@dataclass(frozen=True)
class Rest:
    """The longest time without any change of value, and how long others last."""

    begin: float
    end: float
    usual: float  # seconds, median of the other rests

    @property
    def seconds(self) -> float:
        """How long it lasts."""
        return self.end - self.begin


def longest_rest(time: Array, value: Array) -> Rest | None:
    """Where the value does not change at all for the longest time."""
    good = np.isfinite(value)
    t, v = time[good], value[good]
    if len(t) < 3:
        return None
    # What a filter or a turn of axes makes of a constant is one up to rounding.
    moved = np.flatnonzero(np.abs(np.diff(v)) > ROUNDING * np.abs(v).max())
    edges = np.concatenate([[0], moved + 1, [len(v)]])
    begin, end = t[edges[:-1]], t[edges[1:] - 1]
    lasted = end - begin
    k = int(np.argmax(lasted))
    if not lasted[k] > 0.0:
        return None
    others = np.delete(lasted, k)
    others = others[others > 0.0]
    usual = float(np.median(others)) if len(others) > 1 else 0.0
    return Rest(float(begin[k]), float(end[k]), usual)


def check_stuck(
    time: Array,
    value: Array,
    where: str,
    *,
    moving: BoolArray | None = None,
    moved: float = float('inf'),
    least: float = STUCK_SECONDS,
) -> list[Finding]:
    """A channel that holds one value although it, or the machine, moves.

    `moving` marks the samples at which the machine is known to move; without it a channel that
    never changes says nothing. It moves for half of the time; of a channel that else never rests,
    so many seconds (`moved`) suffice: what comes to a stand before its sensor is back is no rest.
    `least`: shorter rests are none; quick machines need less.
    """
    longest = longest_rest(time, value)
    if longest is None or longest.seconds < max(least, STUCK_TIMES * longest.usual):
        return []
    if moving is None:
        if longest.seconds >= 0.98 * float(time[-1] - time[0]):
            return []
    else:
        inside = (time >= longest.begin) & (time <= longest.end)
        if not inside.any():
            return []
        share = float(np.mean(moving[inside]))
        seldom = longest.usual > 0.0 or share * longest.seconds < moved
        if share < 0.5 and seldom:
            return []
    text = (
        f'{where} does not change at all from {longest.begin:.2f} s to {longest.end:.2f} s while '
        'the machine moves: the sensor is stuck or repeats its last value'
    )
    return [Finding('bad', 'stuck', text, where)]


def check_repeated(
    time: Array, value: Array, where: str, least: float = REPEATED_SECONDS
) -> list[Finding]:
    """A slower source behind a topic: each value is sent again and again until the next one.

    What rests or has coarse ticks repeats values as well, but by one tick at a time, or not
    throughout. `least`: what is repeated for less (seconds) is no matter.
    """
    good = np.isfinite(value)
    t, v = time[good], value[good]
    if len(t) < 2 * REPEATED_RUNS:
        return []
    moved = np.flatnonzero(np.abs(np.diff(v)) > ROUNDING * np.abs(v).max())
    counts = np.diff(moved)
    if len(counts) < REPEATED_RUNS or np.mean(counts >= 2) < REPEATED_SHARE:
        return []
    steps = np.abs(np.diff(v)[moved])
    usual, tick = float(np.median(steps)), float(steps.min())
    different = len(np.unique(np.round(steps / usual, 6)))
    if different < 0.5 * len(steps) and usual < TICKS * tick:
        return []
    period = float(np.median(np.diff(t[moved])))
    if period < least:
        return []
    text = (
        f'{where} repeats each value for {period:.2g} s, though a sample comes every '
        f'{float(np.median(np.diff(t))):.2g} s: a slower source stands behind the topic, and what '
        f'it says is {0.5 * period:.2g} s old in the mean: record it at its own rate and stamps'
    )
    return [Finding('warn', 'repeated', text, where, size=period)]


def check_jumps(time: Array, value: Array, where: str, least: float) -> list[Finding]:
    """A quantity that cannot jump (an angle, a place) and is elsewhere from one sample on.

    A step that its neighbours do not show, many times larger than any other, after which the
    values stay where they are; what comes back at once is an outlier. Where samples are missing
    it moves on meanwhile, as fast as it does elsewhere. `least`: smaller ones are no matter; whole
    turns are none.
    """
    good = np.isfinite(value)
    t, v = time[good], value[good]
    if len(t) < 4 * AROUND:
        return []
    step = np.diff(v)
    moved = np.abs(step[1:-1] - 0.5 * (step[:-2] + step[2:]))
    unseen = _moved_unseen(t, step)
    sudden = moved - unseen[1:-1] - 0.5 * (unseen[:-2] + unseen[2:])
    usual = float(np.quantile(sudden, QUANTILE))
    for place in np.argsort(sudden)[: -1 - CANDIDATES : -1]:
        if not sudden[place] > max(least, JUMP_TIMES * usual):
            break
        k = int(place) + 2  # the first sample after the step
        before, after = np.median(v[max(k - AROUND, 0) : k]), np.median(v[k : k + AROUND])
        jump = float(after - before)
        turns = abs(jump / (2.0 * np.pi))
        whole = abs(turns - round(turns)) < 0.02 < turns
        if not whole and abs(jump) > 0.5 * sudden[place]:
            text = (
                f'{where} jumps from {before:.3g} to {after:.3g} at {t[k]:.2f} s and stays there, '
                'which nothing that moves does: its sign, zero, unit or source changed during the '
                'recording, or a sensor failed'
            )
            return [Finding('warn', 'changes', text, where)]
    return []


def _moved_unseen(time: Array, step: Array) -> Array:
    """How far each step may lead because samples are missing: twice the fastest motion seen."""
    lasted = np.diff(time)
    period = float(np.median(lasted))
    hole = lasted > HOLE * period
    if not hole.any() or hole.all() or not period > 0.0:
        return np.zeros(len(step))
    fastest = float(np.max(np.abs(step[~hole]))) / period
    return np.where(hole, 2.0 * fastest * (lasted - period), 0.0)


def told_once(findings: Sequence[Finding]) -> list[Finding]:
    """Findings of like channels of one message as the first of them, the others by name."""
    if len(findings) < 2:
        return list(findings)
    first, others = findings[0], ', '.join(one.where for one in findings[1:])
    return [replace(first, text=f'{first.text} (the same: {others})')]


#: Samples that check_lost needs; intervals that are a hole, in periods; longer ones are gaps [s];
#: shares of lost samples that are told.
FEWEST_INTERVALS, HOLE, LONGEST_HOLE, LOST_SHARE, BURSTS = 100, 1.6, 1.0, 0.05, 0.6


#: Share of samples with the stamp of another one that is told.
SAME_SHARE = 0.1
#: Share of its range by which a channel may swing beyond a limit, and of the samples that lie on
#: that limit then.
OVERSHOOT, SATURATED_BELOW = 0.1, 0.05


def check_saturated(value: Array, where: str, *, filtered: bool = False) -> list[Finding]:
    """A channel that runs into a limit: many samples at exactly its largest or smallest value.

    A filter behind the limit (`filtered`) swings a little beyond it.
    """
    good = value[np.isfinite(value)]
    if len(good) < 200 or np.ptp(good) == 0.0:
        return []
    levels, counts = np.unique(good, return_counts=True)
    usual = float(np.median(counts))
    beyond = OVERSHOOT * (levels[-1] - levels[0]) if filtered else 0.0
    for edge, word in ((levels[-1], 'largest'), (levels[0], 'smallest')):
        near = np.abs(levels - edge) <= beyond
        limit, count = levels[near][np.argmax(counts[near])], int(counts[near].max())
        # Ticks of a coarse channel fall on many values alike; a limit cuts off a tail.
        least = SATURATED_SHARE if limit == edge else SATURATED_BELOW
        if count > least * len(good) and len(counts) > 20 and count > 20.0 * usual:
            text = (
                f'{where}: {100.0 * count / len(good):.2g} % of the samples are exactly the '
                f'{word} value {limit:.5g}: the sensor or its converter is saturated'
            )
            return [Finding('bad', 'saturated', text, where)]
    return []


def check_coarse(value: Array, where: str, unit: str, least: float = 0.0) -> list[Finding]:
    """A channel whose steps are not small beside what it shows: rounding is no noise then.

    `least`: smaller steps are no matter, what varies little may be coarse beside it.
    """
    good = value[np.isfinite(value)]
    levels = np.unique(good)
    if len(good) < 200 or len(levels) < 2:
        return []
    steps = np.diff(levels)
    # The usual step: single values between two others come from conversions.
    step = float(np.median(steps))
    size = float(np.std(good))
    if step < max(COARSE * size, least):
        return []
    text = (
        f'{where} has {len(levels)} different values, {step:.3g} {unit} apart, and varies by '
        f'{size:.3g} {unit} rms: too coarse, what is found from it is off by more than is stated'
    )
    level: Level = 'bad' if step > TOO_COARSE * size else 'warn'
    return [Finding(level, 'coarse', text, where, size=step / size)]


def check_lost(time: Array, where: str) -> list[Finding]:
    """Single samples that are missing here and there: what is fast cannot be read between them.

    Longer pauses are gaps, which nothing is read across.
    """
    if len(time) < FEWEST_INTERVALS:
        return []
    steps = np.diff(np.unique(time))
    period = float(np.median(steps))
    holes = (steps > HOLE * period) & (steps < LONGEST_HOLE)
    # A stamp that is late (of a bus that is read now and then) makes the next one early: a sample
    # that is lost does not.
    made_up = float(np.sum(steps < period / HOLE))
    lost = max(float(np.sum(np.round(steps[holes] / period) - 1.0)) - made_up, 0.0)
    share = lost / (len(time) + lost)
    # Stamps that come in bursts look as if almost everything were missing.
    if not LOST_SHARE <= share < BURSTS:
        return []
    text = (
        f'{where}: {100.0 * share:.2g} % of the samples are missing here and there (one comes '
        f'every {period:.2g} s otherwise): lost messages or stamps that repeat; what changes '
        'quickly comes out too small'
    )
    return [Finding('warn', 'samples_lost', text, where, size=share)]


def check_same_stamps(time: Array, where: str) -> list[Finding]:
    """Several samples that bear one stamp: rounded stamps, or messages that were sent twice."""
    if len(time) < FEWEST_INTERVALS:
        return []
    share = float(np.mean(np.diff(np.sort(time)) <= 0.0))
    if share < SAME_SHARE:
        return []
    text = (
        f'{where}: {100.0 * share:.0f} % of the samples bear the stamp of another one: stamps '
        'are rounded, or messages are sent twice; let the driver stamp each sample'
    )
    return [Finding('warn', 'duplicates', text, where, size=share)]


def check_missing(value: Array, where: str) -> list[Finding]:
    """Samples that are no numbers."""
    share = float(np.mean(~np.isfinite(value))) if len(value) else 1.0
    if share < MISSING_SHARE:
        return []
    text = f'{where}: {100.0 * share:.2g} % of the samples are no finite numbers'
    return [Finding('warn', 'missing_values', text, where)]


#: Steps of a vehicle's channels that no usual sensor has, by unit, whatever else it shows.
MOST_STEPS = {'rad/s': 0.06, 'm/s^2': 1.0, 'm/s': 1.5}


def check_values(time: Array, value: Array, where: str, unit: str, **stuck: Any) -> list[Finding]:
    """One channel of a vehicle by itself: too coarse, cut off, or dead; the first of these alone.

    A coarse channel that shows little rests as a dead one does. `stuck` as of `check_stuck`.
    """
    return (
        check_coarse(value, where, unit, LEAST_STEPS[unit])
        or check_steps(value, where, unit)
        or check_saturated(value, where)
        or check_stuck(time, value, where, **stuck)
    )


def check_steps(value: Array, where: str, unit: str) -> list[Finding]:
    """A channel in steps that no usual sensor has, though it may vary by more."""
    good = value[np.isfinite(value)]
    levels = np.unique(good)
    if len(good) < 200 or not 2 <= len(levels) < 0.2 * len(good):
        return []
    step = float(np.median(np.diff(levels)))
    if not step > MOST_STEPS[unit]:
        return []
    text = (
        f'{where} has {len(levels)} different values, {step:.3g} {unit} apart: coarser than '
        'usual sensors are; what is found from it is off by more than is stated'
    )
    return [Finding('warn', 'coarse', text, where, size=step / MOST_STEPS[unit])]
