"""Which manoeuvre would show a parameter of a car that is not well known yet."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from veh_identification.systems.car.parameters import scale
from veh_identification.types import Array

#: A parameter is weak when its deviation exceeds this share of its natural size.
WEAK_SHARE = 0.1
SINE = 'steer a sine of 0.4 to 0.6 Hz with about 4 m/s^2 sideways at 90 to 130 km/h'
BRAKE = 'brake hard and accelerate in turn'
ROUGH = 'drive over a rough road'
SPEED = 'vary the speed between 60 and 130 km/h'
BOTH = 'brake while steering a sine'
DRIVE = 'drive: the wheel loads and any motion are enough'
_MANOEUVRES = {
    'Mc': DRIVE,
    'MXc': DRIVE,
    'MYc': SINE,
    'MZc': SINE,
    'XXc': SINE,
    'YYc': BRAKE,
    'ZZc': SINE,
    'XZc': SINE,
    'XYc': BOTH,
    'YZc': BOTH,
    'karr': SINE,
    'karf': SINE,
    'Cx': SPEED,
}
_SUSPENSION = {'M': ROUGH, 'h': ROUGH, 'k': SINE, 'fs': SINE, 'off': SINE}


def manoeuvre_for(name: str) -> str:
    """What excites a parameter."""
    return _MANOEUVRES.get(name) or _SUSPENSION.get(name.rstrip('1234'), SPEED)


def advice(names: Sequence[str], value: Array, std: Array) -> str:
    """Weak parameters by the manoeuvre that would help; empty when there are none."""
    groups: dict[str, list[str]] = {}
    for name, number, deviation in zip(names, value, std, strict=True):
        size = max(abs(number), scale(name)) if np.isfinite(number) else scale(name)
        if not deviation < WEAK_SHARE * size:
            groups.setdefault(manoeuvre_for(name), []).append(name)
    if not groups:
        return ''
    return '; '.join(f'{" ".join(weak)}: {what}' for what, weak in groups.items())
