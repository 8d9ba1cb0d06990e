"""Arrays that a kernel reaches by their addresses."""

from __future__ import annotations

import copy
import gc
import pickle

import numpy as np
import pytest
from numba import njit

from veh_identification.held_arrays import (
    HeldArrays,
    flags_1,
    reals_1,
    reals_2,
    reals_3,
    wholes_1,
    wholes_2,
)


@njit
def written(table):
    """One entry of each array, and the numbers beside them."""
    reals_1(table, 0)[2] = 1.5
    reals_2(table, 1)[1, 2] = 2.5
    reals_3(table, 2)[1, 2, 3] = 3.5
    wholes_1(table, 3)[1] = 4
    wholes_2(table, 4)[1, 0] = 5
    flags_1(table, 5)[2] = True
    shape = reals_3(table, 2).shape
    return reals_1(table, 6)[0], wholes_1(table, 7)[0], flags_1(table, 8)[0], shape


@njit
def first_whole(table):
    return wholes_1(table, 0)[0]


def arrays():
    return (
        np.zeros(3),
        np.zeros((2, 3)),
        np.zeros((2, 3, 4)),
        np.zeros(2, dtype=np.int64),
        np.zeros((2, 1), dtype=np.int64),
        np.zeros(3, dtype=bool),
    )


def test_a_kernel_writes_into_the_arrays_themselves():
    one, two, three, four, five, six = parts = arrays()
    held = HeldArrays(((one, (two, three)), four, five, six, 0.25, 7, True))
    assert written(held.table) == (0.25, 7, True, (2, 3, 4))
    assert (one[2], two[1, 2], three[1, 2, 3]) == (1.5, 2.5, 3.5)
    assert (four[1], five[1, 0], six[2]) == (4, 5, True)
    assert [np.count_nonzero(part) for part in parts] == [1] * 6


def test_held_arrays_outlive_whoever_made_them():
    held = HeldArrays((*arrays(), 0.25, 7, True))
    gc.collect()
    assert written(held.table)[:3] == (0.25, 7, True)
    assert held.arrays[0].tolist() == [0.0, 0.0, 1.5]


@pytest.mark.parametrize('other', [np.zeros(2), np.zeros((2, 2), dtype=np.int64), True])
def test_a_kernel_that_takes_another_kind_of_array_says_so(other):
    with pytest.raises(TypeError, match='another kind of array'):
        first_whole(HeldArrays((other,)).table)


@pytest.mark.parametrize(
    'array',
    [np.zeros((3, 2)).T, np.zeros(6)[::2], np.zeros(3, dtype=np.float32), np.zeros((1,) * 4)],
)
def test_what_a_kernel_could_not_read_is_refused(array):
    with pytest.raises(TypeError, match='cannot be handed'):
        HeldArrays((array,))


@pytest.mark.parametrize('copied', [copy.copy, copy.deepcopy, pickle.dumps])
def test_what_holds_arrays_is_never_copied(copied):
    """A copy would go on with the arrays of the first one, without a word."""
    with pytest.raises(TypeError, match='snapshot'):
        copied(HeldArrays((np.zeros(3),)))
