"""Stamps that come in bursts: times of arrival, or of a clock with coarse ticks."""

from __future__ import annotations

import numpy as np

from veh_identification.findings import Finding
from veh_identification.types import Array

#: Stamps that it takes to tell, steps over the mean one that are none, the share of them that it
#: takes, and the seconds from one burst to the next that matter.
FEWEST, NONE, SHARE, MATTERS = 100, 0.1, 0.4, 0.004


def check_bursts(time: Array, where: str) -> list[Finding]:
    """Samples of which several have all but one stamp, and then none for a while."""
    steps = np.diff(time)
    if len(steps) < FEWEST or not (time[-1] > time[0]):
        return []
    mean = float(time[-1] - time[0]) / len(steps)
    at_once = steps < NONE * mean
    if at_once.mean() < SHARE:
        return []
    apart = float(np.median(steps[~at_once])) if (~at_once).any() else 0.0
    if apart < MATTERS:
        return []
    text = (
        f'{where}: stamps come in bursts of about {round(apart / mean)} every {1e3 * apart:.3g} '
        'ms: times of arrival, or a clock with coarse ticks; each sample is up to that much off '
        'its time, and what changes quickly comes out wrong: stamp samples where they are taken'
    )
    return [Finding('warn', 'stamps_jitter', text, where, size=apart)]
