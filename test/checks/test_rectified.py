"""Channels without signs, and what is positive for a reason."""

import numpy as np

from veh_identification.checks.rectified import check_rectified

TIME = np.arange(0.0, 20.0, 0.01)
SIGNED = np.column_stack([3.0 * np.sin((1.0 + 0.3 * k) * TIME + k) + 0.4 for k in range(5)])
PLACES = [f'effort[leg_{k}]' for k in range(5)]


def test_lost_signs_are_told_of_all_channels():
    for values in (np.abs(SIGNED), np.maximum(SIGNED, 0.0), -np.abs(SIGNED)):
        (found,) = check_rectified(values, PLACES)
        assert (found.level, found.code) == ('bad', 'rectified')
        assert all(one in found.text for one in PLACES)


def test_signed_carrying_and_silent_channels_are_fine():
    assert check_rectified(SIGNED, PLACES) == []
    assert check_rectified(SIGNED + 4.0, PLACES) == []  # legs that carry
    one = SIGNED + 4.0
    one[:, 0] -= one[:, 0].min()  # by chance one comes to zero
    assert check_rectified(one, PLACES) == []
    assert check_rectified(0.0 * SIGNED, PLACES) == []
