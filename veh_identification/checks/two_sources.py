"""Two publishers on one topic: every other sample is of another sensor, or of nobody's."""

from __future__ import annotations

import numpy as np

from veh_identification.findings import Finding
from veh_identification.types import Array

#: Samples that it takes to tell.
FEWEST = 150
#: How far every other sample lies from its neighbours, over what either half scatters by itself,
#: and over the deviation of all: a converter that toggles between two ticks is no second source.
APART, SHARE = 3.0, 0.5
#: What vibrates at half the rate of the samples alternates as well, but beats: over so many pairs
#: its mean is none. Share of the alternation that lasts.
PAIRS, LASTING = 50, 0.5
#: Difference of the variances of both tracks, over their sum, where one of them hardly moves.
ALONE = 0.6
#: Larger ones are outliers, of which other checks tell.
QUANTILE = 0.98


def check_two_sources(value: Array, where: str) -> list[Finding]:
    """A channel whose samples lie on two tracks by turns.

    Each track alone is smooth or noisy as any signal is: what lies between two samples of one of
    them is nearer to these than the samples after the next are.
    """
    known = value[np.isfinite(value)]
    if len(known) < FEWEST:
        return []
    even, odd = known[0::2], known[1::2]
    between = 0.5 * (even[:-1] + even[1:])
    apart = odd[: len(between)] - between
    size = _size(apart)
    if not size > max(SHARE * float(known.std()), APART * max(_scatter(even), _scatter(odd))):
        return []
    count = PAIRS * (len(apart) // PAIRS)
    lasting = apart[:count].reshape(-1, PAIRS).mean(axis=1)
    # A vibration shakes both tracks alike; what is on one of them alone is none, slow or quick.
    powers = float(np.var(even)), float(np.var(odd))
    alone = abs(powers[0] - powers[1]) > ALONE * (powers[0] + powers[1])
    if _size(lasting) < LASTING * size and not alone:
        return []
    text = (
        f'{where}: every other sample is {size:.3g} from those before and after it, which scatter '
        f'by {max(_scatter(even), _scatter(odd)):.2g} among themselves: two sources publish on '
        'this topic by turns: stop one of them, or give it a topic of its own'
    )
    return [Finding('bad', 'two_sources', text, where, size=size)]


def _scatter(track: Array) -> float:
    """How far samples lie from the middle between their neighbours."""
    return _size(track[1:-1] - 0.5 * (track[:-2] + track[2:]))


def _size(values: Array) -> float:
    """Root mean square without outliers."""
    squares = np.square(values)
    return float(np.sqrt(np.mean(np.minimum(squares, np.quantile(squares, QUANTILE)))))
