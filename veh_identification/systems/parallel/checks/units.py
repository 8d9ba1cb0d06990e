"""Lengths and efforts in other units: by the lengths that legs have, and by how forces fit."""

from __future__ import annotations

from functools import partial

import numpy as np

from veh_identification.checks.explanation import Hypothesis
from veh_identification.checks.ranges import DEGREES, FORCE, LENGTH
from veh_identification.findings import Finding
from veh_identification.findings.numbers import listed
from veh_identification.systems.parallel.checks.machine import (
    Hypotheses,
    changed_lengths,
    scaled_efforts,
)
from veh_identification.systems.parallel.model.geometry import LEGS, Hexapod
from veh_identification.systems.parallel.model.kinematics import inverse_kinematics
from veh_identification.types import Array, BoolArray

#: Share of the way between shortest and longest leg by which lengths may lie beyond; where nobody
#: has said what these are, lengths that differ by this factor from those at home cannot be.
SLACK, UNLIKE_HOME = 0.2, 5.0
#: What lengths are recorded in besides; degrees by drivers that take every joint for an angle.
LENGTH_UNITS = {**LENGTH.others, 'inches': 1.0 / 0.0254, 'feet': 1.0 / 0.3048, 'degrees': DEGREES}


def length_range(robot: Hexapod, lengths: Array, topic: str) -> list[Finding]:
    """Lengths that no leg of this robot has, and the unit in which it has them.

    A description that contradicts itself says nothing: its geometry may be in another unit.
    """
    nominal = inverse_kinematics(robot, robot.home)[0]
    low, high = robot.limits.length_min, robot.limits.length_max
    if np.isfinite(high):
        slack = SLACK * (high - low)
        low, high = low - slack, high + slack
    else:
        low, high = float(nominal.min()) / UNLIKE_HOME, float(nominal.max()) * UNLIKE_HOME

    def possible(values: Array) -> BoolArray:
        return np.asarray((values > low) & (values < high))

    mean = np.nanmean(lengths, axis=0)
    which = ~possible(mean)
    if not which.any() or not possible(nominal).all():
        return []
    converted = {unit: mean[which] / factor for unit, factor in LENGTH_UNITS.items()}
    apart = {
        unit: float(np.abs(np.log(values / nominal[which])).max())
        for unit, values in converted.items()
        if possible(values).all()
    }
    if not apart:
        return []  # strokes: forces and motion tell
    units = sorted(apart, key=lambda unit: apart[unit])  # the nearest to home first
    text = (
        f'{topic}, position: the lengths {_of_legs(which)}seem to be in {" or ".join(units)}, '
        f'they must be in m: {mean[which].min():.4g} to {mean[which].max():.4g} in the mean, '
        f'which no leg of {robot.name} has '
        f'({robot.limits.length_min:.4g} to {robot.limits.length_max:.4g} m)'
    )
    return [Finding('bad', 'unit', text, f'{topic}, position')]


def _of_legs(which: BoolArray) -> str:
    """Which legs are meant, where not all are."""
    return '' if which.all() else f'of {listed([LEGS[k] for k in np.flatnonzero(which)])} '


def units() -> Hypotheses:
    """Lengths and efforts in other units, all legs or one."""
    for unit, factor in LENGTH_UNITS.items():
        text = f'the lengths seem to be in {unit}, they must be in m'
        yield Hypothesis('unit', text, partial(changed_lengths, factor=1.0 / factor), 'position')
    for unit, factor in FORCE.others.items():
        text = f'the efforts seem to be in {unit}, they must be in N'
        every = np.full(6, 1.0 / factor)
        yield Hypothesis('unit', text, partial(scaled_efforts, factor=every), 'effort')
        for k, leg in enumerate(LEGS):
            one = np.ones(6)
            one[k] = 1.0 / factor
            text = f'the effort of {leg} seems to be in {unit}, it must be in N'
            yield Hypothesis('unit', text, partial(scaled_efforts, factor=one), f'effort[{leg}]')
