"""Steps over time: what was put in is found and dated, and chance raises no alarm."""

from __future__ import annotations

import numpy as np
import pytest

from veh_identification.fleets.changes import Series, find_changes, find_outliers


def series(
    value: np.ndarray, std: np.ndarray, machine: str = 'car_1', parameter: str = 'k1'
) -> Series:
    places = np.arange(len(value))
    return Series(machine, parameter, 'N/m', places, places * 86_400 * 10**9, value, std)


def fleet(rng: np.random.Generator, machines: int, weeks: int, scale: float = 1.0) -> list[Series]:
    """Springs and masses of several cars; deviations differ between recordings."""
    found = []
    for machine in range(machines):
        for parameter, truth in (('k1', 30_000.0), ('Mc', 1500.0)):
            std = truth * 0.004 * rng.uniform(0.6, 1.8, weeks)
            value = truth + scale * std * rng.standard_normal(weeks)
            found.append(series(value, std, f'car_{machine}', parameter))
    return found


@pytest.mark.parametrize('weeks', [8, 12, 30])
@pytest.mark.parametrize('seed', range(4))
def test_two_percent_in_one_spring_are_found_and_dated(weeks: int, seed: int) -> None:
    rng = np.random.default_rng([seed, weeks])
    every = fleet(rng, 20, weeks)
    place = weeks // 2 + int(rng.integers(-1, 2))
    # Known to about 0.4 %: 2 % are some five deviations of a single recording.
    every[14].value[place:] *= 0.98
    found = find_changes(every)
    assert [(one.machine, one.parameter) for one in found.steps] == [('car_7', 'k1')]
    step = found.steps[0]
    assert step.share == pytest.approx(-0.02, abs=4.0 * np.hypot(step.before_std, step.after_std))
    assert step.share == pytest.approx(-0.02, abs=0.008)
    assert step.earliest <= step.last_before < step.first_after <= step.latest
    assert step.earliest < place <= step.latest
    assert abs(step.first_after - place) <= 1
    assert step.lasting


@pytest.mark.parametrize(('weeks', 'scale'), [(6, 1.0), (12, 1.0), (12, 2.0), (40, 1.6)])
def test_false_alarms_stay_below_the_level_in_200_unchanged_series(
    weeks: int, scale: float
) -> None:
    """40 fleets of 200 series at 5 %: two of them may raise an alarm, more than 6 by chance with a
    probability of 0.3 %. `scale`: deviations that are stated too small."""
    alarms = 0
    for seed in range(40):
        rng = np.random.default_rng([seed, weeks])
        found = find_changes(fleet(rng, 100, weeks, scale), level=0.05)
        assert found.series == 200
        alarms += bool(found.steps)
    assert alarms <= 6


def test_the_test_for_false_alarms_can_fail() -> None:
    """The same series judged one by one, without regard to how many they are."""
    rng = np.random.default_rng(5)
    alarms = sum(bool(find_changes([one], level=0.5).steps) for one in fleet(rng, 100, 12))
    assert alarms > 6


def test_two_steps_and_their_values() -> None:
    rng = np.random.default_rng(3)
    truth = np.repeat([100.0, 104.0, 98.0], 10)
    std = np.full(30, 0.8)
    found = find_changes([series(truth + std * rng.standard_normal(30), std)])
    steps = sorted(found.steps, key=lambda one: one.first_after)
    assert [one.first_after for one in steps] == pytest.approx([10, 20], abs=1)
    assert [one.after for one in steps] == pytest.approx([104.0, 98.0], abs=1.0)


def test_the_stated_span_holds_the_step() -> None:
    rng = np.random.default_rng(99)
    std = np.full(20, 0.8)
    held = []
    for _ in range(100):
        place = int(rng.integers(5, 16))
        truth = np.where(np.arange(20) < place, 100.0, 102.0)
        steps = find_changes([series(truth + std * rng.standard_normal(20), std)]).steps
        held += [one.earliest < place <= one.latest for one in steps[:1]]
    assert len(held) > 60, 'most are found'
    assert 0.9 <= np.mean(held) < 1.0  # 95 % are stated


def test_one_recording_apart_is_no_change() -> None:
    rng = np.random.default_rng(4)
    every = fleet(rng, 10, 12)
    every[4].value[6] *= 1.10
    found = find_changes(every)
    assert found.steps == ()
    assert [(one.machine, one.parameter, one.place) for one in found.apart] == [('car_2', 'k1', 6)]


@pytest.mark.parametrize('seed', range(3))
def test_slow_wear_names_its_machine_and_no_other(seed: int) -> None:
    """A spring that loses 3 % little by little over 24 recordings, each known to about 0.4 %."""
    every = fleet(np.random.default_rng([seed, 24]), 20, 24)
    every[14].value[:] *= np.linspace(1.0, 0.97, 24)
    found = find_changes(every)
    assert {(one.machine, one.parameter) for one in found.steps} == {('car_7', 'k1')}
    assert all(one.after < one.before for one in found.steps)


def test_last_recording_alone_is_told_as_such() -> None:
    every = fleet(np.random.default_rng(6), 10, 12)
    every[4].value[11] *= 1.10
    (step,) = find_changes(every).steps
    assert (step.machine, step.first_after, step.lasting) == ('car_2', 11, False)


def test_short_series_are_not_judged() -> None:
    assert find_changes([series(np.array([1.0, 1.0, 9.0]), np.full(3, 0.1))]).series == 0
    assert find_changes([]).steps == ()


def test_machine_beyond_the_others() -> None:
    rng = np.random.default_rng(7)
    names = [f'car_{k}' for k in range(20)]
    value, std = 1500.0 + 20.0 * rng.standard_normal(20), np.full(20, 2.0)
    assert find_outliers({'Mc': (names, value, std)}) == []
    value[3] += 200.0
    (found,) = find_outliers({'Mc': (names, value, std)})
    assert (found.machine, found.parameter) == ('car_3', 'Mc')
    std[3] = 150.0  # nobody knows that car well
    assert find_outliers({'Mc': (names, value, std)}) == []


def test_outliers_keep_their_level() -> None:
    alarms = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        names, std = [f'car_{k}' for k in range(12)], np.full(12, 0.1)
        values = {name: (names, rng.standard_normal(12), std) for name in 'abcde'}
        alarms += bool(find_outliers(values, 0.05))
    assert alarms <= 20  # ten are to be expected; more than 20 have a probability of 0.1 %
