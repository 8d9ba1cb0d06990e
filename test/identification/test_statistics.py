"""Statistics of an estimate by hand: faults that the tests of whole estimators did not notice."""

from __future__ import annotations

import numpy as np
import pytest

from veh_identification.errors import EstimationError
from veh_identification.identification.factor import Factor
from veh_identification.identification.statistics import (
    _listed,
    correlation,
    correlation_condition,
    deviations,
    equation_sigma,
    noise_variance,
    require_rows,
)

COVARIANCE = np.array([[4.0, 1.2], [1.2, 1.0]])


def test_deviations_intervals_and_flags() -> None:
    found = deviations(np.array([50.0, 0.0]), COVARIANCE)
    np.testing.assert_allclose(found.std, [2.0, 1.0])
    np.testing.assert_allclose(found.rel_std_percent, [4.0, np.inf])
    np.testing.assert_allclose(found.interval, [[46.0, 54.0], [-2.0, 2.0]])
    np.testing.assert_allclose(found.rel_two_sigma_percent, [8.0, np.inf])
    assert found.well_identified.tolist() == [True, False]


def test_a_rounded_variance_below_zero_is_zero() -> None:
    assert deviations(np.array([1.0]), np.array([[-1e-30]])).std.tolist() == [0.0]


def test_a_small_value_has_its_own_percentage() -> None:
    found = deviations(np.array([1.0, 0.5]), np.diag([0.01, 0.01]))
    np.testing.assert_allclose(found.rel_std_percent, [10.0, 20.0])
    assert not found.well_identified.any()  # 10 % is not below 10 %


def test_correlation_and_its_condition() -> None:
    np.testing.assert_allclose(correlation(COVARIANCE), [[1.0, 0.6], [0.6, 1.0]])
    assert correlation_condition(COVARIANCE) == pytest.approx(1.6 / 0.4)
    assert correlation_condition(np.ones((2, 2))) > 1e12
    np.testing.assert_allclose(correlation(np.diag([0.0, 1.0])), np.eye(2))


def test_variances_are_unbiased() -> None:
    """Of many small problems the mean variance is the true one; degrees of freedom count."""
    random = np.random.default_rng(0)
    found = []
    for _ in range(2000):
        W = random.standard_normal((6, 3))
        rho = random.normal(0.0, 2.0, 6)
        left = rho - W @ np.linalg.lstsq(W, rho, rcond=None)[0]
        found.append(equation_sigma(float(left @ left), 6, 3) ** 2)
    assert np.mean(found) == pytest.approx(4.0, rel=0.1)


def test_noise_variance_divides_by_what_is_left() -> None:
    factor = Factor(np.eye(3), np.zeros(3), 14.0, 10)
    assert noise_variance(factor, 3) == pytest.approx(2.0)


def test_as_many_rows_as_unknowns_are_too_few() -> None:
    require_rows(3, 2, ['a', 'b'])
    with pytest.raises(EstimationError, match='too short'):
        require_rows(2, 2, ['a', 'b'])
    with pytest.raises(EstimationError, match='names'):
        require_rows(9, 2, ['a'])


def test_long_lists_say_how_many_are_left_out() -> None:
    assert _listed(['a', 'b'], 2) == 'a, b'
    assert _listed(['a', 'b', 'c'], 2) == 'a, b and 1 more'
