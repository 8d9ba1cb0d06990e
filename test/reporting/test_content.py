from pathlib import Path

import numpy as np
import pytest

from veh_identification.findings.numbers import beside, listed, number
from veh_identification.identification import IdentificationResult, Validation
from veh_identification.reporting.content import ObservationContent, Outage
from veh_identification.reporting.judging.identification import fewest_inside
from veh_identification.results.identification import (
    fit_rows,
    inflation,
    parameter_rows,
    simulated_truth,
)
from veh_identification.results.observation import error_rows, merged


def make_result(**changes: object) -> IdentificationResult:
    values = np.array([1535.0, 6290.0, -0.9, 50.0, np.nan])
    std = np.array([1.0, 9.0, 2.6, 20.0, np.nan])
    result = IdentificationResult(
        names=['Mc', 'ZZc', 'XYc', 'YYc', 'Cx'],
        units=['kg', *['kg m^2'] * 3, 'N s^2/m^2'],
        value=values,
        covariance=np.diag(std**2),
        equations=['FX', 'NZ'],
        estimator='weighted',
        samples=500,
        excluded_samples=3,
        condition_number=20.0,
        correlation_condition=1.0,
        sigma=np.ones(2),
        residual_rms=np.array([1.0, 2.0]),
        residual_rms_relative=np.array([0.01, 0.02]),
        a_priori=np.array([1500.0, 6000.0, 0.0, 10.0, np.nan]),
        system='car',
        validation=Validation(
            ['FX', 'NZ'], np.array([1.5, 2.5]), np.array([0.015, np.nan]), None, 500, 0
        ),
    )
    for name, value in changes.items():
        setattr(result, name, value)
    return result


def test_small_values_are_told_from_weak_ones() -> None:
    rows = {row.name: row for row in parameter_rows(make_result(), {'Mc': 1536.0})}
    assert rows['Mc'].flag == 'well'
    assert rows['Mc'].truth == 1536.0
    assert rows['XYc'].flag == 'small'
    assert 'not told from zero' in rows['XYc'].remark
    assert '0.041 % of ZZc' in rows['XYc'].remark
    assert rows['YYc'].flag == 'small'
    assert rows['Cx'].flag == 'none'


def test_values_of_a_robot_are_compared_within_their_link() -> None:
    result = make_result(
        names=['base.Jxx', 'base.Jyy', 'foot.Jxx', 'foot.Jyy', 'foot.M'],
        units=[*['kg m^2'] * 4, 'kg'],
        value=np.array([6000.0, 5000.0, -0.9, 5.0, 1.0]),
    )
    rows = {row.name: row for row in parameter_rows(result, {})}
    assert rows['foot.Jxx'].flag == 'weak'


def test_inflation_is_the_ratio_of_marginal_and_conditional_deviation() -> None:
    rng = np.random.default_rng(0)
    root = rng.standard_normal((6, 6))
    covariance = root @ root.T
    expected = np.sqrt(np.diag(covariance) * np.diag(np.linalg.inv(covariance)))
    assert inflation(covariance) == pytest.approx(expected)
    assert inflation(np.diag([1.0, 9.0])) == pytest.approx([1.0, 1.0])


def test_fit_rows_join_own_data_and_validation() -> None:
    first, second = fit_rows(make_result(), {'FX': 'N', 'NZ': 'N m'})
    assert (first.rms, first.validation_rms, first.validation_relative) == (1.0, 1.5, 0.015)
    assert np.isnan(second.validation_relative)
    assert np.isnan(first.a_priori_rms)
    assert first.measured_rms == pytest.approx(100.0)
    assert second.unit == 'N m'


def test_lost_equation_has_no_validation() -> None:
    lost = make_result(
        residual_rms=np.array([np.nan, 2.0]),
        validation=Validation(
            ['FX', 'NZ'], np.array([0.0, 2.5]), np.array([np.nan, 0.02]), np.zeros(2), 500, 0
        ),
    )
    first, second = fit_rows(lost, {})
    assert np.isnan(first.validation_rms) and np.isnan(first.a_priori_rms)
    assert second.validation_rms == 2.5


def test_truth_of_a_recording_that_has_none(tmp_path: Path) -> None:
    assert simulated_truth(tmp_path) == {}
    (tmp_path / 'truth.json').write_text('{"parameters": {"Mc": 5}}')
    assert simulated_truth(tmp_path) == {'Mc': 5.0}


def test_observation_content(observation: ObservationContent) -> None:
    assert [(round(o.begin, 1), round(o.end, 1)) for o in observation.outages] == [(4.0, 6.0)]
    assert observation.sensors[0].longest_gap == pytest.approx(2.02, abs=0.05)
    assert observation.sensors[0].rate == pytest.approx(100.0)
    assert observation.errors[0].inside == pytest.approx(0.95, abs=0.03)
    assert observation.innovations[0].accepted.sum() == 797
    assert len(observation.whiteness) == 2


def test_states_beyond_the_metrics_are_judged_where_they_have_a_deviation(
    observation: ObservationContent,
) -> None:
    rows = {row.name: row for row in error_rows({}, observation.states)}
    assert set(rows) == {'x', 'y'}  # theta has no deviation
    assert rows['x'].rms_observer == pytest.approx(0.02, rel=0.1)
    assert rows['x'].rms_model == pytest.approx(1.0)
    assert rows['x'].inside == pytest.approx(0.95, abs=0.03)


def test_sensors_that_fail_together_share_an_outage() -> None:
    found = merged(
        [Outage('gps', 1.0, 3.0), Outage('gps_velocity', 1.1, 3.1), Outage('gps', 6.0, 9.0)]
    )
    assert [one.sensor for one in found] == ['gps, gps_velocity', 'gps']


@pytest.mark.parametrize(
    ('value', 'text'),
    [
        (1535.78, '1536'),
        (0.000123456, '0.0001235'),
        (1.2e-7, '1.200e-07'),
        (0.0, '0'),
        (float('nan'), '-'),
        (-12.3456, '-12.35'),
    ],
)
def test_numbers(value: float, text: str) -> None:
    assert number(value) == text


def test_value_has_the_digits_of_its_deviation() -> None:
    assert beside(1535.7834, 0.95) == '1535.78'
    assert beside(20474.7, 21.6) == '20475'
    assert beside(5.0, float('nan')) == '5.000'
    assert beside(-1.14e-6, 4.8e-6) == '-1.1e-06'
    assert beside(2.1234e-4, 1.3e-5) == '2.12e-04'
    assert beside(0.07, 1.3e-5) == '0.070000'


def test_lists_and_counts() -> None:
    assert listed(['a']) == 'a'
    assert listed(['a', 'b', 'c']) == 'a, b and c'
    assert listed(list('abcdefgh')) == 'a, b, c, d, e, f and 2 more'
    assert fewest_inside(0) == 0
    assert 84 <= fewest_inside(94) <= 87
