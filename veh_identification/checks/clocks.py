"""Do the sensors of a recording live in the same time?"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from veh_identification.findings import Finding
from veh_identification.types import Array

#: Seconds by which a stream begins and ends beside the others that no start or end explains, and
#: how far the two may differ.
APART, ALIKE = 2.0, 1.0


def check_clocks(times: Mapping[str, Array], where: Mapping[str, str]) -> list[Finding]:
    """Streams that begin and end by as much before or after the one with most samples.

    A sensor that is switched on late, or falls silent, is apart at one of its ends alone.
    """
    spans = {name: (time.min(), time.max()) for name, time in times.items() if len(time) > 1}
    if len(spans) < 2:
        return []
    most = max(spans, key=lambda name: len(times[name]))
    apart: dict[str, float] = {}
    for name, (begin, end) in spans.items():
        first, last = begin - spans[most][0], end - spans[most][1]
        if first * last > 0.0 and min(abs(first), abs(last)) > APART and abs(first - last) < ALIKE:
            apart[where[name]] = float(0.5 * (first + last))
    if not apart:
        return []
    places = ' and '.join(apart)
    seconds = float(np.median([*apart.values()]))
    word = 'after' if seconds > 0.0 else 'before'
    text = (
        f'{places}: its stamps begin and end {abs(seconds):.1f} s {word} those of {where[most]}: '
        'their clocks are apart (satellite time is 18 s ahead of UTC, a time zone whole hours); '
        'correct the stamps'
    )
    return [Finding('bad', 'clock_off', text, places, size=abs(seconds))]
