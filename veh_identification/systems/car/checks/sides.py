"""Left and right of an axle: the same parts on nearly every car.

A travel sensor behind a filter of its own, of another scale or askew, makes spring, damper and
mass of its corner, and no other check need see it: the four suspension equations share no
unknown but the anti-roll bars.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from veh_identification.findings import Finding
from veh_identification.findings.numbers import listed, number
from veh_identification.systems.car.parameters import CORNERS
from veh_identification.types import Array

#: Parameters of a corner that are those of the other side as well: spring, damper, moving mass.
ALIKE = {'k': 'springs', 'h': 'dampings', 'M': 'masses at the wheels'}
#: Ratio from which on the two sides are said to differ, and that no parts of one axle have.
DIFFERS, TOO_FAR = 1.1, 1.5
#: Deviations of the difference that are no chance.
SURE = 5.0


def unequal_sides(names: Sequence[str], value: Array, covariance: Array) -> list[Finding]:
    """What differs between left and right, axle by axle."""
    found = []
    for left, right in ((1, 2), (3, 4)):
        unlike = [*_unlike(names, value, covariance, left, right)]
        if not unlike:
            continue
        farthest = max(ratio for ratio, _ in unlike)
        axle = f'suspension_{CORNERS[left - 1]} and suspension_{CORNERS[right - 1]}'
        what = listed([text for _, text in unlike])
        text = f'{axle}: {what}, where both sides of an axle have the same parts as a rule: '
        if farthest < TOO_FAR:
            text += (
                'if they have here, a scale, zero or delay of one travel or wheel force is wrong'
            )
            found.append(Finding('note', 'sides_differ', text, axle, size=farthest))
            continue
        text += (
            'look at travel and wheel force of both (a filter or delay of its own, the scale, the '
            'linkage of the sensor, exchanged channels)'
        )
        found.append(Finding('warn', 'sides_differ', text, axle, size=farthest))
    return found


def _unlike(
    names: Sequence[str], value: Array, covariance: Array, left: int, right: int
) -> Iterator[tuple[float, str]]:
    """Ratios of what surely differs, the larger over the smaller value, and how that is told."""
    for letter, what in ALIKE.items():
        pair = f'{letter}{left}', f'{letter}{right}'
        if not set(pair) <= set(names):
            continue
        places = [names.index(name) for name in pair]
        one, other = value[places]
        if not min(one, other) > 0.0:  # a matter of values that cannot be
            continue
        apart = np.array([1.0, -1.0])
        variance = float(apart @ covariance[np.ix_(places, places)] @ apart)
        ratio = float(max(one, other) / min(one, other))
        if ratio > DIFFERS and abs(one - other) > SURE * np.sqrt(max(variance, 0.0)):
            shown = ' and '.join(
                f'{name} = {number(size, 3)}'
                for name, size in zip(pair, (one, other), strict=True)
            )
            yield ratio, f'{what} differ by the factor {ratio:.2f} ({shown})'
