"""Legs in another order: names, efforts or lengths that are not those of their legs."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import combinations

import numpy as np

from veh_identification.checks.explanation import Hypothesis
from veh_identification.signals import PeriodAverage
from veh_identification.systems.parallel.checks.machine import Hypotheses, Machine
from veh_identification.systems.parallel.model.geometry import LEGS


def orders() -> Hypotheses:
    """Legs in another order: two exchanged, counted from another one, or the other way round."""
    for a, b in combinations(range(6), 2):
        order = list(range(6))
        order[a], order[b] = b, a
        legs = f'{LEGS[a]} and {LEGS[b]}'
        for what, code, text in (
            ('both', 'legs_exchanged', f'{legs} seem to be exchanged'),
            ('efforts', 'efforts_exchanged', f'the efforts of {legs} seem to be exchanged'),
            ('lengths', 'lengths_exchanged', f'the lengths of {legs} seem to be exchanged'),
        ):
            yield Hypothesis(code, text, partial(_ordered, order=order, what=what), 'name')
    for turn in range(6):
        for back in (False, True):
            order = [(turn - k if back else turn + k) % 6 for k in range(6)]
            if order == list(range(6)):
                continue
            way = ' and the other way round' if back else ''
            for what, words in (('both', 'legs'), ('efforts', 'efforts'), ('lengths', 'lengths')):
                text = f'the {words} seem to be counted from {LEGS[order[0]]}{way}'
                change = partial(_ordered, order=order, what=what)
                yield Hypothesis(f'{words}_exchanged', text, change, 'name')


def _ordered(machine: Machine, order: list[int], what: str) -> Machine:
    def taken(average: PeriodAverage) -> PeriodAverage:
        block = average.covariance[np.ix_(order, order)]
        return PeriodAverage(average.mean[:, order], block, average.periods)

    record = machine.record
    if what != 'efforts':
        record = replace(record, lengths=taken(record.lengths))
    if what != 'lengths':
        record = replace(record, forces=taken(record.forces))
    return replace(machine, record=record)
