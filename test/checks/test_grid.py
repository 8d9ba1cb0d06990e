"""Means of channels on a common grid."""

from __future__ import annotations

import numpy as np

from veh_identification.checks.grid import averaged, slope

GRID = np.arange(0.0, 20.0, 0.1)


def test_a_mean_is_that_of_the_motion_at_any_rate() -> None:
    time = np.sort(np.random.default_rng(1).uniform(0.0, 20.0, 3000))
    found = averaged(time, 12.0 * time, GRID, 0.5)
    good = np.isfinite(found)
    assert good.sum() > 180
    np.testing.assert_allclose(found[good], 12.0 * GRID[good], atol=0.05)


def test_a_wheel_does_not_leap_at_the_edges_of_a_gap() -> None:
    time = np.arange(0.0, 20.0, 0.01)
    time = time[(time < 8.0) | (time > 11.0)]
    rate = slope(GRID, averaged(time, 36.0 * time, GRID, 0.5))
    good = np.isfinite(rate)
    np.testing.assert_allclose(rate[good], 36.0, rtol=1e-6)
    assert not good[(GRID > 8.2) & (GRID < 10.8)].any()
    assert good[(GRID > 1.0) & (GRID < 7.0)].all() and good[(GRID > 12.0) & (GRID < 19.0)].all()
