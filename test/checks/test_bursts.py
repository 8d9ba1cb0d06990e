"""Stamps that come in bursts."""

import numpy as np

from veh_identification.checks.bursts import check_bursts

EVEN = np.arange(0.0, 10.0, 0.005)


def test_a_clock_with_coarse_ticks_is_told():
    ticks = 0.02 * np.floor(EVEN / 0.02 + 1e-9) + 1e-7 * np.arange(EVEN.size)
    (found,) = check_bursts(ticks, 'imu/data')
    assert found.code == 'stamps_jitter' and 'of about 4 every 20 ms' in found.text


def test_even_and_jittering_stamps_and_gaps_are_none():
    assert check_bursts(EVEN, 'imu/data') == []
    jitter = np.sort(EVEN + 1e-3 * np.random.default_rng(1).standard_normal(EVEN.size))
    assert check_bursts(jitter, 'imu/data') == []
    assert check_bursts(EVEN[(EVEN < 2.0) | (EVEN > 6.0)], 'imu/data') == []
