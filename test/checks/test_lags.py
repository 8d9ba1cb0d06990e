"""Lags between channels: what physics makes of slow motion is no delay."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from veh_identification.checks.channels import STEP
from veh_identification.checks.lags import Pair, check_lags, lag_of

WHERE = {'imu': 'imu/data', 'speed': 'speed'}


def pair(period: float, lag: float, phase: float = 0.3) -> Pair:
    """An acceleration that is `lag` seconds behind the change of speed, of one slow sine."""
    rng = np.random.default_rng(4)
    time = np.arange(0.0, 40.0, STEP)
    a, b = (2.0 * np.sin(2.0 * np.pi * (time - late) / period) for late in (lag, 0.0))
    noise = 0.05 * rng.standard_normal((2, len(time)))
    return Pair('one', 'imu', 'speed', a + noise[0], b + noise[1], 0.0, 0.1, 0.4, phase)


@pytest.mark.parametrize('period', [4.0, 9.0])
def test_pitch_turns_a_slow_motion_by_an_angle_and_not_by_a_time(period: float) -> None:
    """A car that pitches as it accelerates: 0.2 rad of the motion, whatever its period."""
    lag = 0.2 * period / (2.0 * np.pi)
    found = lag_of(pair(period, lag))
    assert found is not None and found.seconds == pytest.approx(lag, abs=0.03)
    assert found.quickness == pytest.approx(2.0 * np.pi / period, rel=0.2)
    assert check_lags([pair(period, lag)], WHERE) == []
    # Without that allowance it is a delay: the check can tell.
    assert [one.code for one in check_lags([pair(period, lag, 0.0)], WHERE)] == ['late']


def test_a_delay_beyond_that_angle_is_told() -> None:
    told = check_lags([pair(4.0, 0.4)], WHERE)
    assert [one.code for one in told] == ['late'] and '0.4' in told[0].text


def test_where_channels_hardly_overlap_the_border_is_no_peak() -> None:
    """Just enough samples for small shifts: the largest shift that counts looks like the best."""
    whole = pair(9.0, 0.3)
    short = replace(whole, a=whole.a[:103], b=whole.b[:103])
    assert lag_of(short) is None
    assert lag_of(replace(whole, a=whole.a[:200], b=whole.b[:200])) is not None


def test_a_part_of_a_sensor_is_late_where_the_rest_of_it_is_not() -> None:
    """Rates that are smoothed, forces that are not; the whole where nothing else is told."""
    where = {'imu': 'imu/data', 'gyro': 'imu/data angular_velocity', 'speed': 'joint_states'}
    late = replace(pair(4.0, 0.5, 0.0), first='gyro')
    groups = [('imu', 'gyro')]
    (part,) = check_lags([late, pair(4.0, 0.0, 0.0)], where, groups)
    assert (part.code, part.where) == ('late', 'imu/data angular_velocity')
    # How little else tells of it does not make it less convincing.
    (faint,) = check_lags([replace(late, tolerance=0.45), pair(4.0, 0.0, 0.0)], where, groups)
    assert (faint.code, faint.where) == ('late', 'imu/data angular_velocity')
    for whole in ([late], [late, pair(4.0, 0.5, 0.0)]):
        (found,) = check_lags(whole, where, groups)
        assert (found.code, found.where) == ('late', 'imu/data')


def growing(seconds: float, text: str = 'one', second: str = 'speed') -> Pair:
    """An acceleration whose stamps run away from those of a speed."""
    rng = np.random.default_rng(7)
    time = np.arange(0.0, 60.0, STEP)
    motion = [np.interp(t, time, rng_motion()) for t in (time - seconds * time / 60.0, time)]
    noise = 0.03 * rng.standard_normal((2, len(time)))
    return Pair(text, 'imu', second, motion[0] + noise[0], motion[1] + noise[1], 0.0, 0.25, 0.4)


def rng_motion() -> np.ndarray:
    time = np.arange(0.0, 60.0, STEP)
    return np.sin(time) + 0.7 * np.sin(2.3 * time + 1.0) + 0.5 * np.sin(3.1 * time)


def test_a_delay_that_grows_is_the_clock_of_one_sensor() -> None:
    where = {'imu': 'imu/data', 'speed': 'speed', 'gnss': 'gps/fix'}
    (told,) = check_lags([growing(0.4), growing(0.4, 'two', 'gnss')], where)
    assert (told.level, told.code, told.where) == ('warn', 'clock_drift', 'imu/data')
    assert check_lags([growing(0.0), growing(0.0, 'two', 'gnss')], where) == []
    # One pair alone says nothing of which of the two it is.
    assert check_lags([growing(0.4)], where) == []
