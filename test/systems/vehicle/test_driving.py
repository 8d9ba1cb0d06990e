"""Inputs of the observer that fall silent: held, then fading, never a step."""

from __future__ import annotations

import itertools
import math

import pytest

from veh_identification.observation.streaming.arrivals import NANOSECONDS, Item
from veh_identification.systems.vehicle.observer.driving import FADING, Driving

STEP = 0.01


def steps(driving: Driving, first: float, last: float) -> list[tuple[float, float]]:
    """Drive torque of the last wheel and brake pressure over time."""
    count = round((last - first) / STEP)
    made = [driving.at(round((first + k * STEP) * NANOSECONDS)) for k in range(1, count + 1)]
    return [(one.torques[3], one.pressure) for one in made]


def test_what_falls_silent_fades_without_a_step() -> None:
    driving = Driving(STEP, 0.0, {'torque', 'pressure', 'rack'}, 0)
    driving.push(Item(0, 'torque', (0.0, 0.0, 40.0, 40.0)))
    driving.push(Item(0, 'pressure', (2.0,)))
    held = steps(driving, 0.0, 0.5)
    assert set(held) == {(40.0, 2.0)} and not driving.missing
    faded = steps(driving, 0.5, 10.5)
    assert driving.missing == {'torque', 'pressure', 'rack'}
    for column, name in enumerate(FADING):
        values = [held[-1][column], *(one[column] for one in faded)]
        share = math.exp(-STEP / FADING[name])
        assert [b / a for a, b in itertools.pairwise(values)] == pytest.approx(
            [share] * len(faded)
        )
    driving.push(Item(round(10.5 * NANOSECONDS), 'torque', (0.0, 0.0, 10.0, 10.0)))
    assert steps(driving, 10.5, 10.6)[0][0] == 10.0
    assert 'torque' not in driving.missing


def test_inputs_that_never_came_are_none() -> None:
    driving = Driving(STEP, 0.0, {'rack'}, 0)
    assert set(steps(driving, 0.0, 1.0)) == {(0.0, 0.0)}
    assert driving.missing >= {'torque', 'pressure'}
