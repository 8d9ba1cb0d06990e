"""Rests are found in noise, between ticks and beside gaps; slow motion is none."""

from __future__ import annotations

import numpy as np
import pytest
from paused_motion import Paused

from veh_identification.signals.resting import (
    KEPT,
    long_stands,
    moving_rms,
    resting,
    sliding_rows,
)

RATE = 200.0


def stood(before: float, moving: float, after: float) -> np.ndarray:
    """Two channels that stand, move and stand."""
    times = np.arange(round((before + moving + after) * RATE)) / RATE
    phases = 2.0 * np.pi * np.array([0.5, 1.3])

    def wave(t: np.ndarray):
        angle = t[:, None] * phases
        return np.sin(angle), phases * np.cos(angle), -(phases**2) * np.sin(angle)

    return Paused(wave, before, moving).evaluate(times)[0]


def everywhere(values: np.ndarray) -> np.ndarray:
    return np.ones(len(values), dtype=bool)


@pytest.mark.parametrize('dirt', ['none', 'noise', 'ticks'])
def test_stands_are_found_whatever_their_length(dirt: str) -> None:
    q = stood(60.0, 10.0, 120.0)
    if dirt == 'noise':
        q = q + 0.01 * np.random.default_rng(0).standard_normal(q.shape)
    if dirt == 'ticks':
        q = 0.01 * np.round(q / 0.01 + 0.4 * np.random.default_rng(0).standard_normal(q.shape))
    rests = resting(q, everywhere(q), RATE)
    moves = slice(round(61.0 * RATE), round(69.0 * RATE))
    stands = np.r_[0 : round(59.5 * RATE), round(70.5 * RATE) : len(q)]
    assert rests[stands].mean() > 0.999
    assert not rests[moves].any()
    gone = long_stands(rests, everywhere(q), RATE)
    kept = KEPT - 0.5  # the motion begins and ends so slowly that some of it is a rest
    assert not gone[round((60.0 - kept) * RATE) : round((70.0 + kept) * RATE)].any()
    assert gone.sum() == pytest.approx((180.0 - 2 * KEPT) * RATE, abs=2.5 * RATE)


@pytest.mark.parametrize('noise', [0.0, 0.003])
def test_a_motion_without_rests_has_none(noise: float) -> None:
    times = np.arange(40 * RATE) / RATE
    q = np.sin(np.outer(times, 2.0 * np.pi * np.array([0.1, 0.7])))
    q += noise * np.random.default_rng(0).standard_normal(q.shape)
    assert not resting(q, everywhere(q), RATE).any()


@pytest.mark.parametrize('glitch', [1e3, 1e200, 1e308])
def test_a_glitch_is_not_what_is_usual(glitch: float) -> None:
    """Beside it every motion would be a rest."""
    q = stood(20.0, 20.0, 20.0)
    q[5000, 0], q[5001, 0] = glitch, -glitch
    rests = resting(q, everywhere(q), RATE)
    assert not rests[round(21.0 * RATE) : round(39.0 * RATE)].any()
    assert rests[: round(19.0 * RATE)].all()


def test_a_joint_that_never_moves_is_no_reason_to_keep_a_stand() -> None:
    q = stood(20.0, 10.0, 20.0)
    q[:, 1] = 0.3 + 1e-4 * np.random.default_rng(0).standard_normal(len(q))
    rests = resting(q, everywhere(q), RATE)
    assert rests[:, 1].mean() > 0.99
    assert long_stands(rests, everywhere(q), RATE).sum() > 30 * RATE


def test_where_nothing_moves_nothing_is_cut() -> None:
    q = 1e-4 * np.random.default_rng(0).standard_normal((4000, 2))
    rests = resting(q, everywhere(q), RATE)
    assert rests.mean() > 0.99
    assert not long_stands(np.ones_like(rests), everywhere(q), RATE).any()


def test_gaps_are_no_rests() -> None:
    q = stood(20.0, 10.0, 20.0)
    valid = everywhere(q)
    valid[1000:1500] = False
    q[~valid] = np.nan
    rests = resting(q, valid, RATE)
    assert not rests[~valid].any()
    assert rests[:1000].all() and rests[1500:3800].all()
    assert not long_stands(rests, valid, RATE)[~valid].any()
    valid[1480:1482] = True  # two samples alone show no noise, and spoil none
    q[1480:1482] = q[900]
    q += 0.01 * np.random.default_rng(0).standard_normal(q.shape)
    assert resting(q, valid, RATE)[:1000].mean() > 0.99
    nothing = np.zeros(len(q), dtype=bool)
    assert not resting(q, nothing, RATE).any()


def test_rows_at_rest_never_count_however_few_the_others_are() -> None:
    rest = np.array([[1.0]] * 90 + [[0.0]] * 10)
    slow = np.array([[1.0]] * 90 + [[0.0]] * 4 + [[0.5]] * 6)
    few = sliding_rows(slow, rest, 0.05, 0.3)
    assert few[:, 0].tolist() == [False] * 90 + [True] * 4 + [False] * 6
    all_that_move = sliding_rows(slow, rest, 0.05, 0.5)
    assert all_that_move[:, 0].tolist() == [False] * 90 + [True] * 10


def test_rests_do_not_change_the_usual_speed() -> None:
    speeds = np.array([[0.0, 0.0], [3.0, 0.0], [-3.0, 0.0]])
    rests = np.array([[True, True], [False, True], [False, True]])
    np.testing.assert_allclose(moving_rms(speeds, rests), [3.0, 0.0])
