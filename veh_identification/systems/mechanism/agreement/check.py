"""The findings: one mistake that explains why sensors disagree."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from veh_identification.checks.explanation import (
    CONVINCING,
    Explanation,
    Hypothesis,
    best_of,
    explanation_findings,
    judged,
    sized,
)
from veh_identification.checks.health import check_repeated, check_stuck
from veh_identification.errors import VehIdError
from veh_identification.findings import Finding
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
from veh_identification.systems.mechanism.agreement.hypotheses import halves, points, whole
from veh_identification.systems.mechanism.configuration import Description
from veh_identification.systems.mechanism.streams import brought_by

#: Units up to which sensors agree, and up to which a cause has explained all.
AGREE, GOOD = 0.7, 1.5
#: A finding names others that explain as much, within this factor.
ALIKE = 1.15
Judged = list[tuple[Hypothesis[Case], float]]


def check_agreement(items: Sequence[Item], description: Description) -> list[Finding]:
    """Findings on the sensors of a mechanism that moves, the best cause alone."""
    heard = heard_of(items, description)
    found = _channels(heard, description)
    if found:
        return found  # which explains why sensors disagree
    comparison = Comparison.of(Case(heard, description))
    found = [] if comparison is None else _findings(comparison)
    return found or check_balance(heard, items, description)


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
        stuck = check_stuck(time, values[:, 0], where, moving=moving)
        found += stuck or check_repeated(time, values[:, 0], where)
    return found


def _findings(compared: Comparison) -> list[Finding]:
    """The mistake that explains what does not agree; none where all agrees."""
    try:
        as_it_is = compared.misfit(compared.case)
    except VehIdError:  # what the sensors show is impossible for this geometry
        as_it_is = float('inf')
    if as_it_is <= AGREE:
        return []
    tried = _judged(compared, whole(compared))
    found = best_of(tried, as_it_is)
    if found.factor < CONVINCING or found.misfit > GOOD:
        moved = sized(compared.case, points(compared), compared.misfit, as_it_is)
        tried += [moved] if moved is not None else []
        tried += _judged(compared, halves(compared, compared.change_time()))
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
