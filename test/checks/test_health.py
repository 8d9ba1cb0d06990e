"""Stuck, saturated and missing channels; slow and coarse ones are not blamed."""

import numpy as np
import pytest

from veh_identification.checks.health import (
    check_coarse,
    check_jumps,
    check_lost,
    check_missing,
    check_repeated,
    check_same_stamps,
    check_saturated,
    check_steps,
    check_stuck,
    check_values,
)
from veh_identification.checks.ticks import check_wheel_ticks

rng = np.random.default_rng(1)
TIME = np.arange(0.0, 30.0, 0.01)
SIGNAL = np.sin(TIME) + 0.01 * rng.standard_normal(TIME.size)


def test_a_sensor_that_holds_its_value_is_stuck():
    held = np.where((TIME > 10.0) & (TIME < 15.0), SIGNAL[1000], SIGNAL)
    (found,) = check_stuck(TIME, held, 'imu/data')
    assert (found.level, found.code) == ('bad', 'stuck') and '10.0' in found.text
    assert check_stuck(TIME, SIGNAL, 'imu/data') == []


def test_a_filter_does_not_hide_that_a_sensor_holds_its_value():
    held = np.where((TIME > 10.0) & (TIME < 15.0), SIGNAL[1000], SIGNAL)
    smooth = np.convolve(held, np.hanning(21) / np.hanning(21).sum(), 'same')
    smooth[1100:1400] += 1e-15 * rng.standard_normal(300)
    assert [one.code for one in check_stuck(TIME, smooth, 'knee')] == ['stuck']


def test_a_machine_at_rest_is_not_stuck():
    still = np.where((TIME > 10.0) & (TIME < 15.0), 0.0, SIGNAL)
    moving = ~((TIME > 10.0) & (TIME < 15.0))
    assert check_stuck(TIME, still, 'wheel_fl', moving=moving) == []
    assert check_stuck(TIME, np.zeros(TIME.size), 'wheel_fl') == []
    (found,) = check_stuck(TIME, np.zeros(TIME.size), 'wheel_fl', moving=np.ones(TIME.size, bool))
    assert found.code == 'stuck'


def test_a_coarse_encoder_is_not_stuck():
    ticks = 0.5 * np.round(np.sin(0.2 * TIME) / 0.5)
    assert check_stuck(TIME, ticks, 'steering_fl') == []


def test_saturation_and_holes():
    cut = np.clip(SIGNAL, -0.8, 0.8)
    (found,) = check_saturated(cut, 'imu/data')
    assert found.code == 'saturated'
    assert check_saturated(SIGNAL, 'imu/data') == []
    assert check_saturated(np.round(SIGNAL, 1), 'coarse') == []
    # A filter behind the limit swings a little beyond it.
    behind = np.where(np.roll(np.abs(cut), 3) < 0.8, 1.03 * cut, cut)
    assert behind.max() > 0.81
    assert check_saturated(behind, 'imu/data', filtered=True)[0].code == 'saturated'
    assert check_saturated(behind, 'imu/data') == []
    assert check_saturated(SIGNAL, 'imu/data', filtered=True) == []
    holes = np.where(rng.random(TIME.size) < 0.1, np.nan, SIGNAL)
    assert check_missing(holes, 'x')[0].code == 'missing_values'
    assert check_missing(SIGNAL, 'x') == []


