"""Zeros of the travels, by the travels alone.

Whatever the zero is, the fit takes it: the spring forces at zero travel and the heights of the car
then count from there, and are other ones than those of the car at rest. Nothing else contradicts
it, so that travels that are far from zero in the mean, or differ between the sides of an axle that
are loaded alike, are told.
"""

from __future__ import annotations

import numpy as np

from veh_identification.findings import Finding
from veh_identification.systems.car.checks.channels import AXLES, Channels
from veh_identification.systems.car.configuration import CarDescription
from veh_identification.systems.car.parameters import CORNERS

#: Metres by which all travels may be off zero in the mean, and the sides of an axle apart.
FAR, APART = 0.03, 0.012
#: Share of the load of an axle by which its sides may differ to be loaded alike.
ALIKE = 0.05


def check_travel_zeros(shown: Channels, configuration: CarDescription) -> list[Finding]:
    """Travels that count from elsewhere than the car at rest, all or one of an axle."""
    if not all(np.isfinite(one).any(axis=0).all() for one in (shown.travel, shown.load)):
        return []
    travel, load = np.nanmean(shown.travel, axis=0), np.nanmean(shown.load, axis=0)
    where = f'{configuration.topics["joints"]}.position[suspension_*]'
    counts = 'spring forces at zero travel (off) and heights count from the zeros of the sensors'
    if abs(float(travel.mean())) > FAR:
        text = (
            f'the travels are {1e3 * travel.mean():.3g} mm in the mean: they seem to be zero at '
            f'droop or bump, not with the car at rest; {counts}'
        )
        return [Finding('warn', 'travel_zero', text, where)]
    found = []
    for left, right in AXLES.values():
        apart = float(travel[left] - travel[right])
        total = max(abs(float(load[left] + load[right])), 1e-9)
        uneven = abs(float(load[left] - load[right])) / total
        if abs(apart) > APART and uneven < ALIKE:
            text = (
                f'suspension_{CORNERS[left]} and suspension_{CORNERS[right]} are '
                f'{1e3 * apart:.3g} mm apart in the mean, though their loads differ by '
                f'{100.0 * uneven:.2g} %: one of them seems to be off its zero; {counts}'
            )
            found.append(Finding('warn', 'travel_zero', text, where))
    return found
