"""Standard deviations that somebody wants reached: `NAME=SIZE` or `NAME=PERCENT%`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from difflib import get_close_matches

from veh_identification.errors import UsageError


def parse_wants(
    texts: Sequence[str],
    values: Mapping[str, float],
    smallest: Mapping[str, float],
    groups: Mapping[str, Sequence[str]] | None = None,
) -> dict[str, float]:
    """Wanted deviations by name, in the units of `values`.

    A percentage of a value below `smallest` means nothing; the name of a group stands for all of
    its members.
    """
    wants: dict[str, float] = {}
    for text in texts:
        name, separator, size = (part.strip() for part in text.partition('='))
        try:
            number = float(size.removesuffix('%'))
        except ValueError:
            number = math.nan
        if not separator or not 0.0 < number < math.inf:
            raise UsageError(f'--want {text!r}: expected NAME=SIZE or NAME=PERCENT%')
        for one in (groups or {}).get(name, [name]):
            if one not in values:
                raise UsageError(f'--want {text!r}: {_unknown(one, [*values, *(groups or {})])}')
            wants[one] = number
            if size.endswith('%'):
                if abs(values[one]) < smallest[one]:
                    raise UsageError(
                        f'--want {text!r}: {one} is about zero here, a percentage of it means '
                        'nothing; give a size in its unit'
                    )
                wants[one] = 0.01 * number * abs(values[one])
    return wants


def _unknown(name: str, known: Sequence[str]) -> str:
    near = get_close_matches(name, known, 1, 0.5)
    some = f'did you mean {near[0]}?' if near else f'some are {", ".join(known[:10])}'
    return f'{name} is no parameter of this model; {some}'
