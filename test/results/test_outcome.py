"""Outcome, folder of results and terminal text, on a small identification made by hand."""

from __future__ import annotations

import csv
import json
import re
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from veh_identification.atomic import OutputError
from veh_identification.errors import UsageError
from veh_identification.findings import Finding
from veh_identification.findings.numbers import beside, number
from veh_identification.identification import IdentificationResult, Validation
from veh_identification.reporting.content import IdentificationContent, Provenance
from veh_identification.results import Outcome
from veh_identification.results.folder import check_target
from veh_identification.results.identification import Further, identification_outcome
from veh_identification.results.reconstruction import Reconstruction
from veh_identification.runtime.bags import BagReader

STAMPS = np.arange(400, dtype=np.int64) * 20_000_000


def small_result(mass: float = 1535.0) -> IdentificationResult:
    std = np.array([1.0, 9.0])
    return IdentificationResult(
        names=['Mc', 'ZZc'],
        units=['kg', 'kg m^2'],
        value=np.array([mass, 6290.0]),
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
        a_priori=np.array([1500.0, np.nan]),
        system='small',
        validation=Validation(
            ['FX', 'NZ'], np.array([1.0, 2.0]), np.array([0.01, 0.02]), None, 500, 0
        ),
        impossible=['Mc'] if mass < 0.0 else [],
    )


def reconstruction(topic: str, held_out: bool, prior: bool = False) -> Reconstruction:
    rng = np.random.default_rng(0)
    measured = np.column_stack([np.sin(0.1 * np.arange(400)), np.full(400, 2.0)])
    return Reconstruction(
        topic,
        'Validation recording two' if held_out else 'Identification data: one',
        held_out,
        ('FX', 'NZ'),
        ('N', 'N m'),
        STAMPS,
        measured,
        measured + 0.01 * rng.standard_normal((400, 2)),
        np.ones(2),
        np.zeros((400, 2)) if prior else None,
        'base_link',
    )


def make(
    result: IdentificationResult | None = None,
    findings: tuple[Finding, ...] = (),
    series: Sequence[Reconstruction] = (),
    **more: Any,
) -> Outcome[IdentificationResult]:
    return identification_outcome(
        result or small_result(),
        title='small machine',
        bags=[Path('one')],
        validate=Path('two'),
        findings=findings,
        series=series
        or [
            reconstruction('small_identification/reconstruction', False, True),
            reconstruction('validation/small_identification/reconstruction', True),
        ],
        provenance=Provenance(
            'veh-id identify small',
            (),
            (('veh_identification', '0'),),
            {},
            'now',
            (('imu pose', '0 0 0', 'default'),),
        ),
        glossary={'Mc': 'mass of the body'},
        further=Further(lines=('a line of its own',)),
        **more,
    )


def test_values_have_everything_and_wrong_names_answer_with_near_ones() -> None:
    outcome = make()
    mass = outcome['Mc']
    assert (mass.value, mass.std, mass.unit) == (1535.0, 1.0, 'kg')
    assert (mass.description, mass.a_priori, mass.well_identified) == (
        'mass of the body',
        1500.0,
        True,
    )
    with pytest.raises(KeyError, match='did you mean Mc'):
        outcome['MC']
    assert list(outcome) == ['Mc', 'ZZc'] and 'Mc' in outcome and len(outcome) == 2
    assert 'identify small' in repr(outcome) and len(repr(outcome)) < 200
    page = outcome._repr_html_()
    assert '<td>1535</td>' in page and outcome.verdict.headline in page


def test_verdict_is_the_first_and_the_last_line() -> None:
    found = (Finding('bad', 'swapped', 'two wheels are swapped', 'wheel_fl/wrench', 3.0),)
    lines = make(findings=found).text.splitlines()
    assert (
        lines[0] == lines[-1] == 'verdict: No: put the findings right before using these values.'
    )
    assert lines[1] == 'FOUND: two wheels are swapped'
    assert 'a line of its own' in lines


