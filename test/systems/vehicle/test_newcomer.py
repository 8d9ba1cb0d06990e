"""When a sensor that was silent at the start has come to stay."""

from __future__ import annotations

import pytest

from veh_identification.systems.vehicle.observer.online import Newcomer


@pytest.mark.parametrize(
    ('times', 'stays'),
    [
        ([0.01 * k for k in range(60)], True),
        ([0.01 * k for k in range(40)], False),  # not long enough
        ([0.09 * k for k in range(9)], False),  # too few
        ([0.2 * k for k in range(60)], False),  # single messages
        ([0.01 * k + 3.0 * (k > 30) for k in range(60)], False),  # silent in between
        ([0.01 * k - 3600.0 * (k > 30) for k in range(60)], False),  # stamps that jump
    ],
)
def test_a_newcomer_stays(times: list[float], stays: bool) -> None:
    newcomer = Newcomer()
    for time in times:
        newcomer.heard(time)
    assert newcomer.stays is stays


def test_each_start_in_vain_asks_for_twice_the_time() -> None:
    found = []
    for vain in range(4):
        newcomer, time = Newcomer(vain), 0.0
        while not newcomer.stays:
            newcomer.heard(time)
            time += 0.01
        found.append(time)
    assert found == pytest.approx([0.5, 1.0, 2.0, 4.0], abs=0.03)
