"""Plates that seem to hold the robot down: a foot is pushed by the ground and never pulled.

Where one of two plates has the wrong sign for a while, both together may carry nothing. Such
samples look like a flight, and the rest of the recording fits.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from veh_identification.findings import Finding
from veh_identification.systems.humanoid.checks.comparison import Comparison

#: Share of the robot's weight from which on a plate pulls, beyond drifts and hits.
PULLS = 0.1
#: Seconds, and share of the recording, for which it must.
LONGEST_HIT, SHARE = 0.3, 0.02


def pull_findings(comparison: Comparison, label: str) -> list[Finding]:
    """Each plate that pulls for longer than a hit on it swings."""
    return [*_pulling(comparison, label)]


def _pulling(comparison: Comparison, label: str) -> Iterator[Finding]:
    raw = comparison.raw
    for k, source in enumerate(raw.sources):
        if source.pose is None:
            continue
        up = raw.wrenches[:, k, :3] @ source.pose.rotation[2]
        pulls = raw.valid & (up < -PULLS * comparison.weight)
        seconds = float(pulls.sum()) / raw.rate
        if seconds < max(LONGEST_HIT, SHARE * len(raw.stamps) / raw.rate):
            continue
        first = raw.stamps[np.flatnonzero(pulls)[0]] - raw.stamps[0]
        text = (
            f'{label}: {source.topic} pulls the robot down by {-float(np.median(up[pulls])):.3g} '
            f'N for {seconds:.2g} s, first after {first:.2g} s, which no ground does: its forces '
            'seem to have the opposite sign then (check_frames: false skips this test)'
        )
        where = f'{label}, topic {source.topic}, wrench.force'
        yield Finding('bad', 'opposite_sign', text, where, seconds)
