"""Rows of a stream: those of the whole at once, and nothing is kept that nobody needs."""

from __future__ import annotations

import numpy as np
import pytest

from veh_identification.identification.rows import RowStream, row_filter
from veh_identification.signals.decimation import decimate

RATE, SAMPLES = 200.0, 4000


@pytest.mark.parametrize('cutoff', [4.0, 20.0])
def test_blocks_of_any_size_give_the_rows_of_the_whole(cutoff: float) -> None:
    rng = np.random.default_rng(1)
    W, Y = rng.standard_normal((SAMPLES, 2, 3)), rng.standard_normal((SAMPLES, 2))
    stamps = 5_000_000 * np.arange(SAMPLES)
    filter_ = row_filter(RATE, cutoff)
    stream, found, begin = RowStream(filter_), [], 0
    while begin < SAMPLES:
        part = slice(begin, begin + int(rng.integers(1, 90)))
        found += stream.push(stamps[part], (W[part], Y[part]), np.ones(len(Y[part]), bool))
        begin = part.stop
        # A day of samples must not leave a day of stamps behind.
        assert sum(len(kept) for kept in stream._stamps) <= len(filter_.taps) + filter_.factor
    made = np.concatenate([rows.Y for rows in found])
    np.testing.assert_allclose(made, decimate(Y, filter_), atol=1e-12)
    at = np.concatenate([rows.stamps_ns for rows in found])
    middle = filter_.half_length + filter_.factor * np.arange(len(at))
    np.testing.assert_array_equal(at, stamps[middle])


def test_an_unusable_sample_ends_a_stretch() -> None:
    filter_ = row_filter(RATE, 10.0)
    W, Y = np.ones((SAMPLES, 1, 1)), np.ones((SAMPLES, 1))
    usable = np.ones(SAMPLES, bool)
    usable[1000] = False
    rows = RowStream(filter_).push(5_000_000 * np.arange(SAMPLES), (W, Y), usable)
    assert len(rows) == 2
    lost = filter_.half_length * 5_000_000
    assert rows[0].stamps_ns[-1] <= 999 * 5_000_000 - lost
    assert rows[1].stamps_ns[0] == 1001 * 5_000_000 + lost
