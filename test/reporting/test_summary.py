import re
from dataclasses import replace

import numpy as np
import pytest

from veh_identification.findings import Finding
from veh_identification.reporting.content import (
    ErrorRow,
    FitRow,
    IdentificationContent,
    ObservationContent,
    Outage,
    ParameterRow,
)
from veh_identification.reporting.first_screen import FIRST_SCREEN, FirstScreen
from veh_identification.reporting.html import flags, render
from veh_identification.reporting.judging import identification as judging
from veh_identification.reporting.judging import observation as judging_observation
from veh_identification.reporting.pages.identification import identification_page
from veh_identification.reporting.series import familywise, jointly_limited


def first_screen(content: IdentificationContent | ObservationContent) -> FirstScreen:
    if isinstance(content, IdentificationContent):
        return FirstScreen(judging.judge(content), judging.cards(content))
    return FirstScreen(judging_observation.judge(content), judging_observation.cards(content))


def texts(found: FirstScreen) -> str:
    return ' '.join(one.text for one in found.verdict.findings)


def test_sound_identification_is_trusted(identification: IdentificationContent) -> None:
    found = first_screen(identification)
    assert found.level == 'good'
    assert found.headline.startswith('Yes')
    assert '3 of 4 parameters' in texts(found)
    assert 'XYc: small value.' in texts(found)
    assert '4 of 4 true values lie within two standard deviations' in texts(found)
    assert found.cards[0].value == '3 of 4'


def test_serious_finding_forbids(identification: IdentificationContent) -> None:
    bad = replace(identification, findings=(Finding('bad', 'swapped', 'The wheels are swapped.'),))
    found = first_screen(bad)
    assert found.level == 'bad'
    assert found.headline.startswith('No')
    assert found.verdict.findings[0].text == 'The wheels are swapped.'


def test_a_cause_that_explains_less_than_half_is_a_maybe(
    identification: IdentificationContent,
) -> None:
    for evidence, told in ((1.4, 'maybe: The efforts are late.'), (2.1, 'The efforts are late.')):
        bad = replace(
            identification,
            findings=(Finding('bad', 'late', 'The efforts are late.', '', evidence),),
        )
        page = render(identification_page(bad, judging.judge(bad)))
        assert f'aria-label="bad"></span>{told}</li>' in page


def test_value_that_cannot_exist_forbids(identification: IdentificationContent) -> None:
    rows = (*identification.parameters, ParameterRow('M1', 'kg', 24.0, -96.0, 1.0, 'impossible'))
    found = first_screen(replace(identification, parameters=rows))
    assert found.verdict.level == 'no'
    assert found.verdict.findings[0].code == 'impossible_value'
    assert 'M1' in found.verdict.findings[0].text


def test_missing_validation_is_a_reservation(identification: IdentificationContent) -> None:
    own = tuple(
        FitRow(row.equation, row.unit, row.rms, row.relative) for row in identification.fit
    )
    found = first_screen(replace(identification, fit=own))
    assert found.level == 'warn'
    assert 'only its own data judged it' in texts(found)
    assert found.cards[1].note.endswith('its own data')


def test_deviations_are_no_praise_while_the_equations_fit_badly(
    identification: IdentificationContent,
) -> None:
    wrong = tuple(
        FitRow(row.equation, row.unit, 80.0, 0.8, 80.0, 0.8, 90.0) for row in identification.fit
    )
    found = first_screen(replace(identification, fit=wrong))
    (praise,) = [one for one in found.verdict.findings if 'of 4 parameters' in one.text]
    assert praise.level == 'note'
    assert 'counts for little' in praise.text
    (judged,) = [
        one for one in found.verdict.findings if 'On a recording that was not used' in one.text
    ]
    assert judged.level == 'bad'


def test_causes_stand_before_symptoms(identification: IdentificationContent) -> None:
    wrong = tuple(
        FitRow(row.equation, row.unit, 80.0, 0.8, 80.0, 0.8, 90.0) for row in identification.fit
    )
    found = first_screen(
        replace(
            identification,
            fit=wrong,
            findings=(Finding('bad', 'swapped', 'The wheels are swapped.'),),
        )
    )
    assert found.verdict.findings[0].text == 'The wheels are swapped.'
    assert [one.level for one in found.verdict.findings[:3]] == ['bad'] * 3


