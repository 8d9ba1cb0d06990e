"""Glitches: single samples that no machine makes, told from their neighbours and the usual.

A bit that falls over in a cable shows as a value that comes and goes within one or two samples.
How far samples usually stand off depends on the signal, so that each is held against what those
about it do. Two kinds of channels:

smooth  positions, angles, speeds: they go on as they did. A glitch stands off the line through its
        two neighbours, far more than others do off theirs, and the neighbours the other way.
rough   forces, torques, accelerations: they may jump, by dry friction or a kerb. A glitch stands
        off the median of five.

Where more than a few samples look like glitches, that is how the signal is: none is taken out.
"""

from __future__ import annotations

import numpy as np

from veh_identification.signals.segments import gap_segments, usual_step
from veh_identification.types import Array, BoolArray

#: Times the usual roughness of the samples about it (a quantile of blocks of so many samples).
FACTOR, USUAL, BLOCK = 10.0, 0.95, 200
#: Times the usual step from sample to sample: where a slow signal turns round, or ends, it stands
#: off the median by about one.
STEEP = 3.0
#: Of that limit: bends of the neighbours that make a glitch.
BACK = 0.4
#: Steps of a coarse sensor that no glitch is smaller than, and how often a step must be seen.
STEPS, FEWEST_STEPS = 4.0, 10
#: More than this share of the samples (and than so many): it is no glitch but the signal.
MOST, FEW = 0.03, 12
#: Shorter pieces say nothing about what is usual.
FEWEST = 20
#: Of a signal's range, without its outermost samples: no glitch is smaller.
SMOOTH_SHARE, ROUGH_SHARE = 1e-4, 1e-2
#: Of signals with impacts, which may come and go within two samples.
IMPACT_SHARE = 1.0
#: Samples behind one that must be known before it can be judged.
BEHIND = 3
#: Samples at the ends, where a glitch may be seen by one side of it alone.
OUTER = 4
#: Pauses, in median periods, that nothing is compared across.
PAUSE = 5.0


def median_of_five(values: Array) -> Array:
    """Of each sample (N, C) and its neighbours, the ends mirrored."""
    padded = np.concatenate([values[2:0:-1], values, values[-2:-4:-1]])
    a, b, c, d, e = (padded[k : k + len(values)] for k in range(5))
    low = np.maximum(np.minimum(a, b), np.minimum(c, d))
    high = np.minimum(np.maximum(a, b), np.maximum(c, d))
    return np.maximum(np.minimum(low, high), np.minimum(np.maximum(low, high), e))


def spikes(values: Array) -> Array:
    """How far each sample (N, C) stands from the median of five."""
    return np.abs(values - median_of_five(values))


def bends(stamps: Array, values: Array) -> Array:
    """By how much each sample (N, C) is above the line through its neighbours; ends: zero."""
    made = np.zeros(values.shape)
    steps = np.diff(stamps)[:, None]
    share = steps[:-1] / (steps[:-1] + steps[1:])
    made[1:-1] = values[1:-1] - (values[:-2] + share * (values[2:] - values[:-2]))
    return made


def smooth_glitches(stamps: Array, values: Array, share: float = SMOOTH_SHARE) -> BoolArray:
    """Samples (N,) to leave out of finite signals (N, C) that go on as they did."""
    found, least = np.zeros(len(stamps), bool), _least(values, share)
    for piece in _pieces(stamps):
        bend, apart = bends(stamps[piece], values[piece]), spikes(values[piece])
        limit = np.maximum(FACTOR * _usual(np.abs(bend)), least)
        # Beside a glitch the line bends the other way; where motion begins or ends it does not.
        back = np.zeros(bend.shape)
        back[1:] = -bend[:-1] * np.sign(bend[1:])
        back[:-1] = np.maximum(back[:-1], -bend[1:] * np.sign(bend[:-1]))
        glitch = (np.abs(bend) > limit) & (back > BACK * limit)
        # At the ends there is no line: there the median decides, beyond the usual steps.
        steps = _quantile(np.abs(np.diff(values[piece], axis=0)), USUAL)
        glitch[[0, -1]] = apart[[0, -1]] > limit[[0, -1]] + STEEP * steps
        found[piece] = _to_the_ends(np.asarray(glitch.any(axis=1)))
    return _few(found)


def rough_glitches(stamps: Array, values: Array, share: float = ROUGH_SHARE) -> BoolArray:
    """Samples (N,) to leave out of finite signals (N, C) that may jump."""
    found, least = np.zeros(len(stamps), bool), _least(values, share)
    for piece in _pieces(stamps):
        apart, steps = spikes(values[piece]), np.abs(np.diff(values[piece], axis=0))
        limit = np.maximum(FACTOR * _usual(apart), STEEP * _usual(np.vstack([steps, steps[-1:]])))
        found[piece] = _to_the_ends(np.asarray((apart > np.maximum(limit, least)).any(axis=1)))
    return _few(found)


def _to_the_ends(glitch: BoolArray) -> BoolArray:
    """With what lies beyond a glitch near an end: nothing tells whether that has come back."""
    glitch[:OUTER] = np.logical_or.accumulate(glitch[:OUTER][::-1])[::-1]
    glitch[-OUTER:] = np.logical_or.accumulate(glitch[-OUTER:])
    return glitch


def _few(found: BoolArray) -> BoolArray:
    return found if found.sum() <= max(MOST * len(found), FEW) else np.zeros(len(found), bool)


def _pieces(stamps: Array) -> list[slice]:
    """Without a pause, and long enough."""
    if len(stamps) < FEWEST:
        return []
    pieces = gap_segments(stamps, PAUSE * usual_step(stamps))
    return [one for one in pieces if one.stop - one.start >= FEWEST]


def _usual(rough: Array) -> Array:
    """(N, C): the quantile of the block that a sample is in, or of the one before or behind."""
    edges = np.arange(0, max(len(rough) - BLOCK // 2, 1), BLOCK)
    blocks = np.split(rough, edges[1:])
    level = np.stack([_quantile(one, USUAL) for one in blocks])
    about = level.copy()
    about[1:] = np.maximum(about[1:], level[:-1])
    about[:-1] = np.maximum(about[:-1], level[1:])
    return np.repeat(about, [len(one) for one in blocks], axis=0)


def _least(values: Array, share: float) -> Array:
    """(C,): what no glitch is smaller than."""
    if len(values) < FEWEST:
        return np.zeros(values.shape[1])
    extent = _quantile(values, 0.995) - _quantile(values, 0.005)
    # The smallest step that is seen again and again is that of the sensor; a signal that rests
    # but for one glitch has none.
    steps = np.abs(np.diff(values, axis=0))
    steps[steps == 0.0] = np.inf
    step = np.partition(steps, FEWEST_STEPS - 1, axis=0)[FEWEST_STEPS - 1]
    return np.maximum(share * extent, STEPS * np.where(np.isfinite(step), step, 0.0))


def _quantile(values: Array, share: float) -> Array:
    place = round(share * (len(values) - 1))
    return np.asarray(np.partition(values, place, axis=0)[place])
