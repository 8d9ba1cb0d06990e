import base64
import json
import re
import zlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from veh_identification.errors import InputError
from veh_identification.findings import Finding
from veh_identification.reporting.content import (
    FitRow,
    IdentificationContent,
    ObservationContent,
    ParameterRow,
    Trace,
    TraceSet,
)
from veh_identification.reporting.html import Page, render, write_page
from veh_identification.reporting.judging import identification as judging
from veh_identification.reporting.judging import observation as judging_observation
from veh_identification.reporting.pages.identification import identification_page
from veh_identification.reporting.pages.observation import observation_page
from veh_identification.reporting.pages.parts import listing
from veh_identification.reporting.palette import THEMES


def page_of(content: IdentificationContent | ObservationContent) -> Page:
    if isinstance(content, IdentificationContent):
        return identification_page(content, judging.judge(content))
    return observation_page(content, judging_observation.judge(content))


#: Axes that count or name things have no unit.
UNITLESS = {'', 'parameter'}


@pytest.fixture(params=['identification', 'observation'])
def page(
    request: pytest.FixtureRequest,
    identification: IdentificationContent,
    observation: ObservationContent,
) -> Page:
    if request.param == 'identification':
        return page_of(identification)
    return page_of(observation)


def figures(text: str) -> list[dict[str, dict[str, object]]]:
    found = re.findall(
        r'<script type="application/json" data-for="[^"]*">(.*?)</script>', text, re.DOTALL
    )
    return [json.loads(one) for one in found]


def test_page_holds_everything(page: Page) -> None:
    text = render(page)
    outside = re.sub(r'<script\b.*?</script>', '', text, flags=re.DOTALL)
    assert not re.search(r'(src|href)="(?!#|data:)', outside)
    assert '@import' not in text
    assert 'url(' not in outside
    assert text.count('id="plotly"') == 1
    packed = re.search(r'id="plotly">([^<]*)<', text)
    assert packed is not None
    assert 'plotly.js v' in zlib.decompress(base64.b64decode(packed[1])).decode()[:200]
    assert len(text) < 2_500_000


def test_text_from_files_cannot_become_markup(identification: IdentificationContent) -> None:
    text = render(page_of(identification))
    assert 'run <one>' not in text
    assert 'run &lt;one&gt;' in text
    assert '&lt;run&gt;' in text
    assert text.lower().count('<script') == text.lower().count('</script>')


def test_every_axis_has_a_unit(page: Page) -> None:
    drawn = figures(render(page))
    assert len(drawn) >= 5
    for figure in drawn:
        axes = [
            value for key, value in figure['layout'].items() if re.fullmatch(r'[xy]axis\d*', key)
        ]
        assert axes
        for one in axes:
            title = one['title']['text']  # type: ignore[index]
            assert title in UNITLESS or re.search(r'\[.+\]', title), title


def test_every_colour_has_a_role_in_both_themes(page: Page) -> None:
    text = render(page)
    assert THEMES['light'].keys() == THEMES['dark'].keys()
    used = set(
        re.findall(
            r'#0101[0-9a-f]{2}|rgba\(1,1,\d+,[\d.]+\)',
            ' '.join(json.dumps(one) for one in figures(text)),
        )
    )
    assert used
    assert used <= THEMES['light'].keys()


def test_sections_and_first_screen(identification: IdentificationContent) -> None:
    text = render(page_of(identification))
    for title in (
        'Parameters',
        'Cross validation',
        'Residual spectrum and whiteness',
        'Excitation',
        'Correlation',
        'Sensor health',
        'Command, inputs and versions',
    ):
        assert f'<h2>{title}</h2>' in text
    assert text.index('Can I trust this?') < text.index('<h2>Parameters</h2>')
    assert 'Can I trust this?' in text


def test_unknown_numbers_sort_last(identification: IdentificationContent) -> None:
    text = render(page_of(identification))
    row = re.search(r'<tr>\s*<td[^>]*>Cx</td>.*?</tr>', text, re.DOTALL)
    assert row is not None
    assert '<td data-sort="" class="number">-</td>' in row.group()


def test_file_is_written_whole_or_not_at_all(
    tmp_path: Path, identification: IdentificationContent
) -> None:
    made = page_of(identification)
    path = write_page(tmp_path / 'report.html', made)
    assert path.read_text(encoding='utf-8').endswith('</html>')
    assert [entry.name for entry in tmp_path.iterdir()] == ['report.html']
    with pytest.raises(InputError):
        write_page(tmp_path / 'report.html' / 'inside.html', made)


def test_nothing_identified_still_makes_a_page(identification: IdentificationContent) -> None:
    lost = tuple(
        ParameterRow(row.name, row.unit, row.a_priori, float('nan'), float('nan'), 'none')
        for row in identification.parameters
    )
    empty = Trace('FX', 'N', np.zeros(0), np.zeros(0), np.zeros(0))
    unknown = float('nan')
    content = replace(
        identification,
        parameters=lost,
        names=(),
        correlation=np.zeros((0, 0)),
        inflation=np.zeros(0),
        colours=(),
        condition_number=unknown,
        seconds=unknown,
        fit=(FitRow('FX', 'N', unknown, unknown),),
        trace_sets=(TraceSet('own', False, (empty,)),),
        health=(),
    )
    text = render(page_of(content))
    assert '0 of 4' in text
    assert 'not identified' in text
    assert 'nan' not in re.sub(r'<script\b.*?</script>', '', text, flags=re.DOTALL).lower()


def test_observer_without_truth_or_innovations_makes_a_page(
    observation: ObservationContent,
) -> None:
    states = tuple(replace(one, truth=None, model=None) for one in observation.states)
    content = replace(
        observation,
        states=states,
        errors=(),
        innovations=(),
        whiteness=(),
        outages=(),
        sensors=(),
        gate_probability=None,
        health=(),
    )
    text = render(page_of(content))
    assert 'holds no truth' in text
    assert 'There is no gate' in text
    assert 'nan' not in re.sub(r'<script\b.*?</script>', '', text, flags=re.DOTALL).lower()


def test_settings_are_listed_compactly_and_stay_json() -> None:
    value = {
        'sigma': [1.0, 2.0, 3.0],
        'text': 'a [b] {c}',
        'bands': {'a': 1, 'b': {'c': [1]}},
        'long': ['x' * 40] * 4,
    }
    text = listing(value)
    assert '  "sigma": [1.0, 2.0, 3.0],' in text.splitlines()
    assert max(map(len, text.splitlines())) <= 150
    assert json.loads(text) == value


def test_further_remarks_are_folded(identification: IdentificationContent) -> None:
    notes = tuple(Finding('note', 'remark', f'Remark {k}.') for k in range(20))
    page = page_of(replace(identification, findings=notes))
    text = render(page)
    assert f'<summary>{len(page.summary.further)} more remarks</summary>' in text
    assert all(f'Remark {k}.' in text for k in range(20))
