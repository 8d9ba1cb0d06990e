"""Plates that seem to hold the robot down: a foot is pushed by the ground and never pulled.

Where one of two plates has the wrong sign for a while, both together may carry nothing. Such
samples look like a flight, and the rest of the recording fits. A plate that was set to zero while
somebody stood on it pulls as well, always by as much while it is empty; under feet that never
leave the ground all plates together show no weight.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from veh_identification.findings import Finding
from veh_identification.systems.humanoid.checks.comparison import Comparison
from veh_identification.types import Array, BoolArray

#: Share of the robot's weight from which on a plate pulls, beyond drifts and hits.
PULLS = 0.1
#: Seconds, and share of the recording, for which it must.
LONGEST_HIT, SHARE = 0.3, 0.02
#: Share of the weight that other plates carry while one is empty.
WHOLE = 0.7
#: Shares of the weight: what all plates show of it in the median, how much that varies, and what
#: moves to and fro on one of them.
NO_WEIGHT, STEADY, MOVED = 0.05, 0.6, 0.01


def tare_findings(comparison: Comparison, label: str) -> list[Finding]:
    """Plates that were set to zero while the robot stood on them."""
    raw, weight = comparison.measured, comparison.weight
    places = [k for k, source in enumerate(raw.sources) if source.pose is not None]
    if not places or len(places) < len(raw.sources) or not raw.valid.any():
        return []
    shown = {k: _upwards(comparison, k)[raw.valid] for k in places}
    pulling = [k for k in places if _pulls(comparison, k).any() and _empty(shown, k, weight)]
    if pulling:
        lowest = [shown[k][shown[k] < -PULLS * weight] for k in pulling]
        sizes = ', '.join(f'{np.median(one):.3g}' for one in lowest)
        what = f'shows {sizes} N while it is empty'
    else:
        total = np.sum([*shown.values()], axis=0)
        moved = max(float(np.ptp(np.percentile(one, [2.0, 98.0]))) for one in shown.values())
        spread = float(np.ptp(np.percentile(total, [5.0, 95.0])))
        none = abs(float(np.median(total))) < NO_WEIGHT * weight and spread < STEADY * weight
        if not none or moved < MOVED * weight:
            return []
        pulling = places
        what = f'shows {np.median(total):.3g} N of {weight:.4g} N of weight'
    names = ' and '.join(raw.sources[k].topic for k in pulling)
    text = (
        f'{label}: {names} {what}: it seems to have been set to zero while the robot stood on it; '
        'tare plates while they are empty (check_frames: false skips this test)'
    )
    where = f'{label}, topic {names}, wrench.force'
    return [Finding('bad', 'tared_under_load', text, where)]


def _empty(shown: Mapping[int, Array], plate: int, weight: float) -> bool:
    """Whether the other plates carry the whole robot while one pulls.

    A force of the wrong sign pulls most where a foot pushes on it, and others carry nothing.
    """
    pulls = shown[plate] < -PULLS * weight
    others = sum(one[pulls] for k, one in shown.items() if k != plate)
    return bool(np.median(others) > WHOLE * weight) if len(shown) > 1 else False


def pull_findings(comparison: Comparison, label: str) -> list[Finding]:
    """Each plate that pulls for longer than a hit on it swings."""
    return [*_pulling(comparison, label)]


def _pulling(comparison: Comparison, label: str) -> Iterator[Finding]:
    raw = comparison.measured
    for k, source in enumerate(raw.sources):
        pulls = _pulls(comparison, k)
        if not pulls.any():
            continue
        up, seconds = _upwards(comparison, k), float(pulls.sum()) / raw.rate
        first = raw.stamps[np.flatnonzero(pulls)[0]] - raw.stamps[0]
        text = (
            f'{label}: {source.topic} pulls the robot down by {-float(np.median(up[pulls])):.3g} '
            f'N for {seconds:.2g} s, first after {first:.2g} s, which no ground does: its forces '
            'seem to have the opposite sign then (check_frames: false skips this test)'
        )
        where = f'{label}, topic {source.topic}, wrench.force'
        yield Finding('bad', 'opposite_sign', text, where, size=seconds)


def _upwards(comparison: Comparison, plate: int) -> Array:
    """Forces of a plate on the robot along the vertical (N,)."""
    pose = comparison.measured.sources[plate].pose
    assert pose is not None
    return np.asarray(comparison.measured.wrenches[:, plate, :3] @ pose.rotation[2])


def _pulls(comparison: Comparison, plate: int) -> BoolArray:
    """Samples in which a plate pulls; none where it does so for no longer than a hit."""
    raw = comparison.measured
    if raw.sources[plate].pose is None:
        return np.zeros(len(raw.stamps), dtype=bool)
    pulls = raw.valid & (_upwards(comparison, plate) < -PULLS * comparison.weight)
    least = max(LONGEST_HIT, SHARE * len(raw.stamps) / raw.rate)
    return np.asarray(pulls & (float(pulls.sum()) / raw.rate >= least))
