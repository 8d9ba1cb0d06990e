"""Two channels that are one."""

import numpy as np

from veh_identification.checks.copied import check_copied

rng = np.random.default_rng(3)
VALUES = rng.standard_normal((1000, 3))


def test_a_copy_is_named_with_both_places():
    copied = VALUES.copy()
    copied[:, 2] = copied[:, 0]
    (found,) = check_copied(copied, ['effort[a]', 'effort[b]', 'effort[c]'])
    assert (found.level, found.code, found.where) == ('bad', 'copied', 'effort[a], effort[c]')


def test_channels_that_rest_alike_or_differ_are_no_copies():
    assert check_copied(VALUES, list('abc')) == []
    resting = np.where(np.arange(1000)[:, None] < 900, 0.0, VALUES)
    resting[:, 1] = resting[:, 0]
    assert check_copied(resting, list('abc')) == []
    assert check_copied(np.zeros((1000, 3)), list('abc')) == []
