"""Channels of a motion that repeats: others from some period on."""

import numpy as np

from veh_identification.checks.periods import check_periods

rng = np.random.default_rng(2)
PERIOD, TIME = 2.0, np.arange(0.0, 12.0, 0.005)
FORCE = 80.0 * np.sin(np.pi * TIME) + 30.0 * np.cos(3.0 * np.pi * TIME)
NOISY = FORCE + 5.0 * rng.standard_normal(TIME.size)


def told(values):
    return check_periods(TIME, np.column_stack([NOISY, values]), PERIOD, ['leg_1', 'leg_2'])


def test_a_sign_or_unit_that_changes_is_told_with_its_time():
    for factor in (-1.0, 1e-3, 1.6):
        (found,) = told(np.where(TIME < 6.3, NOISY, factor * NOISY))
        assert (found.level, found.code, found.where) == ('bad', 'changes', 'leg_2')
        assert '6.0 s' in found.text or '8.0 s' in found.text


def test_noise_drift_and_a_run_up_are_no_change():
    assert told(NOISY) == []
    assert told(NOISY + 10.0 * TIME) == []
    assert told(NOISY * np.minimum(TIME / 1.5, 1.0)) == []
    assert told(NOISY * (1.0 + 0.02 * TIME)) == []
    assert told(rng.standard_normal(TIME.size)) == []


def test_the_last_period_counts_where_the_recording_ends_with_it():
    three = TIME < 3.0 * PERIOD - 1e-9
    time, values = TIME[three], NOISY[three] * np.where(TIME[three] < 2.0 * PERIOD, 1.0, 1e-3)
    (found,) = check_periods(time, values[:, None], PERIOD, ['leg_1'])
    assert found.code == 'changes' and '4.0 s' in found.text
