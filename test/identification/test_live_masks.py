"""Live: a row that lacks one equation keeps the others, as offline."""

from __future__ import annotations

import numpy as np
from known_problems import dense

from veh_identification.identification import ArrayBlocks, Information, accumulate
from veh_identification.identification.live import LiveIdentification, Solution

PROBLEM = dense(600, equations=4, columns=9, seed=3)


def solve(information: Information) -> Solution:
    factor = information.combined()
    inverse = factor.inverse()
    return Solution(
        factor.solve(), inverse @ inverse.T, np.ones(4), np.ones(9, dtype=bool), float('nan')
    )


def live() -> LiveIdentification:
    return LiveIdentification(
        PROBLEM.names,
        PROBLEM.equations,
        [0],
        solve,
        row_rate=10.0,
        memory=2.0,
        significance=0.01,
    )


def test_missing_equations_do_not_take_the_row_with_them() -> None:
    Y = PROBLEM.noisy(np.random.default_rng(5), None)
    Y[50:400:3, 2] = np.nan
    Y[7] = np.nan
    one = live()
    for start in range(0, 600, 25):
        one.add(PROBLEM.W[start : start + 25], Y[start : start + 25])
    found = one.solve()
    offline = accumulate(ArrayBlocks(PROBLEM.W, Y))
    np.testing.assert_allclose(found.value, solve(offline).value, rtol=1e-9)
    state = one.state()
    assert list(state['counts']) == list(offline.counts) == [599, 599, 482, 599]
    assert (state['samples'], state['excluded']) == (offline.samples, offline.excluded) == (599, 1)

    again = live()
    again.restore(state)
    assert list(again.information.counts) == [599, 599, 482, 599]
    # Stored before there were masks: every row counted for every equation.
    del state['counts']
    again.restore(state)
    assert list(again.information.counts) == [599] * 4
