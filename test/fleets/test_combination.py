from __future__ import annotations

import numpy as np
import pytest
from fleet_numbers import reduction

from veh_identification.fleets.combination import combine


def test_information_adds_up_to_the_fit_of_all_rows() -> None:
    """Truth from another way: one least squares over all rows, each weighted by its noise."""
    rng = np.random.default_rng(1)
    truth, sigmas = np.array([1500.0, 3.0e4, -2.0]), (0.3, 1.0, 2.5, 0.7)
    scale = np.array([1.0, 0.1, 10.0])
    parts, rows, sides = [], [], []
    for sigma in sigmas:
        w = rng.standard_normal((40, 3)) @ rng.standard_normal((3, 3)) * scale
        y = w @ truth + sigma * rng.standard_normal(40)
        inverse = np.linalg.inv(w.T @ w)
        parts.append(reduction(inverse @ w.T @ y, sigma**2 * inverse, names=('a', 'b', 'c')))
        rows.append(w / sigma)
        sides.append(y / sigma)
    w, y = np.concatenate(rows), np.concatenate(sides)
    expected = np.linalg.lstsq(w, y, rcond=None)[0]
    found = combine('one', parts)
    np.testing.assert_allclose(found.value, expected, rtol=1e-10)
    np.testing.assert_allclose(found.covariance, np.linalg.inv(w.T @ w), rtol=1e-9)
    assert found.freedom == 9
    # What the single fits leave and what the combination leaves add up to all that is left.
    inside = sum(
        float(np.sum((s - r @ p.value) ** 2)) for r, s, p in zip(rows, sides, parts, strict=True)
    )
    assert found.chi_square == pytest.approx(np.sum((y - w @ expected) ** 2) - inside, rel=1e-6)
    assert found.verdict.level == 'yes'


def test_parameter_that_one_recording_does_not_know() -> None:
    full = reduction([10.0, 5.0], [[1.0, 0.8], [0.8, 1.0]])
    half = reduction([11.0, np.nan], [[1.0, np.nan], [np.nan, np.nan]])
    found = combine('one', [full, half])
    np.testing.assert_allclose(found.value, [10.5, 5.4], rtol=1e-12)  # moved by correlation
    np.testing.assert_allclose(found.std, np.sqrt([0.5, 1.0 - 0.32]), rtol=1e-12)
    assert found.counts.tolist() == [2, 1]


def test_names_that_mean_other_sums_are_not_averaged() -> None:
    same = [reduction([1.0, 2.0], np.eye(2), meanings=('', 'x')) for _ in range(2)]
    other = reduction([1.0, 9.0], np.eye(2), meanings=('', 'y'))
    found = combine('one', [other, *same])
    assert found.names == ('Mc', 'k1')
    np.testing.assert_allclose(found.value, [1.0, 2.0], atol=1e-12)
    assert 'other_meaning' in [one.code for one in found.verdict.findings]


def test_recordings_that_disagree_widen_the_deviation() -> None:
    parts = [reduction([value, 0.0], np.eye(2)) for value in (0.0, 0.0, 12.0)]
    found = combine('one', parts)
    assert found.verdict.level == 'care'
    assert found.verdict.reasons[0].code == 'recordings_disagree'
    assert found.scale == pytest.approx(96.0 / 4)
    np.testing.assert_allclose(found.std, np.sqrt(24.0 / 3.0))


def test_what_takes_no_part() -> None:
    good = reduction([1.0, 2.0], np.eye(2))
    bad = reduction([500.0, 2.0], np.eye(2), verdict='no')
    found = combine('one', [good, bad])
    assert found.value[0] == pytest.approx(1.0)
    assert (found.recordings, found.left_out) == (1, 1)
    assert [one.code for one in found.verdict.findings] == ['one_recording', 'recordings_left_out']
    none = combine('two', [bad])
    assert none.verdict.level == 'no'
    assert none.names == ()