def test_a_slower_source_behind_a_topic_is_told():
    held = SIGNAL[5 * (np.arange(TIME.size) // 5)]
    (found,) = check_repeated(TIME, held, 'speed')
    assert (found.level, found.code) == ('warn', 'repeated') and '0.05 s' in found.text
    assert check_repeated(TIME, held, 'speed', least=0.1) == []
    angle = 30.0 * TIME + 0.001 * rng.standard_normal(TIME.size)
    assert check_repeated(TIME, angle[50 * (np.arange(TIME.size) // 50)], 'wheel_fl')
    assert check_repeated(TIME, angle, 'wheel_fl') == []


def test_ticks_and_rests_are_no_slower_source():
    assert check_repeated(TIME, 0.02 * np.round(np.sin(0.5 * TIME) / 0.02), 'coarse') == []
    assert check_repeated(TIME, 0.01 * np.floor(TIME / 0.04), 'one tick at a time') == []
    resting = np.where(TIME % 2.0 < 1.5, 0.0, SIGNAL)
    assert check_repeated(TIME, resting, 'steering_fl') == []


def test_what_cannot_jump_and_does_is_told():
    flipped = np.where(TIME < 11.0, 1.0, -1.0) * (SIGNAL + 0.5)
    (found,) = check_jumps(TIME, flipped, 'knee', 0.1)
    assert (found.level, found.code) == ('warn', 'changes') and '11.00 s' in found.text
    assert check_jumps(TIME, SIGNAL, 'knee', 0.1) == []


def test_spikes_whole_turns_and_coarse_ticks_are_no_jumps():
    spike = SIGNAL.copy()
    spike[900:903] += 2.0
    assert check_jumps(TIME, spike, 'knee', 0.1) == []
    assert check_jumps(TIME, np.mod(3.0 * TIME, 2.0 * np.pi), 'wheel', 0.1) == []
    assert check_jumps(TIME, np.round(np.sin(TIME), 1), 'coarse', 0.05) == []


def test_what_moves_on_while_samples_are_missing_does_not_jump() -> None:
    """A robot that jumps: nothing is told of its flight, and its knees go on bending."""
    seen = (TIME < 10.9) | (TIME > 11.1)
    quick = np.sin(6.0 * TIME)
    assert abs(np.diff(quick[seen])).max() > 0.5
    assert check_jumps(TIME[seen], quick[seen], 'knee', 0.1) == []
    # Another zero after the pause is further than it gets in that time.
    shifted = quick + np.where(TIME < 11.0, 0.0, 6.0)
    (found,) = check_jumps(TIME[seen], shifted[seen], 'knee', 0.1)
    assert found.code == 'changes'


def test_lost_samples_are_told_and_jitter_and_gaps_are_none() -> None:
    rng = np.random.default_rng(4)
    time = np.arange(2000) * 0.005
    assert check_lost(time, 'x') == []
    assert check_lost(np.sort(time + rng.normal(0.0, 1e-3, time.size)), 'x') == []
    assert check_lost(time[(time < 3.0) | (time > 6.0)], 'x') == []  # a gap
    assert check_lost(time[rng.random(time.size) > 0.02], 'x') == []
    assert check_lost(np.concatenate([time + k * 1e-4 for k in range(3)]), 'x') == []
    burst = np.sort(np.concatenate([time[::4] + k * 1e-5 for k in range(4)]))
    assert check_lost(burst, 'x') == []
    # stamps of a bus that is read now and then scatter by a third of the period, as in real cars
    scattered = np.sort(time + rng.normal(0.0, 0.0017, time.size))
    assert check_lost(scattered, 'x') == []
    jittered = np.sort(time + rng.normal(0.0, 5e-4, time.size))
    (found,) = check_lost(jittered[rng.random(time.size) > 0.1], 'topic')
    assert found.size == pytest.approx(0.1, abs=0.02)
    (found,) = check_lost(time[rng.random(time.size) > 0.4], 'topic')
    assert found.code == 'samples_lost' and found.where == 'topic'
    assert found.size == pytest.approx(0.4, abs=0.05)


def test_steps_that_are_not_small_beside_the_signal_are_coarse():
    (found,) = check_coarse(np.round(SIGNAL / 0.5) * 0.5, 'effort', 'N m')
    assert (found.level, found.code) == ('warn', 'coarse') and '0.5 N m apart' in found.text
    (found,) = check_coarse(np.round(SIGNAL / 1.9) * 1.9, 'effort', 'N m')
    assert found.level == 'bad'
    assert check_coarse(np.round(SIGNAL / 0.1) * 0.1, 'effort', 'N m') == []
    assert check_coarse(np.full(TIME.size, 2.0), 'effort', 'N m') == []


def test_coarse_steps_below_the_least_are_no_matter() -> None:
    value = 0.01 * np.round(np.random.default_rng(1).standard_normal(1000))
    assert [one.code for one in check_coarse(value, 'gyro', 'rad/s')] == ['coarse']
    assert check_coarse(value, 'gyro', 'rad/s', 0.02) == []


def test_a_noisy_channel_that_freezes_before_the_machine_stops_is_stuck() -> None:
    """Of the four seconds it holds its value the car moves in the first alone."""
    time = 0.01 * np.arange(4000)
    value = np.random.default_rng(2).standard_normal(4000)
    value[2000:2400] = value[2000]
    moving = (time < 20.8) | (time > 30.0)
    assert check_stuck(time, value, 'gyro', moving=moving) == []
    (found,) = check_stuck(time, value, 'gyro', moving=moving, moved=0.5)
    assert (found.level, found.code) == ('bad', 'stuck')
    # of a simulation without noise it rests while the car does, and a coarse one does anyway
    assert check_stuck(time, value, 'gyro', moving=(time < 20.2) | (time > 30.0), moved=0.5) == []
    coarse = np.where((time > 5.0) & (time < 6.0) | (time > 8.0) & (time < 9.0), 0.0, value)
    assert check_stuck(time, coarse, 'gyro', moving=moving, moved=0.5) == []


def test_a_channel_by_itself_is_coarse_cut_off_or_dead_in_this_order():
    moving = np.ones(TIME.size, bool)

    def told(value):
        return [one.code for one in check_values(TIME, value, 'x', 'rad/s', moving=moving)]

    assert told(SIGNAL) == []
    assert told(0.2 * np.round(SIGNAL / 5.0 / 0.2)) == ['coarse']  # which rests as well
    assert told(np.clip(SIGNAL, -0.5, 0.5)) == ['saturated']
    assert told(0.0 * SIGNAL) == ['stuck']


def test_steps_that_no_sensor_has_are_coarse_though_it_varies_by_more():
    fast = 20.0 * SIGNAL
    assert check_steps(fast, 'gps/vel', 'm/s') == []
    assert [one.code for one in check_steps(3.0 * np.round(fast / 3.0), '', 'm/s')] == ['coarse']
    assert check_steps(0.5 * np.round(fast / 0.5), 'gps/vel', 'm/s') == []


def test_wheels_of_few_ticks_a_turn_are_coarse():
    angle = 15.0 * TIME + np.sin(TIME)
    assert [one.code for one in check_wheel_ticks(2.0 * np.floor(angle / 2.0), 'wheel')] == [
        'coarse'
    ]
    for step in (1e-3, 0.157):  # 40 a turn are usual Hall sensors
        assert check_wheel_ticks(step * np.floor(angle / step), 'wheel') == []
    slow = TIME[::10]
    assert (
        check_wheel_ticks(0.1 * np.floor(40.0 * slow / 0.1), 'wheel') == []
    )  # it moves, by many ticks
    assert check_wheel_ticks(angle, 'wheel') == []


def test_samples_that_share_their_stamps_are_told():
    rounded = 0.05 * np.floor(TIME / 0.05)
    assert [one.code for one in check_same_stamps(rounded, 'imu/data')] == ['duplicates']
    assert check_same_stamps(TIME, 'imu/data') == []
