"""Where something that moves rests: a machine that stands, a joint that waits for the others.

At rest friction takes any value up to its limit and a controller holds the place, so efforts say
nothing of the model; and long rests make what is usual of a motion (its speed, its spectrum) look
smaller than it is.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.ndimage import maximum_filter1d, minimum_filter1d

from veh_identification.signals.segments import contiguous_segments
from veh_identification.types import Array, BoolArray

#: Seconds within which a channel must stay where it is to rest.
LEAST = 1.0
#: A way in that time that is none: as a share of the usual one, in deviations of the noise (the
#: range of thousands of samples) and in steps of the encoder.
SHARE, NOISE, STEPS = 0.02, 9.0, 2.0
#: Ways beyond so many times the median are glitches.
MOST = 5.0
#: Beyond it squares are no numbers; no machine goes there.
HUGE = 1e75
#: Seconds of a stand from which on it is cut out, and what stays of it beside the motion, where
#: derivatives of positions in bands of a few Hz are needed.
LONG, KEPT = 6.0, 2.0
#: Share of the windows that are quiet enough to show the noise.
QUIET = 0.1


def resting(values: Array, valid: BoolArray, rate: float, least_way: float = 0.0) -> BoolArray:
    """Where each channel of `values` (N, channels) rests; gaps are never rests.

    A way of up to `least_way` within `LEAST` seconds is none.
    """
    parts = contiguous_segments(valid)
    rests = np.zeros(values.shape, dtype=bool)
    if not parts:
        return rests
    window = max(3, round(LEAST * rate))
    pieces = [np.clip(values[part], -HUGE, HUGE) for part in parts]
    ways = [_way(one, window) for one in pieces]
    unsure = unsure_way(pieces, window)
    usual = _usual(np.concatenate(ways), unsure)
    least = np.maximum(np.maximum(SHARE * usual, unsure), least_way)
    for part, way in zip(parts, ways, strict=True):
        rests[part] = _spread(way <= least, window)
    return rests


def long_stands(
    rests: BoolArray,
    valid: BoolArray,
    rate: float,
    *,
    longer: float = LONG,
    kept: float = KEPT,
) -> BoolArray:
    """Samples (N,) of stands, all channels at rest for `longer` seconds, that may go.

    Of each stand `kept` seconds stay beside the motion, whose filters need them. Where nothing
    ever moves nothing goes.
    """
    still = np.asarray(rests.all(axis=1))
    gone = np.zeros(len(rests), dtype=bool)
    if still[valid].all():
        return gone
    beside = round(kept * rate)
    for part in contiguous_segments(valid):
        for stand in contiguous_segments(still[part], round(longer * rate)):
            first = part.start + stand.start + (beside if stand.start else 0)
            ends = part.start + stand.stop == part.stop
            gone[first : part.start + stand.stop - (0 if ends else beside)] = True
    return gone


def sliding_rows(slow: Array, rest: Array, limit: float, enough: float) -> BoolArray:
    """(M, joints): rows that surely slide, of shares of each row that were slow and at rest.

    Those with less than `limit` of slow moments; all that move, where this leaves less than the
    share `enough` of them.
    """
    moves = rest < 0.5
    clear = (slow < limit) & moves
    few = clear.sum(axis=0) < enough * moves.sum(axis=0)
    return np.asarray(clear | (few & moves), dtype=bool)


def moving_rms(speeds: Array, rests: BoolArray) -> Array:
    """rms speed of each joint where it does not rest; of one that always rests, over all."""
    moves = ~rests | rests.all(axis=0)
    return np.asarray(np.sqrt(np.sum(speeds**2 * moves, axis=0) / np.sum(moves, axis=0)))


def _way(values: Array, window: int) -> Array:
    """Range (N, channels) within the window about each sample; within all, if that is shorter."""
    high = maximum_filter1d(values, window, axis=0, mode='nearest')
    low = minimum_filter1d(values, window, axis=0, mode='nearest')
    return np.asarray(high - low)


def _usual(ways: Array, unsure: Array) -> Array:
    """The way (channels,) that is usual where a channel moves, however long it rests.

    Weighted by its square, so that rests do not count; but no glitch makes it more than `MOST`
    times what most moving moments have.
    """
    moving = np.where((ways > unsure) & np.isfinite(ways), ways, np.nan)
    known = ~np.isnan(moving).all(axis=0)
    usual = np.zeros(ways.shape[1])
    middle = np.nanmedian(moving[:, known], axis=0)
    share = np.nan_to_num(np.minimum(moving[:, known] / middle, MOST))
    usual[known] = middle * np.sqrt(np.sum(share**4, axis=0) / np.sum(share**2, axis=0))
    return usual


def _spread(middles: BoolArray, window: int) -> BoolArray:
    """The whole windows around their middles."""
    # An even window lies one sample more to the left: mirrored, what it covered is covered again.
    origin = 0 if window % 2 else -1
    whole = maximum_filter1d(
        middles.astype(np.uint8), window, axis=0, mode='nearest', origin=origin
    )
    return np.asarray(whole, dtype=bool)


def unsure_way(pieces: Sequence[Array], window: int | None = None) -> Array:
    """Range (channels,) that noise and steps of the encoder make where nothing moves.

    By second differences in the quietest windows: elsewhere motion is in them. Without a window by
    all of them.
    """
    step, quiet = np.full(pieces[0].shape[1], np.inf), []
    for one in (piece for piece in pieces if len(piece) > 2):
        steps = np.abs(np.diff(one, axis=0))
        step = np.minimum(step, np.min(np.where(steps > 0.0, steps, np.inf), axis=0))
        turns = np.diff(one, 2, axis=0)
        count = max(1, len(turns) // window if window else 1)
        quiet += [np.sqrt(np.mean(part**2, axis=0)) for part in np.array_split(turns, count)]
    noise = np.quantile(quiet, QUIET, axis=0) / np.sqrt(6.0) if quiet else 0.0
    return np.maximum(NOISE * noise, STEPS * np.where(np.isinf(step), 0.0, step))
