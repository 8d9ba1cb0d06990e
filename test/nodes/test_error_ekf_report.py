"""What the sensors say of each other is told at the same report, live as in replay."""

from __future__ import annotations

import threading
from collections import Counter
from types import SimpleNamespace
from typing import Any, cast

import pytest

from veh_identification.findings import Finding
from veh_identification.nodes.error_ekf.report import CHECK_EVERY, ErrorEkfReport
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
    for number in range(1, CHECK_EVERY + 2):
        report.update(number * 10**9, enabled=True)
        told.append('contradiction' in {one.code for one in report.verdict.findings})
    assert told == [False] * CHECK_EVERY + [True]
    assert (ran_in[0] is threading.current_thread()) is not live
