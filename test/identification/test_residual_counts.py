"""What residuals are counted from, and their share of what was measured."""

from __future__ import annotations

import numpy as np

from veh_identification.identification.blocks import ArrayBlocks
from veh_identification.identification.residuals import residual_statistics


def test_shares_and_missing_rows() -> None:
    W = np.ones((10, 3, 1))
    Y = np.tile([4.0, -2.0, 0.0], (10, 1))
    Y[3, 0] = np.nan  # one equation of a sample
    Y[7] = np.nan  # a sample
    found = residual_statistics(ArrayBlocks(W, Y), np.array([1.0]), 0)
    assert (found.samples, found.excluded) == (9, 1)
    np.testing.assert_array_equal(found.rows, [8, 9, 9])
    np.testing.assert_array_equal(found.lacking, [2, 1, 1])
    np.testing.assert_allclose(found.rms, [3.0, 3.0, 1.0])
    np.testing.assert_allclose(found.measured_rms, [4.0, 2.0, 0.0])
    np.testing.assert_allclose(found.rms_relative, [0.75, 1.5, np.nan])
