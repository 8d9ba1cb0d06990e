"""Results as the contract wants them, validation, and files whole or not at all."""

from __future__ import annotations

import csv
import io
import json

import numpy as np
import pytest
from known_problems import arm

from veh_identification.errors import EstimationError
from veh_identification.identification import (
    ArrayBlocks,
    IdentificationResult,
    Options,
    identify,
    validate,
)
from veh_identification.results.folder import to_json
from veh_identification.results.tables import to_csv, to_table


@pytest.fixture(scope='module')
def result() -> IdentificationResult:
    problem = arm(500)
    a_priori = problem.X * 1.1
    a_priori[7] = np.nan  # the maker gives no Coulomb friction
    source = ArrayBlocks(problem.W, problem.noisy(np.random.default_rng(0)))
    result = identify(
        source, problem.names, problem.equations, ['kg m^2'] * 9, a_priori, Options(eliminate=True)
    )
    other = arm(300, seed=9)
    held_out = ArrayBlocks(other.W, other.noisy(np.random.default_rng(1)))
    result.validation = validate(held_out, result.value, problem.equations, a_priori)
    result.system, result.input = 'arm', {'cut_off': 6.0}
    return result


def test_json_follows_the_contract(result: IdentificationResult) -> None:
    content = json.loads(to_json(result.as_dict()))
    assert {
        'system',
        'samples',
        'equations',
        'condition_number',
        'estimator',
        'parameters',
        'residuals',
        'validation',
        'input',
        'version',
    } <= set(content)
    assert (content['samples'], content['equations']) == (500, 2)
    first = content['parameters'][0]
    assert first['name'] == 'J1' and first['unit'] == 'kg m^2'
    assert first['rel_std_percent'] == pytest.approx(100 * first['std'] / abs(first['value']))
    assert first['well_identified'] is (first['rel_std_percent'] < 10.0)
    assert content['parameters'][7]['a_priori'] is None
    assert set(content['residuals']) == {'tau1', 'tau2'}
    assert 0.0 < content['residuals']['tau1']['rms_relative'] < 0.2
    assert set(content['validation']['tau2']) == {'rms', 'rms_relative', 'a_priori_rms'}
    assert 'NaN' not in to_json(result.as_dict())
    assert 'Infinity' not in to_json(result.as_dict())


def test_csv_holds_the_same_numbers(result: IdentificationResult) -> None:
    rows = list(csv.DictReader(io.StringIO(to_csv(result))))
    assert [row['name'] for row in rows] == result.names
    np.testing.assert_allclose([float(row['value']) for row in rows], result.value)
    np.testing.assert_allclose([float(row['std']) for row in rows], result.std)
    assert rows[7]['a_priori'] == ''


def test_table_names_everything(result: IdentificationResult) -> None:
    table = to_table(result)
    for word in [*result.names, *result.equations, 'sigma %', '2 sigma %', '500 samples']:
        assert word in table
    for removal in result.removed:
        assert f'removed {removal.name}' in table


def test_cross_validation_compares_with_the_a_priori_values(result: IdentificationResult) -> None:
    problem = arm(300, seed=9)
    Y = problem.noisy(np.random.default_rng(1))
    validation = validate(
        ArrayBlocks(problem.W, Y, 77), result.value, problem.equations, problem.X * 1.1
    )
    residual = Y - problem.W @ result.value
    np.testing.assert_allclose(validation.rms, np.sqrt(np.square(residual).mean(axis=0)))
    np.testing.assert_allclose(
        validation.rms_relative, validation.rms / np.sqrt(np.square(Y).mean(axis=0))
    )
    assert validation.a_priori_rms is not None
    assert np.all(validation.a_priori_rms > validation.rms)
    np.testing.assert_allclose(validation.rms, problem.sigma, rtol=0.15)


def test_validation_without_usable_samples_is_refused() -> None:
    with pytest.raises(EstimationError, match='no sample'):
        validate(ArrayBlocks(np.ones((3, 1, 2)), np.full((3, 1), np.nan)), np.zeros(2), ['e'])
