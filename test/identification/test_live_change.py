"""Live: a load that comes and goes is seen, kept out of what is known, and moves no threshold."""

from __future__ import annotations

import numpy as np
from known_problems import dense

from veh_identification.identification import Information
from veh_identification.identification.live import (
    LiveIdentification,
    Solution,
    long_run_covariance,
)

SAMPLES, LOADED, FREE = 1600, 800, 1100
PROBLEM = dense(SAMPLES, equations=4, columns=9, seed=3)
LOAD = 2.0


def solve(information: Information) -> Solution:
    factor = information.combined()
    inverse = factor.inverse()
    return Solution(
        factor.solve(), inverse @ inverse.T, np.ones(4), np.ones(9, dtype=bool), float('nan')
    )


def test_a_load_comes_and_goes() -> None:
    one = LiveIdentification(
        PROBLEM.names,
        PROBLEM.equations,
        [0, 1],
        solve,
        row_rate=10.0,
        memory=2.0,
        significance=1e-4,
    )
    Y = PROBLEM.W @ PROBLEM.X
    Y = Y + np.random.default_rng(5).standard_normal(Y.shape)
    Y[LOADED:FREE] += LOAD * PROBLEM.W[LOADED:FREE, :, 1]
    seen, levels = [], []
    for start in range(0, SAMPLES, 10):
        one.add(PROBLEM.W[start : start + 10], Y[start : start + 10])
        found = one.solve()
        seen.append(one.changed)
        levels.append(one.level)
        if start == FREE - 50:
            assert one.change is not None
            assert abs(one.change.value[1] - LOAD) < 4.0 * one.change.std[1] < LOAD
    changes = np.flatnonzero(np.diff(seen)) * 10
    assert len(changes) == 2
    assert LOADED < changes[0] < LOADED + 50
    assert FREE < changes[1] < FREE + 50
    # What came with the load is held back, and what is known is that of the rest.
    assert FREE - LOADED <= one.held_rows < FREE - LOADED + 150
    error = (found.value - PROBLEM.X) / np.sqrt(np.diag(found.covariance))
    assert np.abs(error).max() < 4.0
    # The statistic of a load says nothing about how large it is without one.
    before = levels[LOADED // 10 - 1]
    assert max(levels[LOADED // 10 :]) < 1.3 * before
    assert min(levels) < 1.5  # noise as large as stated


def test_sums_of_correlated_vectors() -> None:
    """Newey and West (1987): weights that fall off in a straight line up to the last lag."""
    scores = np.array([[1.0, 2.0], [3.0, -1.0], [0.0, 4.0], [2.0, 2.0]])
    wanted = scores.T @ scores
    for lag, weight in ((1, 2.0 / 3.0), (2, 1.0 / 3.0)):
        for k in range(lag, 4):
            outer = np.outer(scores[k], scores[k - lag])
            wanted = wanted + weight * (outer + outer.T)
    np.testing.assert_allclose(long_run_covariance(scores, 2), wanted, rtol=1e-12)
    np.testing.assert_allclose(long_run_covariance(scores, 0), scores.T @ scores, rtol=1e-12)
