from dataclasses import replace

import numpy as np
import pytest

from veh_identification.reporting import summary, summary_observation
from veh_identification.reporting.content import (
    ErrorRow,
    FitRow,
    IdentificationContent,
    ObservationContent,
    ParameterRow,
    Statement,
)


def texts(found: object) -> str:
    return ' '.join(one.text for one in found.statements)  # type: ignore[attr-defined]


def test_sound_identification_is_trusted(identification: IdentificationContent) -> None:
    found = summary.summarise(identification)
    assert found.level == 'good'
    assert found.headline.startswith('Yes')
    assert '3 of 4 parameters' in texts(found)
    assert 'XYc: small value.' in texts(found)
    assert '4 of 4 true values lie within two standard deviations' in texts(found)
    assert found.cards[0].value == '3 of 4'


def test_serious_finding_forbids(identification: IdentificationContent) -> None:
    bad = replace(identification, findings=(Statement('bad', 'The wheels are swapped.'),))
    found = summary.summarise(bad)
    assert found.level == 'bad'
    assert found.headline.startswith('No')
    assert found.statements[0].text == 'The wheels are swapped.'


def test_missing_validation_is_a_reservation(identification: IdentificationContent) -> None:
    own = tuple(FitRow(row.equation, row.unit, row.rms, row.relative)
                for row in identification.fit)
    found = summary.summarise(replace(identification, fit=own))
    assert found.level == 'warn'
    assert 'only its own data judged it' in texts(found)
    assert found.cards[1].note.endswith('its own data')


@pytest.mark.parametrize(
    ('changes', 'level', 'words'),
    [
        ({'condition_number': 5e3}, 'warn', 'Condition number 5000: the motion hardly separates'),
        ({'condition_number': 300.0}, 'good', 'Condition number 300: some combinations'),
        ({'unexcited': ('Cx',)}, 'warn', 'Cx: the recording does not tell these apart'),
        ({'excluded': 1000}, 'warn', '1000 of 3000 samples (33 %)'),
        ({'fit': (FitRow('FX', 'N', 1.0, 0.01, 3.0, 0.03, 20.0),)}, 'warn',
         'residuals are more than 2 times larger'),
        ({'fit': (FitRow('FX', 'N', 60.0, 0.6, 60.0, 0.6, 90.0),)}, 'bad',
         'FX is reconstructed poorly'),
        ({'fit': (FitRow('FX', 'N', 1.0, 0.3, 1.0, 0.3, 2.0),
                  FitRow('FZ', 'N', 1.0, 0.001, 1.0, 0.001, 2.0))}, 'good',
         'FX: 30 % unexplained, of a signal that is small itself'),
        ({'fit': (FitRow('FX', 'N', 1.0, 0.01, 1.0, 0.01, 0.5),)}, 'warn',
         'residuals 0.50 times as large'),
    ],
)  # fmt: skip
def test_each_reservation(identification: IdentificationContent, changes: dict[str, object],
                          level: str, words: str) -> None:
    found = summary.summarise(replace(identification, **changes))  # type: ignore[arg-type]
    assert words in texts(found)
    assert found.level == level


def test_weak_missing_and_correlated_parameters_are_named(
        identification: IdentificationContent) -> None:
    rows = (*identification.parameters,
            ParameterRow('karf', 'N/m', 1.0, 5.0, 4.0, 'weak'),
            ParameterRow('M1', 'kg', 1.0, np.nan, np.nan, 'none'))
    rho = np.eye(4)
    rho[0, 3] = rho[3, 0] = -0.98
    found = summary.summarise(replace(
        identification, parameters=rows, correlation=rho, removed=(('M1', 'its column is zero'),)))
    assert 'karf: the standard deviation is above 10 %' in texts(found)
    assert 'M1: not identified (its column is zero)' in texts(found)
    assert 'Mc with Cx (-0.980)' in texts(found)
    assert found.level == 'warn'


def test_observer_is_trusted(observation: ObservationContent) -> None:
    found = summary_observation.summarise(observation)
    assert found.level == 'good'
    assert '1 outage of gps, the longest 2.0' in texts(found)
    assert 'not white' in texts(found)
    assert found.cards[0].value == '0.020 m'
    assert found.cards[2].note == '2 of 799'


def test_observer_worse_than_its_model_is_not(observation: ObservationContent) -> None:
    worse = (ErrorRow('x', 'm', 1.0, 0.1, 1.0, 0.1, 0.2),)
    found = summary_observation.summarise(replace(observation, errors=worse))
    assert found.level == 'bad'
    assert 'Too sure of itself' in texts(found)
    assert 'x: the model alone is closer' in texts(found)


def test_observer_without_truth_says_so(observation: ObservationContent) -> None:
    found = summary_observation.summarise(replace(observation, errors=()))
    assert 'no truth' in texts(found)
    assert found.cards[0].value == 'none'


def test_sensor_that_fits_badly_is_named(observation: ObservationContent) -> None:
    row = replace(observation.sensors[0], nis=4.0, rejected=400, used=400)
    found = summary_observation.summarise(replace(observation, sensors=(row,)))
    assert 'gps: innovations are larger than expected' in texts(found)
    assert 'gps: the gate rejected 50 %' in texts(found)
    assert found.level == 'warn'