def test_first_screen_keeps_all_reservations_and_folds_other_remarks(
    identification: IdentificationContent,
) -> None:
    notes = tuple(Finding('note', 'remark', f'Remark {k}.') for k in range(20))
    found = first_screen(replace(identification, findings=notes))
    assert len(found.first) == FIRST_SCREEN
    assert found.first + found.further == found.verdict.findings
    warnings = tuple(Finding('warn', 'reservation', f'Reservation {k}.') for k in range(20))
    found = first_screen(replace(identification, findings=warnings))
    assert [one.level for one in found.first] == ['warn'] * 20


def test_sensors_that_stop_are_named(identification: IdentificationContent) -> None:
    row = identification.health[0]
    rows = (
        row,
        replace(row, topic='/wheel_rr/wrench', ends_early=18.0),
        replace(row, topic='/a', starts_late=3.0),
        replace(row, topic='/b', starts_late=3.0),
    )
    found = first_screen(replace(identification, health=rows))
    assert 'one: /wheel_rr/wrench ends 18 s before the other topics.' in texts(found)
    assert 'one: /a and /b begin 3.0 s after the other topics.' in texts(found)
    assert found.level == 'warn'


@pytest.mark.parametrize(('missing', 'level'), [(1.0, 'good'), (10.0, 'warn')])
def test_many_gaps_are_a_reservation(
    identification: IdentificationContent, missing: float, level: str
) -> None:
    row = replace(identification.health[0], gaps=2, missing=missing, longest_gap=0.5)
    found = first_screen(replace(identification, health=(row,)))
    assert 'the longest is 0.500 s in /imu/data of one' in texts(found)
    assert found.level == level


@pytest.mark.parametrize(
    ('changes', 'level', 'words'),
    [
        ({'condition_number': 5e3}, 'warn', 'Condition number 5000: the motion hardly separates'),
        ({'condition_number': 300.0}, 'good', 'Condition number 300: some combinations'),
        ({'unexcited': ('Cx',)}, 'warn', 'Cx: the recording does not tell these apart'),
        ({'excluded': 1000}, 'warn', '1000 of 3000 samples (33 %)'),
        (
            {'fit': (FitRow('FX', 'N', 1.0, 0.03, 3.0, 0.09, 20.0),)},
            'warn',
            'Standard deviations do not cover that',
        ),
        (
            {'fit': (FitRow('FX', 'N', 1.0, 0.01, 3.0, 0.03, 20.0),)},
            'good',
            'still below 5 % of the signal',
        ),
        (
            {'fit': (FitRow('FX', 'N', 60.0, 0.6, 60.0, 0.6, 90.0),)},
            'bad',
            'FX (60 %) is reconstructed poorly',
        ),
        (
            {
                'fit': (
                    FitRow('FX', 'N', 60.0, 0.6, 60.0, 0.6, 90.0),
                    FitRow('FY', 'N', 60.0, 0.7, 60.0, 0.7, 90.0),
                )
            },
            'bad',
            'FX (60 %) and FY (70 %) are reconstructed poorly',
        ),
        (
            {
                'fit': (
                    FitRow('FX', 'N', 1.0, 0.3, 1.0, 0.3, 2.0),
                    FitRow('FZ', 'N', 1.0, 0.001, 1.0, 0.001, 2.0),
                    FitRow('NX', 'N m', 1.0, 0.001, 1.0, 0.001, 2.0),
                )
            },
            'good',
            'small themselves: FX (30 % of 3.333 N rms)',
        ),
        # A moment that is no larger than what such a system's moments are known to.
        (
            {
                'fit': (
                    FitRow('FX', 'N', 1.0, 0.01, 1.0, 0.01, 2.0),
                    FitRow('NY', 'N m', 1.0, 0.01, 1.0, 0.01, 2.0),
                    FitRow('NZ', 'N m', 60.0, 0.6, 60.0, 0.6, 90.0, negligible=61.0),
                )
            },
            'warn',
            'NZ (60 %) is reconstructed poorly',
        ),
        # Braking in a straight line: the lateral force holds noise only.
        (
            {
                'fit': (
                    FitRow('FX', 'N', 1.0, 0.01, 1.0, 0.01, 2.0),
                    FitRow('FY', 'N', 1.0, 0.01, 1.1, 0.9, 2.0),
                    FitRow('FZ', 'N', 1.0, 0.01, 1.0, 0.01, 2.0),
                )
            },
            'good',
            'FY: the validation recording hardly moves it',
        ),
        (
            {'fit': (FitRow('FX', 'N', 1.0, 0.01, 1.0, 0.01, 0.5),)},
            'warn',
            'explain that recording no worse than the estimates do: they leave residuals '
            '0.50 times',
        ),
        ({'recorded': 90.0}, 'good', '40.0 of the 90.0 s recorded were used'),
    ],
)
def test_each_reservation(
    identification: IdentificationContent, changes: dict[str, object], level: str, words: str
) -> None:
    found = first_screen(replace(identification, **changes))  # type: ignore[arg-type]
    assert words in texts(found)
    assert found.level == level


