"""Lengths and efforts by themselves, before the model is asked: what no leg does."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from veh_identification.checks.copied import check_copied
from veh_identification.checks.health import (
    check_coarse,
    check_jumps,
    check_repeated,
    check_saturated,
    check_stuck,
    told_once,
)
from veh_identification.checks.held import check_held
from veh_identification.checks.periods import check_periods
from veh_identification.checks.rectified import check_rectified
from veh_identification.checks.settled import check_means
from veh_identification.checks.two_sources import check_two_sources
from veh_identification.findings import Finding
from veh_identification.signals import TimeSeries
from veh_identification.systems.parallel.checks.single_legs import SMALLEST_GAP
from veh_identification.systems.parallel.checks.units import length_range
from veh_identification.systems.parallel.model.geometry import LEGS, Hexapod


def channel_findings(
    robot: Hexapod, legs: TimeSeries, topic: str, fundamental_hz: float | None = None
) -> list[Finding]:
    """Lengths and efforts that cannot be, hold or repeat values, run into a limit, or change.

    Without a fundamental the motion does not repeat, and nothing can be said of the last.
    """
    found = (
        _two_sources(legs, topic)
        or length_range(robot, legs.values[:, :6], topic)
        or check_rectified(legs.values[:, 6:], [_channel(topic, k) for k in range(6, 12)])
        or check_copied(legs.values, [_channel(topic, k) for k in range(legs.values.shape[1])])
        or jump_findings(legs, topic)
        or check_means(
            legs.values[:, 6:], [_channel(topic, k) for k in range(6, 12)], 'effort_offset'
        )
    )
    if found:
        return found
    repeated: list[Finding] = []
    held: list[Finding] = []
    moving = np.ones(len(legs), dtype=bool)
    for k in range(legs.values.shape[1]):
        where = _channel(topic, k)
        value = legs.values[:, k]
        found += check_saturated(value, where) or check_stuck(
            legs.stamps, value, where, moving=moving
        )
        held += [] if found else check_held(legs.stamps, value, where)
        found += check_coarse(value, where, 'm' if k < 6 else 'N')
        repeated += check_repeated(legs.stamps, value, where, least=0.0)
    found += told_once(held)
    if not found and fundamental_hz is not None:
        found += _changes(legs, topic, 1.0 / fundamental_hz)
    return [*found, *told_once(repeated)]


def jump_findings(legs: TimeSeries, topic: str) -> list[Finding]:
    """Lengths that stand, or are elsewhere from one sample on: a leg cannot, no pose has them.

    Of the samples as they came: about a jump they are taken for glitches and left out.
    """
    held = [
        one
        for k in range(6)
        for one in check_held(legs.stamps, legs.values[:, k], _channel(topic, k))
    ]
    if held:  # what leaps after a hold has not jumped
        return told_once(held)
    found = [
        one
        for k in range(6)
        for one in check_jumps(legs.stamps, legs.values[:, k], _channel(topic, k), SMALLEST_GAP)
    ]
    return [replace(one, level='bad') for one in told_once(found)]


def _two_sources(legs: TimeSeries, topic: str) -> list[Finding]:
    """Messages that come from two sources by turns: nothing else can be said of them."""
    return told_once(
        [
            one
            for k in range(legs.values.shape[1])
            for one in check_two_sources(legs.values[:, k], _channel(topic, k))
        ]
    )


def _changes(legs: TimeSeries, topic: str, period: float) -> list[Finding]:
    """Efforts that are others from some period on, where the lengths are not."""
    if check_periods(legs.stamps, legs.values[:, :6], period, LEGS):
        return []
    efforts = [f'{topic}, effort[{leg}]' for leg in LEGS]
    return told_once(check_periods(legs.stamps, legs.values[:, 6:], period, efforts))


def _channel(topic: str, column: int) -> str:
    return f'{topic}, {"position" if column < 6 else "effort"}[{LEGS[column % 6]}]'
