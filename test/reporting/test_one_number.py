"""No number of a result has two values: card, sentence, terminal, tables of the page and JSON."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from veh_identification.cli.main import main
from veh_identification.findings.numbers import number, percent
from veh_identification.reporting.content import FitRow, IdentificationContent
from veh_identification.reporting.judging.fit import median_unexplained
from veh_identification.reporting.judging.identification import cards, judge


def test_what_stays_unexplained_is_one_number(identification: IdentificationContent) -> None:
    """Also where the validation hardly moves an equation, which then judges nothing."""
    rows = (
        FitRow('FX', 'N', 1.0, 0.010, 1.0, 0.011),
        FitRow('FY', 'N', 1.0, 0.020, 1.0, 0.023),
        FitRow('FZ', 'N', 1.0, 0.030, 1.0, 0.037),
        FitRow('NZ', 'N m', 1.0, 0.100, 1.0, 0.900),  # idle: its residual is no larger
    )
    content = replace(identification, fit=rows)
    value = median_unexplained(content)
    assert value == pytest.approx(0.023)
    (card,) = [one for one in cards(content) if one.label == 'signal left unexplained']
    (said,) = [one.text for one in judge(content).findings if one.code == 'validation_fit']
    assert card.value == percent(value)
    assert f'median {percent(value)})' in said


def cells(page: str, name: str) -> list[list[str]]:
    """Rows of the tables of a page that begin with a name, without the words of their cells."""
    rows = re.findall(r'<tr>\s*(.*?)</tr>', page, re.DOTALL)
    found = [re.findall(r'<td data-sort="([^"]*)"[^>]*>([^<]*)', row) for row in rows]
    return [[text.strip() for _, text in row] for row in found if row and row[0][0] == name]


def test_the_pages_of_the_demo_agree(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(['demo', '--out', str(tmp_path / 'demo'), '--only', 'four-bar']) == 0
    terminal = capsys.readouterr().out
    folder = tmp_path / 'demo'
    metrics = json.loads((folder / 'four-bar' / 'metrics.json').read_text('utf-8'))
    overview = (folder / 'report.html').read_text('utf-8')
    page = (folder / 'four-bar' / 'report.html').read_text('utf-8')
    for name in ('x1', 'y1', 'x2', 'y2'):
        row = metrics['coordinates'][name]
        shown = number(row['rms_obs'], 3)
        assert any(shown in line for line in cells(overview, name)), name
        assert any(shown in line for line in cells(page, name)), name
        printed = re.search(rf'^{name} +(\S+) +(\S+) +(\S+) m$', terminal, re.MULTILINE)
        assert printed is not None
        told = np.array([float(one) for one in printed.groups()])
        known = np.array([row['rms_obs'], row['max_obs'], row['rms_model']])
        np.testing.assert_allclose(told, known, rtol=1e-3)
    assert metrics['verdict']['headline'] in page and metrics['verdict']['headline'] in terminal
    card = re.search(r'rms error of (\w+)</div><div class="value">([\d.]+) (?:m|rad)<', page)
    assert card is not None
    assert float(card[2]) == pytest.approx(metrics['coordinates'][card[1]]['rms_obs'], rel=0.06)
    assert 'too slow' not in page or metrics['real_time_factor'] < 1.0
