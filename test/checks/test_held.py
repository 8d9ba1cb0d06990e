"""Short holds of a sensor, and what rests rightly."""

import numpy as np

from veh_identification.checks.held import check_blank, check_held

rng = np.random.default_rng(2)
TIME = np.arange(0.0, 20.0, 0.01)
NOISY = np.sin(TIME) + 0.01 * rng.standard_normal(TIME.size)
SMOOTH = np.sin(TIME)


def held(values, begin, end):
    values = values.copy()
    inside = (begin <= TIME) & (end > TIME)
    values[inside] = values[np.argmax(inside)]
    return values


def test_a_short_hold_is_told_with_its_time():
    for values in (NOISY, SMOOTH):
        (found,) = check_held(TIME, held(values, 6.0, 7.0), 'imu/data')
        assert (found.level, found.code) == ('bad', 'stuck') and '6.00 s to 6.99 s' in found.text
        (found,) = check_held(TIME, held(values, 6.0, 6.3), 'imu/data')
        assert found.level == 'warn'
        assert check_held(TIME, values, 'imu/data') == []


def test_what_slows_down_before_it_rests_is_not_held():
    pause = np.where(2.5 * np.pi > TIME, SMOOTH, np.where(TIME < 10.0, 1.0, np.cos(TIME - 10.0)))
    assert check_held(TIME, 0.5 * pause - 0.7, 'joint') == []


def test_ticks_limits_and_a_stand_at_zero_are_not_held():
    assert check_held(TIME, 0.02 * np.round(NOISY / 0.02), 'coarse') == []
    assert check_held(TIME, np.clip(NOISY, -0.8, 0.8), 'saturated') == []
    speed = np.where((TIME > 5.0) & (TIME < 9.0), 0.0, 10.0 + NOISY)
    assert check_held(TIME, speed, 'speed') == []


def test_a_machine_that_does_not_move_may_hold_its_values():
    moving = ~((TIME >= 6.0) & (TIME < 7.0))
    assert check_held(TIME, held(NOISY, 6.0, 7.0), 'imu/data', moving=moving) == []


def test_messages_of_nothing_are_told():
    lost = np.column_stack([NOISY + 3.0, NOISY, 2.0 * NOISY])
    lost[(TIME > 4.0) & (TIME < 4.2)] = 0.0
    (found,) = check_blank(TIME, lost, 'imu/data')
    assert (found.level, found.code) == ('bad', 'stuck') and '1 times' in found.text


def test_a_machine_at_rest_and_single_zeros_are_no_lost_messages():
    still = np.where(TIME < 5.0, 0.0, SMOOTH)
    rests = np.column_stack([still, still, np.round(still)])
    assert check_blank(TIME, rests[TIME < 5.0], 'imu/data') == []
    noisy = np.column_stack([NOISY, NOISY, NOISY])
    noisy[700] = 0.0
    assert check_blank(TIME, noisy, 'imu/data') == []
    clean = np.column_stack([NOISY, NOISY, NOISY])
    rest = (TIME > 4.0) & (TIME < 4.5)
    clean[rest] = 0.0  # a simulator without noise that leaves gravity out
    assert len(check_blank(TIME, clean, 'imu/data')) == 1
    assert check_blank(TIME, clean, 'imu/data', moving=~rest) == []