@pytest.mark.parametrize('known', [True, False])
def test_a_priori_values_are_compared_where_they_are_known(
    identification: IdentificationContent, known: bool
) -> None:
    unknown = ParameterRow('Cx', '', np.nan, 1.3, 0.01, 'good')
    rows = (
        FitRow('FX', 'N', 1.0, 0.01, 1.0, 0.01),  # involves what nobody knew beforehand
        FitRow('FY', 'N', 1.0, 0.01, 1.0, 0.01, 3.0 if known else np.nan),
    )
    parameters = (*identification.parameters, unknown)
    found = first_screen(replace(identification, fit=rows, parameters=parameters))
    said = [one for one in found.verdict.findings if one.code.startswith('a_priori')]
    assert [one.code for one in said] == (['a_priori_worse'] if known else [])
    if known:
        assert 'residuals 3.0 times as large there (median).' in said[0].text


def test_weak_missing_and_correlated_parameters_are_named(
    identification: IdentificationContent,
) -> None:
    rows = (
        *identification.parameters,
        ParameterRow('karf', 'N/m', 1.0, 5.0, 4.0, 'weak'),
        ParameterRow('M1', 'kg', 1.0, np.nan, np.nan, 'none'),
    )
    rho = np.eye(4)
    rho[0, 3] = rho[3, 0] = -0.98
    found = first_screen(
        replace(
            identification,
            parameters=rows,
            correlation=rho,
            removed=(('M1', 'its column is zero'),),
        )
    )
    assert 'karf: the standard deviation is above 10 %' in texts(found)
    assert 'M1: not identified (its column is zero)' in texts(found)
    assert 'Mc with Cx (-0.980)' in texts(found)
    assert found.level == 'warn'


def test_observer_is_trusted(observation: ObservationContent) -> None:
    short = (Outage('gps', 1.0, 1.4),)
    found = first_screen(replace(observation, outages=short))
    assert '1 short outage of gps, the longest 0.4' in texts(found)
    assert found.level == 'good'
    assert 'not white' in texts(found)
    assert found.cards[0].value == '0.020 m'
    assert found.cards[2].note == '2 of 799'


def test_long_outage_is_a_reservation_that_says_how_unsure_it_made(
    observation: ObservationContent,
) -> None:
    found = first_screen(observation)
    assert found.level == 'warn'
    assert 'No gps from 3.99 s to 6.01 s (20 % of the run' in texts(found)
    assert 'Two sigma grew to x 0.040 m and y 0.040 m.' in texts(found)
    lost = first_screen(replace(observation, outages=(Outage('gps', 5.0, 10.0),)))
    assert 'No gps from 5.00 s to the end (50 % of the run' in texts(lost)


def test_observer_worse_than_its_model_is_not(observation: ObservationContent) -> None:
    worse = (ErrorRow('x', 'm', 1.0, 0.1, 1.0, 0.1, 0.2),)
    found = first_screen(replace(observation, errors=worse))
    assert found.level == 'bad'
    assert 'Too sure of itself' in texts(found)
    assert 'x: the model alone is closer' in texts(found)
    assert 'its rms error is 10 times larger' in texts(found)
    assert found.cards[0].note == '10 times larger than the model alone'


def test_observer_without_truth_says_so(observation: ObservationContent) -> None:
    found = first_screen(replace(observation, errors=()))
    assert 'no truth' in texts(found)
    assert found.cards[0].value == 'none'


def test_sensor_that_fits_badly_is_named(observation: ObservationContent) -> None:
    row = replace(observation.sensors[0], nis=4.0, rejected=400, used=400)
    found = first_screen(replace(observation, sensors=(row,)))
    assert 'gps: innovations are larger than expected' in texts(found)
    assert 'The gate rejected 50 % of gps: look first at sign' in texts(found)
    assert found.level == 'warn'


