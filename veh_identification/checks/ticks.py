"""Angles and positions in steps, of machines and of wheels.

What is differentiated twice must be finer than what is only compared.
"""

from __future__ import annotations

import numpy as np

from veh_identification.checks.health import REPEATED_RUNS, ROUNDING, check_coarse
from veh_identification.findings import Finding, Level
from veh_identification.types import Array

#: Steps over the deviation of a position that is differentiated: from which on accelerations are
#: made of steps, and nothing else is left of them.
COARSE, TOO_COARSE = 0.08, 0.15
#: Smaller ones are no matter, by unit: a joint that hardly moves shows its ticks.
LEAST = {'rad': 0.01, 'm': 2e-3, 'rad or m': 0.01}
#: Samples between two steps from which on ticks are told from noise that is rounded.
HELD = 2.0
#: An angle that grows by whole ticks: share of them that are one or a few, how near to whole ones
#: (of one) they are, and the largest tick of a wheel [rad].
WHOLE_TICKS, OFF_TICK, LARGEST_TICK = 0.95, 0.02, 0.6
#: Samples of equal value, as a share, that show that a step is a tick: others may be motion.
HELD_SHARE = 0.2


def check_ticks(value: Array, where: str, unit: str) -> list[Finding]:
    """A position in steps so large that its accelerations are those of the steps."""
    if found := check_coarse(value, where, unit, LEAST[unit]):
        return found
    good = value[np.isfinite(value)]
    levels = np.unique(good)
    if len(good) < 200 or len(levels) < 2:
        return []
    step, size = float(np.median(np.diff(levels))), float(np.std(good))
    changes = int(np.count_nonzero(np.diff(good)))
    if step < max(COARSE * size, LEAST[unit]) or HELD * changes > len(good):
        return []
    text = (
        f'{where} goes in steps of {step:.3g} {unit} and moves by {size:.3g} {unit} rms: '
        'accelerations are made of its steps, and what is found from them is off by more than is '
        'stated: record it with finer steps'
    )
    level: Level = 'bad' if step > TOO_COARSE * size else 'warn'
    return [Finding(level, 'coarse', text, where, size=step / size)]


def check_wheel_ticks(angle: Array, where: str) -> list[Finding]:
    """An angle of a wheel that grows by few ticks a turn."""
    moved = np.abs(np.diff(angle[np.isfinite(angle)]))
    steps = moved[moved > ROUNDING * np.abs(angle).max(initial=0.0)]
    if len(steps) < REPEATED_RUNS or np.mean(moved == 0.0) < HELD_SHARE:
        return []
    tick = float(np.quantile(steps, 0.1))
    whole = np.abs(steps / tick - np.round(steps / tick)) < OFF_TICK
    if tick < LARGEST_TICK or np.mean(whole) < WHOLE_TICKS:
        return []
    text = (
        f'{where} grows in steps of {tick:.2g} rad ({2.0 * np.pi / tick:.2g} a turn): too coarse '
        'for a speed; count more edges, or look at the resolution of its messages'
    )
    return [Finding('warn', 'coarse', text, where, size=tick)]
