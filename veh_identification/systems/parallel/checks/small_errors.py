"""Lengths, efforts and drawings that are so little off that the forces hardly tell."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from veh_identification.checks.explanation import Family
from veh_identification.checks.small_causes import small_cause, small_cause_findings
from veh_identification.findings import Finding
from veh_identification.systems.parallel.checks.all_legs import all_scaled, all_shifted
from veh_identification.systems.parallel.checks.drawing import higher, too_far_out, too_high, wider
from veh_identification.systems.parallel.checks.judge import Judge
from veh_identification.systems.parallel.checks.lags import slightly_late
from veh_identification.systems.parallel.checks.machine import (
    Machine,
    changed_lengths,
    scaled_efforts,
    tared,
)
from veh_identification.systems.parallel.checks.single_legs import (
    LENGTH_STEP,
    one_scaled,
    one_shifted,
    one_untared,
)
from veh_identification.systems.parallel.model.geometry import LEGS


def small_findings(judge: Judge) -> list[Finding]:
    """What noise hides of the forces, but not of the values."""
    record = judge.machine.record
    variance = float(np.trace(record.forces.covariance) / 6.0 / record.periods)
    if not variance > 0.0:
        return []
    found = small_cause(judge.machine, small_errors(), judge.residual, variance)
    if found is not None and found.hypothesis.code == 'effort_delay':
        return []  # the estimate finds and applies it
    return small_cause_findings(found, record.source)


def small_errors() -> Iterator[Family[Machine]]:
    """Lengths and efforts that are somewhat off, all legs or one, by their corrections."""
    step = ((LENGTH_STEP,),)
    yield Family('length_offset', all_shifted,
                 lambda size: partial(changed_lengths, shift=size), step, 'position')  # fmt: skip
    yield Family('length_scale', all_scaled, lambda size: partial(changed_lengths,
                 factor=1.0 + size), step, 'position')  # fmt: skip
    yield Family('effort_delay', lambda size: f'efforts {size:.3g} samples late',
                 lambda size: partial(slightly_late, samples=size), ((0.1,),))  # fmt: skip
    for part in ('base', 'platform'):
        yield Family(
            'geometry',
            lambda size, part=part: too_far_out(part, 1.0 / (1.0 + size)),  # type: ignore[misc]
            lambda size, part=part: partial(wider, part=part, share=size),  # type: ignore[misc]
            ((0.01,),),
            f'entry {part}',
        )
    yield Family('geometry', too_high, lambda size: partial(higher, metres=size), step,
                 'entry platform')  # fmt: skip
    for leg, one in zip(LEGS, np.eye(6), strict=True):
        yield Family(
            'length_offset',
            partial(one_shifted, leg),
            lambda size, one=one: partial(changed_lengths, shift=size * one),  # type: ignore[misc]
            step,
            f'position[{leg}]',
        )
        yield Family(
            'scale',
            lambda size, leg=leg: one_scaled(leg, 1.0 + size),  # type: ignore[misc]
            lambda size, one=one: partial(scaled_efforts, factor=1.0 + size * one),  # type: ignore[misc]
            step,
            f'effort[{leg}]',
        )
        yield Family(
            'effort_offset',
            partial(one_untared, leg),
            lambda size, one=one: partial(tared, shift=size * one),  # type: ignore[misc]
            ((1.0,),),
            f'effort[{leg}]',
        )