@pytest.mark.parametrize(
    ('evidence', 'mark'), [(1.46, 'MAYBE'), (1.99, 'MAYBE'), (2.0, 'FOUND'), (np.nan, 'FOUND')]
)
def test_a_cause_that_explains_less_than_half_is_a_maybe(evidence: float, mark: str) -> None:
    outcome = make(findings=(Finding('bad', 'late', 'efforts are late', 'joints', evidence),))
    assert outcome.text.splitlines()[1] == f'{mark}: efforts are late'
    assert outcome.verdict.level == 'no'  # something is wrong, whatever it is


def test_deviations_are_no_evidence() -> None:
    found = Finding('bad', 'stuck', 'it stands still', 'imu', size=1.5)
    assert found.mark == 'FOUND' and found.as_dict()['size'] == 1.5
    assert 'evidence' not in found.as_dict()


def test_no_ok_on_a_value_that_cannot_exist() -> None:
    outcome = make(small_result(-96.0))
    assert outcome.verdict.level == 'no'
    assert outcome.findings[0].code == 'impossible_value'
    row = next(line for line in outcome.text.splitlines() if line.startswith('Mc'))
    assert row.endswith('impossible') and ' ok' not in row
    assert not outcome['Mc'].possible and not outcome['Mc'].well_identified
    entry = outcome.document[1]['parameters'][0]
    assert (entry['well_identified'], entry['possible']) == (False, False)


def test_folder_holds_all_files(tmp_path: Path) -> None:
    outcome = make(files={'identified.urdf': b'<robot/>'})
    line = outcome.save(tmp_path / 'out')
    assert line == f'report: {tmp_path / "out" / "report.html"}'
    document = json.loads((tmp_path / 'out' / 'parameters.json').read_text())
    assert document['verdict']['level'] == outcome.verdict.level == 'care'
    assert document['verdict']['findings'][0].keys() == {'level', 'code', 'text', 'where'}
    assert document['provenance']['inputs'] == [
        {'what': 'imu pose', 'value': '0 0 0', 'from': 'default'}
    ]
    assert document['parameters'][1]['a_priori'] is None
    with (tmp_path / 'out' / 'parameters.csv').open() as file:
        assert [row['name'] for row in csv.DictReader(file)] == ['Mc', 'ZZc']
    assert (tmp_path / 'out' / 'identified.urdf').read_bytes() == b'<robot/>'
    with BagReader(tmp_path / 'out' / 'result') as reader:
        assert set(reader.topics) == {
            '/small_identification/parameters',
            '/small_identification/reconstruction',
            '/validation/small_identification/reconstruction',
        }
        first = next(iter(reader.messages(['/small_identification/parameters']))).message
        assert (first.verdict, first.parameters[0].name) == ('care', 'Mc')
        assert [one.code for one in first.findings] == [one.code for one in outcome.findings]
        rows = list(reader.messages(['/small_identification/reconstruction']))
        assert len(rows) == 400 and rows[0].message.header.frame_id == 'base_link'


def test_only_our_own_results_are_replaced(tmp_path: Path) -> None:
    outcome = make()
    outcome.save(tmp_path / 'out', report=False)
    outcome.save(tmp_path / 'out', report=False)  # replaced
    (tmp_path / 'out' / 'thesis.tex').write_text('years of work')
    with pytest.raises(OutputError, match=r"holds 'thesis\.tex'"):
        outcome.save(tmp_path / 'out')
    assert (tmp_path / 'out' / 'thesis.tex').exists()
    (tmp_path / 'file').write_text('')
    with pytest.raises(OutputError, match='is a file'):
        outcome.save(tmp_path / 'file')
    inside = replace(outcome, inputs=(tmp_path / 'bags' / 'one',))
    with pytest.raises(OutputError, match='would replace the input'):
        inside.save(tmp_path / 'bags')


def test_files_of_any_system_are_replaced_by_the_next_run(tmp_path: Path) -> None:
    """A second command into the same folder begins before it knows what the first one wrote."""
    out = tmp_path / 'out'
    make(files={'gears.csv': b'a\n', 'tyres.csv': b'b\n'}).save(out, report=False)
    check_target(out, ())
    make().save(out, report=False)
    assert not (out / 'gears.csv').exists()
    (out / 'gears.csv').write_text('put there by somebody')
    with pytest.raises(OutputError, match=r"holds 'gears\.csv'"):
        check_target(out, ())


