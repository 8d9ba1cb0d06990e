"""Factors made by products hold the digits of those made by reflections."""

from __future__ import annotations

import numpy as np
import pytest

from veh_identification.identification import ArrayBlocks, accumulate
from veh_identification.identification.factor import triangular_factor
from veh_identification.identification.resembling import Resembling
from veh_identification.types import Array


def badly_conditioned(rng: np.random.Generator, rows: int, columns: int, worst: float) -> Array:
    """Rows whose columns are nearly dependent: singular values from one down to `worst`."""
    turn = np.linalg.qr(rng.normal(size=(columns, columns)))[0]
    return rng.normal(size=(rows, columns)) * np.geomspace(1.0, worst, columns) @ turn


def relative(found: Array, expected: Array, columns: Array) -> float:
    """Largest difference of two factors, seen from the directions of the expected one."""
    inverse = np.linalg.inv(expected[np.ix_(columns, columns)])
    product = found[:, columns] @ inverse
    return float(np.abs(product.T @ product - np.eye(len(columns))).max())


@pytest.mark.parametrize('worst', [1.0, 1e-3, 1e-6])
def test_the_factor_is_that_of_reflections(worst: float) -> None:
    rng = np.random.default_rng(3)
    rows = badly_conditioned(rng, 6000, 12, worst)
    known = triangular_factor(rows[:400])
    like = Resembling.to(known)
    assert like is not None
    for start in range(400, 6000, 800):
        assert like.add(rows[start : start + 800].copy())
    whole = triangular_factor(rows)
    # Products of W itself would be off by eps / worst^2: 2e-4 in the last case.
    assert relative(like.factor(), whole, np.arange(12)) < 1e-13 / worst


def test_columns_that_are_sums_of_others_stay_so_or_are_told() -> None:
    rng = np.random.default_rng(4)
    rows = badly_conditioned(rng, 3000, 6, 1e-2)
    rows = np.column_stack([rows[:, :3], rows[:, 0] - 2.0 * rows[:, 2], rows[:, 3:]])
    like = Resembling.to(triangular_factor(rows[:500]))
    assert like is not None and like.dependent.tolist() == [3]
    assert like.add(rows[500:].copy())
    found, whole = like.factor(), triangular_factor(rows)
    np.testing.assert_allclose(found.T @ found, whole.T @ whole, rtol=1e-11, atol=1e-9)
    other = rows[:100].copy()
    other[:, 3] += 1e-3
    assert not like.add(other)


def test_rows_unlike_all_before_are_not_taken() -> None:
    rng = np.random.default_rng(5)
    rows = rng.normal(size=(200, 4))
    quiet = rows * np.array([1.0, 1e-5, 1.0, 1.0])
    like = Resembling.to(triangular_factor(quiet))
    assert like is not None and not like.add(rows.copy())
    nearly = np.column_stack([rows, rows[:, 0] + 1e-9 * rows[:, 1], rows[:, 2]])
    assert Resembling.to(triangular_factor(nearly)) is None


def test_an_accumulated_recording_has_the_solution_of_one_factorisation() -> None:
    """Columns that wake up late, rest at first, a structure without full rank, lost samples."""
    rng = np.random.default_rng(6)
    W = rng.normal(size=(9000, 3, 8)) * np.geomspace(1.0, 1e-4, 8)
    W[:4000, 0, 5] = 0.0
    W[:1000, 1] *= 1e-6
    W[:, 2, 4] = 3.0 * W[:, 2, 1]
    truth = np.arange(1.0, 9.0)
    Y = W @ truth + 1e-3 * rng.normal(size=(9000, 3))
    Y[::17, 1] = np.nan
    found = accumulate(ArrayBlocks(W, Y, 700)).combined(np.array([1.0, 2.0, 0.5]))
    there = np.isfinite(Y)
    weight = np.broadcast_to([1.0, 2.0, 0.5], Y.shape)[there]
    A, y = W[there] * weight[:, None], Y[there] * weight
    expected, left, *_ = np.linalg.lstsq(A, y, rcond=None)
    np.testing.assert_allclose(found.solve(), expected, rtol=1e-9)
    assert found.rss == pytest.approx(float(left[0]), rel=1e-9)
