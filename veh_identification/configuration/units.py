"""Units of measurement: the factor to SI and the dimension of an expression such as `N s/mm`.

A dimension is the powers of m, kg, s, rad, A and K. The radian counts as a unit of its own, so
that an angle is not taken for a mere number, nor a frequency in Hz for an angular speed.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import lru_cache

Powers = tuple[int, int, int, int, int, int]
_SYMBOLS = ('m', 'kg', 's', 'rad', 'A', 'K')
GRAVITY = 9.80665


def _powers(**powers: int) -> Powers:
    m, kg, s, rad, ampere, kelvin = (powers.get(symbol, 0) for symbol in _SYMBOLS)
    return (m, kg, s, rad, ampere, kelvin)


_FORCE = _powers(m=1, kg=1, s=-2)
_PRESSURE = _powers(m=-1, kg=1, s=-2)
_ENERGY = _powers(m=2, kg=1, s=-2)
#: Units that take the prefixes beside them.
_PREFIXED: dict[str, tuple[float, Powers, str]] = {
    'm': (1.0, _powers(m=1), 'k c m u µ n'),
    'g': (1e-3, _powers(kg=1), 'k m'),
    's': (1.0, _powers(s=1), 'm u µ n'),
    'rad': (1.0, _powers(rad=1), 'm'),
    'Hz': (1.0, _powers(s=-1), 'k M m'),
    'N': (1.0, _FORCE, 'k M m'),
    'Pa': (1.0, _PRESSURE, 'k M h'),
    'bar': (1e5, _PRESSURE, 'm'),
    'J': (1.0, _ENERGY, 'k'),
    'W': (1.0, _powers(m=2, kg=1, s=-3), 'k'),
    'A': (1.0, _powers(A=1), 'm'),
}
_PLAIN: dict[str, tuple[float, Powers]] = {
    't': (1e3, _powers(kg=1)),
    'min': (60.0, _powers(s=1)),
    'h': (3600.0, _powers(s=1)),
    'deg': (math.pi / 180.0, _powers(rad=1)),
    '°': (math.pi / 180.0, _powers(rad=1)),
    'rpm': (2.0 * math.pi / 60.0, _powers(rad=1, s=-1)),
    'K': (1.0, _powers(K=1)),
    'in': (0.0254, _powers(m=1)),
    'lb': (0.45359237, _powers(kg=1)),
    'Nm': (1.0, _ENERGY),  # written without a blank as often as with one
    'kNm': (1e3, _ENERGY),
    'Ns': (1.0, _powers(m=1, kg=1, s=-1)),
    'kNs': (1e3, _powers(m=1, kg=1, s=-1)),
    'kmh': (1.0 / 3.6, _powers(m=1, s=-1)),
    'mph': (1609.344 / 3600.0, _powers(m=1, s=-1)),
    'psi': (0.45359237 * GRAVITY / 0.0254**2, _PRESSURE),
    '%': (0.01, _powers()),
    '1': (1.0, _powers()),
}
_FACTORS = {'k': 1e3, 'c': 1e-2, 'm': 1e-3, 'u': 1e-6, 'µ': 1e-6, 'n': 1e-9, 'M': 1e6, 'h': 1e2}
_UNITS = _PLAIN | {
    prefix + name: (_FACTORS.get(prefix, 1.0) * factor, powers)
    for name, (factor, powers, prefixes) in _PREFIXED.items()
    for prefix in ('', *prefixes.split())
}
_ACCELERATION = _powers(m=1, s=-2)
#: `g` is a gram, but of an acceleration it is gravity.
_OF_ACCELERATION = {'g': GRAVITY, 'mg': 1e-3 * GRAVITY}
_PART = re.compile(
    r'\s*(?P<sign>[*/·]?)\s*(?P<name>[A-Za-zµ]+|°|%|1)(?:\^?(?P<power>-?\d|²|³))?\s*'
)


@dataclass(frozen=True)
class Unit:
    """Factor to SI and dimension."""

    factor: float
    powers: Powers


@lru_cache(maxsize=512)
def parse_unit(text: str, wanted: Powers | None = None) -> Unit | None:
    """A unit expression: units with powers, multiplied (blank, *) and divided (/) in turn.

    None for what is no unit. `wanted` is the dimension that the place has, for `g`.
    """
    if wanted == _ACCELERATION and text in _OF_ACCELERATION:
        return Unit(_OF_ACCELERATION[text], wanted)
    factor, total = 1.0, [0] * len(_SYMBOLS)
    place = 0
    while place < len(text):
        match = _PART.match(text, place)
        if match is None or match['name'] not in _UNITS or (place == 0 and match['sign']):
            return None
        power = {'²': 2, '³': 3}.get(match['power'] or '1') or int(match['power'] or 1)
        power = -power if match['sign'] == '/' else power
        one, powers = _UNITS[match['name']]
        factor *= one**power
        total = [a + power * b for a, b in zip(total, powers, strict=True)]
        place = match.end()
    m, kg, s, rad, ampere, kelvin = total
    return Unit(factor, (m, kg, s, rad, ampere, kelvin))
