"""The findings: one mistake that explains why sensors disagree."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from veh_identification.checks.explanation import (
    Explanation,
    Hypothesis,
    best_of,
    explanation_findings,
    judged,
    sized,
)
from veh_identification.checks.health import check_repeated, check_saturated, check_stuck
from veh_identification.checks.two_sources import check_two_sources
from veh_identification.errors import VehIdError
from veh_identification.findings import CONVINCING, Finding
from veh_identification.observation.streaming import Item
from veh_identification.systems.mechanism.agreement.balance import check_balance
from veh_identification.systems.mechanism.agreement.comparison import Comparison
from veh_identification.systems.mechanism.agreement.heard import (
    MOVING,
    Case,
    Heard,
    heard_of,
    noise_of,
)
from veh_identification.systems.mechanism.agreement.hypotheses import (
    halves,
    points,
    shares,
    whole,
)
from veh_identification.systems.mechanism.configuration import Description, SensorEntries
from veh_identification.systems.mechanism.described import check_described
from veh_identification.systems.mechanism.streams import brought_by
from veh_identification.types import Array

#: Units up to which sensors agree, and up to which a cause has explained all.
AGREE, GOOD = 0.7, 1.5
#: A finding names others that explain as much, within this factor.
ALIKE = 1.15
#: Seconds for which no sensor rests while others move; steps of a sensor over those described that
#: are told, how many there must be, and the share of the samples that rest between them.
STUCK, COARSER, FEW_STEPS, RESTING = 0.8, 4.0, 20, 0.3
#: Share of different values among all that is few.
FEW_LEVELS = 0.1
#: Zeros of sensors of rates that are told: over the deviation of their bias, and over the rate.
UNUSUAL, OF_RATE, SIGMAS = 4.0, 0.02, 6.0
Judged = list[tuple[Hypothesis[Case], float]]


def check_agreement(items: Sequence[Item], description: Description) -> list[Finding]:
    """Findings on the sensors of a mechanism that moves, the best cause alone."""
    heard = heard_of(items, description)
    described = check_described(description)
    found = _channels(heard, description)
    if found or any(one.level == 'bad' for one in described):
        return [*described, *found]  # which explains why sensors disagree
    comparison = Comparison.of(Case(heard, description))
    found = [] if comparison is None else _findings(comparison)
    return [*described, *(found or check_balance(heard, items, description))]


def _channels(heard: Heard, description: Description) -> list[Finding]:
    """Sensors that stand still while another one moves, or repeat their values."""
    found = []
    for name, (time, values) in heard.items():
        moving = np.zeros(len(time), dtype=bool)
        for other, (when, what) in heard.items():
            if other != name and len(when) > 1:
                least = MOVING * noise_of(description.sensors[other])
                step = max(1, round(0.2 / max(float(np.median(np.diff(when))), 1e-6)))
                moved = np.abs(what[step:, 0] - what[:-step, 0]) > least
                last = np.searchsorted(when[step:], time, side='right') - 1
                moving |= (last >= 0) & moved[np.clip(last, 0, None)] if len(moved) else False
        where = f'{name} ({brought_by(description, name)})'
        own = values[:, 0]
        found += (
            check_two_sources(own, where)
            or _coarse(own, where, description.sensors[name])
            or check_stuck(time, own, where, moving=moving, least=STUCK)
            or (check_saturated(own, where) if _cut_off(own) else [])
            or check_repeated(time, own, where)
        )
    return found


def _coarse(value: Array, where: str, sensor: SensorEntries) -> list[Finding]:
    """Steps that are far larger than what the description says of the sensor."""
    moved, levels = np.abs(np.diff(value)), np.unique(value)
    # What goes on and on has as many values as it likes, but rests at each of them.
    rests = np.mean(moved == 0.0) > RESTING
    steps = moved[moved > 0.0] if rests else np.diff(levels)
    stated = float(np.sqrt(12.0)) * noise_of(sensor)
    if len(steps) < FEW_STEPS or not (rests or len(levels) < FEW_LEVELS * len(value)):
        return []
    step = float(np.quantile(steps, 0.1))
    whole = np.abs(steps / step - np.round(steps / step)) < 0.02
    if not step > COARSER * stated or np.mean(whole) < 0.95:
        return []
    unit = {'encoder': 'rad', 'distance': 'm', 'position': 'm'}.get(sensor.kind, 'rad/s')
    text = (
        f'{where} goes in steps of {step:.3g} {unit}, where its deviation and resolution in the '
        f'description allow for {stated:.2g}: give its resolution, or look for what rounds it'
    )
    return [Finding('bad', 'coarse', text, where, size=step / stated)]


def _cut_off(value: Array) -> bool:
    """Whether a signal reaches its largest or smallest value at speed: what turns back by itself
    comes there slowly, by one tick.
    """
    levels = np.unique(value)
    if len(levels) < 2:
        return False
    tick = float(np.diff(levels).min())
    for edge in (levels[0], levels[-1]):
        held = value == edge
        begins = np.flatnonzero(held[1:-1] & held[2:] & ~held[:-2]) + 1
        if len(begins) and float(np.median(np.abs(value[begins - 1] - edge))) > 3.0 * tick:
            return True
    return False


def _findings(compared: Comparison) -> list[Finding]:
    """The mistake that explains what does not agree; none where all agrees."""
    try:
        as_it_is = compared.misfit(compared.case)
    except VehIdError:  # what the sensors show is impossible for this geometry
        as_it_is = float('inf')
    if as_it_is <= AGREE:
        return _zeros(compared)
    tried = _judged(compared, whole(compared))
    found = best_of(tried, as_it_is)
    if found.factor < CONVINCING or found.misfit > GOOD:
        tried += sized(compared.case, points(compared), compared.misfit, as_it_is)[:1]
        tried += _judged(compared, halves(compared, compared.change_time()))
        tried += _judged(compared, shares(compared))
        found = best_of(tried, as_it_is)
    text = f'sensors and geometry disagree: {as_it_is:.3g} times what noise explains'
    told = explanation_findings(
        found,
        label=compared.case.description.name,
        better='the sensors fit the geometry',
        good=GOOD,
        misfit_text=text,
    )
    return [_with_others(one, found, tried) for one in told]


def _zeros(compared: Comparison) -> list[Finding]:
    """Zeros of sensors of rates, which quick motion hides: off all the time, or wandering."""
    found = []
    for name, where, sensor in compared.sensors():
        if sensor.kind not in ('gyro', 'rate') or name in compared.shown.values():
            continue
        first, second, size, sigma = compared.zeros(name)
        if size < MOVING * noise_of(sensor):
            continue
        least = max(UNUSUAL * sensor.bias_deviation, OF_RATE * size, SIGMAS * sigma)
        if abs(second - first) > 0.5 * least:  # means of halves are half of the way apart
            text = (
                f'the zero of {where} wanders by {2.0 * (second - first):+.3g} rad/s in what was '
                'heard: let it warm up, or look at its supply'
            )
            found.append(Finding('warn', 'drift', text, where, size=abs(second - first) / least))
        elif abs(first + second) > 2.0 * least:
            text = (
                f'the zero of {where} is off by {0.5 * (first + second):+.3g} rad/s, where '
                f'{sensor.bias_deviation:.2g} is described as usual: take it off, or give '
                'bias_deviation'
            )
            found.append(Finding('warn', 'zero', text, where, size=abs(first + second) / least))
    return found


def _judged(compared: Comparison, hypotheses: Iterable[Hypothesis[Case]]) -> Judged:
    return [(one, judged(compared.case, one, compared.misfit, float('inf'))) for one in hypotheses]


def _with_others(one: Finding, found: Explanation[Case], tried: Judged) -> Finding:
    """A finding with what explains as much, of the same kind."""
    if one.level != 'bad' or found.best is None:
        return one
    alike = [
        other.text
        for other, left in tried
        if left <= ALIKE * found.misfit
        and other.where != found.best.where
        and other.code == found.best.code
    ]
    also = f' (or, which looks alike: {"; ".join(alike[:2])})' if alike else ''
    return replace(one, text=one.text + also)
