"""What a motion tells by how it repeats: another period, lengths that nobody measured."""

from __future__ import annotations

import numpy as np

from veh_identification.findings import Finding
from veh_identification.systems.parallel.recording.mean_period import PeriodicRecord

#: Share of a motion's lines that lie between those of a shorter period by noise alone.
BETWEEN = 1e-4


def more_often(record: PeriodicRecord) -> list[Finding]:
    """A motion that repeats within what should be its period: it has every second line alone."""
    lines = np.square(np.abs(np.fft.rfft(record.lengths.mean, axis=0))).sum(axis=1)[1:]
    if not np.isfinite(lines).all():
        return []
    number = np.arange(1, len(lines) + 1)
    for times in (4, 3, 2):  # what repeats four times repeats twice
        if lines[number % times > 0].sum() < BETWEEN * lines.sum():
            stated = record.fundamental_hz
            return [another_period(record.source, times * stated, stated)]
    return []


def another_period(source: str, found_hz: float, stated: float) -> Finding:
    """A motion repeats, but not as often as it should."""
    text = (
        f'{source}: the motion repeats every {1.0 / found_hz:.4g} s, but it should every '
        f'{1.0 / stated:.4g} s: stamps that advance {stated / found_hz:.3g} times as fast (all '
        'inertias and frictions come out wrong by that), or another motion than was configured '
        f'(then give fundamental_hz: {found_hz:.6g})'
    )
    return Finding('warn', 'fundamental_off', text, source, size=found_hz / stated)


def commanded(record: PeriodicRecord) -> list[Finding]:
    """Lengths that repeat exactly while the forces do not were never measured."""
    scatter = float(np.trace(record.lengths.covariance))
    noise = float(np.trace(record.forces.covariance))
    size = float(np.square(record.forces.mean[np.isfinite(record.forces.mean)]).mean())
    if scatter > (1e-3 * 1e-6) ** 2 or noise < 1e-12 * size:
        return []
    text = (
        f'{record.source}: the lengths repeat from period to period without any noise while the '
        'efforts have some: they seem to be commanded, not measured; the control error is then '
        'missing'
    )
    return [Finding('warn', 'lengths_commanded', text, f'{record.source}, position')]
