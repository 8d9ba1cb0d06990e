"""Gravity of the earth, and means that were taken off."""

import numpy as np
import pytest

from veh_identification.checks.settled import check_gravity, check_means

rng = np.random.default_rng(5)
VALUES = rng.standard_normal((4000, 5)) + [3.0, -1.0, 0.2, 0.05, 2.0]


@pytest.mark.parametrize(
    ('size', 'told'), [(9.80665, 0), (9.78, 0), (0.0, 0), (8.8, 1), (1.62, 1)]
)
def test_gravity_that_is_not_that_of_the_earth_is_told(size, told):
    assert len(check_gravity(size)) == told


def test_means_that_were_taken_off_are_told():
    assert check_means(VALUES, list('abcde'), 'effort_offset') == []
    (found,) = check_means(VALUES - VALUES.mean(axis=0), list('abcde'), 'effort_offset')
    assert (found.level, found.code, found.where) == ('bad', 'effort_offset', 'a')
    one = VALUES.copy()
    one[:, 2] -= one[:, 2].mean()
    assert check_means(one, list('abcde'), 'effort_offset') == []
