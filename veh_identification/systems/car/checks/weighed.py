"""Wheel forces against scales.

Every mass and inertia is proportional to the wheel forces, and nothing else in a recording tells
their scale; of the rear ones not even beside the front ones, as all parameters stand at the rear
axle. A pair of scales does.
"""

from __future__ import annotations

import numpy as np

from veh_identification.findings import Finding
from veh_identification.systems.car.checks.channels import AXLES, Channels
from veh_identification.systems.car.configuration import CarDescription

#: Deviations, and share of the weight, from which on scales and sensors disagree.
CERTAIN, SHARE = 3.0, 0.01


def check_weighed(shown: Channels, configuration: CarDescription) -> list[Finding]:
    """Mean wheel loads against what was weighed."""
    if not np.isfinite(shown.load).any(axis=0).all():
        return []
    carried = np.nanmean(shown.load, axis=0) / configuration.gravity
    weighed = configuration.weighed
    known = {
        'front': (weighed.front, AXLES['front']),
        'rear': (weighed.rear, AXLES['rear']),
        'four': (weighed.total, (0, 1, 2, 3)),
    }
    told = {name: (mass, wheels) for name, (mass, wheels) in known.items() if mass is not None}
    if not told:
        text = (
            'only scales tell whether the wheel forces have the right scale, and all masses, '
            'inertias, stiffnesses and dampings are proportional to them. Weigh the car as it was '
            'recorded and give weighed (total, or front and rear)'
        )
        return [Finding('note', 'not_weighed', text, 'weighed')]
    off = {}
    for name, (mass, wheels) in told.items():
        expected = mass - len(wheels) * weighed.beyond
        deviation = np.hypot(weighed.deviation, len(wheels) * weighed.beyond_deviation)
        found = float(sum(carried[k] for k in wheels))
        apart = abs(found - expected)
        if apart > max(CERTAIN * deviation, SHARE * expected):
            off[name] = (found, expected)
    if not off:
        return []
    shown_off = '; '.join(
        f'the {name} wheels carry {found:.4g} kg where scales leave {expected:.4g} kg to them '
        f'({found / expected:.3g} times)'
        for name, (found, expected) in off.items()
    )
    corners = 'fr' if len(off) > 1 or 'four' in off else next(iter(off))[0]
    where = ', '.join(
        configuration.topics[f'wrench_{end}{side}'] for end in corners for side in 'lr'
    )
    text = (
        f'{shown_off}: the scale of {where} is wrong, or the car was loaded otherwise when it was '
        'weighed (weighed)'
    )
    return [Finding('bad', 'weight_against_scale', text, where)]