def test_residuals_are_counted_in_their_noise_where_it_is_known() -> None:
    """Means over 16 periods beside single samples: four times the residual is no reservation."""
    row = FitRow('leg_1', 'N', 1.0, 0.01, validation_rms=4.0, validation_relative=0.06)
    assert row.growth == pytest.approx(4.0)
    assert replace(row, noise=1.0, validation_noise=4.0).growth == pytest.approx(1.0)


def test_one_of_many_equations_beyond_the_limit_of_one_test_is_chance() -> None:
    assert familywise(1) == pytest.approx(1.0)
    assert familywise(6) == pytest.approx(1.22, abs=0.01)
    rng = np.random.default_rng(3)
    lines, count, tests = 200, 400, 6
    # Largest distance of a uniform sample's distribution from the diagonal, as for periodograms.
    worst = np.abs(np.sort(rng.random((count, tests, lines))) - np.arange(1, lines + 1) / lines)
    limit = 1.36 / np.sqrt(lines) * familywise(tests)
    alarms = (worst.max(axis=2) > limit).any(axis=1).mean()
    assert 0.01 < alarms < 0.08


def test_table_and_sentence_agree_on_what_is_white(
    identification: IdentificationContent,
) -> None:
    """One of two equations lies between the limit of one test and that of both."""
    first, second = identification.colours
    limited = jointly_limited([replace(first, statistic=1.05 * first.limit), second])
    assert limited[0].white and limited[0].limit == pytest.approx(familywise(2) * first.limit)
    content = replace(identification, colours=limited)
    assert 'residuals_white' in [one.code for one in judging.judge(content).findings]
    page = render(identification_page(content, judging.judge(content)))
    assert 'coloured</span>' not in page and page.count('>white</span>') == 2


def test_an_error_of_two_sigma_is_chance_where_it_is_slow_and_a_no_where_it_comes_again(
    observation: ObservationContent,
) -> None:
    """In a short run a place that is 2.3 sigma off stays so: chance, one in fifty."""
    for off, independent, level in ((2.3, 1, 'care'), (5.0, 1, 'no'), (2.3, 12, 'no')):
        row = ErrorRow('y', 'm', 0.1, 1.0, 0.1, 1.0, 0.3, off, independent)
        found = judging_observation.judge(replace(observation, errors=(row,)))
        assert 'too_sure' in [one.code for one in found.findings]
        assert found.level == level


def test_one_truth_that_is_missed_is_neither_good_nor_a_reservation(
    identification: IdentificationContent,
) -> None:
    row = replace(identification.parameters[0], value=1.0, std=0.1, truth=1.5)
    right = replace(row, truth=1.1)
    for rows, level in (
        ((row,), 'note'),
        ((right,), 'good'),
        ((row, row, row), 'warn'),
        ((row, *[right] * 11), 'good'),
    ):
        found = judging.judge(replace(identification, parameters=rows)).findings
        assert [one.level for one in found if one.code == 'truth_coverage'] == [level]


def test_flags_of_a_command_are_not_broken_and_nothing_else_is_marked() -> None:
    text = flags('veh-id demo --out a-b <x> -p chunk:=6 -0.5 "--cut-off"')
    assert text.count('<span class="flag">') == 3
    assert '<span class="flag">--cut-off</span>' in text and '&lt;x&gt;' in text
    assert re.sub('<[^>]+>', '', text).replace('&lt;x&gt;', '<x>').replace('&#34;', '"') == (
        'veh-id demo --out a-b <x> -p chunk:=6 -0.5 "--cut-off"'
    )


def test_innovations_beyond_all_measure_are_another_machine(
    observation: ObservationContent,
) -> None:
    """What was refused or set aside harms nobody; what was used all the same does."""
    base = next(row for row in observation.sensors if not row.pseudo)

    def level(used: int, rejected: int, nis: float) -> str:
        row = replace(base, used=used, rejected=rejected, nis=nis)
        found = judging_observation.judge(replace(observation, sensors=(row,)))
        return next(one.level for one in found.findings if one.code == 'innovations_large')

    assert level(1500, 0, 1111.0) == 'bad'
    assert level(100, 1400, 1111.0) == level(1500, 0, 3.0) == 'warn'
