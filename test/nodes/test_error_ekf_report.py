"""What the sensors say of each other is told at the next report, live as soon as it is known."""

from __future__ import annotations

import threading
import time
from collections import Counter
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from veh_identification.findings import Finding
from veh_identification.fusion.statistics import nis_band
from veh_identification.nodes.error_ekf.report import CHECK_EVERY, ErrorEkfReport, Totals
from veh_identification.observation.protocols import Innovation, Innovations
from veh_identification.runtime.load import Load


@pytest.mark.parametrize('live', [False, True])
def test_a_comparison_is_told_at_the_report_after_it_began(live: bool) -> None:
    ran_in: list[threading.Thread] = []

    def compare() -> list[Finding]:
        ran_in.append(threading.current_thread())
        return [Finding('bad', 'contradiction', 'they contradict each other')]

    face = SimpleNamespace(
        streams={}, essential=(), checks=lambda: compare, system=SimpleNamespace(inputs=())
    )
    observer = SimpleNamespace(
        arrivals=SimpleNamespace(records={}), session=None, stepper=None, waiting=Counter
    )
    load = Load() if live else None
    report = ErrorEkfReport(cast(Any, face), cast(Any, observer), load)
    told = []
    for number in range(1, CHECK_EVERY + 201):
        report.update(number * 10**9, enabled=True)
        told.append('contradiction' in {one.code for one in report.verdict.findings})
        if told[-1] or (not live and number > CHECK_EVERY):
            break
        time.sleep(0.1 * (number > CHECK_EVERY))  # a live report waits for nobody
    assert told[-1] and told.count(True) == 1 and len(told) > CHECK_EVERY
    assert (ran_in[0] is threading.current_thread()) is not live


def test_a_note_does_not_take_the_place_of_a_cause() -> None:
    """A cause stands for a minute; notes of later comparisons say nothing against it."""
    note = Finding('note', 'remark', 'nothing confirms a length')
    cause = Finding('bad', 'contradiction', 'they contradict each other')
    answers = [[note], [cause], [note], [note]]
    face = SimpleNamespace(
        streams={},
        essential=(),
        checks=lambda: lambda: answers.pop(0) if answers else [note],
        system=SimpleNamespace(inputs=()),
    )
    observer = SimpleNamespace(
        arrivals=SimpleNamespace(records={}), session=None, stepper=None, waiting=Counter
    )
    report = ErrorEkfReport(cast(Any, face), cast(Any, observer))
    told = []
    for number in range(1, 20 * CHECK_EVERY + 2):
        report.update(number * 10**9, enabled=True)
        told.append({one.code for one in report.verdict.findings} & {'remark', 'contradiction'})
    assert told[CHECK_EVERY] == {'remark'}
    assert told[2 * CHECK_EVERY] == told[4 * CHECK_EVERY] == {'contradiction'}
    assert told[-1] == {'remark'}


class Steps:
    """Innovations of a filter with two sensors, as the compiled step leaves them."""

    def __init__(self, seed: int, wide: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.rows = {'gyroscope': slice(0, wide), 'wheel': slice(wide, wide + 1)}

    def one(self) -> Innovations:
        size = self.rows['wheel'].stop
        told = [(name, 0.0, rows) for name, rows in self.rows.items()]
        outcome = np.tile((1.0, 1.0, 1.0, 0.0), (2, 1))
        return Innovations(told, outcome, self.rng.normal(size=size), self.rng.random(size) + 0.1)


@pytest.mark.parametrize('widths', [(3,), (3, 2), (3, 3)])
def test_statistics_are_the_same_from_whole_rows_and_from_parts(widths: tuple[int, ...]) -> None:
    """Rows of one filter are put together whole; behind a start anew part by part."""
    whole, parts = Totals(), Totals()
    for seed, wide in enumerate(widths):
        steps = Steps(seed, wide)
        for _ in range(50):
            made = steps.one()
            whole.add(made)
            parts.add([Innovation(*one) for one in made])
    found = whole.summaries()
    assert found == parts.summaries() and set(found) == {'gyroscope', 'wheel'}
    count = 50 if widths == (3, 2) else 50 * len(widths)
    assert found['gyroscope'][3:] == nis_band(count * widths[-1])


def test_statistics_of_sensors_that_missed_different_steps() -> None:
    """Rows are shared by those that were used in the same steps only."""
    whole, parts, steps = Totals(), Totals(), Steps(0, 3)
    for k in range(60):
        made = steps.one()
        outcome = np.tile((1.0, 1.0, 1.0, 0.0), (2, 1))
        outcome[k % 2, 2] = float(k not in (20, 21))  # each missed one
        made = Innovations(made._told, outcome, made._value, made._variance)
        whole.add(made)
        parts.add([Innovation(*one) for one in made])
    assert whole.summaries() == parts.summaries()
    assert len(whole.innovations['wheel']) == len(whole.innovations['gyroscope']) == 59