@pytest.mark.parametrize('listed', [5, {'thesis.tex': 1}, [['thesis.tex']], None])
def test_a_list_of_files_that_is_none_frees_nothing(tmp_path: Path, listed: Any) -> None:
    make().save(tmp_path / 'out', report=False)
    (tmp_path / 'out' / 'parameters.json').write_text(json.dumps({'files': listed}))
    (tmp_path / 'out' / 'thesis.tex').write_text('years of work')
    with pytest.raises(OutputError, match=r"holds 'thesis\.tex'"):
        check_target(tmp_path / 'out', ())


def test_report_that_fails_does_not_take_the_results_along(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = replace(make(), content='nothing to draw')  # type: ignore[arg-type]
    assert broken.save(tmp_path / 'broken').startswith('no report: AttributeError')
    assert (tmp_path / 'broken' / 'parameters.json').exists()
    for name in list(sys.modules):
        if name.startswith('veh_identification.reporting.'):
            monkeypatch.delitem(sys.modules, name)
    for name in ('plotly', 'plotly.offline', 'plotly.graph_objects'):
        monkeypatch.setitem(sys.modules, name, None)
    line = make().save(tmp_path / 'missing')
    assert line.startswith('no report: plotly') and 'pip install plotly' in line


def test_content_leaves_out_what_was_not_identified() -> None:
    result = small_result()
    result.value[1] = result.covariance[1, 1] = np.nan
    content = make(result).content
    assert isinstance(content, IdentificationContent)
    assert content.names == ('Mc',)
    assert content.seconds == pytest.approx(7.98)
    assert [one.held_out for one in content.trace_sets] == [True, False]
    assert content.trace_sets[0].traces[0].a_priori is None
    assert content.trace_sets[1].traces[0].a_priori is not None


def test_figure_and_table(monkeypatch: pytest.MonkeyPatch) -> None:
    outcome = make()
    assert len(outcome.plot().data) > 0
    pandas = pytest.importorskip('pandas')
    table = outcome.to_dataframe()
    assert isinstance(table, pandas.DataFrame)
    assert table.loc['Mc', 'value'] == 1535.0 and list(table.index) == ['Mc', 'ZZc']


def test_missing_pandas_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, 'pandas', None)
    with pytest.raises(UsageError, match='needs pandas'):
        make().to_dataframe()


def test_page_terminal_and_files_tell_the_same_numbers(tmp_path: Path) -> None:
    outcome = make()
    outcome.save(tmp_path / 'out')
    folder = tmp_path / 'out'
    known = json.loads((folder / 'parameters.json').read_text('utf-8'))['parameters']
    table = list(csv.DictReader((folder / 'parameters.csv').open(encoding='utf-8')))
    page = (folder / 'report.html').read_text('utf-8')
    for row, line in zip(known, table, strict=True):
        assert float(line['value']) == row['value'] and float(line['std']) == row['std']
        (printed,) = [
            one for one in outcome.text.splitlines() if one.startswith(f'{row["name"]} ')
        ]
        assert f'{row["value"]:g}' in printed.split() and f'{row["std"]:.3g}' in printed.split()
        cells = re.findall(rf'<td data-sort="{row["name"]}".*?</tr>', page, re.DOTALL)[0]
        shown = re.findall(r'<td[^>]*>([^<]*)', cells)
        assert beside(row['value'], row['std']) in shown and number(row['std'], 2) in shown


def test_seconds_are_those_of_all_recordings_that_were_fitted() -> None:
    one = reconstruction('small_identification/reconstruction', False)
    unseen = reconstruction('validation/small_identification/reconstruction', True)
    content = make(series=[one, one, unseen]).content
    assert isinstance(content, IdentificationContent)
    assert content.seconds == pytest.approx(2 * 7.98)
